//! Results of the promises over all states of a contender.
//! In: the record of the disk, and the findings in each state. Out: which promises were kept, and what was lost of the diary.

use super::campaign::{Account, Cuts};
use super::hands::{Question, Seen};
use super::instances::{Instances, Progress, diary_mark, diary_time};
use super::kept::{KeptPlace, Proof, Shown};
use super::promises::{Chosen, TESTED};
use super::result::{Example, Survived};
use super::tally::{Looked, Tally, figures};
use disk::{Event, Record, State};
use std::path::{Path, PathBuf};

/// Share of the states that are cut during unsynced work.
const QUIET: f64 = 0.4;

/// Counts of the promises.
pub(crate) struct PromiseAccount {
    root: PathBuf,
    instances: Instances,
    tally: Tally,
    lost: Vec<f64>,
    foreign: u64,
}

impl PromiseAccount {
    /// For promises executed below this root, here or elsewhere.
    pub fn below(root: &Path, chosen: &Chosen) -> PromiseAccount {
        let instances = Instances::below(root, chosen);
        let tally = Tally::of(chosen);
        PromiseAccount { root: root.to_owned(), instances, tally, lost: Vec::new(), foreign: 0 }
    }

    /// A promise at the places where it had started; None if it had not.
    fn proof(&self, promise: usize, progress: &Progress) -> Option<Proof> {
        let begun = self.instances.all.iter().zip(&progress.done);
        let places = begun.filter(|(one, done)| one.promise == promise && **done > 0).map(|(one, done)| {
            let folder = one.place.folder.strip_prefix(&self.root).unwrap_or(&one.place.folder).to_owned();
            KeptPlace { folder, file: one.place.file, done: *done }
        });
        let places: Vec<KeptPlace> = places.collect();
        let name = TESTED[promise].name();
        (!places.is_empty()).then_some(Proof::Promise { name, places })
    }

    fn progress(&self, record: &Record, cut: usize) -> Progress {
        Progress::at(record, cut, self.instances.all.len())
    }

    /// Lost seconds of the diary, for a cut during unsynced work.
    fn losses(&mut self, record: &Record, cut: usize, written: u32, first_lost: Option<u32>) {
        let Some(last) = record.moments.get(cut).or(record.moments.last()).filter(|_| written > 0) else { return };
        let since = first_lost.and_then(|entry| diary_time(record, entry));
        self.lost.push(since.map_or(0.0, |since| last.at.saturating_sub(since).as_secs_f64()));
    }
}

impl Account for PromiseAccount {
    fn states(&self, record: &Record, cuts: &Cuts) -> Vec<State> {
        let first = record.moments.iter().position(|moment| moment.event == Event::Marked(diary_mark(0)));
        let (all, end) = (cuts.states as usize, record.moments.len());
        let quiet_from = first.unwrap_or(end);
        let quiet = (all as f64 * QUIET) as usize;
        let mut states = disk::choose(record, 0..quiet_from, cuts.choice(all - quiet, 0));
        states.extend(disk::choose(record, quiet_from..end, cuts.choice(quiet, 1)));
        states
    }

    fn question(&self, record: &Record, cut: usize) -> Question {
        let progress = self.progress(record, cut);
        let proofs = (0..TESTED.len()).filter_map(|promise| self.proof(promise, &progress)).collect();
        Question { proofs, diary: progress.diary }
    }

    fn note(&mut self, record: &Record, looked: &Looked, question: &Question, seen: &Seen) {
        for (proof, finding) in question.proofs.iter().zip(&seen.findings) {
            let Proof::Promise { name, .. } = proof else { continue };
            if let Some(promise) = TESTED.iter().position(|one| one.name() == *name) {
                self.tally.note(promise, looked, finding);
            }
        }
        self.foreign = self.foreign.max(seen.findings.iter().map(|finding| finding.foreign).sum());
        self.losses(record, looked.state.cut, question.diary, seen.first_lost);
    }

    fn shown(&self, record: &Record) -> Vec<Shown> {
        let of = |(promise, example): (usize, &Example)| {
            let state = example.state?;
            let proof = self.proof(promise, &self.progress(record, state.cut))?;
            let name = TESTED[promise].name();
            Some(Shown { name, state, example: example.clone(), proof })
        };
        self.tally.examples().filter_map(of).collect()
    }

    fn tell(self: Box<Self>, survived: &mut Survived) {
        survived.promises = self.tally.results();
        survived.lost_seconds = figures(&self.lost);
        survived.foreign_bytes = self.foreign;
    }
}
