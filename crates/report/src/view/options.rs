//! Options as asked for, and as they were read back from the system.
//! In: what was found in a trial. Out: one line for each option.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An option that was asked for, and what the system shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionView {
    /// As asked for: `mkfs -m rmapbt=1`, `mount logbsize=256k`, `scheduler bfq`.
    pub asked: String,
    /// What is shown; absent where it cannot be read back.
    pub found: Option<String>,
    /// What shows it, or why nothing does.
    pub by: String,
}

/// The options of what was found; none where an older run kept none.
pub(super) fn options(found: &Value) -> Vec<OptionView> {
    let listed = found.get("options").cloned().unwrap_or_default();
    serde_json::from_value(listed).unwrap_or_default()
}

/// What was found without its options, which are shown on their own.
pub(super) fn without(found: &Value) -> Value {
    let mut rest = found.clone();
    if let Value::Object(fields) = &mut rest {
        fields.remove("options");
    }
    rest
}

impl OptionView {
    /// In few words: `mkfs -m rmapbt=1: rmapbt=1 (xfs_info)`.
    pub fn told(&self) -> String {
        match &self.found {
            Some(found) => format!("{}: {found} ({})", self.asked, self.by),
            None => format!("{}: not read back ({})", self.asked, self.by),
        }
    }
}
