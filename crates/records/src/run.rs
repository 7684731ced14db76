//! The records of a ledger: a run, its contenders, its trials and their phases.
//! In: made by the runner (or an importer). Out: read by the report and the command line.
//! Unmeasured values are absent, never zero.

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

/// Facts about a run at its beginning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewRun {
    /// The question in one line: what is compared, on what.
    pub title: String,
    /// The resolved plan, complete: enough to resume and to repeat; absent for results of another program.
    pub plan: Option<ResolvedPlan>,
    /// Seed of orders and contents.
    pub seed: u64,
    /// The machine as found when the run began; absent for results of another program, and if parts of the run were measured on several machines.
    pub machine: Option<Machine>,
    /// The parts that it was merged from; absent for a run that was measured, or read, as a whole.
    pub merged: Option<Merged>,
    /// Version of the program.
    pub version: String,
    /// The command line that began it.
    pub command_line: Vec<String>,
    /// Source of the figures.
    pub origin: Origin,
    /// The workloads, with the names of their phases in tables and sentences.
    pub works: Vec<WorkRecord>,
}

impl NewRun {
    /// The command that resumes it: clients that were MPI ranks are started again by mpirun.
    pub fn resume_command(&self, id: &str) -> String {
        match self.command_line.as_slice() {
            [launcher, option, ranks, ..] if launcher == "mpirun" && option == "-np" => {
                format!("mpirun -np {ranks} bakeoff ranks --resume {id}")
            }
            _ => format!("bakeoff resume {id}"),
        }
    }
}

/// A run merged from parts of one plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Merged {
    /// Number of parts of the plan.
    pub of: u32,
    /// The parts that it holds.
    pub parts: Vec<Part>,
}

/// A part of a plan within a merged run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// From 0.
    pub index: u32,
    /// Its id where it was measured.
    pub run: String,
    /// Whether it was finished.
    pub finished: bool,
    /// The machine; absent if unknown.
    pub machine: Option<Machine>,
    /// Limits of its memory and clock; absent in runs of version 0.1.
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
    /// What it does, as text; empty in runs of version 0.1.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// Names of options whose value allows a crash to destroy data on filesystems that write in place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weaker_in_place: Vec<String>,
    /// Every option with its value.
    pub settings: BTreeMap<String, String>,
    /// Names, phrases and figures of its phases, in order.
    pub phases: Vec<PhaseFacts>,
    /// Sums over phases that are shown as one operation.
    pub totals: Vec<TotalFacts>,
}

/// The parts of a plan that the ledger keeps separately as well.
impl ResolvedPlan {
    /// The contenders as records.
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

    /// The workloads as records.
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

/// Source of a run's figures.
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
    /// Begun and not ended: in progress, or killed.
    Open,
    /// Stopped by the user, resumable.
    Interrupted,
    /// Ended by its own stopping rule.
    Finished,
}

impl RunStatus {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A stored run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRecord {
    /// Short name, unique in the ledger, sortable by time: `20261120-160843-3f2a`.
    pub id: String,
    /// When it began, milliseconds since 1970, UTC.
    pub began_ms: i64,
    /// When it ended.
    pub ended_ms: Option<i64>,
    /// Total seconds that it was in progress until it last ended, by the monotonic clock; absent before that, and in older ledgers. Use
    /// [`RunRecord::took`] for computations.
    pub seconds: Option<f64>,
    /// State.
    pub status: RunStatus,
    /// Why it ended, as text: the stopping rule, the budget, the user.
    pub ending: Option<String>,
    /// Facts at its beginning.
    pub new: NewRun,
    /// The generator's and clock's ceiling on this machine, measured once per run.
    pub ceiling: Option<Ceiling>,
}

impl RunRecord {
    /// Seconds that it was in progress until it last ended: never negative, never infinite.
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
    /// As requested: filesystem, options, scheduler and so on; absent for results of another program.
    pub asked: Option<Contender>,
    /// The contender of which this is a control: the same contender again, to measure noise.
    pub twin_of: Option<u32>,
    /// Why it takes no further part, with the remedy.
    pub error: Option<String>,
    /// Whether that is permanent; absent if it takes part, and in older ledgers.
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
    /// It ended early; the reason is in its record.
    Failed,
    /// Performed, but disturbed from outside and repeated.
    Disturbed,
}

impl TrialStatus {
    /// Name in results.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One contender formatted, mounted and measured once with one workload.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrialRecord {
    /// Round, from 0.
    pub block: u32,
    /// Position within the round, from 0, after shuffling.
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
    /// Its duration in seconds, by the monotonic clock; absent in older ledgers. Use [`TrialRecord::took`] for computations.
    pub seconds: Option<f64>,
    /// State.
    pub status: TrialStatus,
    /// Why it failed or was set aside, with the system's error.
    pub reason: Option<String>,
    /// For a failure: whether it is permanent; absent in older ledgers.
    pub cause: Option<Cause>,
    /// Findings after mounting: options, durability class, sizes, times; absent if it failed earlier.
    pub found: Option<Found>,
    /// Findings after unmounting: times, check result, space; absent if it failed earlier.
    pub closing: Option<Closing>,
    /// Remarks to show with every figure of the trial.
    pub remarks: Vec<String>,
    /// Phases in the order in which they were performed.
    pub phases: Vec<PhaseRecord>,
    /// Every command that was run.
    pub commands: Vec<CommandRecord>,
}

/// Longest accepted time of a trial without its own duration: the wall clock may have been set meanwhile.
const LONGEST_TRIAL: f64 = 14.0 * 86_400.0;

impl TrialRecord {
    /// The first attempt at a contender's trial: its round and position; all else is empty.
    pub fn begun((block, position): (u32, u32), contender: u32, workload: &str, scale: &str) -> TrialRecord {
        let (workload, scale) = (workload.to_owned(), scale.to_owned());
        TrialRecord { block, position, contender, workload, scale, ..TrialRecord::default() }
    }

    /// Its duration in seconds: never negative, never absurd, whatever the wall clock did.
    pub fn took(&self) -> f64 {
        let seconds = self.seconds.unwrap_or_else(|| self.ended_ms.saturating_sub(self.began_ms) as f64 / 1e3);
        if seconds.is_finite() { seconds.clamp(0.0, LONGEST_TRIAL) } else { 0.0 }
    }
}

/// One pass of one phase, with its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseRecord {
    /// Name, unique within the workload.
    pub name: String,
    /// Operation, by the name that claims use.
    pub operation: String,
    /// Requested cache state.
    pub cache: Cache,
    /// Which figure tables show first.
    pub figure: Figure,
    /// Prepares later phases; not a result.
    pub preparation: bool,
    /// Result of the engine.
    pub outcome: PhaseOutcome,
    /// Evidence of the machine during the pass.
    pub evidence: Evidence,
}

impl PhaseRecord {
    /// A pass of a phase named like its operation, without evidence.
    pub fn new(name: &str, cache: Cache, figure: Figure, outcome: PhaseOutcome) -> Self {
        let (operation, evidence) = (name.to_owned(), Evidence::default());
        PhaseRecord { name: name.to_owned(), operation, cache, figure, preparation: false, outcome, evidence }
    }

    /// Whether its figures count: for a phase repeated until steady, only the steady rounds do; for a pass that was disturbed and repeated at
    /// once, only the repetition.
    pub fn counts(&self) -> bool {
        self.evidence.steady != Some(false) && !self.evidence.set_aside
    }
}

/// Evidence of the machine during one pass, from just before the start until all data was durable.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Bytes read from the device.
    pub device_read_bytes: Option<u64>,
    /// Bytes written to the device.
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
    /// Bytes that the filesystem has allocated since it was empty; only after the last pass of a phase.
    pub taken_bytes: Option<u64>,
    /// Inodes that it has allocated since it was empty.
    pub taken_inodes: Option<u64>,
    /// Bytes in files that exist by the workload's own count, for comparison with [`Evidence::taken_bytes`].
    pub present_bytes: Option<u64>,
    /// Share of CPU time that a hypervisor took away, 0 to 1.
    pub steal: Option<f64>,
    /// Bytes that devices outside the contender moved meanwhile.
    pub foreign_bytes: Option<u64>,
    /// Cached bytes of the phase's files before a cold start, in the files that were checked ([`ColdStart::files_looked_at`]).
    pub cached_before_bytes: Option<u64>,
    /// Share of the bytes read in a cold phase that came from a cache and not from the device, 0 to 1.
    pub from_cache: Option<f64>,
    /// Share of the bytes read in a warm phase that came from the device, 0 to 1; absent in older runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_device: Option<f64>,
    /// Share of the generator's ceiling that the phase reached, 0 to 1.
    pub of_generator: Option<f64>,
    /// How late a modelled disk was; absent on others, and if it had next to nothing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_late: Option<DiskLateness>,
    /// Whether caches were emptied for a requested cold start.
    pub dropped: Option<bool>,
    /// How the cold start was done, and the proof.
    pub cold: Option<ColdStart>,
    /// For a phase repeated until steady: whether this round counts.
    pub steady: Option<bool>,
    /// Disturbed, and repeated at once on the same mount: the next pass counts instead.
    pub set_aside: bool,
    /// Disturbances, each in a few words.
    pub disturbed: Vec<String>,
    /// Other remarks to show with the figure, each in a few words.
    pub remarks: Vec<String>,
}

/// How late a modelled disk was during one pass: the time of its description, compared with the real time.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskLateness {
    /// Completed requests.
    pub requests: u64,
    /// Lateness as a share of the disk's own time, for the kind of request where it is largest.
    pub share: f64,
    /// The part that no repetition removes: the disk is faster than the path to it and back on this machine.
    pub unreachable: f64,
    /// The largest share of a kind of request that may be less the next time.
    pub avoidable: f64,
    /// Half of the requests were completed no later than this, in nanoseconds.
    pub median_ns: u64,
    /// 99 % of the requests were completed no later than this, in nanoseconds.
    pub p99_ns: u64,
}

impl DiskLateness {
    /// A share of the disk's own time. The models differ by about as much from published figures, so less lateness does not make a figure worse.
    pub const BOUND: f64 = 0.1;

    /// Later than the bound: the figures partly measure this machine.
    pub fn is_late(&self) -> bool {
        self.share > Self::BOUND
    }

    /// Later than the bound for reasons that may be temporary.
    pub fn is_disturbed(&self) -> bool {
        self.avoidable > Self::BOUND
    }

    /// Later than the bound whatever else the machine does: the disk is too fast to be modelled here.
    pub fn is_too_fast(&self) -> bool {
        self.unreachable > Self::BOUND
    }
}

/// One command as it was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRecord {
    /// The command, as typed in a shell.
    pub line: String,
    /// Exit status; absent if a signal ended it or it never began.
    pub status: Option<i32>,
    /// Its output, shortened.
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
