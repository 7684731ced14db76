//! The table of faults.
//! In: a name. Out: what happens to the disk, and when.

use crate::stamps::MAGIC;
use disk::{Among, Chosen, Fault};
use std::time::Duration;

/// Damaged blocks of files' data, and of the filesystem's metadata: few, so that most of it is still reachable.
const DATA_BLOCKS: usize = 64;
const METADATA_BLOCKS: usize = 8;
/// One write in this many fails.
const ONE_IN: u32 = 10;
/// Capacity of a disk that is smaller than it reports, in bytes.
const ROOM: u64 = 4 << 20;
/// Additional time of requests on a slow disk.
const SLOWER: Duration = Duration::from_millis(100);
/// How long a hanging disk does not answer.
const HANGS: Duration = Duration::from_secs(10);

/// A fault with a name.
#[derive(Debug, Clone, Copy)]
pub struct KnownFault {
    /// Words with hyphens.
    pub name: &'static str,
    /// The fault, as a sentence without an end.
    pub title: &'static str,
    pub(crate) act: Act,
}

/// What happens, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Nothing.
    Nothing,
    /// Bits are flipped while it is unmounted.
    Flip(Blocks),
    /// Blocks are unreadable from before mounting.
    Unreadable(Blocks),
    /// A fault while it is mounted.
    AtWork(fn(u64) -> Fault),
}

/// Damaged blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    Data,
    Metadata,
}

impl Blocks {
    pub fn chosen(self, seed: u64) -> Chosen {
        let (among, blocks) = match self {
            Blocks::Data => (Among::Data(MAGIC.into()), DATA_BLOCKS),
            Blocks::Metadata => (Among::Metadata(MAGIC.into()), METADATA_BLOCKS),
        };
        Chosen { among, blocks, seed }
    }
}

impl KnownFault {
    /// Whether the effect depends on the seed.
    pub fn is_random(&self) -> bool {
        match self.act {
            Act::Flip(_) | Act::Unreadable(_) => true,
            Act::AtWork(fault) => matches!(fault(0), Fault::FailingWrites { .. }),
            Act::Nothing => false,
        }
    }

    /// Whether the damage remains on the repaired disk: no disk repairs a flipped bit.
    pub fn stays(&self) -> bool {
        matches!(self.act, Act::Flip(_))
    }
}

/// All faults, in the order of tables.
pub const FAULTS: [KnownFault; 10] = [
    KnownFault { name: "none", title: "no fault: the control", act: Act::Nothing },
    KnownFault {
        name: "bit-flips",
        title: "one bit is flipped in each of 64 data blocks of files",
        act: Act::Flip(Blocks::Data),
    },
    KnownFault {
        name: "bit-flips-metadata",
        title: "one bit is flipped in each of 8 metadata blocks",
        act: Act::Flip(Blocks::Metadata),
    },
    KnownFault {
        name: "read-errors",
        title: "64 data blocks of files cannot be read",
        act: Act::Unreadable(Blocks::Data),
    },
    KnownFault {
        name: "read-errors-metadata",
        title: "8 metadata blocks cannot be read",
        act: Act::Unreadable(Blocks::Metadata),
    },
    KnownFault {
        name: "write-errors",
        title: "one write in ten fails",
        act: Act::AtWork(|seed| Fault::FailingWrites { one_in: ONE_IN, seed }),
    },
    KnownFault {
        name: "full-below",
        title: "the disk is smaller than it reports: after 4 MiB more it rejects writes to new blocks",
        act: Act::AtWork(|_| Fault::Full { room: ROOM }),
    },
    KnownFault {
        name: "slow",
        title: "every request takes 100 ms longer",
        act: Act::AtWork(|_| Fault::Slow { by: SLOWER }),
    },
    KnownFault {
        name: "hanging",
        title: "the disk answers no request for 10 s, then all of them",
        act: Act::AtWork(|_| Fault::Hanging { lasts: HANGS }),
    },
    KnownFault {
        name: "dead",
        title: "every request fails until the disk is reconnected",
        act: Act::AtWork(|_| Fault::Dead),
    },
];

/// The fault of this name.
pub fn known(name: &str) -> Option<&'static KnownFault> {
    FAULTS.iter().find(|fault| fault.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_in_the_document_with_its_title() {
        let document = include_str!("../../../../docs/faults.md");
        for fault in FAULTS {
            let line = format!("| `{}` | {} |", fault.name, fault.title);
            assert!(document.contains(&line), "docs/faults.md lacks: {line}");
        }
    }

    #[test]
    fn titles_say_the_numbers_that_are_used() {
        let says = |name: &str, number: String| known(name).is_some_and(|one| one.title.contains(&number));
        assert!(says("bit-flips", DATA_BLOCKS.to_string()) && says("read-errors", DATA_BLOCKS.to_string()));
        assert!(says("bit-flips-metadata", METADATA_BLOCKS.to_string()));
        assert!(
            says("full-below", format!("{} MiB", ROOM >> 20)) && says("slow", format!("{} ms", SLOWER.as_millis()))
        );
        assert!(says("hanging", format!("{} s", HANGS.as_secs())) && ONE_IN == 10);
    }
}
