//! Options as asked for, and as they were read back from the system.
//! In: what was found in a trial. Out: a line of few words.

use records::{Found, OptionFound};

/// What was found without its options, which are shown on their own.
pub(super) fn without(found: &Found) -> Found {
    Found { options: Vec::new(), ..found.clone() }
}

/// In few words: `mkfs -m rmapbt=1: rmapbt=1 (xfs_info)`.
pub fn in_words(option: &OptionFound) -> String {
    match &option.found {
        Some(found) => format!("{}: {found} ({})", option.asked, option.by),
        None => format!("{}: not read back ({})", option.asked, option.by),
    }
}
