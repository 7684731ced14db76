//! What leaves a machine when a run is exported anonymously or published: everything except what identifies the machine or its owner.
//! In: a run's records, and the known names of the machine's owner. Out: the same run without names of hosts and users, serial numbers,
//! identifiers and paths, and how often each rule removed something.
//! Two layers: `records` handles every field of a record by its type, so that a new field does not compile before it is decided upon; `sweep`
//! then checks every remaining text, whatever its field. Cleaning an anonymous run again does not change it.

mod records;
mod secrets;
mod sweep;

use crate::import::Imported;
use secrets::Secrets;
use std::collections::BTreeMap;
pub use sweep::texts;

/// Replaces what was left out.
pub(crate) const LEFT_OUT: &str = "(left out)";
/// Replaces a path.
pub(crate) const PATH: &str = "(path)";

/// Names of the machine and its users, as far as the publishing machine knows them: no published text holds these words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Owner {
    /// Names of this host, with and without its domain.
    pub hosts: Vec<String>,
    /// Names of the people with an account here.
    pub users: Vec<String>,
}

/// Why something is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The name of a host.
    Host,
    /// The name of a user, or an address of one.
    User,
    /// A serial number, or a name of a device that holds one.
    Serial,
    /// An identifier that was assigned once: of a boot, a filesystem, a partition.
    Identifier,
    /// A path.
    Path,
    /// A boot parameter without effect on speed.
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

    /// What the rule removes, as text.
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

/// How often each rule removed something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<Rule, u64>);

impl LeftOut {
    pub(crate) fn note(&mut self, rule: Rule) {
        *self.0.entry(rule).or_default() += 1;
    }

    /// How often a rule removed something.
    pub fn of(&self, rule: Rule) -> u64 {
        self.0.get(&rule).copied().unwrap_or_default()
    }

    /// Whether no rule removed anything: the run was anonymous already.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A run without what identifies the machine or its owner.
///
/// # Errors
/// Records that are invalid afterwards, as text; no run of a ledger is known to cause this.
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
