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
    /// Names from `bakeoff workloads`, or files [default: quick].
    ///
    /// Files are plans and workloads (TOML), fio jobs and traces.
    #[arg(value_name = "PLAN|WORKLOAD")]
    pub names: Vec<String>,

    /// Image size of each contender [default: as needed].
    ///
    /// By default contenders run on images: sparse files behind loop devices with direct I/O.
    #[arg(long, value_name = "SIZE", help_heading = "Places", conflicts_with_all = ["on", "dir"])]
    pub image: Option<String>,
    /// Folder for images, or `memory` [default: /var/tmp].
    ///
    /// `memory` keeps them in memory (tmpfs), to measure CPU cost without disk noise.
    #[arg(long, value_name = "FOLDER", help_heading = "Places")]
    pub scratch: Option<PathBuf>,
    /// Block device or partition, formatted repeatedly
    #[arg(long, value_name = "DEVICE", help_heading = "Places", conflicts_with = "dir")]
    pub on: Option<PathBuf>,
    /// Give each contender its own part of the device.
    ///
    /// With --on, the device is split into as many equal parts as there are contenders. All are mounted at the same time and take turns by slices, as images do, which is far less noisy than whole trials. Contenders change parts from round to round, since the outer tracks of a hard disk are faster. The parts are partitions that only the kernel knows of; the filesystems on them are smaller than on the whole device, so compare only runs with the same split.
    #[arg(long, help_heading = "Places", conflicts_with_all = ["image", "dir", "disk"])]
    pub split: bool,
    /// Allow erasing this device (serial number, by-id name).
    ///
    /// Needed for a device that is not empty, or that shares a disk with partitions in use. Stable names are a serial number, by-id name, PARTUUID of a partition, or path of a loop device's file. Repeat it for each device, including those in mkfs options (an external journal).
    #[arg(long, value_name = "NAME", help_heading = "Places")]
    pub erase: Vec<String>,
    /// Directory to run in; nothing is formatted.
    ///
    /// It is tested with the filesystem that is mounted there. Several directories are compared with each other.
    #[arg(long, value_name = "DIR", help_heading = "Places")]
    pub dir: Vec<PathBuf>,

    /// Filesystems or option sets, such as ext4,xfs,btrfs.
    ///
    /// Each name can have a +SCHEDULER. [default: those of ext4, XFS, btrfs, F2FS, bcachefs and OpenZFS that can compete here]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub fs: Vec<String>,
    /// Shared (network) filesystems, each set up with its servers on this machine, in network namespaces; their data is on the image or the device. `all`, or names from `bakeoff systems` (docs/shared.md). To compare existing mounts, use --dir
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        help_heading = "Contenders",
        conflicts_with = "dir",
        hide_short_help = true
    )]
    pub shared: Vec<String>,
    /// Your own filesystem descriptions: TOML files, or folders of them. Their commands run as root. Descriptions next to a plan or in the configuration folder load automatically if only you can write there
    #[arg(long, value_name = "PATH", help_heading = "Contenders", hide_short_help = true)]
    pub filesystems: Vec<PathBuf>,
    /// I/O schedulers; each contender runs with each
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub scheduler: Vec<String>,
    /// Kernels; each contender runs on each: host, a Debian series (debian:6.1, debian:6.12 and others from `bakeoff systems --kernels`), debian:newest, or the path of a kernel. All but host run in a virtual machine (QEMU), and are ranked apart from the host [default: host; for a filesystem that this kernel lacks, one that has it]
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Guests", hide_short_help = true)]
    pub kernel: Vec<String>,
    /// Rank by CPU instructions per operation instead of by time: each contender runs in an emulated machine (requires --kernel) whose clock counts instructions, so other load has no effect
    #[arg(long, help_heading = "Guests", hide_short_help = true)]
    pub count_instructions: bool,
    /// Modelled disks: hdd-7200, ssd-sata, nvme-qlc ...
    ///
    /// They are simulated in memory, and each contender runs on each. Your own description is a file (PATH.toml). Results are labelled as modelled (docs/disks.md).
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Places", conflicts_with_all = ["on", "dir"])]
    pub disk: Vec<String>,
    /// Ages of each contender: fresh, used, old.
    ///
    /// `used`: filled once; `old`: filled, then churned; or name your own profile (docs/age.md).
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub age: Vec<String>,
    /// Fill before the work, such as 0,40%,80%.
    ///
    /// Shares of the volume; without --age, filled as `used`.
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Contenders")]
    pub fill: Vec<String>,
    /// Size limit for cached images of aged filesystems, which are restored for each trial; the least recently used is removed first [default: 64G]
    #[arg(long, value_name = "SIZE", help_heading = "Places", hide_short_help = true)]
    pub aged_cache: Option<String>,
    /// Try each value of an option (mount.noatime=on,off).
    ///
    /// Other axes: mkfs.rmapbt=0,1, mount.commit=5,60, device.read_ahead=128k,4M, device.write_cache=on,off, limit.memory=512M,2G (page cache included), stack=none,luks,raid1+lvm (layers below the filesystem; needs --kernel). The value `default` leaves a setting unchanged. Contenders whose filesystem does not know the axis run once, without it.
    #[arg(long, value_name = "AXIS=VALUES", help_heading = "Contenders")]
    pub axis: Vec<String>,
    /// Memory for the work, such as 1G.
    ///
    /// The limit includes the page cache, as on a machine with this much memory.
    #[arg(long, value_name = "SIZE", help_heading = "Contenders")]
    pub memory: Option<String>,
    /// Combination of axes to leave out, such as mkfs.rmapbt=0,scheduler=bfq
    #[arg(long, value_name = "AXIS=VALUE,...", help_heading = "Contenders", hide_short_help = true)]
    pub exclude: Vec<String>,
    /// mkfs options, such as ext4="-m 1 -O ^has_journal"
    ///
    /// Given again for the same filesystem, it adds a contender with that set.
    #[arg(long, value_name = "FS=OPTIONS", help_heading = "Contenders")]
    pub mkfs: Vec<String>,
    /// Mount options, such as xfs=logbsize=256k,noatime
    ///
    /// Given again for the same filesystem, it adds a contender with that set.
    #[arg(long, value_name = "FS=OPTIONS", help_heading = "Contenders")]
    pub mount: Vec<String>,

    /// Size of the work
    #[arg(long, value_enum, help_heading = "Work")]
    pub scale: Option<Scale>,
    /// Workload option, such as processes=4 or processes=1,2,4.
    ///
    /// Several values run the workload once with each. WORKLOAD.KEY=VALUE sets it for one workload, as bonnie.size=1GiB. `bakeoff workloads NAME` lists the options.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Work")]
    pub set: Vec<String>,

    /// Number of concurrent clients, each with the workload's own number of workers; several numbers (1,2,4,8) run the workload once with each. Clients are MPI ranks: mpirun -np 8 bakeoff ranks WORKLOAD --dir DIR
    #[arg(long, value_name = "LIST", value_delimiter = ',', help_heading = "Work", hide_short_help = true)]
    pub clients: Vec<u32>,

    /// Number of rounds.
    ///
    /// In each round every contender is freshly formatted, mounted and measured once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Rounds")]
    pub samples: Option<u32>,
    /// Time limit, such as 10m or 2h.
    ///
    /// A round starts only if it fits.
    #[arg(long, value_name = "TIME", help_heading = "Rounds")]
    pub budget: Option<String>,
    /// Repeat until figures are this precise, such as 5%.
    ///
    /// The 95 % interval of each figure must be within this share of it. The limit is --budget, or 30 rounds.
    #[arg(long, value_name = "PERCENT", help_heading = "Rounds")]
    pub precision: Option<String>,
    /// When to stop: when figures are precise, or when the winner is certain
    #[arg(long, value_enum, help_heading = "Rounds", hide_short_help = true)]
    pub until: Option<Until>,
    /// Repeat block I/O until steady state (for SSDs): five passes within 20 % and without a trend; 25 passes at most
    #[arg(long, help_heading = "Rounds", hide_short_help = true)]
    pub steady: bool,
    /// How phases start cold: remount the filesystem, or drop all caches of the machine, as the published tests did; directories, guests and ZFS always use drop [default: remount]
    #[arg(long, value_enum, help_heading = "Rounds", hide_short_help = true)]
    pub cold: Option<Cold>,
    /// How contenders alternate: after each slice (about 150 ms) of a phase, so changes in disk speed affect all alike, or after whole trials; contenders that share a place always alternate by trials [default: slice]
    #[arg(long, value_enum, value_name = "WHAT", help_heading = "Rounds", hide_short_help = true)]
    pub turns: Option<Turns>,
    /// Seed for order and content; the same seed gives the same work in the same order
    #[arg(long, value_name = "N", help_heading = "Rounds", hide_short_help = true)]
    pub seed: Option<u64>,
    /// Test as many published claims as this machine can, with their contenders and workloads (--fs and workload names narrow them); =FILE: your own claims
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "published", help_heading = "Work", hide_short_help = true)]
    pub claims: Option<PathBuf>,

    /// Run only every N-th round, from the I-th on, for machine I of N equal machines; needs --samples and --seed, the same on all. `bakeoff import` merges their databases
    #[arg(long, value_name = "I/N", help_heading = "Rounds", conflicts_with_all = ["budget", "precision", "until"], hide_short_help = true)]
    pub shard: Option<runner::Shard>,

    /// Leave out the control: one contender entered twice, to measure the noise floor
    #[arg(long, help_heading = "Rounds", hide_short_help = true)]
    pub no_twin: bool,

    #[command(flatten)]
    pub own: Own,

    /// Contenders that a verb has chosen itself, in place of those of names and plans
    #[arg(skip)]
    pub contenders: Vec<records::Contender>,
}

/// Scales of a workload, by their names in workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Scale {
    /// Small sizes with the same access pattern; takes seconds
    Quick,
    /// Smaller still, for emulated processors
    Guest,
    /// Published sizes
    Full,
}

/// How phases start cold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Cold {
    /// Unmount, drop the device's pages, mount again
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
    /// As slices, but every second contender takes all slices of a phase at once (scripts/slices)
    #[value(hide = true)]
    Mixed,
}

impl Turns {
    /// As plans keep it.
    pub fn kept(self) -> records::Turns {
        match self {
            Self::Trial => records::Turns::Trial,
            Self::Slice => records::Turns::Slice,
            Self::Mixed => records::Turns::Mixed,
        }
    }
}

/// When sampling may stop before its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// Every figure is as precise as requested
    Precision,
    /// The winner is certain; contenders that can no longer win drop out
    Winner,
}
