//! What is done on a disk that Bakeoff serves itself, given at the command line.
//! In: words typed by a person. Out: [`PowercutArgs`], [`FaultsArgs`], parsed and not yet resolved.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

pub const POWERCUT_EXAMPLES: &str = "\
Examples:
  bakeoff powercut                                    ext4, XFS and btrfs
  bakeoff powercut --fs ext4 --axis mount.data=ordered,writeback,journal
  bakeoff powercut --fs f2fs,jfs,nilfs2               in virtual machines, whose kernels have them
  bakeoff powercut --torn                             with blocks written in part, as disks with sectors of 512 bytes leave them
  bakeoff powercut --fs ext4,xfs --lying-disk         the control: a disk that swallows flushes, where all must break";

pub const FAULTS_EXAMPLES: &str = "\
Examples:
  bakeoff faults                                      ext4, XFS and btrfs, all faults
  bakeoff faults --fs btrfs,zfs --fault bit-flips,bit-flips-metadata
  bakeoff faults --fs f2fs,jfs,nilfs2                 in virtual machines, whose kernels have them
  bakeoff faults --fs ext4 --mkfs ext4='-O ^metadata_csum' --fault bit-flips-metadata --rounds 20";

/// Where what may be broken is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MountedIn {
    /// In a virtual machine: of this machine's own kernel where its file can be read, else of the newest of Debian's that is here
    Guest,
    /// By this machine's own kernel
    Here,
}

/// Contenders on a served disk.
#[derive(Debug, Args)]
pub struct OnServedDisk {
    /// Contenders: filesystems or named option sets [default: ext4,xfs,btrfs]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub fs: Vec<String>,
    /// mkfs options of a filesystem, such as ext4="-O ^has_journal"
    #[arg(long, value_name = "FS=OPTIONS")]
    pub mkfs: Vec<String>,
    /// Mount options of a filesystem, such as ext4=commit=60
    #[arg(long, value_name = "FS=OPTIONS")]
    pub mount: Vec<String>,
    /// An axis, as of `run`: every contender with each value, such as mount.data=ordered,writeback,journal
    #[arg(long, value_name = "NAME=VALUE,...")]
    pub axis: Vec<String>,
    /// Descriptions of filesystems of your own, too: TOML files, or folders of them
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    /// Where what may be broken is mounted, of contenders that name no kernel [default: guest, where KVM boots one and its kernel need not be
    /// downloaded; else here]
    #[arg(long = "in", value_name = "PLACE")]
    pub place: Option<MountedIn>,
    /// Size of the disk, which is kept in memory
    #[arg(long, value_name = "SIZE", default_value = "512M")]
    pub image: String,
    /// Seed of all that is done by the throw of dice
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// As a page, too: one HTML file that needs no network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// As JSON
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
    /// Kernels, each contender on each of them, as of `run`: debian:6.1, debian:newest, host; with --again, the one that mounts it
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// States that a cut may leave, to be mounted and looked at, of each contender
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    pub states: u32,
    /// Guarantees that are put to the test, by their names in docs/power-cut.md; a variant alone by its own, as replace-unsynced+folder [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "command")]
    pub only: Vec<String>,
    /// Variants of each guarantee: what else is synced after its own steps. none: each only as it is, which takes about half the time
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = ["file", "folder", "other"], conflicts_with = "command")]
    pub later: Vec<LaterSync>,
    /// How long work goes on that nobody syncs; what is lost of it is seen whole only where this is longer than the kernel holds it back
    #[arg(long, value_name = "TIME", default_value = "40s")]
    pub unsynced: String,
    /// Instead of what filesystems promise, a program of your own: each line that it prints acknowledges something, and must be kept
    #[arg(long, value_name = "COMMAND", requires = "check")]
    pub command: Option<String>,
    /// After each cut, in the program's folder: gets the lines that were printed before it, and answers 0 where all that they
    /// acknowledge is there
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub check: Option<String>,
    /// Before the program, in its folder
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub prepare: Option<String>,
    /// Keep the plainest state of all that is seen broken in this folder: an image and its description
    #[arg(long, value_name = "FOLDER")]
    pub keep: Option<PathBuf>,
    /// Look again at a state that was kept, by its description: mounted as it was, the same promise or program
    #[arg(long, value_name = "FILE", conflicts_with_all = ["fs", "axis", "mkfs", "mount", "command", "keep"])]
    pub again: Option<PathBuf>,
    /// How long program, preparation and check may take, each
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub time_limit: String,
    /// A disk that says a flush is done and does nothing: the control, in which every filesystem must fail
    #[arg(long)]
    pub lying_disk: bool,
    /// In every state one write is torn within a block of 4 KiB, as only disks with smaller sectors leave it
    #[arg(long)]
    pub torn: bool,
}

/// `bakeoff faults`
#[derive(Debug, Args)]
pub struct FaultsArgs {
    #[command(flatten)]
    pub on: OnServedDisk,
    /// Kernels, each contender on each of them, as of `run`: debian:6.1, debian:newest, host
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kernel: Vec<String>,
    /// What is wrong with the disk: bit-flips, bit-flips-metadata, read-errors, read-errors-metadata, write-errors, full-below,
    /// slow, hanging, dead, or none, the control [default: all]
    #[arg(long = "fault", value_name = "LIST", value_delimiter = ',')]
    pub faults: Vec<String>,
    /// How often what is thrown by dice is done, each time on a fresh filesystem
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
}

/// `bakeoff serve-disk`
#[derive(Debug, Args)]
pub struct ServeDiskArgs {
    /// Folder on which it is mounted
    pub folder: PathBuf,
    /// Bytes that it holds at most
    pub room: u64,
    /// A described disk as which it answers, by its name or file
    #[arg(long)]
    pub model: Option<String>,
    /// What the way to the disk and back costs, as JSON: each request is answered so much earlier
    #[arg(long, requires = "model")]
    pub path_cost: Option<String>,
    /// Without a model, answer all the same by the thread that keeps a model's time: for measuring the way
    #[arg(long, conflicts_with = "model")]
    pub on_models_way: bool,
    /// Mount namespace, as a file, in which this goes on once the folder is mounted
    #[arg(long, value_name = "FILE")]
    pub goes_on_in: Option<PathBuf>,
}
