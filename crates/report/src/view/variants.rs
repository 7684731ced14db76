//! Variants of the work, compared within each contender by the same judge: one large directory against hashed ones, one process against four.
//! In: a run's works and the judge's table of it. Out: a [`VariantsView`] for each contender that did an operation in several ways.

use judge::{GroupAnswer, Table};
use records::RunRecord;
use samples::Variants;
use serde::Serialize;

/// What one contender's variants of the work say of each other.
#[derive(Debug, Clone, Serialize)]
pub struct VariantsView {
    /// The contender: an index into the judge's table.
    #[serde(skip)]
    pub contender: usize,
    /// Its name.
    pub name: String,
    /// Which variant to take, in a sentence; absent where nothing can be said.
    pub take: Option<String>,
    /// How they stand, operation by operation.
    pub sentences: Vec<String>,
}

/// All contenders' variants; empty where nothing but contenders was varied.
pub(super) fn variants(run: &RunRecord, table: &Table) -> Vec<VariantsView> {
    samples::variants(run, table).iter().filter_map(|one| of_contender(table, one)).collect()
}

fn of_contender(table: &Table, variants: &Variants) -> Option<VariantsView> {
    let (turned, contender) = (&variants.table, variants.contender);
    let judged = judge::judge(turned).ok()?;
    let answer = judge::answer(turned).ok()?;
    let name = table.contenders[contender].name.clone();
    let take = answer.groups.first().and_then(|group| {
        let choice = group.take.as_ref()?;
        let label = |at: usize| turned.contenders[at].name.as_str();
        let others: Vec<&str> = choice.rivals.iter().map(|&rival| label(rival)).collect();
        let rest = if others.is_empty() { String::new() } else { format!("; {} may do as well", others.join(", ")) };
        let bound = super::answer::bound(turned, group, choice);
        let taken = label(choice.shortfall.contender);
        let doing = only(turned).map_or_else(String::new, |operation| format!(" in \"{operation}\""));
        Some(format!("On {name} take {taken}: {bound}{doing}{rest}{}.", less_safe(turned, group)))
    });
    let sentences = judged.sentences.into_iter().map(|sentence| sentence.text).collect();
    Some(VariantsView { contender, name, take, sentences })
}

/// What was done in several ways, where that is one operation.
fn only(turned: &Table) -> Option<&str> {
    match turned.operations.as_slice() {
        [operation] => Some(&operation.phrase),
        _ => None,
    }
}

/// What is said of variants after which a crash may destroy data: how much faster they are, where that is shown.
fn less_safe(turned: &Table, group: &GroupAnswer) -> String {
    let said = group.less_safe.iter().map(|one| {
        let name = &turned.contenders[one.contender].name;
        match one.operation {
            Some(operation) => {
                let (times, doing) = (crate::number::times(one.ratio), &turned.operations[operation].id.operation);
                format!("; {name} is up to {times}x faster in \"{doing}\", but a crash may destroy data")
            }
            None => format!("; with {name} a crash may destroy data"),
        }
    });
    said.collect()
}
