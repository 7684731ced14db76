//! Tests claims against a run: each is matched with the figure that its method measured, then all are judged together.
//! In: claims, a run's table, what is known about its contenders. Out: a verdict for each, in the order of the claims.
//! A claim that cannot be tested gets the reason; a claim about used filesystems is not tested on fresh ones.

use super::{Clock, Published, variants};
use judge::{Cell, Claim, ClaimOutcome, ClaimVerdict, Contender, Operation, OperationId, Table};
use std::collections::BTreeMap;

/// What is known in addition to the table.
pub struct Ground<'a> {
    /// Requested ages by contender; a contender that is missing here is fresh.
    pub ages: BTreeMap<String, String>,
    /// Names in claims of contenders that have another label here (by label): without a modelled disk, or without the suffix of an
    /// option set in its nearest form.
    pub called: BTreeMap<String, String>,
    /// Why a name in a claim is not among the contenders.
    pub absent: &'a dyn Fn(&str) -> String,
}

/// Tests claims against a run's table.
pub fn held(claims: &[Published], table: &Table, ground: &Ground) -> Vec<ClaimVerdict> {
    let mut scales = Scales { from: table, to: Table { cells: Vec::new(), operations: Vec::new(), ..table.clone() } };
    let ready: Vec<Result<Claim, String>> = claims.iter().map(|claim| scales.ready(claim, ground)).collect();
    // Holm's correction covers only the claims that are tested, so the judge gets these alone.
    let tested: Vec<Claim> = ready.iter().flatten().cloned().collect();
    let mut verdicts = judge::judge_claims(&scales.to, &tested).into_iter();
    let judged = claims.iter().zip(ready).map(|(published, ready)| match ready {
        Ok(_) => verdicts.next().unwrap_or_else(|| untested(&published.claim, "it has no judged figure")),
        Err(why) => untested(&published.claim, &why),
    });
    judged.collect()
}

fn untested(claim: &Claim, why: &str) -> ClaimVerdict {
    ClaimVerdict {
        id: claim.id.clone(),
        outcome: ClaimOutcome::NotTestable(why.into()),
        measured: None,
        interval: None,
        published: claim.factor,
        factor_agrees: None,
        text: format!("{}: not testable here, {why}.", claim.statement),
        cells: Vec::new(),
    }
}

/// The run's table, and a table that holds each claimed operation once.
struct Scales<'a> {
    from: &'a Table,
    to: Table,
}

impl Scales<'_> {
    /// The claim in terms of the new table; adds its operation there.
    fn ready(&mut self, published: &Published, ground: &Ground) -> Result<Claim, String> {
        let called = |name: &str| super::subject::named(name, &published.claim, self.from, ground);
        let claim = Claim {
            left: called(&published.claim.left),
            right: called(&published.claim.right),
            ..published.claim.clone()
        };
        let published = &Published { claim, ..published.clone() };
        let claim = &published.claim;
        let is_variant = |variant: &str| {
            let named = format!("{} {variant}", claim.operation);
            self.from.operations.iter().any(|operation| operation.id.operation == named)
        };
        let pair = variants(claim).filter(|(_, left, right)| is_variant(left) && is_variant(right));
        let names = match pair {
            Some((base, _, _)) => vec![base],
            None => vec![claim.left.as_str(), claim.right.as_str()],
        };
        let aged = |name: &&str| ground.ages.contains_key(*name);
        for name in &names {
            let known = self.from.contenders.iter().any(|c| c.name.eq_ignore_ascii_case(name) && c.twin_of.is_none());
            if !known {
                return Err((ground.absent)(name));
            }
        }
        if claim.cache == "used" && !names.iter().all(aged) {
            return Err("the claim is about used filesystems, and this run used fresh ones".into());
        }
        match pair {
            Some((base, left, right)) => self.of_variants(published, base, [left, right]),
            None => {
                let (name, figure) = match claim.operation.strip_suffix(" cpu") {
                    Some(name) => (name, samples::CPU),
                    None => (claim.operation.as_str(), ""),
                };
                let found = self.find(claim, name, figure)?;
                Ok(self.moved(found, published))
            }
        }
    }

    /// The operation of a claim in the run's table.
    fn find(&self, claim: &Claim, operation: &str, figure: &str) -> Result<usize, String> {
        let of_scale = format!("{} (", claim.workload);
        let of_workload = |id: &OperationId| id.workload == claim.workload || id.workload.starts_with(&of_scale);
        let all = &self.from.operations;
        if !all.iter().any(|found| of_workload(&found.id)) {
            return Err(format!("the workload {} is not in this run", claim.workload));
        }
        let fits = |id: &OperationId| of_workload(id) && id.operation == operation && id.figure == figure;
        let found: Vec<usize> = (0..all.len()).filter(|&at| fits(&all[at].id)).collect();
        let exact = found.iter().rev().find(|&&at| all[at].id.cache == claim.cache);
        match (exact, found.as_slice()) {
            (Some(exact), _) => Ok(*exact),
            (None, []) => Err(format!("{} {} was not measured", claim.workload, claim.operation)),
            (None, [only]) => Ok(*only),
            (None, _) => Err(format!("not measured with cache {}", claim.cache)),
        }
    }

    /// A claim about an operation of the run: moved to the figure that the claim's method measured.
    fn moved(&mut self, found: usize, published: &Published) -> Claim {
        let id = self.from.operations[found].id.clone();
        let wanted = OperationId { figure: samples::RETURNED.into(), ..id.clone() };
        let returned = self.from.operations.iter().position(|operation| operation.id == wanted);
        let returned = returned.filter(|_| published.clock == Clock::Returned && id.figure.is_empty());
        let (source, operation) = match returned {
            Some(returned) => (returned, format!("{} until returned", id.operation)),
            None => (found, id.operation.clone()),
        };
        let figure = if returned.is_some() { String::new() } else { id.figure.clone() };
        let moved = OperationId { operation: operation.clone(), figure, ..id.clone() };
        let index = match self.to.operations.iter().position(|known| known.id == moved) {
            Some(known) => known,
            None => self.add(Operation { id: moved, ..self.from.operations[source].clone() }),
        };
        if !self.to.cells.iter().any(|cell| cell.operation == index) {
            self.copy(source, index, Some);
        }
        let operation = if id.figure == samples::CPU { format!("{operation} cpu") } else { operation };
        let cache = if published.claim.cache == "used" { id.cache } else { published.claim.cache.clone() };
        Claim { workload: id.workload, operation, cache, ..published.claim.clone() }
    }

    /// A claim about two variants of one operation on one contender: each variant becomes a contender.
    fn of_variants(&mut self, published: &Published, base: &str, names: [&str; 2]) -> Result<Claim, String> {
        let claim = &published.claim;
        let mine = self.from.contenders.iter().position(|c| c.name.eq_ignore_ascii_case(base) && c.twin_of.is_none());
        let mine = mine.ok_or_else(|| format!("{base} is not in this run"))?;
        let mut sources = Vec::new();
        for name in names {
            sources.push(self.find(claim, &format!("{} {name}", claim.operation), "")?);
        }
        let first = self.from.operations[sources[0]].clone();
        let id = OperationId { operation: claim.operation.clone(), ..first.id.clone() };
        if self.to.operations.iter().any(|known| known.id == id) {
            return Err(format!(
                "{} {} has claims both about itself and about its variants",
                id.workload, id.operation
            ));
        }
        let index = self.add(Operation { id: id.clone(), ..first });
        for (source, label) in sources.into_iter().zip([&claim.left, &claim.right]) {
            let pseudo = self.to.contenders.len();
            self.to.contenders.push(Contender { name: label.clone(), ..self.from.contenders[mine].clone() });
            self.copy(source, index, |contender| (contender == mine).then_some(pseudo));
        }
        Ok(Claim { workload: id.workload, ..claim.clone() })
    }

    fn add(&mut self, operation: Operation) -> usize {
        self.to.operations.push(operation);
        self.to.operations.len() - 1
    }

    /// Copies the cells of an operation; `place` maps the contenders.
    fn copy(&mut self, source: usize, operation: usize, place: impl Fn(usize) -> Option<usize>) {
        for cell in self.from.cells.iter().filter(|cell| cell.operation == source) {
            if let Some(contender) = place(cell.contender) {
                self.to.cells.push(Cell { operation, contender, ..cell.clone() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use judge::{ClaimRelation, Direction, Sample};

    /// Two contenders over six blocks; `values` gives seconds by operation and contender.
    fn table(operations: &[(OperationId, [f64; 2])]) -> Table {
        let mut table = Table::default();
        for name in ["ext4", "xfs"] {
            table.contenders.push(Contender { name: name.into(), ..Contender::default() });
        }
        for (index, (id, values)) in operations.iter().enumerate() {
            let direction = Direction::LowerIsBetter;
            table.operations.push(Operation { id: id.clone(), unit: "s".into(), direction, ..Operation::default() });
            for (contender, value) in values.iter().enumerate() {
                let noise = |block: u32| 1.0 + 0.004 * f64::from((block * 7 + contender as u32 * 3) % 5);
                let sample = |block| Sample { block, value: value * noise(block), ..Sample::default() };
                let samples = (0..6).map(sample).collect();
                table.cells.push(Cell { operation: index, contender, samples, ..Cell::default() });
            }
        }
        table
    }

    fn id(workload: &str, operation: &str, figure: &str) -> OperationId {
        OperationId { figure: figure.into(), ..OperationId::new(workload, operation, "cold") }
    }

    fn claim(left: &str, right: &str, operation: &str, cache: &str, clock: Clock) -> Published {
        let (id, source, workload) = ("c", "a source", "small-files");
        Published {
            device: "hdd".into(),
            clock,
            claim: Claim {
                id: id.into(),
                source: source.into(),
                workload: workload.into(),
                operation: operation.into(),
                cache: cache.into(),
                left: left.into(),
                relation: ClaimRelation::Faster,
                right: right.into(),
                factor: Some(2.0),
                statement: format!("{left} beats {right}"),
            },
        }
    }

    fn ground() -> Ground<'static> {
        Ground { ages: BTreeMap::new(), called: BTreeMap::new(), absent: &|name| format!("{name} cannot compete here") }
    }

    #[test]
    fn a_claim_that_was_timed_until_the_calls_returned_is_held_against_that_figure() {
        // Durable, ext4 is slower; until the calls return it is faster.
        let table = table(&[
            (id("small-files", "create", ""), [3.0, 2.0]),
            (id("small-files", "create", samples::RETURNED), [1.0, 2.0]),
        ]);
        let returned = claim("ext4", "xfs", "create", "cold", Clock::Returned);
        let durable = claim("ext4", "xfs", "create", "cold", Clock::Durable);
        let verdicts = held(&[returned, durable], &table, &ground());
        assert_eq!(verdicts[0].outcome, ClaimOutcome::Holds, "{}", verdicts[0].text);
        assert_eq!(verdicts[1].outcome, ClaimOutcome::Reversed, "{}", verdicts[1].text);
    }

    #[test]
    fn claims_about_used_filesystems_are_not_held_against_fresh_ones() {
        let table = table(&[(id("small-files", "create", ""), [1.0, 2.0])]);
        let used = claim("ext4", "xfs", "create", "used", Clock::Durable);
        let fresh = held(std::slice::from_ref(&used), &table, &ground());
        assert!(matches!(&fresh[0].outcome, ClaimOutcome::NotTestable(why) if why.contains("used")), "{fresh:?}");
        let ages = ["ext4", "xfs"].map(|name| (name.to_owned(), "used".to_owned())).into();
        let aged = held(&[used], &table, &Ground { ages, ..ground() });
        assert_eq!(aged[0].outcome, ClaimOutcome::Holds, "{}", aged[0].text);
    }

    #[test]
    fn two_variants_of_an_operation_are_judged_as_two_contenders() {
        let table = table(&[
            (id("small-files", "create flat", ""), [2.0, 2.0]),
            (id("small-files", "create hashed", ""), [1.0; 2]),
        ]);
        let verdicts = held(&[claim("xfs-hashed", "xfs-flat", "create", "cold", Clock::Durable)], &table, &ground());
        assert_eq!(verdicts[0].outcome, ClaimOutcome::Holds, "{}", verdicts[0].text);
        assert!(verdicts[0].measured.is_some_and(|factor| (1.9..2.1).contains(&factor)), "{verdicts:?}");
    }

    #[test]
    fn cpu_is_a_separate_figure_and_an_absent_contender_has_its_reason() {
        let table = table(&[
            (id("small-files", "create", ""), [1.0, 2.0]),
            (id("small-files", "create", samples::CPU), [9.0, 4.0]),
        ]);
        let cpu = claim("ext4", "xfs", "create cpu", "cold", Clock::Durable);
        let jfs = claim("jfs", "xfs", "create", "cold", Clock::Durable);
        let verdicts = held(&[cpu, jfs], &table, &ground());
        assert_eq!(verdicts[0].outcome, ClaimOutcome::Reversed, "{}", verdicts[0].text);
        assert_eq!(verdicts[1].outcome, ClaimOutcome::NotTestable("jfs cannot compete here".into()));
    }
}
