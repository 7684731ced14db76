//! The answer in a few sentences: which to take, what it costs, which to avoid, how reliable that is and what is open.
//! In: the judge's answer and the view. Out: an [`AnswerView`], the first part of the terminal output, the page and the log.

use super::axes::FILESYSTEM;
use super::sessions::{self, SessionView};
use super::{ContenderView, PivotView, View, plural};
use crate::number;
use indexmap::{IndexMap, IndexSet};
use judge::{
    Answer, Avoid, Cannot, Certainty, Choice, Confidence, Grade, GroupAnswer, LessSafe, NoteKind, Ranking, Relation,
    SafetyClass, Table,
};
use records::facts::PER_OPERATION;
use serde::Serialize;

/// Others that a workload's sentence names.
const NAMED: usize = 3;
/// Doubts about the work that precede the answer itself.
const DOUBTS: usize = 2;
/// Scatter, a share, from which on it is mentioned.
const WORTH_A_WORD: f64 = 0.005;

/// The answer to "which one shall I take?".
#[derive(Debug, Clone, Serialize, Default)]
pub struct AnswerView {
    /// The answer in one sentence.
    pub headline: String,
    /// Doubts about the work, a sentence each: contenders that did not do the same work, data that never reached the device. The headline
    /// begins with the first of them.
    pub doubts: Vec<String>,
    /// The contender that the headline takes; absent where it takes none.
    pub take: Option<String>,
    /// How many times slower than the best it is at most, anywhere.
    pub at_most: Option<f64>,
    /// The same at another time: for a run without a pause, with an assumed difference between times; else as `at_most`.
    pub at_most_later: Option<f64>,
    /// The run's sessions, stretches in one state of the machine, in order.
    pub sessions: Vec<SessionView>,
    /// `open` (another may be as good), `likely` or `beyond-doubt`.
    pub certainty: Option<Certainty>,
    /// Those that may be as good a choice.
    pub rivals: Vec<String>,
    /// One sentence for each workload, after its title.
    pub workloads: Vec<WorkloadLine>,
    /// Other facts: which to avoid, which is faster and less safe, the answers of other groups if kernels or ages differ.
    pub besides: Vec<String>,
    /// How reliable this is, in one word.
    pub grade: Grade,
    /// The same in a sentence.
    pub confidence: String,
    /// What is open, and what would settle it; absent where nothing is.
    pub open: Option<String>,
    /// Comparisons with the best of a line, and those of them that are open.
    pub comparisons: (usize, usize),
}

/// The answer for one workload.
#[derive(Debug, Clone, Serialize)]
pub struct WorkloadLine {
    /// Its title.
    pub title: String,
    /// Which contender leads, and by how much the nearest others are slower.
    pub text: String,
    /// The contender that the sentence takes or names as the best, alone or first among ties; absent where it names none, and where that
    /// one keeps data less safely than others.
    pub take: Option<String>,
    /// How many times slower than the best it is at most.
    pub at_most: Option<f64>,
}

/// The answer of a view.
pub(super) fn answer(view: &View, answer: &Answer, sessions: &[SessionView]) -> AnswerView {
    let note = Sentences { view, answer, sessions };
    let doubts = note.doubts();
    let Some(group) = answer.groups.first() else {
        let is_measured = view.table.cells.iter().any(|cell| !cell.samples.is_empty());
        let nothing = match () {
            () if !doubts.is_empty() => "",
            () if !is_measured => nothing_yet(view),
            () if view.judgement.too_short.is_empty() => "No answer: there are no figures.",
            () => "No answer: each step is too short to rank.",
        };
        let besides = dropped(&view.contenders);
        return AnswerView { doubts: doubts.clone(), besides, ..note.nothing(&note.behind_doubts(&doubts, nothing)) };
    };
    let asked = super::question::headline(view, group);
    let take = taken(group).filter(|_| asked.is_none());
    // The question is about what was varied.
    let varied = view.pivots.iter().filter(|pivot| view.axes[pivot.axis].name != FILESYSTEM);
    // A headline about one axis already states that nothing differs.
    let varied = varied.filter(|pivot| asked.is_none() || pivot.course.is_none() && pivot.shows_a_difference());
    // Layers are not chosen for speed: what matters is their price on each filesystem.
    let of_axis = |pivot: &PivotView| {
        let costs =
            if view.axes[pivot.axis].name == axes::STACK { super::pivot::costs(view, pivot) } else { Vec::new() };
        match costs.is_empty() {
            true => vec![super::pivot::matters(view, pivot, asked.is_some())],
            false if asked.is_some() => costs.into_iter().skip(super::question::LAYERS).collect(),
            false => costs,
        }
    };
    let mut besides: Vec<String> = varied.flat_map(of_axis).collect();
    besides.extend(dropped(&view.contenders));
    besides.extend(doubts.iter().skip(DOUBTS).cloned());
    besides.extend(super::story::nearest(&view.contenders));
    besides.extend(note.cannot(group));
    // Of the contender that the headline takes.
    besides.extend(note.furthest(group).filter(|_| take.is_some()));
    besides.extend(note.less_safe(group).into_iter().chain(note.avoid(group)));
    besides.extend(note.other_classes(group));
    besides.extend(answer.groups[1..].iter().filter_map(|other| note.other_group(other)));
    let several = group.order.len() > 1;
    // With a single contender the headline has the first of these.
    let variants = view.variants.iter().flat_map(|one| one.course.iter().chain(&one.take));
    besides.extend(variants.skip(usize::from(!several)).cloned());
    let headline = asked.as_ref().map_or_else(|| note.headline(group), |asked| asked.text.clone());
    let workloads = if asked.is_some() { Vec::new() } else { note.workloads(group) };
    let kept = asked.and_then(|asked| asked.take).map(|(place, at_most)| (&view.contenders[place], at_most));
    let later = take.filter(|_| !group.is_alone()).map(|choice| choice.shortfall.at_most_later);
    let mut found = AnswerView {
        headline: note.behind_doubts(&doubts, &headline),
        doubts,
        take: take.map(|choice| note.name(choice.shortfall.contender)),
        at_most: take.map(|choice| choice.shortfall.at_most),
        at_most_later: later,
        certainty: take.map(|choice| choice.certainty),
        rivals: take.iter().flat_map(|choice| &choice.rivals).map(|&rival| note.name(rival)).collect(),
        workloads,
        besides,
        confidence: note.confidence(later),
        ..note.nothing("")
    };
    if let Some((kept, at_most)) = kept {
        found.take = Some(kept.name.clone());
        (found.at_most, found.certainty) = (Some(at_most), Some(Certainty::Open));
        found.rivals =
            group.order.iter().filter(|&&other| other != kept.index).map(|&other| note.name(other)).collect();
    }
    found
}

/// Why a run has no sample.
fn nothing_yet(view: &View) -> &'static str {
    let all_failed =
        || !view.contenders.is_empty() && view.contenders.iter().all(|contender| contender.error.is_some());
    match view.run.status.as_str() {
        "open" => "No answer yet: the first round has not ended.",
        "interrupted" => "No answer: the run was stopped in its first round; `bakeoff resume` begins that round again.",
        _ if all_failed() => "No answer: every trial failed.",
        _ => "No answer: there are no figures.",
    }
}

/// Most contenders that dropped out and are named with their reason.
const DROPPED: usize = 2;
/// Most characters of the reason why a contender dropped out.
const REASON: usize = 140;

/// Contenders that dropped out, a sentence each.
fn dropped(contenders: &[ContenderView]) -> Vec<String> {
    let sentence = |contender: &ContenderView| {
        let reason = contender.error.as_ref()?;
        let reason = reason.strip_prefix(&format!("{}: ", contender.name)).unwrap_or(reason);
        let cut: String = reason.chars().take(REASON).collect();
        let end = if cut.len() < reason.len() { "..." } else { "" };
        Some(format!("{} dropped out: {}{end}", contender.name, cut.trim_end_matches('.')))
    };
    let each: Vec<String> = contenders.iter().filter_map(sentence).collect();
    if each.len() <= DROPPED {
        return each;
    }
    let names: Vec<&str> =
        contenders.iter().filter(|contender| contender.error.is_some()).map(|contender| &*contender.name).collect();
    vec![format!("{} dropped out; `bakeoff show --full` has the reasons.", judge::list(&names))]
}

/// From this bound on nothing is known that helps to choose, if it is also ...
const UNKNOWN: f64 = 4.0;
/// ... so many times the measured ratio: a contender that truly is far behind is known to be.
const VAGUE: f64 = 2.0;
/// Below this ratio two are level.
const LEVEL: f64 = 1.005;
/// Most further blocks that are stated; above, the sentence only states that it takes more.
const MANY_BLOCKS: u32 = 200;

/// Whether the bound of a choice allows almost anything.
fn is_vague(choice: &Choice) -> bool {
    choice.shortfall.at_most >= UNKNOWN.max(VAGUE * choice.shortfall.ratio)
}

/// The choice that an answer takes. A bound that allows almost anything is no answer.
fn taken(group: &GroupAnswer) -> Option<&Choice> {
    group.take.as_ref().filter(|choice| choice.certainty != Certainty::Open || !is_vague(choice))
}

/// "1.2x slower than the best in its worst workload (at most 1.4x)", "as good as the best in everything".
pub(super) fn bound(table: &Table, group: &GroupAnswer, choice: &Choice) -> String {
    let (safe, able) = (!group.less_safe.is_empty(), group.is_for_the_able());
    if group.is_alone() {
        return match (safe, able) {
            (true, true) => "no other contender can do all the work and keep data as safely".into(),
            (_, true) => "no other contender can do all the work".into(),
            _ => "no other contender keeps data as safely".into(),
        };
    }
    let among = match (safe, able) {
        (false, false) => "",
        (true, false) => " of those that keep data as safely",
        (false, true) => " of those that can do all the work",
        (true, true) => " of those that can do all the work and keep data as safely",
    };
    match choice.shortfall.at_most {
        close if close < 1.0 + table.margin() => {
            // Steps that are summed count as one: in one of them it may be behind.
            let summed = table.operations.iter().any(|operation| operation.summary);
            let all = match table.operations.iter().filter(|operation| !operation.secondary).count() {
                _ if summed => " over all steps",
                1 => "",
                _ => " in everything",
            };
            format!("as good as the best{among}{all}")
        }
        far => format!("{} (at most {}x)", behind(table, choice.shortfall.ratio, among), number::times(far)),
    }
}

/// How far a contender was behind the best as measured.
fn behind(table: &Table, ratio: f64, among: &str) -> String {
    let lines = || table.operations.iter().filter(|operation| !operation.secondary);
    let is_summed = |workload: &str| lines().any(|line| line.summary && line.id.workload == workload);
    let counted = lines().filter(|line| line.summary || !is_summed(&line.id.workload)).count();
    // The headline counts steps that are summed as one: one of them may be further behind.
    let place = match counted {
        0 | 1 => "",
        _ if lines().any(|line| line.summary) => " in its worst workload",
        _ => " where it is furthest behind",
    };
    let (times, counts) = (number::times(ratio), table.operations.iter().any(|line| line.unit == PER_OPERATION));
    match () {
        () if ratio < LEVEL => format!("as measured, level with the best{among}"),
        () if counts => format!("{times}x the instructions of the best{among}{place}"),
        () => format!("{times}x slower than the best{among}{place}"),
    }
}

/// A sentence of a workload, and the contender that it takes with the bound of its shortfall.
struct Verdict {
    text: String,
    take: Option<(usize, f64)>,
}

struct Sentences<'a> {
    view: &'a View,
    answer: &'a Answer,
    sessions: &'a [SessionView],
}

impl Sentences<'_> {
    fn nothing(&self, headline: &str) -> AnswerView {
        let open = &self.answer.open;
        AnswerView {
            headline: headline.into(),
            doubts: Vec::new(),
            take: None,
            at_most: None,
            at_most_later: None,
            sessions: self.sessions.to_vec(),
            certainty: None,
            rivals: Vec::new(),
            workloads: Vec::new(),
            besides: Vec::new(),
            grade: self.answer.confidence.grade,
            confidence: self.confidence(None),
            open: self.open(),
            comparisons: (open.comparisons, open.open),
        }
    }

    /// How reliable the answer is, where the figures come from and when they were measured; with the bound of the chosen contender at another time.
    fn confidence(&self, later: Option<f64>) -> String {
        let (found, is_open) = (&self.answer.confidence, self.answer.open.open > 0);
        let when = sessions::sentences(self.view, self.sessions, found, later, is_open);
        confidence(found, self.view) + &super::story::place(self.view) + &when
    }

    /// Doubts about the work; those that withhold a verdict come first.
    fn doubts(&self) -> Vec<String> {
        let all = &self.view.judgement.doubts;
        let of = |withholds: bool| all.iter().filter(move |doubt| doubt.withholds() == withholds);
        of(true).chain(of(false)).map(|doubt| doubt.text.clone()).collect::<IndexSet<String>>().into_iter().collect()
    }

    /// An answer after the doubts about the work.
    fn behind_doubts(&self, doubts: &[String], answer: &str) -> String {
        let mut parts: Vec<String> = doubts.iter().take(DOUBTS).cloned().collect();
        if doubts.len() > DOUBTS {
            parts.push(format!("{} more such doubts are listed below.", doubts.len() - DOUBTS));
        }
        let withheld = self.view.judgement.doubts.iter().any(judge::WorkDoubt::withholds);
        let apart = if withheld && !answer.is_empty() { "Apart from that: " } else { "" };
        parts.push(format!("{apart}{answer}"));
        parts.retain(|part| !part.is_empty());
        parts.join(" ")
    }

    fn name(&self, contender: usize) -> String {
        self.view.table.contenders[contender].name.clone()
    }

    fn names(&self, contenders: &[usize]) -> String {
        let name = |&contender: &usize| self.view.table.contenders[contender].name.as_str();
        judge::list(&contenders.iter().map(name).collect::<Vec<_>>())
    }

    /// What an operation does, in a few words.
    fn doing(&self, operation: usize) -> &str {
        self.view.table.operations[operation].doing()
    }

    fn headline(&self, group: &GroupAnswer) -> String {
        let Some(choice) = taken(group) else {
            if let Some(choice) = &group.take {
                let (name, bound) = (self.name(choice.shortfall.contender), self.bound(group, choice));
                return format!("So far {name}: {bound}. {} may be better.", self.rivals(choice));
            }
            return match group.order.as_slice() {
                [only] => format!("Only {} was measured, and none of its figures counts.", self.name(*only)),
                _ => match group.leading {
                    Some((leading, ratio)) => format!(
                        "So far {}: {}; no bound yet, because some lines have too few samples.",
                        self.name(leading),
                        behind(&self.view.table, ratio, "")
                    ),
                    None => match group.able.as_slice() {
                        [only] => format!(
                            "So far {}: no other did all of the work and keeps data as well; no bound yet, because some lines have too few samples.",
                            self.name(*only)
                        ),
                        _ => "No answer yet: no contender has been measured on all of the work.".into(),
                    },
                },
            };
        };
        let name = self.name(choice.shortfall.contender);
        let bound = self.bound(group, choice);
        match choice.certainty {
            _ if group.is_alone() => format!("Take {name}: {bound}."),
            Certainty::BeyondDoubt => format!("Take {name}: {bound}. No other does as well, beyond doubt."),
            Certainty::Likely => format!("{} {name}: {bound}. Likely no other does as well.", self.take_word()),
            Certainty::Open => {
                format!("{} {name}: {bound}. {} may do as well.", self.take_word(), self.rivals(choice))
            }
        }
    }

    /// "Take", but "So far" with fewer samples than a verdict needs.
    fn take_word(&self) -> &'static str {
        if self.answer.confidence.samples.1 < judge::MIN_SAMPLES { "So far" } else { "Take" }
    }

    /// Rivals of a choice, by name if they are few.
    fn rivals(&self, choice: &Choice) -> String {
        match choice.rivals.as_slice() {
            many if many.len() > NAMED => format!("{} others", many.len()),
            few => self.names(few),
        }
    }

    fn bound(&self, group: &GroupAnswer, choice: &Choice) -> String {
        bound(&self.view.table, group, choice)
    }

    /// The step in which the chosen contender is further behind than over any whole workload.
    fn furthest(&self, group: &GroupAnswer) -> Option<String> {
        let (take, furthest) = (taken(group)?.shortfall, group.furthest?);
        let (times, bound) = (number::times(furthest.ratio), number::times(furthest.at_most));
        let doing = self.doing(furthest.operation);
        let slower = self.view.slower();
        let behind = match furthest.ratio {
            level if level < LEVEL => format!("level with the best (at most {bound}x {slower})"),
            _ => format!("{times}x {slower} (at most {bound}x)"),
        };
        (furthest.ratio > take.at_most).then(|| format!("In its worst single step {behind}: {doing}."))
    }

    /// Contenders that cannot do some steps: one sentence for those that lack the same.
    fn cannot(&self, group: &GroupAnswer) -> Vec<String> {
        let lines = self.view.table.operations.iter().filter(|one| !one.secondary && !one.summary).count();
        let mut parts: IndexMap<&[usize], Vec<&Cannot>> = IndexMap::new();
        group.cannot.iter().for_each(|one| parts.entry(&one.operations).or_default().push(one));
        let sentence = |(operations, those): (&[usize], Vec<&Cannot>)| {
            let names = self.names(&those.iter().map(|one| one.contender).collect::<Vec<_>>());
            let such = operations.first().map(|&operation| self.doing(operation)).unwrap_or_default();
            let lack = match operations.len() {
                1 => format!("{names} cannot do one step: {such}"),
                many => format!("{names} cannot do {many} of {lines} steps, such as {such}"),
            };
            let ahead = those.iter().filter(|one| one.operation.is_some()).max_by(|a, b| a.ratio.total_cmp(&b.ratio));
            let ahead = ahead.and_then(|one| {
                let (who, doing) = (self.name(one.contender), self.doing(one.operation?));
                Some(format!(
                    "; {who} is up to {}x {} elsewhere ({doing})",
                    number::times(one.ratio),
                    self.view.faster()
                ))
            });
            format!("{lack}{}.", ahead.unwrap_or_default())
        };
        parts.into_iter().map(sentence).collect()
    }

    fn less_safe(&self, group: &GroupAnswer) -> Option<String> {
        // One that is not faster anywhere is only marked in the table.
        let LessSafe { contender, class, operation, ratio } = *group.less_safe.first()?;
        let (name, times, doing) = (self.name(contender), number::times(ratio), self.doing(operation?));
        Some(match class {
            // The legend below the table explains this.
            SafetyClass::Unordered => {
                format!("Less safe but {}: {name}, up to {times}x ({doing}).", self.view.faster())
            }
            _ => format!("{name} is up to {times}x {} ({doing}), but {}.", self.view.faster(), loss(class)),
        })
    }

    fn avoid(&self, group: &GroupAnswer) -> Option<String> {
        // The sentence never advises against the chosen contender or its rivals.
        let good = |who: usize| {
            group.take.as_ref().is_some_and(|take| take.shortfall.contender == who || take.rivals.contains(&who))
        };
        let others = group.avoid.iter().filter(|avoid| !good(avoid.contender));
        let parts: Vec<String> = others.take(2).map(|avoid| self.avoided(avoid)).collect();
        (!parts.is_empty()).then(|| format!("Avoid {}.", parts.join("; ")))
    }

    fn avoided(&self, avoid: &Avoid) -> String {
        let likely = if avoid.certainty == Certainty::BeyondDoubt { "" } else { "likely " };
        let Avoid { contender, operation, ratio, .. } = *avoid;
        let (name, doing, slower) = (self.name(contender), self.doing(operation), self.view.slower());
        // The ratio of the table, which also counts contenders that keep data less safely.
        let times = number::times(self.in_table(operation, contender).unwrap_or(ratio));
        format!("{name} for {doing}: {likely}{times}x {slower}")
    }

    /// The ratio of a contender in the line of an operation, both as the judge counts them.
    fn in_table(&self, operation: usize, contender: usize) -> Option<f64> {
        let mut rows = self.view.workloads.iter().flat_map(|workload| &workload.rows);
        let place = self.view.contenders.iter().position(|one| one.index == contender)?;
        rows.find(|row| row.operation == operation)?.cells[place].ratio
    }

    /// The best of the checksummed ones, if another class is chosen.
    fn other_classes(&self, group: &GroupAnswer) -> Option<String> {
        let chosen = taken(group)?.shortfall.contender;
        let sums = group.by_class.iter().find(|choice| choice.class == Some(SafetyClass::Checksummed))?;
        let is_own = self.view.table.contenders[chosen].durability.class() == SafetyClass::Checksummed;
        (!is_own).then(|| format!("With data checksums: {}.", self.name(sums.shortfall.contender)))
    }

    fn other_group(&self, group: &GroupAnswer) -> Option<String> {
        let choice = taken(group)?;
        let place = match (group.backend, group.age.as_str()) {
            (judge::Backend::Host, "") => "On a fresh filesystem".into(),
            (judge::Backend::Host, age) => format!("After ageing ({age})"),
            (judge::Backend::Kvm, _) => "In a virtual machine".into(),
            (judge::Backend::Emulation, _) => "In an emulated machine".to_owned(),
        };
        Some(format!("{place}: take {}, {}.", self.name(choice.shortfall.contender), self.bound(group, choice)))
    }

    fn workloads(&self, group: &GroupAnswer) -> Vec<WorkloadLine> {
        let of_group = |ranking: &&Ranking| (ranking.backend, &ranking.age) == (group.backend, &group.age);
        let line = |answer: &judge::WorkloadAnswer| {
            // The raw device below the filesystems is not a workload of its own.
            let titled = self.view.workloads.iter().find(|workload| workload.name == answer.workload)?;
            let summary = answer.summary.and_then(|sum| self.view.judgement.rankings_of(sum).find(of_group));
            let Verdict { text, take } = match (summary.filter(|ranking| !ranking.others.is_empty()), &answer.take) {
                (Some(ranking), choice) => self.standings(ranking, choice.as_ref()),
                (None, Some(choice)) => self.choice(answer, choice),
                (None, None) => return None,
            };
            let (take, at_most) = take.map(|(take, at_most)| (self.name(take), at_most)).unzip();
            Some(WorkloadLine { title: titled.title.clone(), text, take, at_most })
        };
        group.workloads.iter().filter_map(line).collect()
    }

    /// "take ext4, at most 1.2x behind the best".
    fn choice(&self, answer: &judge::WorkloadAnswer, choice: &Choice) -> Verdict {
        let fall = choice.shortfall;
        let name = self.name(fall.contender);
        let text = match () {
            () if answer.alone => format!("take {name}: no other contender can do all the work"),
            () if is_vague(choice) => return Verdict { text: "can't tell yet".into(), take: None },
            () => format!("{} {name}, {}", super::story::lower(self.take_word()), self.how_far(fall.at_most)),
        };
        Verdict { text, take: Some((fall.contender, fall.at_most)) }
    }

    /// "at most 1.2x behind the best".
    fn how_far(&self, at_most: f64) -> String {
        match at_most < 1.0 + self.view.smallest_effect {
            true => "as good as the best".into(),
            false => format!("at most {}x behind the best", number::times(at_most)),
        }
    }

    /// "take ext4, at most 1.1x behind the best; xfs may do as well; btrfs 1.3x, zfs 5.5x slower".
    fn standings(&self, ranking: &Ranking, choice: Option<&Choice>) -> Verdict {
        let of = |wanted: fn(Relation) -> bool| -> Vec<usize> {
            let others = ranking.others.iter().filter(move |other| wanted(other.relation));
            others.map(|other| other.contender).collect()
        };
        let ties = of(|relation| relation == Relation::Tie);
        let open = of(|relation| matches!(relation, Relation::Unresolved | Relation::TooFew));
        let front: Vec<usize> = [ranking.best].into_iter().chain(ties).chain(open.iter().copied()).collect();
        let worse: Vec<_> = ranking.others.iter().filter(|other| other.relation.is_worse()).collect();
        let choice = choice.filter(|choice| !is_vague(choice));
        let head = match (front.len(), choice) {
            (1, _) if ranking.won => format!("{} is best", self.name(ranking.best)),
            (1, _) => format!("{} is likely best", self.name(ranking.best)),
            _ if open.is_empty() => format!("{} are as good as each other", self.names(&front)),
            (_, Some(choice)) => {
                let (name, far) = (self.name(choice.shortfall.contender), self.how_far(choice.shortfall.at_most));
                let others = match choice.certainty {
                    Certainty::BeyondDoubt => "no other does as well".into(),
                    Certainty::Likely => "likely no other does as well".into(),
                    Certainty::Open => format!("{} may do as well", self.rivals(choice)),
                };
                format!("{} {name}, {far}; {others}", super::story::lower(self.take_word()))
            }
            (_, None) => format!("so far {}, not proven", self.name(ranking.best)),
        };
        let mut named: Vec<String> = worse
            .iter()
            .take(NAMED)
            .map(|other| format!("{} {}x", self.name(other.contender), number::times(other.ratio)))
            .collect();
        if let Some(last) = worse.last().filter(|_| worse.len() > NAMED) {
            named[NAMED - 1] = format!("... {} {}x", self.name(last.contender), number::times(last.ratio));
        }
        let text = if named.is_empty() { head } else { format!("{head}; {} {}", named.join(", "), self.view.slower()) };
        if let Some(choice) = choice.filter(|_| !open.is_empty()) {
            return Verdict { text, take: Some((choice.shortfall.contender, choice.shortfall.at_most)) };
        }
        // Ties share the place; the first of them may still be this far behind another.
        let ties = ranking.others.iter().filter(|other| other.relation == Relation::Tie);
        let at_most = ties.filter_map(|tie| tie.interval).map(|interval| 1.0 / interval.low).fold(1.0, f64::max);
        let class = |who: usize| self.view.table.contenders[who].durability.class();
        let is_safe = class(ranking.best).keeps_data() || ranking.members().all(|who| !class(who).keeps_data());
        Verdict { text, take: (open.is_empty() && is_safe).then_some((ranking.best, at_most)) }
    }

    fn open(&self) -> Option<String> {
        let open = &self.answer.open;
        if open.open == 0 {
            return None;
        }
        let are = super::story::are(open.open);
        let head = format!("{} of {} comparisons {are} undecided", open.open, open.comparisons);
        let resume = |samples: u32| match self.view.run.origin {
            None => format!(": {} --samples {samples}", self.view.run.resume),
            Some(_) => String::new(),
        };
        if self.answer.confidence.samples.1 < judge::MIN_SAMPLES {
            return Some(format!("{head}; at least three samples of each are needed{}", resume(3)));
        }
        let (Some(blocks), Some(trials)) = (open.blocks.filter(|blocks| *blocks <= MANY_BLOCKS), open.trials) else {
            return Some(format!("{head}; deciding all of them would take more than {MANY_BLOCKS} rounds."));
        };
        let time = open.seconds.map(|seconds| format!(", {}", about(seconds))).unwrap_or_default();
        let samples = self.view.counts.blocks + blocks;
        let way = resume(samples);
        Some(format!(
            "{head}; about {} would decide them ({}{time}){way}",
            plural(blocks as usize, "more round"),
            plural(trials as usize, "trial")
        ))
    }
}

/// "about 10 min".
fn about(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("about {s:.0} s"),
        s if s < 5400.0 => format!("about {:.0} min", s / 60.0),
        s => format!("about {:.1} h", s / 3600.0),
    }
}

/// What a crash can cost.
pub(super) fn loss(class: SafetyClass) -> &'static str {
    match class {
        SafetyClass::NoFlushes => "may lose synced data and be damaged in a crash",
        SafetyClass::Unordered => "may lose recent file contents in a crash",
        SafetyClass::Unknown | SafetyClass::Ordered | SafetyClass::Checksummed => "keeps data as safely",
    }
}

fn confidence(found: &Confidence, view: &View) -> String {
    let with = |kind| super::story::with_note(&view.workloads, kind);
    let ((disturbed, all), (cached, _)) = (with(NoteKind::Disturbed), with(NoteKind::Cache));
    let grade = match found.grade {
        Grade::None => "none",
        Grade::Low => "LOW",
        Grade::Medium => "medium",
        Grade::High => "high",
    };
    let samples = match found.samples {
        (low, high) if low == high => plural(low, "sample"),
        (low, high) => format!("{low} to {high} samples"),
    };
    let mut parts = vec![format!("{samples} of each")];
    if disturbed > 0 {
        parts.push(format!("{disturbed} of {all} figures disturbed"));
    }
    if let Some(noise) = found.noise.filter(|noise| *noise > WORTH_A_WORD) {
        parts.push(format!("scatter {}", number::percent(noise)));
    }
    if found.corrected.0 > 0 {
        parts.push(format!("{} of {} lines corrected for stolen processor time", found.corrected.0, found.corrected.1));
    }
    if cached > 0 {
        parts.push(format!("{} partly from a cache", plural(cached, "figure")));
    }
    format!("Confidence {grade}: {}.", parts.join(", "))
}
