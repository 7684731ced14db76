//! Work on blocks of the raw device, which is only ever read: one item a block.

use super::Kind;
use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{Group, Order, Step};
use crate::simulate::{Work, World};
use crate::steps::{not_by_readdir, only};

/// The blocks of the device's first `length` bytes.
pub(crate) struct Device {
    pub block: u64,
    pub length: u64,
}

impl Kind for Device {
    fn check(&self, group: &Group) -> Outcome<()> {
        not_by_readdir(group, "the raw device")?;
        only(&group.steps, "the raw device, which is only read", &|step| matches!(step, Step::Read))?;
        if !self.block.is_multiple_of(512) {
            return Err(Problem::new(format!("blocks of {} bytes on a device", self.block))
                .help("use a multiple of 512 bytes, preferably of 4 KiB"));
        }
        Ok(())
    }

    fn simulate(&self, _world: &mut World, group: &Group) -> Outcome<Work> {
        let Device { block, length } = *self;
        let blocks = length / block;
        if group.first >= blocks {
            return Err(Problem::new("its first block is beyond the part of the device that it reads"));
        }
        let items = group.count.unwrap_or(blocks - group.first);
        if group.order != Order::Random && group.first.saturating_add(items) > blocks {
            return Err(Problem::new(format!("it reads {items} blocks of a part of the device that has {blocks}")));
        }
        Ok(Work { items, bytes_read: items.saturating_mul(block), ..Work::default() })
    }
}
