//! Intermediate standings of a run: a line for the display, and every operation for the log.
//! In: the table of measurements so far. Out: text; it is no verdict, and it names the operations that are open.

use judge::{Judgement, Ranking, Relation, Table};

/// Contenders that the line names.
const NAMED: usize = 4;

/// The leaderboard of a table.
pub struct Leaderboard {
    /// One line: how many times slower than the best each is on average.
    pub line: String,
    /// One line per operation.
    pub whole: Vec<String>,
}

/// Judges the table; `None` if nothing can be compared yet.
pub fn leaderboard(table: &Table) -> Option<Leaderboard> {
    of(table, &judge::judge(table).ok()?)
}

/// The same for a table that is already judged.
pub fn of(table: &Table, judgement: &Judgement) -> Option<Leaderboard> {
    let rankings = compared(table, judgement);
    if rankings.is_empty() {
        return None;
    }
    let mean = |contender: usize| Some((mean(&rankings, contender)?, contender));
    let mut means: Vec<(f64, usize)> = (0..table.contenders.len()).filter_map(mean).collect();
    means.sort_by(|a, b| a.0.total_cmp(&b.0));
    if means.is_empty() {
        return None;
    }
    let named = means.iter().take(NAMED).map(|(mean, who)| format!("{} {mean:.2}x", table.contenders[*who].name));
    let open = rankings.iter().filter(|ranking| is_open(ranking)).count();
    let mut line = format!("on average {} the best", named.collect::<Vec<_>>().join(", "));
    if open > 0 {
        line.push_str(&format!("; {open} of {} steps open", rankings.len()));
    }
    Some(Leaderboard { line, whole: rankings.iter().map(|ranking| whole(table, judgement, ranking)).collect() })
}

/// Rankings of primary operations with at least two contenders.
pub fn compared<'j>(table: &Table, judgement: &'j Judgement) -> Vec<&'j Ranking> {
    let is_compared = |ranking: &&Ranking| !table.operations[ranking.operation].secondary && !ranking.others.is_empty();
    judgement.rankings.iter().filter(is_compared).collect()
}

/// Geometric mean of a contender's ratios to the best; absent if it lacks an operation.
fn mean(rankings: &[&Ranking], contender: usize) -> Option<f64> {
    let ratio = |ranking: &&Ranking| match ranking.others.iter().find(|other| other.contender == contender) {
        Some(other) => Some(other.ratio),
        None => (ranking.best == contender).then_some(1.0),
    };
    let logs: Option<f64> = rankings.iter().map(|ranking| ratio(ranking).map(f64::ln)).sum();
    logs.map(|logs| (logs / rankings.len() as f64).exp())
}

fn is_open(ranking: &Ranking) -> bool {
    ranking.others.iter().any(|other| matches!(other.relation, Relation::Unresolved | Relation::TooFew))
}

fn whole(table: &Table, judgement: &Judgement, ranking: &Ranking) -> String {
    let operation = &table.operations[ranking.operation];
    let value = ranking.members().map(|member| {
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
    format!("  {}/{} {}: {}", id.workload, id.operation, id.cache, value.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{Cell, Contender, Operation, OperationId, Sample};

    #[test]
    fn means_over_all_operations_and_each_operation_are_shown() {
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
            ..Table::default()
        };
        let found = leaderboard(&table).expect("there is a leaderboard");
        assert_eq!(found.line, "on average ext4 1.00x, xfs 1.73x the best");
        assert!(
            found.whole[0].contains("create cold: ext4 1.0") && found.whole[0].contains("xfs x2.00"),
            "{:?}",
            found.whole
        );
        assert!(leaderboard(&Table::default()).is_none());
    }

    /// The log ends with the line, below the operations; both have the same ratios and the same number of open ones.
    #[test]
    fn the_line_counts_what_the_operations_show() {
        // Multiples of the first contender's time, and their scatter: equal, open, and far behind.
        let rows = [[1.0, 1.0, 1.5], [1.0, 1.04, 0.9], [1.0, 0.5, 0.501]];
        let names = ["ext4", "xfs", "btrfs"];
        for (blocks, scatter) in [(1, 0.0), (2, 0.1), (3, 0.3), (6, 0.002), (6, 0.2)] {
            let value =
                |contender: usize, block: u32| 1.0 + scatter * f64::from((block * 5 + contender as u32 * 3) % 7);
            let cell = |operation: usize, contender: usize| Cell {
                operation,
                contender,
                samples: (0..blocks)
                    .map(|block| Sample {
                        block,
                        value: rows[operation][contender] * value(contender, block),
                        ..Sample::default()
                    })
                    .collect(),
                ..Cell::default()
            };
            let table = Table {
                contenders: names.map(|name| Contender { name: name.into(), ..Contender::default() }).to_vec(),
                operations: ["create", "read", "delete"]
                    .map(|name| Operation {
                        id: OperationId::new("small-files", name, "cold"),
                        unit: "s".into(),
                        ..Operation::default()
                    })
                    .to_vec(),
                cells: (0..3)
                    .flat_map(|operation| (0..3).map(move |contender| (operation, contender)))
                    .map(|(o, c)| cell(o, c))
                    .collect(),
                ..Table::default()
            };
            let found = leaderboard(&table).expect("there is a leaderboard");
            assert_eq!(found.whole.len(), 3);
            let parts =
                |line: &String| line.rsplit(": ").next().unwrap_or_default().split(", ").map(str::to_owned).collect();
            let shown: Vec<Vec<String>> = found.whole.iter().map(parts).collect();
            // The first has its figure; the others have their ratio to it.
            let ratio = |part: &String| match part.split(" x").nth(1).and_then(|rest| rest.split(' ').next()) {
                Some(times) => times.parse::<f64>().expect("a number"),
                None => 1.0,
            };
            for name in names {
                let of_name = |part: &&String| part.split(' ').next() == Some(name);
                let logs: f64 = shown.iter().flatten().filter(of_name).map(|part| ratio(part).ln()).sum();
                let mean = (logs / 3.0).exp();
                let stated = found.line.split(&format!("{name} ")).nth(1).and_then(|rest| rest.split('x').next());
                let stated: f64 = stated.and_then(|text| text.parse().ok()).expect("it is in the line");
                assert!((stated - mean).abs() < 0.015, "{}: {name} {mean}\n{}", found.line, found.whole.join("\n"));
            }
            let open = shown.iter().filter(|parts| parts.iter().any(|part| part.ends_with('?'))).count();
            assert_eq!(
                found.line.contains(&format!("; {open} of 3 steps open")),
                open > 0,
                "{}\n{}",
                found.line,
                found.whole.join("\n")
            );
        }
    }
}
