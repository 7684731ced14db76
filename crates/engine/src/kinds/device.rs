//! Work on blocks of the raw device, which is only ever read: one item a block.

use super::Kind;
use super::blocks::{check_blocks, move_blocks};
use crate::blocks::BlockWork;
use crate::cached::Visit;
use crate::check::Check;
use crate::sys::{self, Fd};
use crate::worker::Task;
use rustix::fs::OFlags;
use std::os::fd::AsRawFd;
use workload::program::{Group, Program, Step, any};

/// The blocks of the device's first `length` bytes.
pub struct Device {
    pub block: u64,
    pub length: u64,
}

impl Kind for Device {
    fn check(&self, program: &Program, group: &Group) -> Check {
        let Device { block, length } = *self;
        check_blocks(group, block)?;
        if program.device.is_none() {
            return Err("it works on a device, but the program names none".into());
        }
        if group.io.create || any(&group.steps, &|s| !matches!(s, Step::Read)) {
            return Err("a raw device can only be read".into());
        }
        if length < block {
            Err(format!("no block of {block} bytes fits in a length of {length} bytes"))
        } else {
            Ok(())
        }
    }

    fn expected(&self, program: &Program, group: &Group) -> Option<u64> {
        let all = group.count.unwrap_or((self.length / self.block).saturating_sub(group.first));
        Some(all / u64::from(program.clients()))
    }

    fn work(&self, task: &Task) -> Result<(), String> {
        move_blocks(task, BlockWork::of_device(task, self.block, self.length)?)
    }

    fn visit(&self, program: &Program, _: &Group, _: Fd, _: u64, visit: &mut Visit) -> Result<u64, String> {
        let Some(device) = &program.device else { return Ok(0) };
        let fd = sys::open_path(device, OFlags::RDONLY)?;
        visit(fd.as_raw_fd()).map(|()| 1).map_err(|e| format!("{}: {e}", device.display()))
    }
}
