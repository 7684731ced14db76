//! Groups represented by their best value, which is picked from the same samples that judge it, such as each filesystem with its best scheduler.
//! In: a scenario whose contenders are the values of all groups, in order. Out: the number of tables with a false statement about a group.

use crate::draw::{Scenario, World};
use judge::{Cell, Contender, Relation, Table, judge};

/// Results over tables of groups.
#[derive(Debug, Clone, Copy, Default)]
pub struct Picked {
    /// Number of tables.
    pub tables: u64,
    /// Tables that call a group worse beyond doubt although it is not.
    pub falsely: u64,
    /// Number of rows.
    pub lines: u64,
    /// Rows that call a group worse or likely worse although it is not.
    pub likely: u64,
    /// The same if only the picked values are compared.
    pub naively: u64,
    /// Rows in which at least one group is called worse, and all such statements are true.
    pub rightly: u64,
}

/// Simulates tables of so many blocks, with one look each.
pub fn play(scenario: &Scenario, values: usize, blocks: u32, tables: u64, seed: u64) -> Picked {
    let mut sum = Picked::default();
    for table in 0..tables {
        let mut world = World::new(scenario, seed.wrapping_mul(1_000_003).wrapping_add(table));
        (0..blocks).for_each(|_| world.run_full_block());
        sum.tables += 1;
        let words = words(&world, values, true);
        sum.falsely += u64::from(words.wrong > 0);
        sum.likely += words.likely;
        sum.rightly += words.right;
        sum.naively += self::words(&world, values, false).likely;
        sum.lines += scenario.costs.len() as u64;
    }
    sum
}

/// Number of rows with a false statement beyond doubt, with a false one called likely, and with only true ones beyond doubt.
#[derive(Default)]
struct Words {
    wrong: u64,
    likely: u64,
    right: u64,
}

fn words(world: &World, values: usize, with_alternatives: bool) -> Words {
    let groups = world.scenario().costs[0].len() / values;
    let judged = judge(&grouped(&world.table, values, with_alternatives)).expect("a sound table");
    let truth = |operation: usize, group: usize| {
        let costs = &world.scenario().costs[operation][group * values..(group + 1) * values];
        costs.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let mut words = Words::default();
    for ranking in &judged.rankings {
        let best = truth(ranking.operation, ranking.best);
        let lines = |wanted: fn(Relation) -> bool| -> Vec<bool> {
            let lines = ranking.others.iter().filter(|other| other.contender < groups && wanted(other.relation));
            lines.map(|other| truth(ranking.operation, other.contender) > best).collect()
        };
        let (proven, likely) = (lines(|relation| relation == Relation::Worse), lines(Relation::is_worse));
        words.wrong += u64::from(proven.contains(&false));
        words.likely += u64::from(likely.contains(&false));
        words.right += u64::from(!proven.is_empty() && !proven.contains(&false));
    }
    words
}

/// Groups as contenders: in each operation the value with the lowest mean represents its group; the others are alternatives.
fn grouped(table: &Table, values: usize, with_alternatives: bool) -> Table {
    let groups = table.contenders.len() / values;
    let mut found = Table { operations: table.operations.clone(), ..Table::default() };
    let name = |group: usize| format!("group {group}");
    found.contenders.extend((0..groups).map(|group| Contender { name: name(group), ..Contender::default() }));
    for place in 0..groups * (values - 1) {
        let alternative_of = Some(name(place / (values - 1)));
        found.contenders.push(Contender { name: format!("other {place}"), alternative_of, ..Contender::default() });
    }
    for operation in 0..table.operations.len() {
        for group in 0..groups {
            let mut cells: Vec<&Cell> =
                (0..values).filter_map(|at| table.cell(operation, group * values + at)).collect();
            let mean = |cell: &&Cell| cell.samples.iter().map(|sample| sample.value.ln()).sum::<f64>();
            cells.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
            for (at, cell) in cells.into_iter().enumerate().take(if with_alternatives { values } else { 1 }) {
                let contender = if at == 0 { group } else { groups + group * (values - 1) + at - 1 };
                found.cells.push(Cell { contender, ..cell.clone() });
            }
        }
    }
    found
}
