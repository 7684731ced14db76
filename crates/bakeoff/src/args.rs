//! The command line, declared once: the parser, the help, the manual page and the completions come from it.
//! In: words typed by a person. Out: [`Arguments`], parsed and not yet resolved.

mod browser;
mod cluster;
mod gallery;
mod own;
mod served;
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
pub use what::{Cold, Turns, Until, What};

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Which filesystem, with which options and which I/O scheduler, is best on this disk for this work, and how certain is
/// the answer?
///
/// Bakeoff formats each contender in turn, runs the work, proves what it measured, repeats until the answer is certain
/// enough, and tells the answer in words, tables and pictures.
#[derive(Debug, Parser)]
#[command(name = "bakeoff", version, max_term_width = 100, after_long_help = EXAMPLES)]
pub struct Arguments {
    /// File in which every trial is kept
    #[arg(long, global = true, value_name = "FILE", default_value = "bakeoff.db")]
    pub ledger: PathBuf,
    /// What to do
    #[command(subcommand)]
    pub verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  bakeoff run                                   the quick plan, on images, with the filesystems that people choose today
  bakeoff run small-files --fs ext4,xfs,btrfs   one workload, three filesystems
  bakeoff run bonnie --scale full --image 60G --samples 3
  bakeoff run small-files --fs xfs --scheduler none,bfq
  bakeoff run sequential --fs ext4,xfs --age fresh,old --fill 80%
  bakeoff run small-files --fs xfs,ext4 --axis mkfs.rmapbt=0,1 --axis mount.noatime=on,off
  bakeoff plan sequential --on /dev/sdb1 --commands
  bakeoff run sequential --on /dev/sdb --erase wwn-0x5000c500a1b2c3d4
  bakeoff run mail --on /dev/sdb1 --fs xfs --mkfs xfs=\"-l logdev=/dev/sdc1\" --erase PARTUUID-OF-SDC1
  bakeoff run mail --dir /srv --dir /mnt/other  two directories, nothing formatted
  bakeoff run --command 'tar xf /srv/linux.tar' --command 'du -s .' --fs ext4,xfs
  bakeoff run --claims --budget 30m             what has been published, tested here
  bakeoff show; bakeoff report; bakeoff resume  the latest run

A device is erased only where --erase names it by something that stays with it (serial number, by-id name, PARTUUID,
the path of a loop device's file), or where it is empty: no signature, and zeros wherever it is looked at. Images and
directories need no such word. Exit status: 0 a verdict, 1 an error, 2 a command line that can't be
understood, 3 stopped by the user (bakeoff resume goes on), 4 a regression that --fail-on asked about, 5 no
certainty, where --fail-on asked about that.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Carry out a plan: format, work, measure, repeat, judge
    Run(RunArgs),
    /// Carry out a plan with many clients, each a rank of MPI: mpirun -np 8 bakeoff ranks WORKLOAD --dir DIR
    #[command(after_help = RANKS_EXAMPLES)]
    Ranks(RanksArgs),
    /// Say what would run: matrix, order, commands, time, space and wear; nothing is touched
    Plan(PlanArgs),
    /// Go on with a run that was stopped or killed; nothing is lost, nothing counts twice
    Resume(ResumeArgs),
    /// Show tables and verdict in the terminal
    Show(ShowArgs),
    /// Write a report folder: HTML, charts, CSV and more
    Report(ReportArgs),
    /// Compare two runs, or two contenders of one run
    Compare(CompareArgs),
    /// Show the ledger in a browser: its runs, what their figures rest on, two of them side by side; read only
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Hold published claims against what was measured here
    Claims(ClaimsArgs),
    /// Watch a program of your own, and write down what it does to the files of a folder; `run` does that again on each contender
    #[command(after_help = RECORD_EXAMPLES)]
    Record(RecordArgs),
    /// Make of a trace a workload file that a person can edit: its mix of calls, sizes, folders and syncs
    Profile(ProfileArgs),
    /// Cut a plan into parts for several machines, and hand them to Slurm, mpirun or Kubernetes
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(SubmitArgs),
    /// Carry out one part of such a job: what its tasks call
    Shard(ShardArgs),
    /// Put together what the tasks of such a job have measured: one run, its verdict and its report
    Collect(CollectArgs),
    /// Take in runs exported elsewhere, other ledgers (shards become one run), or results of fio, Bonnie++ or dd
    Import(ImportArgs),
    /// Write one portable file with everything about a run
    Export(ExportArgs),
    /// Show what of runs can be given to everybody, and write it: ledgers and results without names, serial numbers and paths
    #[command(after_help = PUBLISH_EXAMPLES)]
    Publish(PublishArgs),
    /// Make one page of many published runs: judged anew, filtered by disk, kernel, filesystem and work, with ratios over all of them
    Gallery(GalleryArgs),
    /// Cut the power again and again: what each contender keeps of what it promised, and what it loses of the rest
    #[command(after_help = POWERCUT_EXAMPLES)]
    Powercut(PowercutArgs),
    /// Harm a disk again and again: what each contender reports, returns wrong and keeps when its disk fails
    #[command(after_help = FAULTS_EXAMPLES)]
    Faults(FaultsArgs),
    /// Say which filesystems and schedulers can compete here; for each that can't, why, and what would help
    Systems(SystemsArgs),
    /// Find out what filesystems can do, on fresh images, beside what has been published
    Features(FeaturesArgs),
    /// Say which workloads and plans there are, and what a workload's options are
    Workloads(WorkloadsArgs),
    /// Say whether this machine is quiet and honest enough to measure
    Doctor(DoctorArgs),
    /// Remove what an interrupted run left: mounts, loop devices, images, daemons; only what bakeoff made
    Clean(CleanArgs),
    /// The engine's own process; started by bakeoff itself
    #[command(hide = true)]
    Agent,
    /// The process that serves a disk; started by bakeoff itself
    #[command(hide = true)]
    ServeDisk(ServeDiskArgs),
    /// Who carries out and looks at power cuts in a virtual machine; started by bakeoff itself
    #[command(hide = true)]
    Witness,
    /// The first process of a virtual machine; started by bakeoff itself
    #[command(hide = true)]
    Guest,
    /// Write the manual pages and shell completions, or the reference
    Manual(ManualArgs),
}

const RECORD_EXAMPLES: &str = "\
Examples:
  cd /srv/repo; bakeoff record -o ~/gc.trace -- git gc
  bakeoff record -o build.trace --folder /tmp/build -- make -j4
  bakeoff run ./build.trace --fs ext4,xfs,btrfs";

/// `bakeoff record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// File for the trace; one that is there is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// The folder in which the command runs; what it does to the files below is recorded, and nothing else
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,
    /// Who watches [default: eBPF by bpftrace where that works, else strace]
    #[arg(long, value_enum, value_name = "WATCHER")]
    pub with: Option<WatchedBy>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Who watches a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WatchedBy {
    /// eBPF at the kernel's tracepoints
    Ebpf,
    /// strace, which stops the program at each call
    Strace,
}

/// `bakeoff profile`
#[derive(Debug, Args)]
pub struct ProfileArgs {
    /// The trace
    pub trace: PathBuf,
    /// File for the workload [default: the trace's name with .toml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `bakeoff run`
#[derive(Debug, Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub what: What,
    #[command(flatten, next_help_heading = "Output")]
    pub output: Output,
    /// Find out first what the filesystems can do, as `bakeoff features` does, each on its kernel, and show it in the report
    #[arg(long, help_heading = "Output")]
    pub features: bool,
    /// At the end also say who is best for this mix of operations, such as create=1,read-random=10,delete=1, or for all the
    /// work of one WORKLOAD
    #[arg(long, value_name = "MIX", help_heading = "Output")]
    pub mix: Option<String>,
}

/// `bakeoff plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    pub what: What,
    /// Print every command that would be run
    #[arg(long)]
    pub commands: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff resume`
#[derive(Debug, Default, Args)]
pub struct ResumeArgs {
    /// The run, by its id or the beginning of it [default: the latest]
    pub run: Option<String>,
    /// Allow erasing a device of the run, by a name that stays with it, as for `bakeoff run`
    #[arg(long, value_name = "NAME")]
    pub erase: Vec<String>,
    /// Blocks in all: goes on with a run that is finished, too, and adds what is missing to that number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub samples: Option<u32>,
    /// Descriptions of filesystems that the run began with, where they are not yours alone
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// What counts as a failure of a run that ended
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Gate {
    /// The answer takes no contender yet
    Inconclusive,
    /// A contender dropped out
    Dropped,
}

/// What is done with a run's results
#[derive(Debug, Default, Args)]
pub struct Output {
    /// Folder for the report [default: bakeoff-report-RUN]
    #[arg(long, value_name = "FOLDER")]
    pub report: Option<PathBuf>,
    /// Write no report
    #[arg(long, conflicts_with = "report")]
    pub no_report: bool,
    /// Hold every contender against this one, which you have now: what would switching bring?
    #[arg(long, value_name = "CONTENDER")]
    pub against: Option<String>,
    /// End with status 5 if the answer takes no contender yet (inconclusive), 6 if a contender dropped out (dropped)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub fail_on: Vec<Gate>,
    /// Plain lines instead of a progress display
    #[arg(long)]
    pub plain: bool,
    /// Show the run in a browser while it goes on, at this address and port [default: 127.0.0.1 at any port that is free]; the address to
    /// open, with a token in it, is printed. At an address that is not the loopback's, whoever can read the network can read the page
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, require_equals = true, default_missing_value = browser::ADDRESS)]
    pub serve: Option<SocketAddr>,
    /// The command line that is kept with a run that begins, where it is not this process's own
    #[arg(skip)]
    pub words: Option<Vec<String>>,
}

/// `bakeoff show`
#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The run, by its id or the beginning of it [default: the latest]
    pub run: Option<String>,
    /// Hold every contender against this one, which you have now: what would switching bring?
    #[arg(long, value_name = "CONTENDER")]
    pub against: Option<String>,
    /// List the runs of the ledger
    #[arg(long, conflicts_with_all = ["run", "full", "csv", "markdown", "why", "mix", "published", "pivot"])]
    pub runs: bool,
    /// Every table, figure, interval and warning, and the answer again at the end
    #[arg(long, group = "form")]
    pub full: bool,
    /// As JSON
    #[arg(long, group = "form")]
    pub json: bool,
    /// As CSV: samples; series (rate and latency over time); latency (percentiles); printed (figures of programs)
    #[arg(long, value_name = "TABLE", group = "form", num_args = 0..=1, require_equals = true, default_missing_value = "samples", value_parser = csv_tables())]
    pub csv: Option<String>,
    /// As Markdown tables
    #[arg(long, group = "form")]
    pub markdown: bool,
    /// Who is best for a mix of operations, such as create=1,read-random=10,delete=1, or for all the work of one WORKLOAD
    #[arg(long, value_name = "MIX", group = "form")]
    pub mix: Option<String>,
    /// Published figures beside one's own, each with its source and year; never part of the statistics
    #[arg(long, group = "form")]
    pub published: bool,
    /// What a figure rests on, down to its samples: WORKLOAD/OPERATION/CONTENDER
    #[arg(long, value_name = "CELL", group = "form")]
    pub why: Option<String>,
    /// The best value of what was varied (scheduler, age, fill, kernel, mkfs.NAME, mount.NAME ...) for each contender, then
    /// the contenders with their best
    #[arg(long, value_name = "AXIS", group = "form")]
    pub pivot: Option<String>,
}

/// The forms of a report by their names, and the word for all of them.
fn csv_tables() -> PossibleValuesParser {
    PossibleValuesParser::new(report::export::CSV.map(|(name, _)| name))
}

fn formats() -> PossibleValuesParser {
    report::Format::ALL.iter().map(|format| format.name()).chain(["all"]).collect::<Vec<_>>().into()
}

/// `bakeoff report`
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run, by its id or the beginning of it [default: the latest]
    pub run: Option<String>,
    /// Folder to write [default: bakeoff-report-RUN]
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Which forms, such as html,csv [default: all]
    #[arg(long, value_delimiter = ',', value_name = "LIST", ignore_case = true, value_parser = formats())]
    pub format: Vec<String>,
    /// Leave out published figures, which the page otherwise holds, folded away, beside one's own; they are never part of
    /// the statistics
    #[arg(long)]
    pub no_published: bool,
    /// Hold every contender against this one, which you have now: what would switching bring?
    #[arg(long, value_name = "CONTENDER")]
    pub against: Option<String>,
}

/// `bakeoff features`
#[derive(Debug, Args)]
pub struct FeaturesArgs {
    /// Filesystems [default: all that can compete here]
    #[arg(value_name = "FS", conflicts_with = "dir")]
    pub fs: Vec<String>,
    /// Descriptions of filesystems of your own, too: TOML files, or folders of them
    #[arg(long, value_name = "PATH", conflicts_with = "dir")]
    pub filesystems: Vec<PathBuf>,
    /// A directory on whatever is mounted there, as far as that goes without formatting; several are shown side by side
    #[arg(long, value_name = "DIR")]
    pub dir: Vec<PathBuf>,
    /// Kernels as of `run` (debian:6.12, debian:newest, host): each filesystem on each of them, in virtual machines, on images in
    /// their memory [default: host, and for a filesystem that this kernel lacks, one that has it]
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with = "dir")]
    pub kernel: Vec<String>,
    /// Size of the sparse images
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub image: String,
    /// Folder for the images, or `memory`
    #[arg(long, value_name = "FOLDER", default_value = crate::scratch::DEFAULT)]
    pub scratch: PathBuf,
    /// Say for each answer what was tried, and what the system answered
    #[arg(long, group = "form")]
    pub how: bool,
    /// As JSON
    #[arg(long, group = "form")]
    pub json: bool,
    /// As CSV, every answer a line
    #[arg(long, group = "form")]
    pub csv: bool,
    /// As a Markdown table
    #[arg(long, group = "form")]
    pub markdown: bool,
}

/// `bakeoff systems`
#[derive(Debug, Args)]
pub struct SystemsArgs {
    /// Which kernels of Debian can be had for guests, by series: version, suite, and which is here already. Debian's suites are read
    /// where what is known of them is older than a day
    #[arg(long)]
    pub kernels: bool,
    /// Download this kernel of Debian's for guests now, rather than when a run first asks for it
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["json", "kernels"])]
    pub fetch: Option<String>,
    /// Descriptions of filesystems of your own, too: TOML files, or folders of them
    #[arg(long, value_name = "PATH")]
    pub filesystems: Vec<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff workloads`
#[derive(Debug, Args)]
pub struct WorkloadsArgs {
    /// A workload, to be shown with its phases and options
    pub name: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// A device to look at as well
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff clean`
#[derive(Debug, Args)]
pub struct CleanArgs {
    /// Only say what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Folder that held the images of the interrupted run, where it was not the default
    #[arg(long, value_name = "FOLDER")]
    pub scratch: Vec<PathBuf>,
    /// Remove the images of aged filesystems too, which are kept for the next run
    #[arg(long)]
    pub aged: bool,
    /// Forget what this run left, which stays where it is: for what cannot be removed and is dealt with by hand
    #[arg(long, value_name = "ID", conflicts_with_all = ["dry_run", "aged"])]
    pub forget: Option<String>,
    /// As JSON
    #[arg(long, conflicts_with = "forget")]
    pub json: bool,
}

/// `bakeoff compare`
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// A run, a contender of the latest run, or RUN:CONTENDER; what the other is compared with
    pub a: String,
    /// The same; this one is judged
    pub b: String,
    /// Exit with status 4 where B is worse than A by more than this: beyond doubt (worse:5%) or likely (likely:5%); with ",inconclusive"
    /// behind it also with status 5 where that is uncertain
    #[arg(long, value_name = "worse:PERCENT")]
    pub fail_on: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
    /// List what only one of the two has
    #[arg(long)]
    pub unmatched: bool,
}

/// `bakeoff claims`
#[derive(Debug, Args)]
pub struct ClaimsArgs {
    /// The run, by its id or the beginning of it [default: the latest]
    pub run: Option<String>,
    /// A claims file of your own, in the form of the published one
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff import`
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Files: fio's JSON (json or json+), Bonnie++'s CSV, dd's text, what `bakeoff export` wrote, or other ledgers, whose
    /// shards of one plan (`run --shard`) become one run
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// What the files become
    #[arg(long = "as", value_enum, default_value_t)]
    pub into: ImportInto,
    /// With --as workload: the file to write [default: the job file's name, with .toml]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What an imported file becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ImportInto {
    /// Runs in the ledger
    #[default]
    Runs,
    /// A workload file: fio's job file in Bakeoff's own words
    Workload,
}

/// `bakeoff export`
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// The run, by its id or the beginning of it [default: the latest]
    pub run: Option<String>,
    /// File to write [default: bakeoff-RUN.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Without host names, serial numbers and paths
    #[arg(long)]
    pub anonymous: bool,
}

/// `bakeoff manual`
#[derive(Debug, Args)]
pub struct ManualArgs {
    /// Folder to write to
    #[arg(long, value_name = "FOLDER", default_value = "manual")]
    pub folder: PathBuf,
    /// Write the reference instead: every option, the forms of --json with their JSON Schemas, the keys of files that
    /// describe filesystems, the columns of claims files
    #[arg(long)]
    pub reference: bool,
}
