//! The contender that a claim is about, if a run has contenders at several ages or with several schedulers.
//! In: a name in a claim, the run's table, names of contenders that are aged, on a modelled disk or in a nearest form. Out: the name in the run.
//! A claim about used filesystems means aged contenders, any other claim fresh ones; a bare name means the best scheduler of that filesystem.

use super::Ground;
use judge::{Claim, Contender, Direction, Table};

/// The name of the claim's contender in the run; `name` itself if none matches.
pub fn named(name: &str, claim: &Claim, table: &Table, ground: &Ground<'_>) -> String {
    let used = claim.cache == "used";
    let fits = |contender: &&(usize, &Contender)| {
        contender.1.twin_of.is_none() && ground.ages.contains_key(&contender.1.name) == used
    };
    let all: Vec<(usize, &Contender)> = table.contenders.iter().enumerate().collect();
    let plain = |contender: &'_ Contender| {
        ground.called.get(&contender.name).cloned().unwrap_or_else(|| contender.without_age().to_owned())
    };
    let is = |contender: &Contender| plain(contender).eq_ignore_ascii_case(name);
    if let Some((_, exact)) = all.iter().filter(fits).find(|(_, contender)| is(contender)) {
        return exact.name.clone();
    }
    let with = |contender: &Contender| {
        plain(contender).rsplit_once('+').is_some_and(|(base, _)| base.eq_ignore_ascii_case(name))
    };
    let scheduled = all.iter().filter(fits).filter(|(_, contender)| with(contender));
    let best = scheduled
        .filter_map(|(index, contender)| Some((cost(*index, claim, table)?, contender)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or_else(|| name.to_owned(), |(_, contender)| contender.name.clone())
}

/// Mean of a contender's samples in the claim's operation as a cost: lower is better.
fn cost(contender: usize, claim: &Claim, table: &Table) -> Option<f64> {
    let of = |operation: &judge::Operation| {
        let id = &operation.id;
        id.operation == claim.operation && id.figure.is_empty() && id.workload.starts_with(&claim.workload)
    };
    let operation = table.operations.iter().position(of)?;
    let values: Vec<f64> = table.cell(operation, contender)?.samples.iter().map(|sample| sample.value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let sign = if table.operations[operation].direction == Direction::LowerIsBetter { 1.0 } else { -1.0 };
    mean.is_finite().then_some(sign * mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{Age, Cell, ClaimRelation, Operation, OperationId, Sample};
    use std::collections::BTreeMap;

    fn claim(cache: &str) -> Claim {
        Claim {
            id: "c".into(),
            source: "a source".into(),
            workload: "bonnie".into(),
            operation: "create".into(),
            cache: cache.into(),
            left: "ext4".into(),
            relation: ClaimRelation::Faster,
            right: "xfs".into(),
            factor: None,
            statement: "ext4 beats xfs".into(),
        }
    }

    #[test]
    fn used_means_aged_and_a_bare_name_means_the_best_scheduler() {
        let aged = |name: &str, of: &str| Contender {
            name: name.into(),
            age: Age { name: "used 40%".into(), of: of.into() },
            ..Contender::default()
        };
        let mut table = Table::default();
        table.contenders.push(Contender { name: "ext4".into(), ..Contender::default() });
        table.contenders.push(aged("ext4 40%+none", "ext4+none"));
        table.contenders.push(aged("ext4 40%+bfq", "ext4+bfq"));
        let id = OperationId::new("bonnie", "create", "as-found");
        let operation = Operation { id, direction: Direction::HigherIsBetter, ..Operation::default() };
        table.operations.push(operation);
        for (contender, value) in [(1, 10.0), (2, 12.0)] {
            let samples = vec![Sample { value, ..Sample::default() }];
            table.cells.push(Cell { operation: 0, contender, samples, ..Cell::default() });
        }
        let ages = ["ext4 40%+none", "ext4 40%+bfq"].map(|name| (name.to_owned(), "used".to_owned())).into();
        let ground = Ground { ages, called: BTreeMap::new(), absent: &|_| String::new() };
        assert_eq!(named("ext4", &claim("used"), &table, &ground), "ext4 40%+bfq");
        assert_eq!(named("ext4+none", &claim("used"), &table, &ground), "ext4 40%+none");
        assert_eq!(named("ext4", &claim("cold"), &table, &ground), "ext4");
        assert_eq!(named("btrfs", &claim("used"), &table, &ground), "btrfs");
    }

    #[test]
    fn a_contender_on_a_modelled_disk_is_the_one_that_claims_speak_of() {
        let mut table = Table::default();
        let label = "ext4 modelled hdd-7200";
        table.contenders.push(Contender { name: label.into(), ..Contender::default() });
        let called = BTreeMap::from([(label.to_owned(), "ext4".to_owned())]);
        let ground = Ground { ages: BTreeMap::new(), called, absent: &|_| String::new() };
        assert_eq!(named("ext4", &claim("cold"), &table, &ground), label);
        assert_eq!(named("xfs", &claim("cold"), &table, &ground), "xfs");
    }
}
