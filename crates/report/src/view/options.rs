//! Options as requested, and as read back from the system.
//! In: what was read back in a trial. Out: a short line.

use records::{Closing, Found, OptionFound};

/// The properties read back, without the options, which are shown separately.
pub(super) fn without(found: &Found) -> Found {
    Found { options: Vec::new(), ..found.clone() }
}

/// What was read back after unmounting, without the options.
pub(super) fn rest(closing: &Closing) -> Closing {
    Closing { axes: Vec::new(), ..closing.clone() }
}

/// Options as read back before the work, then values of axes as read back after it.
pub(super) fn all(found: Option<&Found>, closing: Option<&Closing>) -> Vec<OptionFound> {
    let before = found.into_iter().flat_map(|found| &found.options);
    before.chain(closing.into_iter().flat_map(|closing| &closing.axes)).cloned().collect()
}

/// In few words: `mkfs -m rmapbt=1: rmapbt=1 (xfs_info)`.
pub fn in_words(option: &OptionFound) -> String {
    match &option.found {
        Some(found) => format!("{}: {found} ({})", option.asked, option.by),
        None => format!("{}: not read back ({})", option.asked, option.by),
    }
}
