//! What is done on a disk that Bakeoff serves itself, given at the command line.
//! In: words typed by a person. Out: [`PowercutArgs`], [`FaultsArgs`], parsed and not yet resolved.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

pub const POWERCUT_EXAMPLES: &str = "\
Examples:
  bakeoff powercut                             ext4, XFS and btrfs
  bakeoff powercut --fs ext4 --axis mount.data=ordered,writeback,journal
  bakeoff powercut --fs f2fs,jfs,nilfs2        in virtual machines if necessary
  bakeoff powercut --torn                      torn blocks, for 512-byte sectors
  bakeoff powercut --fs ext4,xfs --lying-disk  control: flushes ignored";

pub const FAULTS_EXAMPLES: &str = "\
Examples:
  bakeoff faults                        ext4, XFS and btrfs, all faults
  bakeoff faults --fs btrfs,zfs --fault bit-flips,bit-flips-metadata
  bakeoff faults --fs f2fs,jfs,nilfs2   in virtual machines if necessary
  bakeoff faults --axis stack=raid1 --kernel debian:6.12  one disk of a mirror
  bakeoff faults --fs ext4 --mkfs ext4='-O ^metadata_csum' --rounds 20";

/// Where possibly damaged filesystems are mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MountedIn {
    /// In a virtual machine, with this machine's kernel if its file is readable, else with the newest downloaded Debian kernel
    Guest,
    /// On this machine, by its running kernel
    Here,
}

/// Contenders on a served disk.
#[derive(Debug, Args)]
pub struct OnServedDisk {
    /// Filesystems or named option sets [default: ext4,xfs,btrfs]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub fs: Vec<String>,
    /// mkfs options of a filesystem, such as ext4="-O ^has_journal"
    #[arg(long, value_name = "FS=OPTIONS")]
    pub mkfs: Vec<String>,
    /// Mount options of a filesystem, such as ext4=commit=60
    #[arg(long, value_name = "FS=OPTIONS")]
    pub mount: Vec<String>,
    /// Axis, as for `run`: every contender with each value, such as mount.data=ordered,writeback,journal
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub axis: Vec<String>,
    /// Your own filesystem descriptions: TOML files, or folders of them
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    /// Where to mount possibly damaged filesystems, unless a contender names a kernel [default: guest if KVM works and a kernel for guests is installed or downloaded, else here]
    #[arg(long = "in", value_name = "PLACE")]
    pub place: Option<MountedIn>,
    /// Size of the disk, in memory
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub image: String,
    /// Seed for all random choices
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Also write a page: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a variant of a guarantee syncs later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LaterSync {
    /// Nothing.
    None,
    /// The file itself.
    File,
    /// Its folder.
    Folder,
    /// Another file of the folder.
    Other,
}

/// `bakeoff powercut`
#[derive(Debug, Args)]
pub struct PowercutArgs {
    #[command(flatten)]
    pub on: OnServedDisk,
    /// Kernels, as for `run`: each contender on each of them (debian:6.1, debian:newest, host); with --again, the kernel that mounts the image
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Number of states after a cut to mount and inspect, per contender
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub states: u32,
    /// Guarantees to test, by their names in docs/power-cut.md, or single variants, such as replace-unsynced+folder [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "command")]
    pub only: Vec<String>,
    /// Variants of each guarantee: what else is synced after its own steps; none takes about half the time
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = ["file", "folder", "other"], conflicts_with = "command")]
    pub later: Vec<LaterSync>,
    /// Duration of unsynced writes; must exceed the kernel's writeback delay to show the full loss
    #[arg(long, value_name = "TIME", default_value = "40s")]
    pub unsynced: String,
    /// Test your own program instead of the filesystem guarantees; each line it prints acknowledges something that must survive the cut
    #[arg(long, value_name = "COMMAND", requires = "check")]
    pub command: Option<String>,
    /// Command to check the program's folder after each cut; reads the lines printed before it, and exits with 0 if everything they acknowledge is there
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub check: Option<String>,
    /// Command to run before the program, in its folder
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub prepare: Option<String>,
    /// Save the simplest example of each broken guarantee in this folder: an image and its description
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Inspect a saved state again, from its description file: same mount options, same guarantee or program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fs", "axis", "mkfs", "mount", "command", "keep"])]
    pub again: Option<PathBuf>,
    /// Time limit for each of the program, its preparation and its check
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub time_limit: String,
    /// As a control, use a disk that acknowledges flushes but ignores them: every filesystem must fail
    #[arg(long)]
    pub lying_disk: bool,
    /// Tear one write within a 4 KiB block in every state; only disks with smaller sectors do that
    #[arg(long)]
    pub torn: bool,
}

/// `bakeoff faults`
#[derive(Debug, Args)]
pub struct FaultsArgs {
    #[command(flatten)]
    pub on: OnServedDisk,
    /// Kernels, as for `run`: each contender on each of them (debian:6.1, debian:newest, host)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// Faults to inject: bit-flips, bit-flips-metadata, read-errors, read-errors-metadata, write-errors, full-below, slow, hanging, dead, or none (the control) [default: all]
    #[arg(long = "fault", value_name = "LIST", value_delimiter = ',')]
    pub faults: Vec<String>,
    /// Repetitions of each randomized fault, each on a fresh filesystem
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
}

/// `bakeoff serve-disk`
#[derive(Debug, Args)]
pub struct ServeDiskArgs {
    /// Mount point of the served disk
    pub folder: PathBuf,
    /// Capacity of the served disk, in bytes
    pub room: u64,
    /// Disk model to follow, by its name or file
    #[arg(long)]
    pub model: Option<String>,
    /// Cost of the path to the disk and back, as JSON: each request is answered earlier by as much
    #[arg(long, requires = "model")]
    pub path_cost: Option<String>,
    /// Without a model, still answer from the thread that keeps a model's time, to measure the path
    #[arg(long, conflicts_with = "model")]
    pub on_models_way: bool,
    /// Mount namespace, as a file, to enter once the folder is mounted
    #[arg(long, value_name = "FILE")]
    pub goes_on_in: Option<PathBuf>,
}
