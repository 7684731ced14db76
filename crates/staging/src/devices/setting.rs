//! Settings in sysfs: reading, and writing by a command that a person could type.
//! In: a file below /sys/block. Out: its value; of a choice, the chosen one.
//! Who sets one remembers what it was, and puts it back.

use crate::error::StagingError;
use std::path::Path;
use system::{Command, Journal};

/// A setting of a queue; of a choice, the chosen one.
pub(crate) fn read_setting(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let chosen = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    Some(chosen.unwrap_or(text.trim()).to_string())
}

pub(crate) fn setting_command(path: &Path, value: &str) -> Command {
    let words = system::journal::typed(&["echo".into(), value.into()]);
    let file = system::journal::typed(&[path.display().to_string()]);
    Command::shell(format!("{words} > {file}"))
}

pub(crate) fn write_setting(path: &Path, value: &str, journal: &Journal) -> Result<(), StagingError> {
    setting_command(path, value)
        .run(journal)
        .map(|_| ())
        .map_err(StagingError::command(format!("setting {}", path.display())))
}
