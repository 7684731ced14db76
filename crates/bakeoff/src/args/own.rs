//! Programs of the user's own as the work of a run, given at the command line.
//! In: words typed by a person. Out: [`Own`], parsed and not yet resolved.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use strum::IntoStaticStr;

/// What is run, what before and after it, and as whom.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Programs")]
pub struct Own {
    /// Your own program, timed in a folder of each contender.
    ///
    /// It is timed until it exits, and until its data is safe. Several commands run in order. Words are split as in a shell, but no shell runs.
    #[arg(long, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Command to prepare the input, untimed
    #[arg(long, value_name = "COMMAND", requires = "command", hide_short_help = true)]
    pub prepare: Vec<String>,
    /// Command to check the result, untimed; an exit status other than 0 fails the trial
    #[arg(long, value_name = "COMMAND", requires = "command", hide_short_help = true)]
    pub check: Vec<String>,
    /// Command to clean up at the end, untimed
    #[arg(long, value_name = "COMMAND", requires = "command", hide_short_help = true)]
    pub cleanup: Vec<String>,
    /// Name of a command in tables, one per command in order [default: name of its program]
    #[arg(long, value_name = "NAME", requires = "command", hide_short_help = true)]
    pub name: Vec<String>,
    /// Folder whose contents are copied into each contender's folder before the commands
    #[arg(long, value_name = "FOLDER", requires = "command", hide_short_help = true)]
    pub copy_in: Option<PathBuf>,
    /// Run the commands once with each value of a parameter, on a filesystem made anew: threads=1,2,4 or threads=1..8 or size=10..100..10 replaces {threads} or {size} in them
    #[arg(long, value_name = "NAME=VALUES", requires = "command", hide_short_help = true)]
    pub parameter: Vec<String>,
    /// Run all of these commands in a shell (sh -c)
    #[arg(long, requires = "command", hide_short_help = true)]
    pub shell: bool,
    /// User who runs these commands or the fio job [default: you; root where bakeoff formats]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub user: Option<String>,
    /// Folder, such as /tmp, that each command gets empty, writable and in memory; otherwise commands can write only in the contender's folder
    #[arg(long, value_name = "FOLDER", requires = "command", hide_short_help = true)]
    pub private: Vec<String>,
    /// Do not confine these commands to the contender's folder; they keep all rights of their user
    #[arg(long, requires = "command", hide_short_help = true)]
    pub unconfined: bool,
    /// Exit statuses of these commands that count as success, such as 0,1 [default: 0]
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "command", hide_short_help = true)]
    pub exit_status: Vec<u8>,
    /// File that each of these commands reads as its standard input, at most 64 KiB [default: nothing]
    #[arg(long, value_name = "FILE", requires = "command", hide_short_help = true)]
    pub input: Option<PathBuf>,
    /// File in the contender's folder that takes the standard output of these commands, emptied before each; null drops it [default: bakeoff reads it]
    #[arg(long, value_name = "NAME", requires = "command", hide_short_help = true)]
    pub output: Option<String>,
    /// Times that each command runs, untimed, before it is timed, which then starts with the page cache as these left it (up to 20)
    #[arg(long, value_name = "N", requires = "command", conflicts_with = "start", default_value_t, value_parser = clap::value_parser!(u8).range(..=20), hide_short_help = true, hide_default_value = true)]
    pub warmup: u8,
    /// Relative path for an absolute one in a fio job file: /mnt/test=. is the contender's folder
    #[arg(long, value_name = "PATH=RELATIVE", hide_short_help = true)]
    pub map: Vec<String>,
    /// Page cache state when a command or a fio job starts
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    pub start: Start,
    /// Replay a trace without the program's pauses between calls
    #[arg(long, hide_short_help = true)]
    pub full_speed: bool,
    /// Figure printed by the last command, higher is better, judged as well as the time; by a regular expression or a JSON pointer: 'tps=tps = ([0-9.]+)', iops=/jobs/0/read/iops
    #[arg(long, value_name = "NAME=WHERE", requires = "command", hide_short_help = true)]
    pub higher_is_better: Vec<String>,
    /// The same, lower is better
    #[arg(long, value_name = "NAME=WHERE", requires = "command", hide_short_help = true)]
    pub lower_is_better: Vec<String>,
    /// Time limit of each command; a command that exceeds it fails the trial [default: 1h]
    #[arg(long, value_name = "TIME", hide_short_help = true)]
    pub time_limit: Option<String>,
}

/// Page cache states, by the words of workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Start {
    /// Empty
    #[default]
    Cold,
    /// All files of its folder were read once
    Warm,
    /// As earlier commands left it
    AsFound,
}
