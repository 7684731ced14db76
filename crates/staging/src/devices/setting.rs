//! Settings in sysfs, written by a command that a user could type.
//! In: a file below /sys/block, and a value. Out: the value set.
//! The caller keeps the former value, and restores it.

use crate::error::StagingError;
use std::path::Path;
use system::{Command, Journal};

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
