//! Standings after each block, and how the intervals narrow.
//! In: the table of measurements so far. Out: the standings for the live page, judged like the report.

use crate::leaderboard::{self, compared};
use crate::text;
use judge::{Judgement, Ranking, Relation, Table};
use records::ResolvedPlan;
use report::live::{Member, Operation, Standings};
use std::collections::HashMap;

/// Most operations that are shown, and contenders of each.
const OPERATIONS: usize = 24;
const MEMBERS: usize = 12;
/// Blocks whose intervals are kept.
const BLOCKS: usize = 8;

/// Intervals of one contender in one operation, the latest block's last; `None`: too few samples.
type Intervals = Vec<Option<(f64, f64)>>;

/// State that is kept from block to block.
#[derive(Default)]
pub struct History {
    /// By the operation's title and the contender's name.
    intervals: HashMap<(String, String), Intervals>,
    /// Titles of operations in tables, by workload, operation and cache state.
    titles: HashMap<(String, String, String), String>,
}

impl History {
    /// An empty history with the titles of a plan's phases.
    pub fn of(plan: &ResolvedPlan) -> History {
        let several = plan.works.len() > 1;
        let mut titles = HashMap::new();
        for work in &plan.works {
            let phases = work.compiled.phases.iter().map(|phase| (phase.named(), &phase.cache_label, &phase.title));
            let totals = work.compiled.totals.iter().map(|sum| (sum.operation.clone(), &sum.cache_label, &sum.title));
            for (operation, cache, title) in phases.chain(totals) {
                let title = if several { format!("{}: {title}", work.name) } else { title.clone() };
                // If several phases share the key, none of their titles is that of the operation.
                let key = (work.name.clone(), operation, cache.clone());
                titles.entry(key).and_modify(String::clear).or_insert(title);
            }
        }
        History { intervals: HashMap::new(), titles }
    }

    /// The standings after a block; `None` if nothing can be compared yet.
    pub fn after(&mut self, block: u32, decision: &str, table: &Table) -> Option<Standings> {
        let judgement = judge::judge(table).ok()?;
        let mut line = leaderboard::of(table, &judgement)?.line;
        let rankings = compared(table, &judgement);
        let operations = rankings.iter().map(|ranking| self.operation(table, &judgement, ranking));
        let mut operations: Vec<Operation> = operations.collect();
        let more = operations.len().saturating_sub(OPERATIONS);
        operations.truncate(OPERATIONS);
        if let Some(first) = line.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        Some(Standings { block: block + 1, line, decision: decision.into(), operations, more })
    }

    fn operation(&mut self, table: &Table, judgement: &Judgement, ranking: &Ranking) -> Operation {
        let operation = &table.operations[ranking.operation];
        let id = &operation.id;
        let age = if ranking.age.is_empty() { String::new() } else { format!(", {}", ranking.age) };
        let key = (id.workload.clone(), id.operation.clone(), id.cache.clone());
        let known = self.titles.get(&key).filter(|title| !title.is_empty());
        let title = known
            .cloned()
            .unwrap_or_else(|| format!("{}: {} {}", id.workload, id.operation, id.cache).trim().to_owned())
            + &age;
        let members: Vec<Member> =
            ranking.members().map(|index| self.member(table, judgement, ranking, (&title, index))).collect();
        Operation { title, members: members.into_iter().take(MEMBERS).collect() }
    }

    fn member(&mut self, table: &Table, judgement: &Judgement, ranking: &Ranking, of: (&str, usize)) -> Member {
        let (title, index) = of;
        let name = table.contenders[index].name.clone();
        let against = ranking.others.iter().find(|other| other.contender == index);
        let interval = against.and_then(|other| other.interval).map(|found| (rounded(found.low), rounded(found.high)));
        let intervals = self.intervals.entry((title.to_owned(), name.clone())).or_default();
        intervals.push(interval);
        if intervals.len() > BLOCKS {
            intervals.remove(0);
        }
        let unit = &table.operations[ranking.operation].unit;
        let figure = judgement.figure(ranking.operation, index).filter(|_| against.is_none());
        Member {
            name,
            stands: against.map_or(if ranking.won { "won" } else { "best" }, |other| word(other.relation)),
            figure: figure.map(|figure| text::quantity(figure.median, unit)).unwrap_or_default(),
            ratio: against.map_or(1.0, |other| rounded(other.ratio)),
            intervals: intervals.clone(),
        }
    }
}

fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::Worse => "worse",
        Relation::LikelyWorse => "likely",
        Relation::Tie => "tie",
        Relation::Unresolved | Relation::TooFew => "open",
    }
}

/// Three decimals: the resolution of the picture.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{Cell, Contender, OperationId, Sample};

    /// Two contenders, the second twice as slow, in so many blocks with a little scatter.
    fn table(blocks: u32) -> Table {
        let contender = |name: &str| Contender { name: name.into(), ..Contender::default() };
        let cell = |contender, value: f64| Cell {
            contender,
            samples: (0..blocks)
                .map(|block| Sample {
                    block,
                    value: value * (1.0 + f64::from(block % 3) / 50.0 * contender as f64),
                    ..Sample::default()
                })
                .collect(),
            ..Cell::default()
        };
        let id = OperationId::new("small-files", "create", "cold");
        Table {
            contenders: vec![contender("ext4"), contender("xfs")],
            operations: vec![judge::Operation { id, unit: "s".into(), ..judge::Operation::default() }],
            cells: vec![cell(0, 1.0), cell(1, 2.0)],
            ..Table::default()
        }
    }

    #[test]
    fn intervals_are_kept_block_by_block_and_close_in() {
        let mut history = History::default();
        assert!(history.after(0, "", &Table::default()).is_none());
        history.after(2, "goes on", &table(3)).expect("standings");
        let last = history.after(7, "done", &table(8)).expect("standings");
        assert_eq!((last.block, last.operations.len(), last.more), (8, 1, 0));
        let members = &last.operations[0].members;
        assert_eq!((members[0].name.as_str(), members[0].ratio, members[0].figure.as_str()), ("ext4", 1.0, "1.00 s"));
        let xfs = &members[1];
        assert!(xfs.name == "xfs" && (xfs.ratio - 2.0).abs() < 0.1 && xfs.stands == "worse", "{xfs:?}");
        let widths: Vec<f64> = xfs.intervals.iter().flatten().map(|(low, high)| high - low).collect();
        assert!(widths.len() == 2 && widths[1] < widths[0], "{widths:?}");
        for block in 8..40 {
            history.after(block, "", &table(8));
        }
        let last = history.after(40, "", &table(8)).expect("standings");
        assert_eq!(last.operations[0].members[1].intervals.len(), BLOCKS);
    }
}
