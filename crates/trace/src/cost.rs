//! Cost of recording. Recorded moments of the watcher are subtracted from each call; the rest is measured beforehand.
//! In: recorded programs that only make calls. Out: the time to subtract from other programs.

use crate::events::{Event, Seen};
use crate::recorder::{by_strace, calls};
use std::collections::HashMap;
use std::path::Path;

/// Number of calls in each measurement.
const MEASURED: u64 = 4000;
/// Most calls that are recorded for them.
pub const CALLS: u64 = 12 * MEASURED;

/// Nanoseconds that recording adds to a call and that no recorded moment shows.
#[derive(Debug, Clone, Copy, Default)]
pub struct PerCall {
    /// After it.
    pub between: u64,
    /// Within it.
    pub within: u64,
}

/// The costs on all processors.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cost {
    /// On the first processor: there bpftrace opens its tracepoints, and the kernel creates an unused sample for each call.
    pub first: PerCall,
    /// On the others.
    pub others: PerCall,
    /// Time of a call that the watcher looks at and does not record.
    pub unwatched: u64,
    /// Additional time after a call for each text read from the program's memory.
    pub text: u64,
}

impl Cost {
    /// Cost of one call.
    pub fn of(&self, seen: &Seen) -> PerCall {
        let on = if seen.cpu == 0 { self.first } else { self.others };
        PerCall { between: on.between + self.text * seen.texts.len() as u64, ..on }
    }

    /// Mean cost per call, including the watcher's recorded moments.
    pub fn mean<'a>(&self, calls: impl Iterator<Item = &'a Seen>) -> PerCall {
        let mut sum = PerCall::default();
        let (mut count, mut released) = (0, 0);
        let mut last: HashMap<i32, u64> = HashMap::new();
        for seen in calls {
            let one = self.of(seen);
            sum.between += one.between;
            sum.within += one.within + seen.entered.saturating_sub(seen.start);
            released += last.insert(seen.thread, seen.end).map_or(0, |end| seen.released.saturating_sub(end));
            count += 1;
        }
        let count = count.max(1);
        PerCall { between: (sum.between + released) / count, within: sum.within / count }
    }
}

/// Copies bytes one by one, with two calls for each.
fn copies(count: u64) -> String {
    format!("dd if=/dev/zero of=/dev/null bs=1 status=none count={count}")
}

fn is_copy(seen: &Seen) -> bool {
    matches!(seen.call, libc::SYS_read | libc::SYS_write)
}

/// Shell commands that do almost nothing but calls, so that the time between these is the watcher's: on any processor, on the first and on the others.
pub fn calls_of_known_length() -> String {
    let others = std::thread::available_parallelism().map_or(1, usize::from).max(2) - 1;
    let copy = copies(MEASURED);
    let tests = |last: &str| format!("test -e {NOWHERE}/{last}; ");
    let repeated = |command: &str| format!("{command}; ").repeat(REPEATED as usize);
    let rounds = "1 ".repeat(ROUNDS);
    let unwatched = format!(
        "(for round in {rounds}; do {}{}{}{}done; {})",
        tests(UNWATCHED),
        repeated("umask 22"),
        tests(NOTHING),
        repeated(":"),
        tests("end")
    );
    format!("{copy}; (taskset -c 0 {copy}; taskset -c 1-{others} {copy}) 2>/dev/null; {unwatched}")
}

/// A folder that does not exist, and names in it that mark what a shell does next: commands that call umask(2), which is not recorded, or as many
/// that do nothing.
const NOWHERE: &str = "/bakeoff-is-not-here";
const UNWATCHED: &str = "unwatched";
const NOTHING: &str = "nothing";
const REPEATED: u64 = 100;
/// How often the shell does both.
const ROUNDS: usize = 15;

/// Nanoseconds of an unwatched call, most of which are the watcher's: the time after the mark of these calls, less that after the other. Of each the lower
/// quartile, since other programs disturb some rounds. A shell makes several calls for one command.
fn of_unwatched<'a>(seen: impl Iterator<Item = &'a Seen> + Clone) -> u64 {
    let after = |mark: &str| {
        let marked = format!("{NOWHERE}/{mark}");
        let pairs = seen.clone().zip(seen.clone().skip(1)).filter(|(one, next)| one.thread == next.thread);
        let marked = pairs.filter(|(one, _)| one.texts.first() == Some(&marked));
        let mut gaps: Vec<_> =
            marked.map(|(one, next)| (gap(one, next), next.unwatched.saturating_sub(one.unwatched))).collect();
        gaps.sort_unstable();
        gaps.get(gaps.len() / 4).copied().unwrap_or_default()
    };
    let ((with, calls), (without, others)) = (after(UNWATCHED), after(NOTHING));
    with.saturating_sub(without) / calls.saturating_sub(others).max(1)
}

/// The cost of eBPF, from the recorded [`calls_of_known_length`]: on the first processor and on others, as far as the process may run there.
///
/// # Errors
/// They were not recorded; in a clause.
pub fn of_ebpf(events: &[Event]) -> Result<Cost, String> {
    let gaps = Gaps::of(calls(events), is_copy);
    let on = |first: bool| gaps.middle(|seen| (seen.cpu == 0) == first);
    let either = on(true).or(on(false)).ok_or_else(|| gaps.too_few())?;
    let unwatched = of_unwatched(calls(events));
    Ok(Cost { first: on(true).unwrap_or(either), others: on(false).unwrap_or(either), unwatched, text: 0 })
}

/// The cost of strace, from programs that only make calls. One of them removes missing files: texts are read while the program waits.
///
/// # Errors
/// strace does not work here; in a clause.
pub fn of_strace() -> Result<Cost, String> {
    let watch = |words: &[String]| by_strace(words, Path::new("/"), &|| Ok(()));
    let words: Vec<String> = copies(MEASURED).split(' ').map(str::to_owned).collect();
    let plain = Gaps::of(watch(&words)?.calls(), is_copy).mean()?;
    let names = (0..MEASURED).map(|number| format!("{NOWHERE}/{number}"));
    let words: Vec<String> = ["rm", "-f", "--"].map(str::to_owned).into_iter().chain(names).collect();
    let is_removal = |seen: &Seen| seen.texts.first().is_some_and(|text| text.starts_with(NOWHERE));
    let texts = Gaps::of(watch(&words)?.calls(), is_removal).mean()?;
    Ok(Cost { first: plain, others: plain, unwatched: 0, text: texts.between.saturating_sub(plain.between) })
}

/// Consecutive calls of one kind, with the time after each and within it.
struct Gaps<'a>(Vec<(&'a Seen, u64, u64)>);

impl<'a> Gaps<'a> {
    fn of(calls: impl Iterator<Item = &'a Seen> + Clone, is_meant: impl Fn(&Seen) -> bool) -> Gaps<'a> {
        let pairs = calls.clone().zip(calls.skip(1));
        let pairs = pairs.filter(|(one, next)| one.thread == next.thread && is_meant(one) && is_meant(next));
        Gaps(
            pairs
                .map(|(one, next)| (one, gap(one, next), one.end.saturating_sub(one.start.max(one.entered))))
                .collect(),
        )
    }

    fn too_few(&self) -> String {
        format!("it recorded only {} of a program's {MEASURED} calls", self.0.len())
    }

    /// Medians of the matching calls, if there are enough.
    fn middle(&self, is_meant: impl Fn(&Seen) -> bool) -> Option<PerCall> {
        let (mut between, mut within): (Vec<u64>, Vec<u64>) =
            self.0.iter().filter(|(seen, ..)| is_meant(seen)).map(|(_, between, within)| (between, within)).unzip();
        let enough = between.len() as u64 > MEASURED / 4;
        between.sort_unstable();
        within.sort_unstable();
        enough.then(|| PerCall { between: between[between.len() / 2], within: within[within.len() / 2] })
    }

    /// The mean gap, and the median time within; a tenth of the gaps at either end is left out.
    fn mean(&self) -> Result<PerCall, String> {
        let PerCall { within, .. } = self.middle(|_| true).ok_or_else(|| self.too_few())?;
        let mut between: Vec<u64> = self.0.iter().map(|(_, between, _)| *between).collect();
        between.sort_unstable();
        let kept = &between[between.len() / 10..between.len() - between.len() / 10];
        Ok(PerCall { between: kept.iter().sum::<u64>() / kept.len() as u64, within })
    }
}

/// Nanoseconds on a processor between two calls of a thread, without recorded moments of the watcher.
fn gap(one: &Seen, next: &Seen) -> u64 {
    let off = next.off_at_start.since(one.off_at_end).in_all();
    next.start.saturating_sub(one.end.max(next.released)).saturating_sub(off)
}

/// strace's cost in the recorded command itself, where caches are colder than in a test program: a fifth of its gaps are as short as gaps
/// get. At most twice the measured cost, as a program may compute before each of its calls.
pub fn in_place<'a>(calls: impl Iterator<Item = &'a Seen>, cost: Cost) -> Cost {
    let mut last: HashMap<i32, &Seen> = HashMap::new();
    let mut gaps: [Vec<u64>; 2] = Default::default();
    for seen in calls {
        if let Some(before) = last.insert(seen.thread, seen)
            && let Some(gaps) = gaps.get_mut(before.texts.len())
        {
            gaps.push(gap(before, seen));
        }
    }
    let [plain, text] = gaps.map(|mut gaps| {
        gaps.sort_unstable();
        gaps.get(gaps.len() / 5).copied().unwrap_or(0)
    });
    let measured = cost.others.between;
    let between = plain.clamp(measured, 2 * measured);
    let with_text = text.clamp(measured + cost.text, 2 * (measured + cost.text));
    let each = PerCall { between, ..cost.others };
    Cost { first: each, others: each, unwatched: 0, text: with_text.saturating_sub(between) }
}
