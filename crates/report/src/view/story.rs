//! Notes on the verdict as a whole: warnings, safety, the machine, in few words.
//! In: records of the ledger and a view under construction. Out: sentences, and pairs of heading and value.

use super::{ContenderView, Counts, NoteView, WorkloadView};
use crate::number;
use indexmap::IndexMap;
use judge::{Backend, Durability, Judgement, NoteKind};
use records::outcome::Ceiling;
use records::{NewRun, Origin, RunRecord, RunStatus};
use std::collections::BTreeSet;

/// Warnings, the most important first.
pub(super) fn warnings(
    run: &RunRecord,
    contenders: &[ContenderView],
    workloads: &[WorkloadView],
    counts: Counts,
    judgement: &Judgement,
) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Origin::Foreign { program, file } = &run.new.origin {
        sentences.push(format!("These are results of {program}, read from {file}; Bakeoff did not measure them."));
    }
    sentences.extend(shards(&run.new));
    match run.status {
        RunStatus::Open => sentences.push("The run is not finished; more trials may follow.".into()),
        RunStatus::Interrupted if run.new.origin != Origin::Measured => sentences.extend(run.ending.clone()),
        RunStatus::Interrupted => {
            sentences.push(format!("The run was interrupted; `{}` continues it.", run.new.resume_command(&run.id)));
        }
        RunStatus::Finished => {}
    }
    if counts.done == 0 {
        sentences.push("No trial has produced a figure yet.".into());
    } else if counts.blocks < 3 {
        let blocks = if counts.blocks == 1 { "is only one round" } else { "are only two rounds" };
        let here = run.status == RunStatus::Finished && run.new.origin == Origin::Measured;
        let way = if here {
            format!(" `{} --samples 3` adds rounds.", run.new.resume_command(&run.id))
        } else {
            String::new()
        };
        sentences
            .push(format!("There {blocks}: too few to tell noise from a difference. Three screen, ten decide.{way}"));
    }
    sentences.extend(guests(contenders));
    sentences.extend(safety_warning(contenders));
    sentences.extend(weaker_settings(&run.new, contenders));
    if counts.failed > 0 {
        sentences.push(format!("{} failed; the reasons are listed below.", plural(counts.failed, "trial")));
    }
    if counts.set_aside > 0 {
        let were = if counts.set_aside == 1 { "was" } else { "were" };
        sentences.push(format!("{} {were} disturbed, set aside and repeated.", plural(counts.set_aside, "trial")));
    }
    sentences.extend(judgement.notes.iter().map(|note| note.text.clone()));
    sentences.extend(counted_notes(workloads));
    sentences
}

/// A warning about a run that is one shard of a plan.
fn shards(new: &NewRun) -> Option<String> {
    if new.merged.is_some() {
        return None;
    }
    let shard = new.plan.as_ref()?.shard?;
    Some(format!(
        "This is shard {} of {}: a part of the plan's rounds; `bakeoff import` merges the shards' ledgers.",
        shard.index.saturating_add(1),
        shard.of
    ))
}

fn counted_notes(workloads: &[WorkloadView]) -> Vec<String> {
    let kinds = [
        (NoteKind::Unstable, "vary by more than 5 % from trial to trial; their range is shown"),
        (NoteKind::Cache, "came partly from a cache, although the start should have been cold"),
        (NoteKind::NotWarm, "came partly from the device, although the start should have been warm"),
        (NoteKind::Work, "cover less work than planned"),
        (NoteKind::Ceiling, "are near the ceiling of the data generator: the disk may be faster"),
        (NoteKind::Disturbed, "rest on disturbed trials that could not be repeated"),
    ];
    let counted = kinds.iter().map(|(kind, words)| (with_note(workloads, *kind), words));
    let counted = counted.filter(|((count, _), _)| *count > 0);
    counted.map(|((count, all), words)| format!("{count} of {all} figures {words}.")).collect()
}

/// Number of figures with a note of this kind, their own or their workload's, and of all figures.
pub(super) fn with_note(workloads: &[WorkloadView], kind: NoteKind) -> (usize, usize) {
    let is_of = |notes: &[NoteView]| notes.iter().any(|note| note.kind == kind);
    let figures = workloads.iter().flat_map(|workload| {
        let cells = workload.rows.iter().flat_map(|row| &row.cells).filter(|cell| cell.figure.is_some());
        cells.map(|cell| is_of(&workload.notes) || is_of(&cell.notes))
    });
    figures.fold((0, 0), |(with, all), noted| (with + usize::from(noted), all + 1))
}

fn safety_warning(contenders: &[ContenderView]) -> Option<String> {
    let classes: BTreeSet<&str> = contenders.iter().filter_map(|contender| contender.safety.as_deref()).collect();
    if classes.len() < 2 {
        return None;
    }
    let members = |class: &str| {
        let names: Vec<&str> = contenders
            .iter()
            .filter(|contender| contender.safety.as_deref() == Some(class))
            .map(|contender| contender.name.as_str())
            .collect();
        format!("{} ({class})", names.join(", "))
    };
    let groups: Vec<String> = classes.iter().map(|class| members(class)).collect();
    Some(format!("The contenders do not keep data equally safe: {}.", groups.join("; ")))
}

/// Settings of the work with which a crash may destroy data, and the contenders concerned.
fn weaker_settings(new: &NewRun, contenders: &[ContenderView]) -> Option<String> {
    let works = new.works.iter().flat_map(|work| {
        let value = |name: &String| work.settings.get(name).map(|value| format!("{} with {name}={value}", work.name));
        work.weaker_in_place.iter().filter_map(value)
    });
    let works: BTreeSet<String> = works.collect();
    let measured = contenders.iter().filter(|contender| contender.error.is_none());
    let in_place = measured.filter(|contender| contender.durability.copy_on_write != Some(true));
    let names: Vec<&str> = in_place.map(|contender| contender.name.as_str()).collect();
    (!works.is_empty() && !names.is_empty()).then(|| {
        let works: Vec<String> = works.into_iter().collect();
        format!("In {} a crash may destroy data that is written in place: on {}.", works.join(", "), names.join(", "))
    })
}

/// Which contenders represent published option sets that their kernel does not accept unchanged: a sentence for each form.
pub(super) fn nearest(contenders: &[ContenderView]) -> Vec<String> {
    let mut forms: IndexMap<String, Vec<&str>> = IndexMap::new();
    for contender in contenders.iter().filter(|contender| contender.error.is_none()) {
        let Some(form) = contender.nearest.as_ref().map(records::Nearest::in_short) else { continue };
        forms.entry(form).or_default().push(&contender.name);
    }
    let text = |(form, names): (String, Vec<&str>)| {
        format!("{}: the nearest supported form of {form}, which this kernel rejects.", names.join(", "))
    };
    forms.into_iter().map(text).collect()
}

/// Which contenders ran in guests, and what that means for their figures.
pub(super) fn guests(contenders: &[ContenderView]) -> Vec<String> {
    let groups = [
        (Backend::Emulation, "ran in an emulated machine (QEMU without KVM); times are mostly those of the emulation"),
        (Backend::Kvm, "ran in a virtual machine (KVM)"),
    ];
    let measured = || contenders.iter().filter(|contender| contender.error.is_none());
    let lines = groups.iter().filter_map(|(backend, words)| {
        let names: Vec<&str> =
            measured().filter(|one| one.backend == *backend).map(|contender| contender.name.as_str()).collect();
        let apart = if names.len() < measured().count() { "; they are ranked apart from the others" } else { "" };
        (!names.is_empty()).then(|| format!("{} {words}{apart}.", names.join(", ")))
    });
    lines.collect()
}

/// The source of figures that were not measured on a disk by this machine's own kernel: sentences, each after a space.
pub(super) fn place(view: &super::View) -> String {
    let memory = view.run.in_memory.then(|| "In memory: figures show CPU cost, without a disk.".to_owned());
    let modelled = match view.run.modelled.as_slice() {
        [] => None,
        all => Some(format!("On a modelled disk ({}): figures are not those of a real disk.", all.join(", "))),
    };
    let guests = [
        (Backend::Emulation, "in an emulated machine: times are mostly those of the emulation."),
        (Backend::Kvm, "in a virtual machine."),
    ];
    let measured = || view.contenders.iter().filter(|contender| contender.error.is_none());
    let guests = guests.into_iter().filter_map(|(backend, words)| {
        match measured().filter(|contender| contender.backend == backend).count() {
            0 => None,
            all if all == measured().count() => Some(format!("All {words}")),
            some => Some(format!("{some} of {} {words}", measured().count())),
        }
    });
    memory.into_iter().chain(modelled).chain(guests).map(|sentence| format!(" {sentence}")).collect()
}

/// A durability class in words; `None` where nothing of it is known.
pub(super) fn safety(class: &Durability) -> Option<String> {
    (*class != Durability::default()).then(|| class.words())
}

/// The same, short enough to fit below a name in a table, if contenders differ; and always the backend of a guest.
pub(super) fn badge(class: &Durability, differs: bool, backend: Backend) -> String {
    let mut words = match backend {
        Backend::Host => Vec::new(),
        Backend::Kvm => vec!["in KVM"],
        Backend::Emulation => vec!["emulated"],
    };
    if !differs {
        return words.join(" ");
    }
    match class.flushes {
        Some(false) => words.push("no flushes"),
        _ if class.copy_on_write == Some(true) => words.push("CoW"),
        _ => words.extend(class.ordered.map(|ordered| if ordered { "ordered" } else { "unordered" })),
    }
    words.extend(class.checksums.filter(|sums| *sums).map(|_| "sums"));
    words.join(" ")
}

/// Limits of this machine's memory and clock.
pub(super) fn ceiling(ceiling: &Ceiling) -> Vec<(String, String)> {
    let rate = |value: f64| format!("{} GB/s", number::plain(value / 1e9));
    vec![
        ("data generator, one worker".into(), rate(ceiling.generate_bytes_per_second)),
        ("generated and copied once".into(), rate(ceiling.write_bytes_per_second)),
        ("one clock read".into(), format!("{} ns", number::plain(ceiling.clock_read_ns))),
        ("one latency recorded".into(), format!("{} ns", number::plain(ceiling.record_ns))),
        ("clock".into(), format!("{}, off by {}", ceiling.clock, number::percent(ceiling.clock_error))),
    ]
}

/// `1 trial`, `2 trials`.
pub fn plural(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

/// The verb for this number.
pub(super) fn are(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

/// How many of all lines are undecided, as a clause.
pub(super) fn undecided(open: usize, all: usize) -> String {
    if open == all { "all are undecided".into() } else { format!("{open} {} undecided", are(open)) }
}

/// A sentence in lower case, to follow a colon.
pub(super) fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
