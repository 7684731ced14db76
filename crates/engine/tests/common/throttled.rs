//! A device of known speed: compressed memory behind the kernel's block throttle.
//! In: limits. Out: a mounted filesystem on the limited device. Everything created here is removed again.
//! Needs root, zram and the blkio controller of cgroup v1; without them there is no device, and the test prints that.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A separate zram device with ext4 on it.
pub struct Throttled {
    number: u32,
    pub mount: tempfile::TempDir,
    mounted: bool,
}

/// What can be limited.
pub const KINDS: [&str; 4] = ["read_bps", "write_bps", "read_iops", "write_iops"];

fn limit_file(kind: &str) -> PathBuf {
    format!("/sys/fs/cgroup/blkio/blkio.throttle.{kind}_device").into()
}

fn run(program: &str, arguments: &[&str]) -> Option<()> {
    Command::new(program).args(arguments).output().ok()?.status.success().then_some(())
}

impl Throttled {
    /// A device of this many MiB; None, with a message, if the machine does not support it.
    pub fn new(mebibytes: u64) -> Option<Throttled> {
        let made = Throttled::make(mebibytes);
        if made.is_none() {
            let why = "a throttled device needs root, zram, mkfs.ext4 and the blkio controller of cgroup v1";
            prerequisites::leave_out("throttled_device", why);
        }
        made
    }

    fn make(mebibytes: u64) -> Option<Throttled> {
        if !Path::new(&limit_file("read_bps")).exists() {
            return None;
        }
        let number = std::fs::read_to_string("/sys/class/zram-control/hot_add").ok()?.trim().parse().ok()?;
        let mut device = Throttled { number, mount: tempfile::tempdir().ok()?, mounted: false };
        let disk = |name: &str| format!("/sys/block/zram{number}/{name}");
        // The fastest algorithm; incompressible data is stored as it is.
        let _ = std::fs::write(disk("comp_algorithm"), "lzo-rle");
        std::fs::write(disk("disksize"), format!("{mebibytes}M")).ok()?;
        let node = device.node();
        let quiet = "lazy_itable_init=0,lazy_journal_init=0";
        run("mkfs.ext4", &["-q", "-E", quiet, node.to_str()?])?;
        // Without these options file times would be written to the journal from time to time, which the throttle counts like other operations.
        run("mount", &["-o", "lazytime,noatime", node.to_str()?, device.mount.path().to_str()?])?;
        device.mounted = true;
        Some(device)
    }

    pub fn node(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
    }

    /// Limits the device for everything that reaches it, including write-back; 0 removes the limit.
    pub fn limit(&self, kind: &str, per_second: u64) {
        let text = std::fs::read_to_string(format!("/sys/block/zram{}/dev", self.number)).unwrap();
        std::fs::write(limit_file(kind), format!("{} {per_second}", text.trim())).unwrap();
    }

    pub fn lift(&self) {
        KINDS.iter().for_each(|kind| self.limit(kind, 0));
    }
}

impl Drop for Throttled {
    fn drop(&mut self) {
        if self.mounted {
            self.lift();
            let _ = Command::new("umount").arg(self.mount.path()).status();
        }
        let _ = std::fs::write(format!("/sys/block/zram{}/reset", self.number), "1");
        let _ = std::fs::write("/sys/class/zram-control/hot_remove", self.number.to_string());
    }
}
