//! What leaves a machine when a run is exported anonymously or published: everything but what tells whose machine it is.
//! In: a run's records, and what is known of who owns the machine. Out: the same run without names of hosts and users, serial numbers,
//! identifiers and paths, and how often each rule took something away.
//! Two layers: `records` takes every field of a record apart by its type, so that a new field must be decided upon before anything
//! compiles; `sweep` then goes over every text that is left, whatever it belongs to. A run that went through both comes out of them as it went in.

mod records;
mod secrets;
mod sweep;

use crate::import::Imported;
use secrets::Secrets;
use std::collections::BTreeMap;
pub use sweep::texts;

/// What stands in the place of what was left out.
pub(crate) const LEFT_OUT: &str = "(left out)";
/// What stands in the place of a path.
pub(crate) const PATH: &str = "(path)";

/// Whose machine it is, as far as the machine that publishes can say: these words leave in no text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// Names of this host, with and without its domain.
    pub hosts: Vec<String>,
    /// Names of the people who have an account here.
    pub users: Vec<String>,
}

/// Why something does not leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The name of a host.
    Host,
    /// The name of a user, or an address of one.
    User,
    /// A serial number, or a name of a device that holds one.
    Serial,
    /// An identifier that was given once: of a boot, a filesystem, a partition.
    Identifier,
    /// Where something lies.
    Path,
    /// A boot parameter that says nothing about speed.
    Boot,
    /// The control groups of the process.
    Group,
    /// What a program printed.
    Output,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 8] =
        [Rule::Host, Rule::User, Rule::Serial, Rule::Identifier, Rule::Path, Rule::Boot, Rule::Group, Rule::Output];

    /// What it takes away, in words.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Host => "names of hosts",
            Rule::User => "names of users",
            Rule::Serial => "serial numbers",
            Rule::Identifier => "identifiers",
            Rule::Path => "paths",
            Rule::Boot => "boot parameters",
            Rule::Group => "control groups",
            Rule::Output => "output of programs",
        }
    }
}

/// How often each rule took something away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<Rule, u64>);

impl LeftOut {
    pub(crate) fn note(&mut self, rule: Rule) {
        *self.0.entry(rule).or_default() += 1;
    }

    /// How often a rule did.
    pub fn of(&self, rule: Rule) -> u64 {
        self.0.get(&rule).copied().unwrap_or_default()
    }

    /// Whether no rule did: the run was anonymous already.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A run without what tells whose machine it is.
///
/// # Errors
/// Records that are no longer records afterwards, in words; no run that a ledger holds is known to become such.
pub fn anonymous(mut imported: Imported, owner: &Owner) -> Result<(Imported, LeftOut), String> {
    let mut left_out = LeftOut::default();
    let mut secrets = Secrets::of(&imported, owner);
    records::clean(&mut imported, &mut secrets, &mut left_out);
    secrets.longest_first();
    let Imported { run, contenders, trials } = imported;
    let run = sweep::swept(run, &secrets, &mut left_out)?;
    let contenders = sweep::swept(contenders, &secrets, &mut left_out)?;
    let trials = sweep::swept(trials, &secrets, &mut left_out)?;
    Ok((Imported { run, contenders, trials }, left_out))
}
