//! Emptying a device: its signatures, and the places where custody looks for data.
//! In: a device that custody has verified. Out: commands, or their failure. Ownership is not checked here.

use crate::busy::{PASSING, when_free};
use crate::devices::custody::emptying;
use crate::error::StagingError;
use std::path::Path;
use system::{BlockDevice, Command, CommandError, Journal, Sysfs as _};

/// Removes all signatures, so that no tool finds an old filesystem under a new one.
pub(crate) fn unsign(device: &Path, journal: &Journal) -> Result<(), StagingError> {
    run_when_free(&unsigning(device), journal)
        .map_err(StagingError::command(format!("removing signatures from {}", device.display())))
}

/// Runs a command that needs exclusive use of a device.
fn run_when_free(command: &Command, journal: &Journal) -> Result<(), CommandError> {
    when_free(PASSING, || command.run(journal).map(drop))
}

/// The command that removes all signatures.
pub(crate) fn unsigning(device: &Path) -> Command {
    Command::new(["wipefs".to_string(), "--all".into(), "--quiet".into(), device.display().to_string()])
}

/// Removes all signatures, and empties the places where custody looks for data: the next run finds the device empty.
pub(crate) fn wipe(device: &Path, journal: &Journal) -> Result<(), StagingError> {
    let found = BlockDevice::find(device).map_err(|error| StagingError::refused(device, error.to_string(), ""))?;
    for command in [unsigning(device), emptying(device, Some(&found))] {
        run_when_free(&command, journal).map_err(StagingError::command(format!("emptying {}", device.display())))?;
    }
    Ok(())
}
