//! What `run` and `plan` take alike: the work, who competes, where, and how often.
//! In: words typed by a person. Out: [`What`], parsed and not yet resolved.

use super::Own;
use clap::{Args, ValueEnum};
use records::ColdWay;
use std::path::PathBuf;
use strum::IntoStaticStr;

/// What is to be run, where, and how often.
#[derive(Debug, Clone, Default, Args)]
pub struct What {
    /// Plans or workloads: names that `bakeoff workloads` lists, or TOML files [default: the plan `quick`]
    #[arg(value_name = "PLAN|WORKLOAD")]
    pub names: Vec<String>,

    /// Where it runs: a sparse image of this size for each contender, through a loop device with direct I/O [default: as
    /// large as the work needs]
    #[arg(long, value_name = "SIZE", help_heading = "Where", conflicts_with_all = ["on", "dir"])]
    pub image: Option<String>,
    /// Folder for the images; `memory` has them in memory (tmpfs), where no disk's moods stand between you and what each
    /// contender costs the CPU [default: /var/tmp]
    #[arg(long, value_name = "FOLDER", help_heading = "Where")]
    pub scratch: Option<PathBuf>,
    /// A block device or partition, by any name; formatted again and again
    #[arg(long, value_name = "DEVICE", help_heading = "Where", conflicts_with = "dir")]
    pub on: Option<PathBuf>,
    /// Allow erasing a device that is not empty, or whose neighbours are in use, by a name that stays with it: serial number,
    /// by-id name, PARTUUID of a partition, or the path of a loop device's file; once for each device, those that mkfs options
    /// name (an external journal) among them
    #[arg(long, value_name = "NAME", help_heading = "Where")]
    pub erase: Vec<String>,
    /// A directory on whatever is mounted there; nothing is formatted; several are compared with each other
    #[arg(long, value_name = "DIR", help_heading = "Where")]
    pub dir: Vec<PathBuf>,

    /// Contenders: filesystems or named option sets, either with +SCHEDULER [default: those of ext4, XFS, btrfs, F2FS, bcachefs and OpenZFS that can compete here]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub fs: Vec<String>,
    /// Shared filesystems as contenders, each set up with its servers on this machine, in network namespaces of their own; what
    /// they store lies on the image or the device. `all`, or names that `bakeoff systems` lists (docs/shared.md). Mounts that
    /// are there already are compared with --dir
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders", conflicts_with = "dir")]
    pub shared: Vec<String>,
    /// Descriptions of filesystems of your own: TOML files, or folders of them. Their commands run as root, whoever wrote
    /// them; those beside a plan and in the configuration folder are loaded by themselves where nobody but you can write
    #[arg(long, value_name = "PATH", help_heading = "Contenders")]
    pub filesystems: Vec<PathBuf>,
    /// I/O schedulers; each contender runs with each of them
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub scheduler: Vec<String>,
    /// Kernels; each contender runs on each of them: host, a series of Debian's (debian:6.1, debian:6.12 and others that
    /// `bakeoff systems --kernels` lists), debian:newest, or a kernel by its path. All but host run in a virtual machine (QEMU), and
    /// are ranked apart from what runs on the host [default: host, and for a filesystem that this kernel lacks, one that has it]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub kernel: Vec<String>,
    /// Ranks by the processor's instructions for each operation instead of by time: each contender runs in an emulated machine (name a
    /// kernel) whose clock goes by them, so that other work beside it does not matter
    #[arg(long, help_heading = "Contenders")]
    pub count_instructions: bool,
    /// Disks that you do not have: hdd-7200, ssd-sata, nvme-qlc and others, or a description of your own (PATH.toml); each contender
    /// runs on each of them, served from memory. Figures are a model's and say so (docs/disks.md)
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Where", conflicts_with_all = ["on", "dir"])]
    pub disk: Vec<String>,
    /// Ages: fresh, used (filled and left), old (filled and churned), or a profile of your own; each contender runs with each
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub age: Vec<String>,
    /// Shares of the volume that are filled before the work, such as 0,40%,80%; without --age, as `used`
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub fill: Vec<String>,
    /// Room for images of aged filesystems, which are made once and restored for each trial; the one used longest ago goes
    /// first [default: 64G]
    #[arg(long, value_name = "SIZE", help_heading = "Where")]
    pub aged_cache: Option<String>,
    /// An axis: every contender whose filesystem knows it runs with each value, such as mkfs.rmapbt=0,1, mount.commit=5,60,
    /// device.read_ahead=128k,4M, device.write_cache=on,off or limit.memory=512M,2G (page cache and all); `default` leaves a
    /// setting as it is
    #[arg(long, value_name = "NAME=VALUE,...", help_heading = "Contenders")]
    pub axis: Vec<String>,
    /// Memory that the work has, page cache and all, such as 1G: as if every contender ran on a machine that small
    #[arg(long, value_name = "SIZE", help_heading = "Contenders")]
    pub memory: Option<String>,
    /// A combination of axes that is left out, such as mkfs.rmapbt=0,scheduler=bfq
    #[arg(long, value_name = "AXIS=VALUE,...", help_heading = "Contenders")]
    pub exclude: Vec<String>,
    /// mkfs options of a filesystem, such as ext4="-m 1 -O ^has_journal"
    #[arg(long, value_name = "FS=OPTIONS", help_heading = "Contenders")]
    pub mkfs: Vec<String>,
    /// Mount options of a filesystem, such as xfs=logbsize=256k,noatime
    #[arg(long, value_name = "FS=OPTIONS", help_heading = "Contenders")]
    pub mount: Vec<String>,

    /// Size of the work: the published one, or one that keeps its character in seconds
    #[arg(long, value_enum, help_heading = "Work")]
    pub scale: Option<Scale>,
    /// An option of a workload, such as processes=4 or bonnie.size=1GiB; `bakeoff workloads NAME` lists them. Several values
    /// (processes=1,2,4) run the workload once with each
    #[arg(long, value_name = "[WORKLOAD.]KEY=VALUE", help_heading = "Work")]
    pub set: Vec<String>,

    /// How many clients do the work side by side, each with the workers that the workload says; several numbers (1,2,4,8) run the
    /// workload once with each. Clients are MPI's ranks: mpirun -np 8 bakeoff ranks WORKLOAD --dir DIR
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Work")]
    pub clients: Vec<u32>,

    /// Blocks: how often every contender is formatted, mounted and measured
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "How often")]
    pub samples: Option<u32>,
    /// Time to spend, such as 10m or 2h; blocks are begun as long as they fit
    #[arg(long, value_name = "TIME", help_heading = "How often")]
    pub budget: Option<String>,
    /// Go on until each figure's 95 % interval is within this share of it (with --budget, or 30 blocks, as the limit)
    #[arg(long, value_name = "PERCENT", help_heading = "How often")]
    pub precision: Option<String>,
    /// When the answer is good enough
    #[arg(long, value_enum, help_heading = "How often")]
    pub until: Option<Until>,
    /// Repeat block work until it is steady, for SSDs: five rounds within 20 % and without a trend, 25 at most
    #[arg(long, help_heading = "How often")]
    pub steady: bool,
    /// How phases start cold: by mounting the filesystem anew, or by dropping all caches of the machine, as the published
    /// tests did; directories, guests and ZFS always drop [default: remount]
    #[arg(long, value_enum, help_heading = "How often")]
    pub cold: Option<Cold>,
    /// What contenders take turns with: slices of a phase, with all contenders on images of their own that are mounted at the same
    /// time, so that a disk whose speed changes is the same disk for all; or whole trials, which is also what is done where
    /// contenders must share a place [default: slice]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "How often")]
    pub turns: Option<Turns>,
    /// Seed of order and content; a run with the same seed does the same work in the same order
    #[arg(long, value_name = "N", help_heading = "How often")]
    pub seed: Option<u64>,
    /// Test as many published claims as this machine can: their contenders through the workloads that they speak of
    /// (--fs and workload names narrow them); =FILE: claims of your own
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "published", help_heading = "Work")]
    pub claims: Option<PathBuf>,

    /// One part of the plan: every N-th block, from the I-th, for machine I of N like ones; needs --samples and --seed, the
    /// same for all. `bakeoff import` puts their ledgers together
    #[arg(long, value_name = "I/N", help_heading = "How often", conflicts_with_all = ["budget", "precision", "until"])]
    pub shard: Option<runner::Shard>,

    /// Leave out the hidden second entry of one contender, from which the noise floor is measured
    #[arg(long, help_heading = "How often")]
    pub no_twin: bool,

    #[command(flatten)]
    pub own: Own,
}

/// Scales of a workload, by their names in workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Scale {
    /// Keeps the character in seconds
    Quick,
    /// The published sizes
    Full,
}

/// How phases start cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cold {
    /// Unmount, forget the device's pages, mount again
    Remount,
    /// Drop all caches of the machine
    Drop,
}

impl Cold {
    /// The way as plans keep it.
    pub fn way(self) -> ColdWay {
        match self {
            Self::Remount => ColdWay::Remount,
            Self::Drop => ColdWay::Drop,
        }
    }
}

/// What contenders take turns with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Turns {
    /// One contender from its first phase to its last, then the next
    Trial,
    /// A slice of a phase on all contenders, then the next slice
    Slice,
}

impl Turns {
    /// As plans keep it.
    pub fn kept(self) -> records::Turns {
        match self {
            Self::Trial => records::Turns::Trial,
            Self::Slice => records::Turns::Slice,
        }
    }
}

/// When sampling may stop before its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// Every figure is as precise as asked
    Precision,
    /// The winner is certain; contenders that can no longer win are left out
    Winner,
}
