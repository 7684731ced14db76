//! The environment of filesystem tools: the folders they are searched in, and the variables withheld from them.
//! In: this process's own environment. Out: what is passed on, and remarks about the rest, for the evidence.
//! As root, a tool that another user can replace would run as root; and a variable such as MKE2FS_CONFIG changes what mkfs.ext4 creates.

use crate::trust::{Untrusted, owned_path};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Folders searched for programs besides `PATH`: filesystem tools are in sbin, which a user's path lacks.
const SYSTEM_FOLDERS: [&str; 4] = ["/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin"];

/// Name prefixes of variables that change what tools of filesystems and devices do.
const STEERING: [&str; 26] = [
    "BCACHEFS_",
    "BLKID_",
    "BTRFS_",
    "DEBUGFS_",
    "DM_",
    "E2FSCK_",
    "E2FSPROGS_",
    "E2IMAGE_",
    "EXT2FS_",
    "F2FS_",
    "FSCK_",
    "FSTAB_FILE",
    "LIBBLKID_",
    "LIBMOUNT_",
    "LIBSMARTCOLS_",
    "LOCK_BLOCK_DEVICE",
    "LOOPDEV_",
    "LVM_",
    "MKE2FS_",
    "MOUNT_",
    "RESIZE2FS_",
    "SOURCE_DATE_EPOCH",
    "TUNE2FS_",
    "XFS_",
    "ZFS_",
    "ZPOOL_",
];

/// Variables that load code into every program, this one included; for this one it is too late to remove them.
const LOADED: [&str; 2] = ["LD_PRELOAD", "LD_AUDIT"];

/// The part of this process's environment that tools get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolEnvironment {
    /// Folders searched for tools, in order.
    folders: Vec<PathBuf>,
    /// Variables that are removed.
    withheld: Vec<OsString>,
    /// What is not passed on, and why.
    remarks: Vec<String>,
    /// Whether a program must be one that only root can replace.
    is_strict: bool,
}

/// The environment of this process at the first call.
pub fn here() -> &'static ToolEnvironment {
    static HERE: OnceLock<ToolEnvironment> = OnceLock::new();
    HERE.get_or_init(|| {
        // In a user namespace without a mapping of root even / belongs to another user, so owners prove nothing.
        let is_strict = crate::process::is_root() && owned_path(Path::new("/")).is_ok();
        let names = std::env::vars_os().map(|(name, _)| name);
        ToolEnvironment::of(&std::env::var_os("PATH").unwrap_or_default(), names, is_strict)
    })
}

impl ToolEnvironment {
    fn of(path: &OsStr, names: impl Iterator<Item = OsString>, is_strict: bool) -> ToolEnvironment {
        let mut found = ToolEnvironment { is_strict, ..ToolEnvironment::default() };
        for folder in std::env::split_paths(path) {
            match if is_strict { owned_path(&folder) } else { Ok(()) } {
                Err(untrusted) if folder.exists() => found.remarks.push(left_out(&folder, &untrusted)),
                _ => found.folders.push(folder),
            }
        }
        for name in names {
            let text = name.to_string_lossy();
            if STEERING.iter().any(|start| text.starts_with(start)) {
                found.remarks.push(format!(
                    "{text} is set in the environment; bakeoff does not pass it to the filesystem's tools"
                ));
                found.withheld.push(name);
            } else if LOADED.contains(&&*text) {
                found.remarks.push(format!("{text} is set in the environment: it affects every program"));
            }
        }
        found
    }

    /// What is withheld from tools, or changes all programs, as sentences for the evidence; usually empty.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Finds a program; None if no folder has it.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        let runs = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file();
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(runs);
        }
        let system = SYSTEM_FOLDERS.iter().map(PathBuf::from);
        let files = self.folders.iter().cloned().chain(system).map(|folder| folder.join(name));
        files.filter(runs).find(|file| !self.is_strict || owned_path(file).is_ok())
    }

    /// Gives a command this environment.
    pub(crate) fn apply(&self, command: &mut std::process::Command) {
        if self.is_strict {
            let folders = self.folders.iter().cloned().chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
            // A name with a colon cannot have come from PATH.
            command.env("PATH", std::env::join_paths(folders).unwrap_or_default());
        }
        for name in &self.withheld {
            command.env_remove(name);
        }
    }
}

fn left_out(folder: &Path, untrusted: &Untrusted) -> String {
    format!("{} of PATH is not searched for tools, since {untrusted}", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(folder: &Path, name: &str, mode: u32) -> PathBuf {
        let file = folder.join(name);
        std::fs::write(&file, "#!/bin/sh\n").expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("ours");
        file
    }

    #[test]
    fn a_program_that_another_user_can_exchange_is_not_found() {
        let place = tempfile::tempdir().expect("a folder");
        let [open, own] = ["open", "own"].map(|name| place.path().join(name));
        for (folder, mode) in [(&open, 0o777), (&own, 0o755)] {
            std::fs::create_dir(folder).expect("made");
            std::fs::set_permissions(folder, std::fs::Permissions::from_mode(mode)).expect("ours");
        }
        let planted = program(&open, "mkfs.mine", 0o755);
        let path = std::env::join_paths([&open, &own]).expect("joined");
        let strict = ToolEnvironment::of(&path, std::iter::empty(), true);
        assert_eq!(strict.find("mkfs.mine"), None);
        assert!(strict.remarks().concat().contains("open of PATH is not searched for tools"), "{strict:?}");
        assert_eq!(ToolEnvironment::of(&path, std::iter::empty(), false).find("mkfs.mine"), Some(planted));
        let good = program(&own, "mkfs.mine", 0o755);
        assert_eq!(strict.find("mkfs.mine"), Some(good));
        program(&own, "mkfs.mine", 0o777);
        assert_eq!(strict.find("mkfs.mine"), None, "the file itself can be written by everybody");
        let mut command = std::process::Command::new("true");
        strict.apply(&mut command);
        let passed = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
        let passed = passed.expect("a PATH").to_string_lossy().into_owned();
        assert!(!passed.contains("/open") && passed.contains("/own:"), "{passed}");
    }

    #[test]
    fn variables_that_steer_tools_are_withheld_and_named() {
        let names = ["MKE2FS_CONFIG", "LIBMOUNT_FSTAB", "LD_PRELOAD", "HOME"].map(OsString::from);
        let found = ToolEnvironment::of(OsStr::new("/usr/bin"), names.into_iter(), false);
        assert_eq!(found.withheld, ["MKE2FS_CONFIG", "LIBMOUNT_FSTAB"]);
        assert_eq!(found.remarks().len(), 3, "{found:?}");
        let mut command = std::process::Command::new("true");
        found.apply(&mut command);
        let gone: Vec<_> = command.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        assert_eq!(gone, ["LIBMOUNT_FSTAB", "MKE2FS_CONFIG"]);
    }
}
