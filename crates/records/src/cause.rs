//! Why something failed, as far as it matters for trying again.
//! In: decided where the failure is known, by errno, status, signal and the state of the device. Out: kept with trials and contenders.
//! No sentence is read for it: their words change with versions and languages.

use serde::{Deserialize, Serialize};

/// Whether a failure belongs to what was asked for or to the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The moment: no space, no memory, a busy device, an I/O error, a command that was killed. It may work the next time.
    Passing,
    /// What was asked for: an unknown option, a missing tool. It will fail again.
    Lasting,
    /// It may be either, such as an exit status that programs use for both. The same again means that it lasts.
    Unclear,
}
