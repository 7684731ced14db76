//! `bakeoff tune`: the best options of a filesystem for some work, found and confirmed.
//! In: [`TuneArgs`]. Out: stages in databases of their own, the answer as text or JSON, and a plan that repeats the comparison.

use crate::args::{TuneArgs, What};
use crate::catalogue::Catalogue;
use crate::failure::{Failure, given};
use crate::session::{STOPPED, stop_on_signals};
use crate::tuning::{Answer, StageView, Stages, Subject, Tried, try_out, what};
use crate::{json, place, resolve, scratch, text};
use records::{Place, ResolvedPlan};
use runner::Stop;
use staging::{Registry, Where};
use std::path::{Path, PathBuf};
use system::create::Folder;
use tune::{Budget, Search, Terms};
use workload::quantity::parse_duration;

/// Bytes of the image on which options are tried before a search on a device.
const TRIED_ON: u64 = 2 << 30;
/// Seconds of the budget for each filesystem that is made to try options. Not the measured time, so that a continued search decides alike.
const TRIED_SECONDS: f64 = 0.5;
/// The same in a virtual machine, which boots for each.
const TRIED_IN_GUEST: f64 = 6.0;
/// Most trials of a search.
const MOST_TRIALS: u32 = 1_000_000;

/// Searches, and prints what was found.
pub fn tune(args: &TuneArgs) -> Result<u8, Failure> {
    let budget = given("--budget", &args.budget, parse_budget)?;
    if let Some(goal) =
        args.goals.iter().enumerate().find_map(|(at, goal)| args.goals[..at].contains(goal).then_some(goal))
    {
        return Err(Failure::usage(format!("--goal {}: it is there twice", goal.name())));
    }
    let registry = Catalogue::with(&[], &args.filesystems)?.filesystems.may_run();
    let subject = Subject::of(&args.filesystem, args.against.as_deref(), &args.axis, &registry)?;
    args.memory.as_deref().map_or(Ok(()), resolve::check_memory)?;
    let memory = args.memory.iter().map(|size| format!("limit.memory={size}"));
    let with: Vec<String> = memory.chain(args.with.iter().cloned()).collect();
    let kernel = args.kernel.clone().or_else(|| staging::guest_kernel(&registry, &args.filesystem));
    let subject = subject.with(args.disk.as_deref(), kernel.as_deref(), &with)?;
    if !system::process::is_root() {
        return Err(Failure::new(format!("tuning {}: it formats filesystems; run it as root", args.filesystem)));
    }
    // All values together need not fit on parts of one device: no stage has them all.
    let all = What { split: false, ..what(args, subject.every_value(args.allow_less_safe)) };
    let (plan, catalogue) = resolve::plan(&all)?;
    let folder = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("bakeoff-tune-{}", args.filesystem)));
    Folder::make(&folder)
        .map_err(|error| Failure::new(format!("making the folder {} (--output): {error}", folder.display())))?;
    let stop = stop_on_signals()?;
    let Some(tried) = tried(args, &subject, (&plan, &registry), &stop)? else { return Ok(stopped(&folder)) };
    let budget = match budget {
        Budget::Seconds { all, .. } => {
            let each = if subject.in_guests() { TRIED_IN_GUEST } else { TRIED_SECONDS };
            Budget::Seconds { all, spent: each * f64::from(tried.made) }
        }
        trials @ Budget::Trials(_) => trials,
    };
    let failed = |why: String| Failure::new(format!("tuning {} with --budget {}: {why}", args.filesystem, args.budget));
    let terms = Terms { budget, margin: judge::MARGIN, goals: args.goals.len() };
    let mut search = Search::new(tried.space.clone(), terms).map_err(failed)?;
    let image = match &plan.place {
        Place::Image { bytes, .. } => Some(bytes.to_string()),
        _ => None,
    };
    let stages = Stages { args, subject: &subject, image, folder: folder.clone() };
    let mut views = Vec::new();
    while let Some(stage) = search.stage().cloned() {
        let done = match stages.run(&stage) {
            Ok(Some(done)) => done,
            Ok(None) => return Ok(stopped(&folder)),
            // A run that is stopped before its first trial ends with an error.
            Err(_) if stop() => return Ok(stopped(&folder)),
            Err(failure) => return Err(failure),
        };
        search.take(&done.results, done.seconds).map_err(failed)?;
        let (name, sets) = (stage.kind.name(), stage.sets.len());
        views.push(StageView { name, sets, rounds: stage.rounds, seconds: done.seconds, database: done.database });
    }
    let outcome = search.outcome().ok_or_else(|| Failure::new("the search ended without an outcome"))?;
    let (subject, tried, search) = (&subject, &tried, &search);
    let against = args.against.as_deref();
    let goals = &args.goals;
    let answer =
        Answer { subject, against, goals, tried, search, outcome, stages: views, plan: &plan, folder: &folder };
    answer.write_plan(&catalogue)?;
    let tuned = answer.data();
    tuned.draw()?;
    if args.json {
        json::print(&tuned)?;
    } else {
        print!("{}", tuned.text(text::width()));
    }
    Ok(0)
}

/// A budget as users write it: `20m`, or `96trials`.
fn parse_budget(text: &str) -> Result<Budget, String> {
    let word = text.trim();
    let Some(count) = word.strip_suffix("trials").or_else(|| word.strip_suffix("trial")) else {
        let all = parse_duration(word)?.as_secs_f64();
        return Ok(Budget::Seconds { all, spent: 0.0 });
    };
    let trials = count.trim().parse().ok().filter(|trials| (1..=MOST_TRIALS).contains(trials));
    trials.map(Budget::Trials).ok_or_else(|| format!("`{}` is no number from 1 to {MOST_TRIALS}", count.trim()))
}

/// Tries every value once on an image, beside the place of the search. `None`: the user stopped it.
fn tried(
    args: &TuneArgs,
    subject: &Subject,
    (plan, registry): (&ResolvedPlan, &Registry),
    stop: &Stop,
) -> Result<Option<Tried>, Failure> {
    for note in place::clean_before(plan)? {
        eprintln!("{note}");
    }
    let bytes = if let Place::Image { bytes, .. } = &plan.place { *bytes } else { TRIED_ON };
    let place = Where::Image { bytes, folder: scratch::folder(args.scratch.as_deref())? };
    let place_of = if subject.in_guests() { "in a virtual machine" } else { "on an image" };
    eprintln!("Trying each option once {place_of}.");
    let tried = try_out(subject, registry, &place, args.allow_less_safe, stop)?;
    for sentence in tried.iter().flat_map(|tried| &tried.left_out) {
        eprint!("{}", text::wrapped(sentence, text::width(), "", "  "));
    }
    Ok(tried)
}

fn stopped(folder: &Path) -> u8 {
    let folder = folder.display();
    eprintln!("Stopped. Stages and trials so far are kept in {folder}; the same command continues.");
    STOPPED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_a_time_or_a_number_of_trials() {
        for (text, budget) in [
            ("2m", Budget::Seconds { all: 120.0, spent: 0.0 }),
            ("96trials", Budget::Trials(96)),
            (" 96 trials", Budget::Trials(96)),
        ] {
            assert_eq!(parse_budget(text), Ok(budget));
        }
        for (text, word) in [
            ("96", "no unit"),
            ("trials", "no number"),
            ("-1trials", "-1"),
            ("9.5 trials", "9.5"),
            ("5000000trials", "1000000"),
        ] {
            assert!(parse_budget(text).expect_err(text).contains(word), "{text}");
        }
    }
}
