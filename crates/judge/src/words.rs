//! Sentences that a user can act on, from templates with numbers.
//! In: figures and rankings. Out: [`Sentence`]s, each with the cells that support it.
//! A sentence never claims more than its ranking: ties are ties, and an open comparison is called open.

use crate::assess::Assessed;
use crate::judgement::{Interval, Ranking, Relation, Sentence, Standing};
use crate::table::{Backend, Operation, Table};

/// Properties that are called safeties; copy on write is a method, not a guarantee.
const SAFETIES: [&str; 3] = ["flushes", "ordered data", "data checksums"];
/// Smallest ratio of a cost that is mentioned.
const COST_MENTIONED: f64 = 1.2;

/// Fewest CPU seconds that are compared: the kernel counts in ticks of 10 ms, so 0.2 s are wrong by 5 % at most.
const LEAST_CPU_SECONDS: f64 = 0.2;

/// All sentences of a table.
pub fn sentences(table: &Table, assessed: &Assessed) -> Vec<Sentence> {
    sentences_of(table, assessed, &|_| true)
}

/// Sentences about some of its operations.
pub fn sentences_of(table: &Table, assessed: &Assessed, wanted: &dyn Fn(usize) -> bool) -> Vec<Sentence> {
    let mut lines: Vec<Sentence> = Vec::new();
    let mut alone: Vec<(&str, usize)> = Vec::new();
    for ranking in &assessed.rankings {
        let operation = &table.operations[ranking.operation];
        if operation.secondary || !wanted(ranking.operation) {
            continue;
        }
        let by_age: Vec<&Ranking> = assessed.rankings.iter().filter(|other| same_but_age(ranking, other)).collect();
        if by_age.len() > 1 {
            if by_age.first().is_some_and(|first| std::ptr::eq(*first, ranking)) {
                lines.extend(sentences_by_age(table, &by_age, assessed));
            }
            continue;
        }
        let cells = cells_of(table, ranking);
        if ranking.others.is_empty() && ranking.backend == Backend::Host {
            // Once per workload: the sentence would be the same for every row.
            let lone = (operation.id.workload.as_str(), ranking.best);
            if !alone.contains(&lone) {
                alone.push(lone);
                let name = &table.contenders[ranking.best].name;
                let text = format!("In {}, {name} was the only one measured.", lone.0);
                lines.push(Sentence { text, operation: Some(ranking.operation), cells });
            }
            continue;
        }
        let text = ranking_sentence(table, ranking, assessed);
        lines.push(Sentence { text, operation: Some(ranking.operation), cells: cells.clone() });
        let costs = cost_sentence(table, ranking);
        if !costs.is_empty() {
            lines.push(Sentence { text: costs, operation: Some(ranking.operation), cells });
        }
    }
    lines.extend(durability_sentences(table, assessed, wanted));
    with_doubts(table, assessed, lines, wanted)
}

/// Puts doubts about the work before the first sentence about it; if no verdict is left, the doubt is the sentence.
fn with_doubts(
    table: &Table,
    assessed: &Assessed,
    mut note: Vec<Sentence>,
    wanted: &dyn Fn(usize) -> bool,
) -> Vec<Sentence> {
    for doubt in assessed.doubts.iter().rev() {
        let Some(&operation) = doubt.operations.first().filter(|&&operation| wanted(operation)) else { continue };
        match note.iter_mut().find(|sentence| sentence.operation == Some(operation)) {
            Some(sentence) => sentence.text = format!("{} {}", doubt.text, sentence.text),
            None => {
                let rests = |cell: &crate::Cell| cell.operation == operation && doubt.among.contains(&cell.contender);
                let cells = (0..table.cells.len()).filter(|&cell| rests(&table.cells[cell])).collect();
                note.insert(0, Sentence { text: doubt.text.clone(), operation: Some(operation), cells });
            }
        }
    }
    note
}

fn cells_of(table: &Table, ranking: &Ranking) -> Vec<usize> {
    let members: Vec<usize> = ranking.members().collect();
    let rests = |cell: &crate::Cell| cell.operation == ranking.operation && members.contains(&cell.contender);
    (0..table.cells.len()).filter(|&cell| rests(&table.cells[cell])).collect()
}

fn ranking_sentence(table: &Table, ranking: &Ranking, assessed: &Assessed) -> String {
    let operation = &table.operations[ranking.operation];
    let place = match ranking.backend {
        Backend::Host => "on this device",
        Backend::Kvm => "in a virtual machine on this device",
        Backend::Emulation => "in an emulated machine",
    };
    let head = format!("For {} {place}: ", phrase(operation));
    let name = |contender: usize| table.contenders[contender].name.as_str();
    format!("{head}{}.", standings(table, ranking, assessed, &name, "; "))
}

fn same_but_age(one: &Ranking, other: &Ranking) -> bool {
    one.operation == other.operation && one.backend == other.backend
}

/// One sentence for all ages of an operation, and one for the effect of age on each contender.
fn sentences_by_age(table: &Table, rankings: &[&Ranking], assessed: &Assessed) -> Vec<Sentence> {
    let first = rankings[0];
    let operation = Some(first.operation);
    let doing = phrase(&table.operations[first.operation]);
    let mut lines = Vec::new();
    if rankings.iter().any(|ranking| !ranking.others.is_empty()) {
        let name = |contender: usize| table.contenders[contender].without_age();
        let parts: Vec<String> = rankings
            .iter()
            .map(|ranking| {
                let standings = standings(table, ranking, assessed, &name, ", ");
                match ranking.age.as_str() {
                    "" => format!("on a fresh filesystem {standings}"),
                    age => format!("after ageing ({age}) {standings}"),
                }
            })
            .collect();
        let text = format!("For {doing}: {}.", parts.join("; "));
        lines.push(Sentence { text, operation, cells: rankings.iter().flat_map(|r| cells_of(table, r)).collect() });
    }
    let of_ages: Vec<&Ranking> = assessed.ageing.iter().filter(|ranking| same_but_age(first, ranking)).collect();
    let age = |contender: usize| table.contenders[contender].age_words();
    let parts: Vec<String> = of_ages
        .iter()
        .map(|ranking| {
            let standings = standings(table, ranking, assessed, &age, ", ");
            format!("of {}, {standings}", table.contenders[ranking.best].without_age())
        })
        .collect();
    if !parts.is_empty() {
        let text = format!("Effect of age on {doing}: {}.", parts.join("; "));
        lines.push(Sentence { text, operation, cells: of_ages.iter().flat_map(|r| cells_of(table, r)).collect() });
    }
    lines
}

/// The members of a ranking with their verdicts, in words.
fn standings<'t>(
    table: &'t Table,
    ranking: &Ranking,
    assessed: &Assessed,
    name: &dyn Fn(usize) -> &'t str,
    separator: &str,
) -> String {
    if ranking.others.is_empty() {
        return format!("{} was the only one measured", name(ranking.best));
    }
    let of = |wanted: Relation| ranking.others.iter().filter(move |other| other.relation == wanted);
    let few: Vec<&str> = of(Relation::TooFew).map(|other| name(other.contender)).collect();
    if few.len() == ranking.others.len() {
        return too_few(ranking, assessed, name);
    }
    let mut parts = vec![front(ranking, name)];
    let ratio =
        |other: &Standing| format!("{}{}", slower(other.ratio), other.interval.map_or(String::new(), |i| range(&i)));
    parts.extend(of(Relation::Worse).map(|other| format!("{} {}", name(other.contender), ratio(other))));
    parts.extend(of(Relation::LikelyWorse).map(|other| format!("{} likely {}", name(other.contender), ratio(other))));
    if !few.is_empty() {
        parts.push(format!("{}: too few samples to say", list(&few)));
    }
    let disturbed: Vec<&str> =
        ranking.members().filter(|&who| is_disturbed(table, ranking.operation, who)).map(name).collect();
    if !disturbed.is_empty() {
        parts.push(format!("some trials of {} were disturbed", list(&disturbed)));
    }
    parts.join(separator)
}

/// The best, its ties, and those not yet separated from it. No leader is named if nothing is known.
fn front<'t>(ranking: &Ranking, name: &dyn Fn(usize) -> &'t str) -> String {
    let of = |wanted: Relation| ranking.others.iter().filter(move |other| other.relation == wanted);
    let best = name(ranking.best);
    let as_good: Vec<&str> =
        std::iter::once(best).chain(of(Relation::Tie).map(|other| name(other.contender))).collect();
    let behind: Vec<String> = of(Relation::Unresolved)
        .map(|other| match other.interval {
            Some(interval) => format!("{} at most {} behind", name(other.contender), times(interval.high)),
            None => name(other.contender).into(),
        })
        .collect();
    let settled = of(Relation::Worse).chain(of(Relation::LikelyWorse)).count();
    match (as_good.len(), behind.len()) {
        (1, 0) if ranking.won => format!("{best} is best"),
        (1, 0) if of(Relation::TooFew).count() > 0 => format!("{best} is ahead of those with enough samples"),
        (1, 0) => format!("{best} is likely best"),
        (_, 0) => format!("{} are as good as each other", list(&as_good)),
        _ if settled == 0 && as_good.len() == 1 => {
            format!("can't tell yet: {best} is ahead (not proven), {}", list_of(&behind))
        }
        _ => format!(
            "{} {} ahead (not proven), {}",
            list(&as_good),
            if as_good.len() == 1 { "is" } else { "are" },
            list_of(&behind)
        ),
    }
}

fn is_disturbed(table: &Table, operation: usize, contender: usize) -> bool {
    table.cell(operation, contender).is_some_and(|cell| cell.disturbed() > 0)
}

/// The sentence where no interval is possible: the figures, and that they decide nothing.
fn too_few<'t>(ranking: &Ranking, assessed: &Assessed, name: &dyn Fn(usize) -> &'t str) -> String {
    let samples = assessed
        .figures
        .iter()
        .filter(|figure| figure.operation == ranking.operation)
        .map(|figure| figure.samples)
        .min()
        .unwrap_or(0);
    let others: Vec<String> =
        ranking.others.iter().map(|other| format!("{} {}", name(other.contender), slower(other.ratio))).collect();
    let number = match samples {
        0 | 1 => "one sample each decides nothing and allows no interval",
        2 => "two samples each decide nothing and allow no interval",
        _ => "some have too few samples for a verdict or an interval",
    };
    format!("{number}; {} was ahead, {}", name(ranking.best), list_of(&others))
}

/// "1.6x slower", "8 % slower", "1.5x faster"; for rates and times alike.
pub fn slower(ratio: f64) -> String {
    let (ratio, word) = if ratio >= 1.0 { (ratio, "slower") } else { (1.0 / ratio, "faster") };
    match ratio {
        r if r < 1.2 => format!("{} % {word}", percent(r - 1.0)),
        r => format!("{} {word}", times(r)),
    }
}

/// "1.6x".
pub fn times(ratio: f64) -> String {
    format!("{}x", factor(ratio))
}

/// " (1.2 to 1.8)": an end next to 1 that excludes it is never rounded to it.
pub fn range(interval: &Interval) -> String {
    let end = |value: f64| {
        let text = factor(value);
        match text.as_str() {
            "1.00" if value > 1.0 => format!("{:.3}", value.max(1.001)),
            "1.00" if value < 1.0 => format!("{:.3}", value.min(0.999)),
            _ => text,
        }
    };
    format!(" ({} to {})", end(interval.low), end(interval.high))
}

fn cost_sentence(table: &Table, ranking: &Ranking) -> String {
    let facts = |contender: usize| table.cell(ranking.operation, contender).map(|cell| &cell.facts);
    let Some(best) = facts(ranking.best) else { return String::new() };
    let mut parts = Vec::new();
    for other in &ranking.others {
        let Some(theirs) = facts(other.contender) else { continue };
        let shown = |seconds: Option<f64>| seconds.filter(|s| *s >= LEAST_CPU_SECONDS);
        let (Some(mine), Some(theirs)) = (shown(best.cpu_seconds), shown(theirs.cpu_seconds)) else { continue };
        let ratio = theirs / mine;
        if !(1.0 / COST_MENTIONED..COST_MENTIONED).contains(&ratio) {
            let name = &table.contenders[other.contender].name;
            parts.push(format!("{name} used {} times the CPU", factor(ratio)));
        }
    }
    if parts.is_empty() {
        return String::new();
    }
    format!("There {} of {}.", parts.join(", "), table.contenders[ranking.best].name)
}

/// One sentence for each best contender that gives up a safety that others in the same ranking keep.
fn durability_sentences(table: &Table, assessed: &Assessed, wanted: &dyn Fn(usize) -> bool) -> Vec<Sentence> {
    let mut lines = Vec::new();
    for (index, best) in table.contenders.iter().enumerate() {
        let first: Vec<&Ranking> = assessed
            .rankings
            .iter()
            .filter(|ranking| ranking.best == index && wanted(ranking.operation))
            .filter(|ranking| !table.operations[ranking.operation].secondary)
            .collect();
        let mut others: Vec<usize> =
            first.iter().flat_map(|ranking| ranking.others.iter().map(|o| o.contender)).collect();
        others.sort_unstable();
        others.dedup();
        let parts: Vec<String> = SAFETIES
            .iter()
            .filter_map(|safety| {
                let keeps = |other: &&usize| {
                    best.durability.missing_against(&table.contenders[**other].durability).contains(safety)
                };
                let names: Vec<&str> =
                    others.iter().filter(keeps).map(|&o| table.contenders[o].name.as_str()).collect();
                let verb = if names.len() == 1 { "has" } else { "have" };
                (!names.is_empty()).then(|| format!("{safety}, which {} {verb}", list(&names)))
            })
            .collect();
        if !parts.is_empty() {
            let mut cells: Vec<usize> = first.iter().flat_map(|ranking| cells_of(table, ranking)).collect();
            cells.sort_unstable();
            cells.dedup();
            let text = format!("Not equally safe: {} lacks {}.", best.name, parts.join(", and lacks "));
            lines.push(Sentence { text, operation: None, cells });
        }
    }
    lines
}

/// Name of an operation in a sentence.
pub fn phrase(operation: &Operation) -> String {
    if !operation.phrase.is_empty() {
        return operation.phrase.clone();
    }
    let id = &operation.id;
    let extra: Vec<&str> =
        [id.cache.as_str(), id.figure.as_str()].into_iter().filter(|word| !word.is_empty()).collect();
    let tail = if extra.is_empty() { String::new() } else { format!(" ({})", extra.join(", ")) };
    format!("{} {}{tail}", id.workload, id.operation)
}

/// "a", "a and b", "a, b and c".
pub fn list(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

fn list_of(names: &[String]) -> String {
    list(&names.iter().map(String::as_str).collect::<Vec<_>>())
}

/// A ratio in two digits: 0.97, 1.6, 16, 160; above a thousand only "over 1000".
pub fn factor(ratio: f64) -> String {
    match ratio {
        r if r >= 1000.0 => "over 1000".into(),
        r if r < 0.01 => "under 0.01".into(),
        r if r >= 9.95 => format!("{r:.0}"),
        r if r >= 1.095 => format!("{r:.1}"),
        r => format!("{r:.2}"),
    }
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") }
}
