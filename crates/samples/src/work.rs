//! Work counts of a phase of a contender: bytes that it wrote and read, and bytes that its device received and delivered.
//! In: trials and the name of a phase. Out: the judge's [`Work`], by which it finds contenders that did not do the same work.
//! What was not counted is absent, so that no conclusion is based on it.

use judge::{Work, median};
use records::{Evidence, PhaseRecord, RunRecord, TrialRecord, WorkRecord};
use std::collections::BTreeSet;

/// Names of the phases that the filesystems' own tools carry out: how much work such a tool does depends on its filesystem.
pub fn by_tools(run: &RunRecord, work: &WorkRecord) -> BTreeSet<String> {
    let works = run.new.plan.iter().flat_map(|plan| &plan.works);
    let mine = works.filter(|planned| planned.name == work.name && planned.compiled.scale == work.scale);
    let phases = mine.flat_map(|planned| &planned.compiled.program.phases);
    phases.filter(|phase| phase.uses_tools()).map(|phase| phase.name.clone()).collect()
}

/// One pass, with the state after the trial's earlier phases.
struct Pass<'a> {
    phase: &'a PhaseRecord,
    /// Bytes in files before the phase, by the workload's own count, and bytes that the filesystem used.
    before: (u64, Option<u64>),
    /// The same after its last pass.
    after: (Option<u64>, Option<u64>),
    /// Inodes in use before and after, where the filesystem counts them.
    inodes: (Option<u64>, Option<u64>),
}

/// Work counts of a phase in these trials; `None` if it did not run.
pub fn of_phase(trials: &[(usize, &TrialRecord)], name: &str) -> Option<Work> {
    let passes: Vec<Pass> = trials.iter().flat_map(|(_, trial)| passes(trial, name)).collect();
    let all = |value: &dyn Fn(&Pass) -> Option<u64>| {
        median(&passes.iter().filter_map(value).map(|value| value as f64).collect::<Vec<_>>())
    };
    let seconds = all(&|pass| Some(pass.phase.outcome.durable_ns.unwrap_or(pass.phase.outcome.returned_ns)))?;
    Some(Work {
        phase: name.to_owned(),
        program: passes.iter().all(Pass::is_of_programs),
        seconds: Some(seconds / 1e9),
        written: all(&|pass| pass.moved(|part| part.1, |run| run.written_bytes)),
        read: all(&|pass| pass.moved(|part| part.0, |run| run.read_bytes)),
        device_written: all(&|pass| pass.evidence().device_written_bytes.filter(|_| pass.is_durable())),
        device_read: all(&|pass| {
            pass.evidence().device_read_bytes.filter(|_| pass.due_from_device().is_some() || pass.is_cold())
        }),
        due_to_device: all(&|pass| pass.due_to_device()),
        due_from_device: all(&|pass| pass.due_from_device()),
        kept: all(&|pass| Some(pass.after.1?.saturating_sub(pass.before.1?))),
        files: all(&|pass| pass.is_of_programs().then(|| Some(pass.inodes.1?.saturating_sub(pass.inodes.0?)))?),
        printed: all(&|pass| pass.is_of_programs().then(|| pass.printed())),
    })
}

fn passes<'a>(trial: &'a TrialRecord, name: &'a str) -> Vec<Pass<'a>> {
    let mine = |phase: &&PhaseRecord| phase.name == name;
    let Some(first) = trial.phases.iter().position(|phase| phase.name == name) else { return Vec::new() };
    let earlier = || trial.phases[..first].iter().rev();
    let before = (
        earlier().find_map(|phase| phase.evidence.present_bytes).unwrap_or(0),
        // Before the first phase the filesystem is empty, and its used space is counted from there.
        if first == 0 { Some(0) } else { earlier().find_map(|phase| phase.evidence.taken_bytes) },
    );
    let last = trial.phases.iter().rfind(mine).map(|phase| &phase.evidence);
    let after = (last.and_then(|last| last.present_bytes), last.and_then(|last| last.taken_bytes));
    let inodes_before = if first == 0 { Some(0) } else { earlier().find_map(|phase| phase.evidence.taken_inodes) };
    let inodes = (inodes_before, last.and_then(|last| last.taken_inodes));
    let counts = trial.phases.iter().filter(mine).filter(|phase| phase.counts());
    counts.map(|phase| Pass { phase, before, after, inodes }).collect()
}

impl Pass<'_> {
    fn evidence(&self) -> &Evidence {
        &self.phase.evidence
    }

    fn is_of_programs(&self) -> bool {
        !self.phase.outcome.commands.is_empty()
    }

    fn is_durable(&self) -> bool {
        self.phase.outcome.durable_ns.is_some()
    }

    fn is_cold(&self) -> bool {
        self.evidence().cold.is_some() && self.evidence().dropped != Some(false)
    }

    /// Bytes read and written: as counted by the engine, as reported by programs (fio), and by their calls. None of these counts is
    /// complete for programs, so the largest is the closest.
    fn moved(
        &self,
        part: fn(&(u64, u64)) -> u64,
        calls: fn(&records::outcome::CommandRun) -> Option<u64>,
    ) -> Option<u64> {
        let outcome = &self.phase.outcome;
        let engine = part(&(outcome.bytes_read, outcome.bytes_written));
        if !self.is_of_programs() {
            return Some(engine);
        }
        let reported = part(&self.reported());
        let calls: Option<u64> = outcome.commands.iter().map(calls).sum();
        calls.map(|calls| calls.max(reported)).or((reported > 0).then_some(reported))
    }

    /// What programs reported that they read and wrote.
    fn reported(&self) -> (u64, u64) {
        let groups = &self.phase.outcome.groups;
        (groups.iter().map(|group| group.bytes_read).sum(), groups.iter().map(|group| group.bytes_written).sum())
    }

    fn printed(&self) -> u64 {
        self.phase.outcome.commands.iter().map(|run| run.output_bytes).sum()
    }

    /// Bytes that the engine added to files and that remain at the end: the device must have received them.
    fn due_to_device(&self) -> Option<u64> {
        let added = self.after.0?.saturating_sub(self.before.0);
        (!self.is_of_programs() && self.is_durable()).then(|| added.min(self.phase.outcome.bytes_written))
    }

    /// Bytes that only the device could provide without caches: if the runner compared reads with the device; for a program, if it reported
    /// only reads after a cold start.
    fn due_from_device(&self) -> Option<u64> {
        if !self.is_of_programs() {
            return self.evidence().from_cache.map(|_| self.phase.outcome.bytes_read);
        }
        let (read, written) = self.reported();
        (self.is_cold() && read > 0 && written == 0).then_some(read)
    }
}
