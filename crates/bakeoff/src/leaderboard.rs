//! How the contenders stand in the middle of a run: a line for the display, and every operation for the log.
//! In: the table of what was measured so far. Out: text; it is no verdict, and says which operations are open.

use judge::{Judgement, Ranking, Relation, Table};

/// Contenders that the line names.
const NAMED: usize = 4;

/// The leaderboard of a table.
pub struct Leaderboard {
    /// In how many operations each leads or ties: one line.
    pub line: String,
    /// One line an operation.
    pub whole: Vec<String>,
}

/// Judges what there is; `None` where nothing can be compared yet.
pub fn leaderboard(table: &Table) -> Option<Leaderboard> {
    of(table, &judge::judge(table).ok()?)
}

/// The same of a table that is judged already.
pub fn of(table: &Table, judgement: &Judgement) -> Option<Leaderboard> {
    let rankings = compared(table, judgement);
    if rankings.is_empty() {
        return None;
    }
    let mut ahead: Vec<(usize, usize)> = (0..table.contenders.len())
        .map(|contender| (rankings.iter().filter(|ranking| leads(ranking, contender)).count(), contender))
        .filter(|(count, _)| *count > 0)
        .collect();
    ahead.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let named = ahead.iter().take(NAMED).map(|(count, who)| format!("{} in {count}", table.contenders[*who].name));
    let open = rankings.iter().filter(|ranking| is_open(ranking)).count();
    let mut line = format!("ahead in {} operations: {}", rankings.len(), named.collect::<Vec<_>>().join(", "));
    if open > 0 {
        line.push_str(&format!("; {open} open"));
    }
    Some(Leaderboard { line, whole: rankings.iter().map(|ranking| whole(table, judgement, ranking)).collect() })
}

/// Rankings that say something of their own, of two contenders at least.
pub fn compared<'j>(table: &Table, judgement: &'j Judgement) -> Vec<&'j Ranking> {
    let says = |ranking: &&Ranking| !table.operations[ranking.operation].secondary && !ranking.others.is_empty();
    judgement.rankings.iter().filter(says).collect()
}

/// The best, and those to which no difference is shown.
fn leads(ranking: &Ranking, contender: usize) -> bool {
    ranking.front().any(|member| member == contender)
}

fn is_open(ranking: &Ranking) -> bool {
    ranking.others.iter().any(|other| matches!(other.relation, Relation::Unresolved | Relation::TooFew))
}

fn whole(table: &Table, judgement: &Judgement, ranking: &Ranking) -> String {
    let operation = &table.operations[ranking.operation];
    let told = ranking.members().map(|member| {
        let name = &table.contenders[member].name;
        let against = ranking.others.iter().find(|other| other.contender == member);
        let mark = match against.map(|other| other.relation) {
            None => "",
            Some(Relation::Worse) => "",
            Some(Relation::LikelyWorse) => " ~",
            Some(Relation::Tie) => " =",
            Some(_) => " ?",
        };
        match (judgement.figure(ranking.operation, member), against) {
            (Some(figure), None) => {
                format!("{name} {} ({} trials)", crate::text::quantity(figure.median, &operation.unit), figure.samples)
            }
            (_, Some(other)) => format!("{name} x{:.2}{mark}", other.ratio),
            (None, None) => name.clone(),
        }
    });
    let id = &operation.id;
    format!("  {}/{} {}: {}", id.workload, id.operation, id.cache, told.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{Cell, Contender, Operation, OperationId, Sample};

    #[test]
    fn who_is_ahead_is_counted_and_told_by_operation() {
        let sample = |block: u32, value: f64| Sample { block, value, ..Sample::default() };
        let cell = |operation, contender, value: f64| Cell {
            operation,
            contender,
            samples: (0..6).map(|block| sample(block, value * (1.0 + f64::from(block) / 400.0))).collect(),
            ..Cell::default()
        };
        let contender = |name: &str| Contender { name: name.into(), ..Contender::default() };
        let operation = |name: &str| Operation {
            id: OperationId::new("small-files", name, "cold"),
            unit: "s".into(),
            ..Operation::default()
        };
        let table = Table {
            contenders: vec![contender("ext4"), contender("xfs")],
            operations: vec![operation("create"), operation("delete")],
            cells: vec![cell(0, 0, 1.0), cell(0, 1, 2.0), cell(1, 0, 1.0), cell(1, 1, 1.5)],
            margin: None,
        };
        let found = leaderboard(&table).expect("there is a leaderboard");
        assert_eq!(found.line, "ahead in 2 operations: ext4 in 2");
        assert!(
            found.whole[0].contains("create cold: ext4 1.0") && found.whole[0].contains("xfs x2.00"),
            "{:?}",
            found.whole
        );
        assert!(leaderboard(&Table::default()).is_none());
    }
}
