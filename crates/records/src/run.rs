//! The records that a ledger keeps: a run, its contenders, its trials and their phases.
//! In: made by the runner (or an importer). Out: read by the report and the command line.
//! What was not measured is absent, never zero.

use crate::cause::Cause;
use crate::cold::ColdStart;
use crate::contender::Contender;
use crate::facts::{PhaseFacts, TotalFacts};
use crate::machine::Machine;
use crate::observed::{Closing, Found};
use crate::outcome::{Ceiling, PhaseOutcome};
use crate::plan::ResolvedPlan;
use crate::program::{Cache, Figure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use strum::IntoStaticStr;

/// What is known of a run when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// The question in a line: what is compared, on what.
    pub title: String,
    /// The plan as resolved, whole: enough to resume and to repeat; absent for results of another program.
    pub plan: Option<ResolvedPlan>,
    /// Seed of orders and contents.
    pub seed: u64,
    /// The machine, as described when the run began; absent for results of another program, and where parts of the run were
    /// measured on several machines.
    pub machine: Option<Machine>,
    /// The parts that it was put together from; absent for a run that was measured, or read, as a whole.
    pub merged: Option<Merged>,
    /// Version of the program.
    pub version: String,
    /// The command line that began it.
    pub command_line: Vec<String>,
    /// Where the figures come from.
    pub origin: Origin,
    /// The work, with what its phases are called in tables and sentences.
    pub works: Vec<WorkRecord>,
}

impl NewRun {
    /// The command that goes on with it: clients that were ranks of MPI are started anew by mpirun.
    pub fn resume_command(&self, id: &str) -> String {
        match self.command_line.as_slice() {
            [launcher, option, ranks, ..] if launcher == "mpirun" && option == "-np" => {
                format!("mpirun -np {ranks} bakeoff ranks --resume {id}")
            }
            _ => format!("bakeoff resume {id}"),
        }
    }
}

/// A run that was put together from parts of one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merged {
    /// Parts of the plan.
    pub of: u32,
    /// Those that are here.
    pub parts: Vec<Part>,
}

/// A part of a plan within a run that was put together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// Its id where it was measured.
    pub run: String,
    /// Whether it came to its end.
    pub finished: bool,
    /// The machine; absent where that is not known.
    pub machine: Option<Machine>,
    /// What its memory and clock allow; absent in runs of version 0.1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Ceiling>,
}

/// One workload of a run, as compiled.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkRecord {
    /// Name of the workload; trials refer to it.
    pub name: String,
    /// Scale; trials refer to it.
    pub scale: String,
    /// Heading of its section.
    pub title: String,
    /// What it does, in words; empty in runs of version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Options whose value is such that a crash may destroy data on filesystems that write in place, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker_in_place: Vec<String>,
    /// Every option with its value.
    pub settings: BTreeMap<String, String>,
    /// Names, phrases and figures of its phases, in order.
    pub phases: Vec<PhaseFacts>,
    /// Sums over phases that are shown as one operation.
    pub totals: Vec<TotalFacts>,
}

/// What the ledger keeps of a plan besides the plan itself.
impl ResolvedPlan {
    /// The contenders as the ledger keeps them.
    pub fn contender_records(&self) -> Vec<ContenderRecord> {
        self.contenders
            .iter()
            .enumerate()
            .map(|(index, entry)| ContenderRecord {
                index: index as u32,
                label: entry.asked.label.clone(),
                asked: Some(entry.asked.clone()),
                twin_of: entry.twin_of.map(|of| of as u32),
                error: None,
                cause: None,
            })
            .collect()
    }

    /// The workloads as the ledger keeps them.
    pub fn work_records(&self) -> Vec<WorkRecord> {
        self.works
            .iter()
            .map(|work| WorkRecord {
                name: work.name.clone(),
                scale: work.compiled.scale.clone(),
                title: work.title.clone(),
                about: work.about.clone(),
                weaker_in_place: work.weaker_in_place.clone(),
                settings: work.compiled.settings.clone(),
                phases: work.compiled.phases.clone(),
                totals: work.compiled.totals.clone(),
            })
            .collect()
    }
}

/// Where a run's figures come from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Origin {
    /// Measured by this program on this machine.
    Measured,
    /// Exported by this program elsewhere.
    Exported,
    /// Another program's results: its name, and the file they came from.
    Foreign {
        /// fio, Bonnie++, dd.
        program: String,
        /// Name of the file.
        file: String,
    },
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RunStatus {
    /// Begun and not ended: under way, or killed.
    Open,
    /// Stopped by the user, resumable.
    Interrupted,
    /// Ended by its own stopping rule.
    Finished,
}

impl RunStatus {
    /// Its name, as files have it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A run as kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Short name, unique in the ledger, sortable by time: `20261120-160843-3f2a`.
    pub id: String,
    /// When it began, milliseconds since 1970, UTC.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Seconds that it was under way until it last ended, by a clock that nobody sets; absent before that, and in ledgers from before this was kept.
    /// [`RunRecord::took`] is what to count with.
    pub seconds: Option<f64>,
    /// State.
    pub status: RunStatus,
    /// Why it ended, in words: the stopping rule, the budget, the user.
    pub ending: Option<String>,
    /// What was known when it began.
    pub new: NewRun,
    /// The generator's and clock's ceiling on this machine, measured once a run.
    pub ceiling: Option<Ceiling>,
}

impl RunRecord {
    /// Seconds that it was under way until it last ended: never negative, never without an end.
    pub fn took(&self) -> Option<f64> {
        self.seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
    }
}

/// A contender of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContenderRecord {
    /// Place in the plan, from 0.
    pub index: u32,
    /// Name in tables.
    pub label: String,
    /// As asked for: filesystem, options, scheduler and so on; absent for results of another program.
    pub asked: Option<Contender>,
    /// The contender of which this is a control: the same contender again, to measure noise.
    pub twin_of: Option<u32>,
    /// Why it takes no part (any more), with the way out.
    pub error: Option<String>,
    /// Whether that lasts; absent where it takes part, and in ledgers from before this was kept.
    pub cause: Option<Cause>,
}

/// State of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TrialStatus {
    /// Every phase was performed.
    #[default]
    Done,
    /// It ended early; its reason says why.
    Failed,
    /// Performed, but something outside disturbed it and it was repeated.
    Disturbed,
}

impl TrialStatus {
    /// Name in results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One contender formatted, mounted and put through one workload once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialRecord {
    /// Block, from 0.
    pub block: u32,
    /// Position within the block, from 0, after shuffling.
    pub position: u32,
    /// Repetition after a disturbance, from 0.
    pub attempt: u32,
    /// Index of the contender.
    pub contender: u32,
    /// Name of the workload.
    pub workload: String,
    /// Scale and settings of the workload.
    pub scale: String,
    /// When it began, milliseconds since 1970.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: i64,
    /// Seconds that it took, by a clock that nobody sets; absent in ledgers from before this was kept. [`TrialRecord::took`]
    /// is what to count with.
    pub seconds: Option<f64>,
    /// State.
    pub status: TrialStatus,
    /// Why it failed or was set aside, with what the system answered.
    pub reason: Option<String>,
    /// Where it failed: whether that lasts; absent in ledgers from before this was kept.
    pub cause: Option<Cause>,
    /// What was found after mounting: options, durability class, sizes, times; absent where it never came so far.
    pub found: Option<Found>,
    /// What was found after unmounting: times, check result, space; absent where it never came so far.
    pub closing: Option<Closing>,
    /// Remarks that belong beside every figure of the trial.
    pub remarks: Vec<String>,
    /// Phases in the order in which they were performed.
    pub phases: Vec<PhaseRecord>,
    /// Every command that was run.
    pub commands: Vec<CommandRecord>,
}

/// Longest time that a trial without a duration of its own is believed to have taken: the wall clock may have been set meanwhile.
const LONGEST_TRIAL: f64 = 14.0 * 86_400.0;

impl TrialRecord {
    /// The first attempt at a contender's trial: its block and position there, and of what has not happened yet, nothing.
    pub fn begun((block, position): (u32, u32), contender: u32, workload: &str, scale: &str) -> TrialRecord {
        let (workload, scale) = (workload.to_owned(), scale.to_owned());
        TrialRecord { block, position, contender, workload, scale, ..TrialRecord::default() }
    }

    /// Seconds that it took: never negative, never absurd, whatever the wall clock did.
    pub fn took(&self) -> f64 {
        let seconds = self.seconds.unwrap_or_else(|| self.ended_ms.saturating_sub(self.began_ms) as f64 / 1e3);
        if seconds.is_finite() { seconds.clamp(0.0, LONGEST_TRIAL) } else { 0.0 }
    }
}

/// One pass of one phase, with the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseRecord {
    /// Name, unique within the workload.
    pub name: String,
    /// Operation, by the name that claims use.
    pub operation: String,
    /// Cache state asked for.
    pub cache: Cache,
    /// Which figure tables show first.
    pub figure: Figure,
    /// Laid out for later phases; not a result.
    pub preparation: bool,
    /// What the engine answered.
    pub outcome: PhaseOutcome,
    /// What the machine saw meanwhile.
    pub evidence: Evidence,
}

impl PhaseRecord {
    /// A pass of a phase that is called as its operation is, without evidence.
    pub fn new(name: &str, cache: Cache, figure: Figure, outcome: PhaseOutcome) -> Self {
        let (operation, evidence) = (name.to_owned(), Evidence::default());
        PhaseRecord { name: name.to_owned(), operation, cache, figure, preparation: false, outcome, evidence }
    }

    /// Whether its figures count: of a phase that was repeated until it was steady, only the steady rounds do; of a pass that was
    /// disturbed and repeated at once, only the repetition.
    pub fn counts(&self) -> bool {
        self.evidence.steady != Some(false) && !self.evidence.set_aside
    }
}

/// What the machine saw during one pass, from just before the start until all was durable.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Bytes that the device delivered.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the device took.
    pub device_written_bytes: Option<u64>,
    /// Read requests that the device served.
    pub device_reads: Option<u64>,
    /// Write requests that the device served.
    pub device_writes: Option<u64>,
    /// Flushes that the device served.
    pub device_flushes: Option<u64>,
    /// Bytes discarded.
    pub device_discarded_bytes: Option<u64>,
    /// CPU time of the whole system in user and kernel mode, in nanoseconds.
    pub system_cpu_ns: Option<u64>,
    /// Length of the observation, in nanoseconds.
    pub observed_ns: u64,
    /// Bytes that the filesystem has taken since it was empty; after the last pass of a phase only.
    pub taken_bytes: Option<u64>,
    /// Inodes that it has taken since it was empty.
    pub taken_inodes: Option<u64>,
    /// Bytes in files that exist by the workload's own count, beside [`Evidence::taken_bytes`].
    pub present_bytes: Option<u64>,
    /// Share of CPU time that a hypervisor took away, 0 to 1.
    pub steal: Option<f64>,
    /// Bytes that devices outside the contender moved meanwhile.
    pub foreign_bytes: Option<u64>,
    /// Bytes of the phase's files that were cached before a cold start, in those that were looked at
    /// ([`ColdStart::files_looked_at`]).
    pub cached_before_bytes: Option<u64>,
    /// Share of the bytes read in a cold phase that came from a cache and not from the device, 0 to 1.
    pub from_cache: Option<f64>,
    /// Share of the bytes read in a warm phase that came from the device, 0 to 1; absent in runs from before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<f64>,
    /// Share of the generator's ceiling that the phase reached, 0 to 1.
    pub of_generator: Option<f64>,
    /// How late a modelled disk was; absent on others, and where it had next to nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_late: Option<DiskLateness>,
    /// Whether caches were emptied where a cold start was asked for.
    pub dropped: Option<bool>,
    /// How the cold start was brought about, and what shows it.
    pub cold: Option<ColdStart>,
    /// Of a phase that was repeated until it was steady: whether this round counts.
    pub steady: Option<bool>,
    /// Disturbed, and repeated at once on the same mount: the pass after it counts in its place.
    pub set_aside: bool,
    /// Disturbances, each in a few words.
    pub disturbed: Vec<String>,
    /// What else belongs beside the figure, each in a few words.
    pub remarks: Vec<String>,
}

/// How late a modelled disk was during one pass: what its description takes, beside what it took.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskLateness {
    /// Requests that were answered.
    pub requests: u64,
    /// Lateness as a share of the disk's own time, of the kind of request where it is largest.
    pub share: f64,
    /// Part of it that no repetition mends: the disk is faster than the way to it and back on this machine.
    pub unreachable: f64,
    /// The largest share of a kind of request that may be less the next time.
    pub avoidable: f64,
    /// Half of the requests were answered no later than this, in nanoseconds.
    pub median_ns: u64,
    /// 99 % of the requests were answered no later than this, in nanoseconds.
    pub p99_ns: u64,
}

impl DiskLateness {
    /// A share of the disk's own time. The models differ by about as much from published figures, so less lateness does not change what a figure is worth.
    pub const BOUND: f64 = 0.1;

    /// Later than the bound: the figures are partly those of this machine.
    pub fn is_late(&self) -> bool {
        self.share > Self::BOUND
    }

    /// Later than the bound for reasons that may be gone the next time.
    pub fn is_disturbed(&self) -> bool {
        self.avoidable > Self::BOUND
    }

    /// Later than the bound whatever the machine does meanwhile: the disk is too fast to be modelled here.
    pub fn is_too_fast(&self) -> bool {
        self.unreachable > Self::BOUND
    }
}

/// One command as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRecord {
    /// The command, as a person would type it.
    pub line: String,
    /// Exit status; absent where it was ended by a signal or never began.
    pub status: Option<i32>,
    /// What it printed, shortened.
    pub output: String,
    /// How long it took, in nanoseconds.
    pub elapsed_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::DiskLateness;

    #[test]
    fn a_disk_is_late_beyond_a_tenth_of_its_own_time_and_disturbed_only_by_what_may_pass() {
        let judged = |share, unreachable, avoidable| {
            let late = DiskLateness { share, unreachable, avoidable, ..DiskLateness::default() };
            (late.is_late(), late.is_disturbed(), late.is_too_fast())
        };
        assert_eq!(judged(0.1, 0.0, 0.1), (false, false, false));
        assert_eq!(judged(0.11, 0.0, 0.11), (true, true, false));
        assert_eq!(judged(2.0, 1.95, 0.05), (true, false, true));
        assert_eq!(judged(2.0, 1.95, 0.3), (true, true, true));
    }
}
