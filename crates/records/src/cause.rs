//! Why something failed, as far as it matters for a retry.
//! In: decided where the failure is known, by errno, status, signal and the state of the device. Out: kept with trials and contenders.
//! Error texts are not parsed: they change with versions and languages.

use serde::{Deserialize, Serialize};

/// Whether a failure is due to the request or to a temporary condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A temporary condition: no space, no memory, a busy device, an I/O error, a killed command. A retry may succeed.
    Passing,
    /// The request: an unknown option, a missing tool. A retry fails again.
    Lasting,
    /// Either of the two, such as an exit status that programs use for both. The same failure again means that it is permanent.
    Unclear,
}
