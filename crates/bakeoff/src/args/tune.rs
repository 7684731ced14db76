//! The options of `tune`.
//! In: words typed by a person. Out: [`TuneArgs`], parsed and not yet resolved.

use super::Scale;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::PathBuf;

/// Shown below the help of `tune`.
pub const TUNE_EXAMPLES: &str = "\
Examples:
  bakeoff tune xfs --for small-files
  bakeoff tune xfs --for mail --axis mkfs.log_size=64m,256m --axis scheduler
  bakeoff tune ext4 --for sqlite --budget 1h --on /dev/sdb
  bakeoff tune btrfs --for mail --against '-o compress=zstd,noatime'
  bakeoff tune btrfs --for small-files --goal speed,space
  bakeoff tune xfs --for mail --disk hdd-7200
  bakeoff tune btrfs --for mirror --with devices=2 --goal rebuild,speed
  bakeoff tune xfs --for small-files --kernel debian:6.12 --with stack=raid5";

/// What a search improves
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Time of the work
    Speed,
    /// Space that the filesystem shows as used, after the phase in which it is largest
    Space,
    /// 99th percentile of the latency of an operation
    Latency,
    /// Bytes that the device receives, journals and metadata included
    Writes,
    /// Time to rebuild a lost device, by workloads that do it, such as `mirror`
    Rebuild,
}

/// `bakeoff tune`
#[derive(Debug, Args)]
pub struct TuneArgs {
    /// Filesystem whose description lists options to try: ext4, xfs, btrfs, or your own
    #[arg(value_name = "FILESYSTEM")]
    pub filesystem: String,
    /// The work, as for `run`: names from `bakeoff workloads`, or files; all workloads count alike
    #[arg(long = "for", value_name = "WORKLOAD", value_delimiter = ',', required_unless_present = "command")]
    pub works: Vec<String>,
    /// Your own program as the work, as for `run`
    #[arg(long, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Size of the work
    #[arg(long, value_enum)]
    pub scale: Option<Scale>,
    /// Workload option, as for `run`
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Options that you have now, the baseline in place of the defaults: mkfs options, and mount options after -o, such as '-m reflink=0 -o noatime'
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true)]
    pub against: Option<String>,
    /// Options to search, in place of those that the description lists: NAME=VALUE,VALUE as for `run`, or NAME with its listed values
    #[arg(long, value_name = "AXIS=VALUES")]
    pub axis: Vec<String>,
    /// Option that every set has: devices=2, stack=raid1, limit.memory=1G, or mkfs.NAME, mount.NAME, scheduler and device.NAME
    #[arg(long, value_name = "AXIS=VALUE")]
    pub with: Vec<String>,
    /// What to improve; with several, the answer is the sets of options between which they are a choice
    #[arg(long = "goal", value_enum, value_name = "GOAL", value_delimiter = ',', default_value = "speed")]
    pub goals: Vec<Goal>,
    /// Also try options with which a crash may lose or damage more
    #[arg(long)]
    pub allow_less_safe: bool,
    /// Time for the whole search, such as 20m or 2h, or its number of trials, such as 96trials
    #[arg(long, value_name = "BUDGET", default_value = "20m")]
    pub budget: String,
    /// Folder for the databases of all stages and the plan; the same command continues an interrupted search in it [default: bakeoff-tune-FILESYSTEM]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Image size of each contender [default: as needed]
    #[arg(long, value_name = "SIZE", conflicts_with = "on")]
    pub image: Option<String>,
    /// Folder for images, or `memory` [default: /var/tmp]
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Option<PathBuf>,
    /// Block device or partition, formatted repeatedly
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<PathBuf>,
    /// Give each contender its own part of the device
    #[arg(long, requires = "on")]
    pub split: bool,
    /// Modelled disk, such as hdd-7200; simulated in memory (docs/disks.md)
    #[arg(long, value_name = "DISK", conflicts_with = "on")]
    pub disk: Option<String>,
    /// Kernel of a virtual machine, such as debian:6.12; needed for layers (--with stack=raid1, --axis stack=none,luks)
    #[arg(long, value_name = "KERNEL")]
    pub kernel: Option<String>,
    /// Allow erasing this device (serial number, by-id name)
    #[arg(long, value_name = "NAME")]
    pub erase: Vec<String>,
    /// Memory for the work, such as 1G, page cache included
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Your own filesystem descriptions: TOML files, or folders of them
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    /// Seed for order and content
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Plain lines instead of a progress display
    #[arg(long)]
    pub plain: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
