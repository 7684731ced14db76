//! The command line, declared once: the parser, the help, the manual page and the completions come from it.
//! In: words typed by a person. Out: [`Arguments`], parsed and not yet resolved.

mod browser;
mod cluster;
mod gallery;
mod own;
mod served;
mod tune;
mod what;

mod ranks;

use browser::SERVE_EXAMPLES;
pub use browser::ServeArgs;
use cluster::SUBMIT_EXAMPLES;
pub use cluster::{CollectArgs, ShardArgs, SubmitArgs};
use gallery::PUBLISH_EXAMPLES;
pub use gallery::{GalleryArgs, PublishArgs};
pub use own::{Own, Start};
use ranks::RANKS_EXAMPLES;
pub use ranks::RanksArgs;
use served::{FAULTS_EXAMPLES, POWERCUT_EXAMPLES};
pub use served::{FaultsArgs, LaterSync, MountedIn, OnServedDisk, PowercutArgs, ServeDiskArgs};
use tune::TUNE_EXAMPLES;
pub use tune::{Goal, TuneArgs};
pub use what::{Cold, Scale, Turns, Until, What};

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Which filesystem, with which options and which I/O scheduler, is best on this disk for this work, and how certain is the answer?
///
/// Bakeoff formats each contender in turn, runs the work, verifies the measurements, repeats until the answer is certain enough, and reports it as text, tables and charts.
#[derive(Debug, Parser)]
#[command(name = "bakeoff", version, max_term_width = 100, after_long_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Arguments {
    /// Database with all trials
    #[arg(long, global = true, value_name = "FILE", default_value = "bakeoff.db")]
    pub ledger: PathBuf,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  bakeoff run                                  the quick plan, on images
  bakeoff run small-files --fs ext4,xfs,btrfs  one workload, three filesystems
  bakeoff run bonnie --scale full --image 60G --samples 3
  bakeoff run small-files --fs xfs --scheduler none,bfq
  bakeoff run sequential --fs ext4,xfs --age fresh,old --fill 80%
  bakeoff run small-files --fs xfs --axis mkfs.rmapbt=0,1
  bakeoff plan sequential --on /dev/sdb1 --commands
  bakeoff run sequential --on /dev/sdb --erase wwn-0x5000c500a1b2c3d4
  bakeoff run mail --dir /srv --dir /mnt/a     two directories; formats nothing
  bakeoff run --command 'tar xf /srv/linux.tar' --fs ext4,xfs
  bakeoff run --claims --budget 30m            published claims, tested here
  bakeoff show; bakeoff report                 the latest run
  bakeoff help questions                       commands for common questions

A device is erased only if it is empty (no signature, zeros wherever sampled) or
if --erase gives its stable name: serial number, by-id name, PARTUUID, or path
of a loop device's file. Images and directories need no --erase.

Exit status: 0 answer, 1 error, 2 invalid command line, 3 stopped by the user
(bakeoff resume continues). With --fail-on: 4 regression (compare), 5
inconclusive (compare, run, resume), 6 a contender dropped out (run, resume).";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Compare contenders: format, work, measure, and repeat until the answer is clear
    Run(RunArgs),
    /// Run with many clients, each an MPI rank: mpirun -np 8 bakeoff ranks WORKLOAD --dir DIR
    #[command(after_help = RANKS_EXAMPLES)]
    Ranks(RanksArgs),
    /// Show what would run (contenders, order, commands, time, space, wear) without changing anything
    Plan(PlanArgs),
    /// Resume a stopped or killed run; no trial is lost or counted twice
    Resume(ResumeArgs),
    /// Show the answer and tables of a run in the terminal
    Show(ShowArgs),
    /// Write a report folder: HTML, charts, CSV and more
    Report(ReportArgs),
    /// Compare two runs, or two contenders of one run
    Compare(CompareArgs),
    /// Browse the database: runs, the samples behind each figure, two runs side by side; read-only
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Find the best mkfs and mount options of a filesystem for your work, and confirm what they gain
    #[command(after_help = TUNE_EXAMPLES)]
    Tune(TuneArgs),
    /// Test published claims against your measurements
    Claims(ClaimsArgs),
    /// Record a program's file operations in a folder; `run` replays them on each contender
    #[command(after_help = RECORD_EXAMPLES)]
    Record(RecordArgs),
    /// Convert a trace, or the shape of a folder's tree, into an editable workload file
    #[command(after_help = PROFILE_EXAMPLES)]
    Profile(ProfileArgs),
    /// Split a plan over several machines with Slurm, mpirun or Kubernetes
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(SubmitArgs),
    /// Run one shard of a submitted job (called by its tasks)
    Shard(ShardArgs),
    /// Merge the results of a submitted job into one run, with its verdict and report
    Collect(CollectArgs),
    /// Import exported runs, other databases (shards become one run), or results of fio, Bonnie++ or dd
    Import(ImportArgs),
    /// Write one portable file with everything about a run
    Export(ExportArgs),
    /// Write or preview runs for publication, without names, serial numbers or paths
    #[command(after_help = PUBLISH_EXAMPLES)]
    Publish(PublishArgs),
    /// Make one page of many published runs, with filters, new verdicts and ratios over all of them
    Gallery(GalleryArgs),
    /// Simulate power cuts: which guarantees each contender keeps, and how much unsynced data it loses
    #[command(after_help = POWERCUT_EXAMPLES)]
    Powercut(PowercutArgs),
    /// Inject disk faults: which errors each contender reports, which data it returns wrong, and what survives
    #[command(after_help = FAULTS_EXAMPLES)]
    Faults(FaultsArgs),
    /// List the filesystems and schedulers that can compete here, and what the others need
    Systems(SystemsArgs),
    /// Test filesystem features on fresh images and compare them with published claims
    Features(FeaturesArgs),
    /// List workloads and plans; with a name, the phases and options of a workload
    Workloads(WorkloadsArgs),
    /// Check whether this machine is quiet enough, and its disk trustworthy enough, to measure
    Doctor(DoctorArgs),
    /// Remove the leftovers of interrupted runs: mounts, loop devices, images, daemons; only what bakeoff made
    Clean(CleanArgs),
    /// The engine's process; started by bakeoff itself
    #[command(hide = true)]
    Agent,
    /// The process that serves a disk; started by bakeoff itself
    #[command(hide = true)]
    ServeDisk(ServeDiskArgs),
    /// The process that simulates and inspects power cuts in a virtual machine; started by bakeoff itself
    #[command(hide = true)]
    Witness,
    /// The first process of a virtual machine; started by bakeoff itself
    #[command(hide = true)]
    Guest,
    /// Write the manual pages and shell completions, or the reference
    Manual(ManualArgs),
    /// Show the help of a verb or a topic (help run, help run places), or commands for common questions (help questions)
    Help(HelpArgs),
}

const RECORD_EXAMPLES: &str = "\
Examples:
  cd /srv/repo; bakeoff record -o ~/gc.trace -- git gc
  bakeoff record -o build.trace --folder /tmp/build -- make -j4
  bakeoff run ./build.trace --fs ext4,xfs,btrfs";

/// `bakeoff record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// File for the trace; an existing file is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Folder in which the command runs; only operations on files below it are recorded
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,
    /// Tracer [default: eBPF through bpftrace if that works, else strace]
    #[arg(long, value_enum, value_name = "WATCHER")]
    pub with: Option<WatchedBy>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Tracers of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchedBy {
    /// eBPF on the kernel's tracepoints
    Ebpf,
    /// strace, which stops the program at each call
    Strace,
}

const PROFILE_EXAMPLES: &str = "\
Examples:
  bakeoff profile app.trace                  the calls of a recorded program
  bakeoff profile /srv/data -o data.toml     the shape of a tree, only read
  bakeoff run data.toml --fs ext4,xfs,btrfs
  bakeoff run data.toml --scale full         with as many files as the tree";

/// `bakeoff profile`
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// A trace, or a folder: its files are counted, and samples of them are read
    #[arg(value_name = "TRACE|FOLDER")]
    pub source: PathBuf,
    /// File for the workload; an existing file is not overwritten [default: name of the trace with .toml; of a folder, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub tree: TreeArgs,
}

/// What is asked of the profile of a folder
#[derive(Debug, Args)]
#[command(next_help_heading = "Folders")]
pub struct TreeArgs {
    /// Files that the workload lays out [default: those of the tree, at most 20000 and about 4 GiB]; `run --set files=N` changes it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub files: Option<u64>,
    /// Files after which the scan ends [default: 10000000]
    #[arg(long, value_name = "FILES", value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Time after which the scan ends [default: 5m]
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Scan filesystems that are mounted below the folder as well
    #[arg(long)]
    pub cross_mounts: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff run`
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub what: What,
    #[command(flatten, next_help_heading = "Output")]
    pub output: Output,
    /// First test the features of the filesystems, as `bakeoff features` does, and add them to the report
    #[arg(long, help_heading = "Output", hide_short_help = true)]
    pub features: bool,
    /// At the end, also name the best contender for this mix of operations, such as create=1,read-random=10,delete=1, or for all the work of one WORKLOAD
    #[arg(long, value_name = "MIX", help_heading = "Output", hide_short_help = true)]
    pub mix: Option<String>,
}

/// `bakeoff plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub what: What,
    /// Print every command that would run
    #[arg(long, help_heading = "Output")]
    pub commands: bool,
    /// Print JSON
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// Further options of a run, so that its command line can be planned: names are checked, the rest has no effect
    #[command(flatten)]
    pub output: Output,
    #[arg(long, hide = true)]
    pub features: bool,
    #[arg(long, hide = true)]
    pub mix: Option<String>,
}

/// `bakeoff resume`
#[derive(Debug, Default, Args)]
pub struct ResumeArgs {
    /// Run id, or the start of one [default: the latest run]
    pub run: Option<String>,
    /// Allow erasing a device of the run; stable names as for `bakeoff run`
    #[arg(long, value_name = "NAME")]
    pub erase: Vec<String>,
    /// Total rounds; also extends a finished run to this number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub samples: Option<u32>,
    /// Filesystem descriptions that the run used, if other users can write them
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// Which results make a finished run exit with a failure
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// The run does not decide on a contender
    Inconclusive,
    /// A contender dropped out
    Dropped,
}

/// What is done with a run's results
#[derive(Debug, Default, Args)]
pub struct Output {
    /// Report folder [default: bakeoff-report-RUN]
    #[arg(long, value_name = "FOLDER")]
    pub report: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "report")]
    pub no_report: bool,
    /// Compare every contender with the one you use now
    #[arg(long, value_name = "CONTENDER")]
    pub against: Option<String>,
    /// Exit with status 5 if the run does not decide on a contender (inconclusive), 6 if a contender dropped out (dropped)
    #[arg(long, value_name = "LIST", value_delimiter = ',', hide_short_help = true)]
    pub fail_on: Vec<Gate>,
    /// Plain lines instead of a progress display
    #[arg(long, hide_short_help = true)]
    pub plain: bool,
    /// Show the run live in a browser.
    ///
    /// The address to open, with its token, is printed [default: 127.0.0.1 and any free port]. At a non-loopback address traffic is not encrypted: anyone on the network path can read the page.
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, default_missing_value = browser::ADDRESS)]
    pub serve: Option<SocketAddr>,
    /// The command line that is kept with a run that begins, where it is not this process's own
    #[arg(skip)]
    pub words: Option<Vec<String>>,
    /// The run is a part of something larger, which shows its results: nothing is printed at its end, and no report is written
    #[arg(skip)]
    pub quiet: bool,
}

/// `bakeoff show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Run id, or the start of one [default: the latest run]
    pub run: Option<String>,
    /// Compare every contender with the one you use now
    #[arg(long, value_name = "CONTENDER")]
    pub against: Option<String>,
    /// List the runs in the database
    #[arg(long, conflicts_with_all = ["run", "full", "csv", "markdown", "why", "mix", "published", "pivot"])]
    pub runs: bool,
    /// Show every table, figure, interval and warning, and the answer again at the end
    #[arg(long, group = "form")]
    pub full: bool,
    /// Print JSON
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print CSV: samples; series (rate and latency over time); latency (percentiles); printed (figures of programs)
    #[arg(long, value_name = "TABLE", group = "form", num_args = 0..=1, require_equals = true, default_missing_value = "samples", value_parser = csv_tables())]
    pub csv: Option<String>,
    /// Print Markdown tables
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Name the best contender for a mix of operations, such as create=1,read-random=10,delete=1, or for all the work of one WORKLOAD
    #[arg(long, value_name = "MIX", group = "form")]
    pub mix: Option<String>,
    /// Show published figures next to yours, with source and year; statistics ignore them
    #[arg(long, group = "form")]
    pub published: bool,
    /// Show how a figure was derived, down to its samples: WORKLOAD/OPERATION/CONTENDER
    #[arg(long, value_name = "CELL", group = "form")]
    pub why: Option<String>,
    /// For each contender, the best value of this axis (scheduler, age, fill, kernel, mkfs.NAME, mount.NAME ...); then the contenders ranked at their best values
    #[arg(long, value_name = "AXIS", group = "form")]
    pub pivot: Option<String>,
}

/// Tables of CSV by their names.
fn csv_tables() -> PossibleValuesParser {
    PossibleValuesParser::new(report::export::CSV.map(|(name, _)| name))
}

/// The forms of a report by their names, and the word for all of them.
fn formats() -> PossibleValuesParser {
    report::Format::ALL.iter().map(|format| format.name()).chain(["all"]).collect::<Vec<_>>().into()
}

/// `bakeoff report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// Run id, or the start of one [default: the latest run]
    pub run: Option<String>,
    /// Folder to write [default: bakeoff-report-RUN]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Formats, such as html,csv [default: all]
    #[arg(long, value_delimiter = ',', value_name = "LIST", ignore_case = true, value_parser = formats())]
    pub format: Vec<String>,
    /// Omit published figures (by default the page has them in a collapsed section; statistics ignore them)
    #[arg(long)]
    pub no_published: bool,
    /// Compare every contender with the one you use now
    #[arg(long, value_name = "CONTENDER")]
    pub against: Option<String>,
}

/// `bakeoff features`
#[derive(Debug, Args)]
pub struct FeaturesArgs {
    /// Filesystems [default: all that can compete here]
    #[arg(value_name = "FS", conflicts_with = "dir")]
    pub fs: Vec<String>,
    /// Your own filesystem descriptions: TOML files, or folders of them
    #[arg(long, value_name = "PATH", conflicts_with = "dir")]
    pub filesystems: Vec<PathBuf>,
    /// Test the filesystem at this directory, as far as possible without formatting; several are shown in columns
    #[arg(long, value_name = "DIR")]
    pub dir: Vec<PathBuf>,
    /// Kernels, as for `run` (debian:6.12, debian:newest, host): each filesystem on each of them, in virtual machines with images in memory [default: host; for a filesystem that this kernel lacks, one that has it]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "dir")]
    pub kernel: Vec<String>,
    /// Size of the sparse images
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub image: String,
    /// Folder for the images, or `memory`
    #[arg(long, value_name = "FOLDER", default_value = crate::scratch::DEFAULT)]
    pub scratch: PathBuf,
    /// Show for each answer the test and what the system returned
    #[arg(long, group = "form")]
    pub how: bool,
    /// Print JSON
    #[arg(long, group = "form")]
    pub json: bool,
    /// Print CSV, one line per answer
    #[arg(long, group = "form")]
    pub csv: bool,
    /// Print a Markdown table
    #[arg(long, group = "form")]
    pub markdown: bool,
}

/// `bakeoff systems`
#[derive(Debug, Args)]
pub struct SystemsArgs {
    /// List Debian kernels available for guests, by series: version, suite, downloaded release; package lists older than a day are refreshed
    #[arg(long)]
    pub kernels: bool,
    /// Download this Debian kernel for guests now instead of when a run first needs it
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["json", "kernels"])]
    pub fetch: Option<String>,
    /// Your own filesystem descriptions: TOML files, or folders of them
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff workloads`
#[derive(Debug, Args)]
pub struct WorkloadsArgs {
    /// Show the phases and options of this workload
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Also check this device
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff clean`
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Only show what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Folder with the images of the interrupted run, if not the default
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Vec<PathBuf>,
    /// Also remove cached images of aged filesystems
    #[arg(long)]
    pub aged: bool,
    /// Stop tracking this run's leftovers without removing them; for leftovers that you remove yourself
    #[arg(long, value_name = "ID", conflicts_with_all = ["dry_run", "aged"])]
    pub forget: Option<String>,
    /// Print JSON
    #[arg(long, conflicts_with = "forget")]
    pub json: bool,
}

/// `bakeoff compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// Baseline: a run, a contender of the latest run, or RUN:CONTENDER
    pub a: String,
    /// The run or contender to judge, in the same form
    pub b: String,
    /// Exit with status 4 if B is worse than A by more than this: beyond doubt (worse:5%) or likely (likely:5%); append ",inconclusive" to exit with status 5 if the result is inconclusive
    #[arg(long, value_name = "worse:PERCENT")]
    pub fail_on: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also list figures that are not compared: only one of the two has them, or they are too short
    #[arg(long)]
    pub unmatched: bool,
}

/// `bakeoff claims`
#[derive(Debug, Args)]
pub struct ClaimsArgs {
    /// Run id, or the start of one [default: the latest run]
    pub run: Option<String>,
    /// Your own claims file, in the format of the published one
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff import`
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files: fio JSON (json or json+), Bonnie++ CSV, dd output, files from `bakeoff export`, or other databases, whose shards of one plan (`run --shard`) become one run
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What the files become
    #[arg(long = "as", value_enum, default_value_t)]
    pub into: ImportInto,
    /// With --as workload: relative path for an absolute one in the job file: /mnt/test=. is the contender's folder
    #[arg(long, value_name = "PATH=RELATIVE")]
    pub map: Vec<String>,
    /// With --as workload: file to write [default: name of the job file with .toml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What an imported file becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ImportInto {
    /// Runs in the database
    #[default]
    Runs,
    /// A workload file, converted from a fio job file
    Workload,
}

/// `bakeoff export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Run id, or the start of one [default: the latest run]
    pub run: Option<String>,
    /// File to write [default: bakeoff-RUN.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Omit host names, serial numbers and paths
    #[arg(long)]
    pub anonymous: bool,
}

/// `bakeoff manual`
#[derive(Debug, Args)]
pub struct ManualArgs {
    /// Folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "manual")]
    pub folder: PathBuf,
    /// Write the reference instead: every option, the --json formats with their JSON Schemas, the keys of filesystem descriptions, the columns of claims files
    #[arg(long)]
    pub reference: bool,
}

/// `bakeoff help`
#[derive(Debug, Args)]
pub struct HelpArgs {
    /// A verb, a topic of `run` (places, contenders, rounds ...), or both; `help VERB all` shows every option; `help questions`
    /// shows commands for common questions
    #[arg(value_name = "VERB|TOPIC", num_args = 0..=2)]
    pub words: Vec<String>,
}
