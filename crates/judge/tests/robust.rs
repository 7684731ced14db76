//! Degenerate tables: holes, equal values, odd blocks, extreme values, contenders that vanish.
//! In: random tables from fixed seeds. Out: no panic, no NaN, no statement without evidence.

use judge::{
    Backend, Cell, Contender, Direction, Operation, OperationId, Policy, Relation, Sample, Table, Until, compare,
    decide, judge, plan_budget,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

fn value(rng: &mut SmallRng) -> f64 {
    match rng.random_range(0..12) {
        0 => 0.0,
        1 => f64::NAN,
        2 => -1.0,
        3 => 1e300,
        4 => 1e-300,
        5..=7 => 10.0,
        _ => rng.random_range(5.0..20.0),
    }
}

fn table(rng: &mut SmallRng) -> Table {
    let mut table = Table { margin: rng.random_bool(0.5).then(|| rng.random_range(-0.1..1.0)), ..Table::default() };
    for contender in 0..rng.random_range(0..6) {
        table.contenders.push(Contender {
            name: format!("fs{contender}"),
            backend: if rng.random_bool(0.2) { Backend::Kvm } else { Backend::Host },
            twin_of: (contender > 0 && rng.random_bool(0.15)).then(|| "fs0".into()),
            failed: rng.random_bool(0.1).then(|| "no tool".into()),
            ..Contender::default()
        });
    }
    for operation in 0..rng.random_range(0..5) {
        table.operations.push(Operation {
            id: OperationId::new(["a", "b"][operation % 2], &format!("op{operation}"), "cold"),
            direction: if rng.random_bool(0.5) { Direction::HigherIsBetter } else { Direction::LowerIsBetter },
            secondary: rng.random_bool(0.2),
            ..Operation::default()
        });
        for contender in 0..table.contenders.len() {
            if rng.random_bool(0.15) {
                continue;
            }
            let mut cell = Cell { operation, contender, ..Cell::default() };
            cell.facts.trial_seconds = rng.random_bool(0.7).then(|| rng.random_range(0.0..100.0));
            for _ in 0..rng.random_range(0..14) {
                let (block, format) = (rng.random_range(0..8), rng.random_range(0..2));
                let (mount, pass) = (rng.random_range(0..2), rng.random_range(0..3));
                cell.samples.push(Sample {
                    trial: 1,
                    block,
                    format,
                    mount,
                    pass,
                    value: value(rng),
                    disturbed: false,
                    stolen: value(rng),
                });
            }
            table.cells.push(cell);
        }
    }
    table
}

#[test]
fn no_table_makes_the_judge_panic_or_return_an_invalid_number() {
    for seed in 0..3000 {
        let mut rng = SmallRng::seed_from_u64(seed);
        let table = table(&mut rng);
        let judged = judge(&table).unwrap();
        for figure in &judged.figures {
            assert!(figure.median > 0.0 && figure.median.is_finite(), "seed {seed}: {figure:?}");
            assert!(figure.interval.is_none_or(|interval| interval.low <= interval.high), "seed {seed}: {figure:?}");
        }
        for ranking in &judged.rankings {
            for other in &ranking.others {
                assert!(!other.ratio.is_nan(), "seed {seed}: {other:?}");
                assert!(other.relation != Relation::Worse || other.samples >= 3, "seed {seed}: {other:?}");
                assert_eq!(table.contenders[other.contender].backend, ranking.backend, "seed {seed}");
                assert!(table.contenders[other.contender].twin_of.is_none(), "seed {seed}");
            }
        }
        for sentence in &judged.sentences {
            assert!(!sentence.text.contains("NaN") && !sentence.text.contains("inf"), "seed {seed}: {}", sentence.text);
        }
        for until in [Until::Precision, Until::Winner, Until::Blocks] {
            let policy = Policy { until, seconds_left: rng.random_bool(0.5).then_some(100.0), ..Policy::default() };
            let decision = decide(&table, &policy).unwrap();
            assert!(decision.next.iter().all(|n| table.contenders[n.contender].failed.is_none()), "seed {seed}");
            plan_budget(&table, &policy).unwrap();
        }
        assert!(compare(&table, &table).rows.iter().all(|row| row.change != judge::Change::Worse), "seed {seed}");
    }
}
