//! Programs of the user's own as the work of a run, given at the command line.
//! In: words typed by a person. Out: [`Own`], parsed and not yet resolved.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use strum::IntoStaticStr;

/// What is run, what before and after it, and as whom.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Your own work")]
pub struct Own {
    /// A program of your own, timed in a folder of each contender: until it exits and until its data is safe. Several are run in
    /// order. Words are split as a shell would split them, but no shell reads them
    #[arg(long, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Before the commands, untimed: what makes their input
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub prepare: Vec<String>,
    /// After the commands, untimed: a status other than 0 says that they did not do their work
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub check: Vec<String>,
    /// At the end, untimed
    #[arg(long, value_name = "COMMAND", requires = "command")]
    pub cleanup: Vec<String>,
    /// What a command is called in tables, one for each in order [default: the name of its program]
    #[arg(long, value_name = "NAME", requires = "command")]
    pub name: Vec<String>,
    /// A folder whose contents are copied into each contender's before the commands
    #[arg(long, value_name = "FOLDER", requires = "command")]
    pub copy_in: Option<PathBuf>,
    /// Give all of these commands to a shell (sh -c)
    #[arg(long, requires = "command")]
    pub shell: bool,
    /// The user as whom these commands, or fio with a job file, run [default: yourself, which is root where bakeoff formats]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// A folder that these commands find empty and may write to, in memory and gone with each of them, such as /tmp; elsewhere they can write
    /// only in the contender's folder
    #[arg(long, value_name = "FOLDER", requires = "command")]
    pub private: Vec<String>,
    /// Do not confine these commands to the contender's folder: they keep all rights of their user
    #[arg(long, requires = "command")]
    pub unconfined: bool,
    /// What a command, or fio with a job file, finds in memory of what was written before it
    #[arg(long, value_enum, default_value_t)]
    pub start: Start,
    /// Replay a trace without the time that the program spent between its calls
    #[arg(long)]
    pub full_speed: bool,
    /// A figure that the last command prints, of which more is better, by a regular expression or a JSON pointer:
    /// 'tps=tps = ([0-9.]+)', iops=/jobs/0/read/iops. It is judged beside the time
    #[arg(long, value_name = "NAME=WHERE", requires = "command")]
    pub higher_is_better: Vec<String>,
    /// The same for one of which less is better
    #[arg(long, value_name = "NAME=WHERE", requires = "command")]
    pub lower_is_better: Vec<String>,
    /// A command that takes longer has failed [default: 1h]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
}

/// What a command finds in memory, by the words of workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Start {
    /// Nothing
    #[default]
    Cold,
    /// All files of its folder, read once
    Warm,
    /// Whatever the commands before it left
    AsFound,
}
