//! Compares two runs, or two contenders, of a ledger.
//! In: two names. Out: the judge's comparison and its summary in words; the terminal and the browser show the same.

use crate::failure::Failure;
use judge::{Change, Compared, Comparison, Side, Table};
use ledger::Ledger;
use report::{Material, View};

/// One side: a run's table, and its contender if one was named.
pub struct Named {
    /// The name as requested.
    pub name: String,
    /// The table of its run.
    pub table: Table,
    /// Index of the contender in it.
    pub contender: Option<usize>,
    material: Material,
}

impl Named {
    /// The run's id.
    pub fn run(&self) -> &str {
        &self.material.run.id
    }

    /// The modelled disk on which a contender was measured, if any.
    fn disk_of(&self, contender: &str) -> Option<String> {
        let record = self.material.contenders.iter().find(|record| record.label == contender)?;
        Some(axes::disk_name(&axes::value(record.asked.as_ref()?, "disk")?).to_owned())
    }
}

/// Compares the runs or contenders that two names denote.
///
/// # Errors
/// A name is neither a run nor a contender; one is a run and the other a contender; they have nothing in common; or only one has a modelled
/// disk, or they have different ones.
pub fn compared(ledger: &Ledger, a: &str, b: &str) -> Result<(Comparison, Named, Named), Failure> {
    let (a, b) = (side(ledger, a)?, side(ledger, b)?);
    // The judge pairs contenders by block if both sides have the same table.
    let other = if a.run() == b.run() { &a.table } else { &b.table };
    let comparison = match (a.contender, b.contender) {
        (Some(first), Some(second)) => judge::compare_contenders(
            Side { table: &a.table, contender: first },
            Side { table: other, contender: second },
        ),
        (None, None) => judge::compare(&a.table, &b.table),
        _ => {
            let text = format!(
                "one of {} and {} is a run, the other a contender; name two runs or two contenders",
                a.name, b.name
            );
            return Err(Failure::usage(text));
        }
    };
    if comparison.rows.is_empty() {
        return Err(Failure::new(format!(
            "{} and {} have no operation of the same contender in common",
            a.name, b.name
        )));
    }
    if let Some(row) = comparison.rows.iter().find(|row| a.disk_of(&row.a) != b.disk_of(&row.b)) {
        let on = |named: &Named, contender: &str| {
            let disk =
                named.disk_of(contender).map_or("a real disk".into(), |model| format!("the modelled disk {model}"));
            format!("{contender} of run {} was measured on {disk}", named.run())
        };
        return Err(Failure::new(format!(
            "comparing {} with {}: {}, {}. Figures of a modelled disk are compared only with figures of the \
             same model: run both with the same --disk, or both on a real disk",
            a.name,
            b.name,
            on(&a, &row.a),
            on(&b, &row.b)
        )));
    }
    Ok((comparison, a, b))
}

/// `RUN`, `CONTENDER` (of the latest run) or `RUN:CONTENDER`.
fn side(ledger: &Ledger, name: &str) -> Result<Named, Failure> {
    let (run, contender) = match name.split_once(':') {
        Some((run, contender)) => (Some(run), Some(contender)),
        None if ledger.run(Some(name)).is_ok() => (Some(name), None),
        None => (None, Some(name)),
    };
    let material = Material::read(ledger, run)?;
    let table = View::of(&material)?.table;
    let Some(label) = contender else {
        return Ok(Named { name: name.into(), table, contender: None, material });
    };
    let index = table.contender(label).ok_or_else(|| {
        let labels = table.contenders.iter().filter(|contender| contender.twin_of.is_none());
        let labels: Vec<&str> = labels.map(|contender| contender.name.as_str()).collect();
        Failure::usage(format!(
            "{name} is neither a run of this ledger nor a contender of run {}, which has {}",
            material.run.id,
            labels.join(", ")
        ))
    })?;
    Ok(Named { name: name.into(), table, contender: Some(index), material })
}

/// How the machine changed between the two runs, in a sentence; None if it did not, or if both are one run.
pub fn machine(a: &Named, b: &Named) -> Option<String> {
    (a.run() != b.run()).then(|| report::view::machine_between(&a.material, &b.material)).flatten()
}

/// The summary, in a sentence or two: "Switching ext4 -> xfs: no clear gain; up to 2.8x slower (rewriting small files)."
pub fn meaning(comparison: &Comparison, a: &Named, b: &Named) -> String {
    let gains = |row: &&Compared| matches!(row.change, Change::Better | Change::LikelyBetter);
    let losses = |row: &&Compared| matches!(row.change, Change::Worse | Change::LikelyWorse);
    let furthest = |side: &dyn Fn(&&Compared) -> bool| -> Option<&Compared> {
        let of_side = comparison.rows.iter().filter(|row| side(row));
        of_side.max_by(|x, y| x.ratio.ln().abs().total_cmp(&y.ratio.ln().abs()))
    };
    let shown = |row: &Compared, word: &str| {
        let likely = matches!(row.change, Change::LikelyBetter | Change::LikelyWorse);
        let likely = if likely { "likely " } else { "" };
        let who = if a.contender.is_none() { format!(" of {}", row.a) } else { String::new() };
        let ratio = if row.ratio < 1.0 { 1.0 / row.ratio } else { row.ratio };
        let known = a.table.operations.iter().find(|known| known.id == row.operation);
        let doing = known.map_or(row.operation.operation.as_str(), judge::Operation::doing);
        format!("up to {likely}{}x {word} ({doing}{who})", times(ratio))
    };
    let gain = furthest(&gains).map_or_else(|| "no clear gain".to_owned(), |row| shown(row, "faster"));
    let loss = furthest(&losses).map_or_else(|| "no clear loss".to_owned(), |row| shown(row, "slower"));
    let names = |named: &Named| named.contender.map_or(&named.name, |at| &named.table.contenders[at].name).clone();
    let count = |wanted: &[Change]| comparison.rows.iter().filter(|row| wanted.contains(&row.change)).count();
    let machine = machine(a, b);
    let mut text: String = comparison.doubts.iter().chain(&machine).map(|doubt| format!("{doubt} ")).collect();
    text.push_str(&format!("Switching {} -> {}: {gain}; {loss}.", names(a), names(b)));
    if comparison.rows.iter().any(|row| row.unequal_durability) {
        text.push_str(" The two do not keep data equally safe.");
    }
    let disturbed = comparison.rows.iter().filter(|row| row.disturbed > 0).count();
    if disturbed > 0 {
        text.push_str(&format!(" {disturbed} of {} lines include disturbed trials.", comparison.rows.len()));
    }
    text.push_str(&format!(
        " Better in {}, worse in {}, the same in {}, can't tell yet in {}.",
        count(&[Change::Better, Change::LikelyBetter]),
        count(&[Change::Worse, Change::LikelyWorse]),
        count(&[Change::Same]),
        count(&[Change::Unresolved])
    ));
    text
}

/// How B compares with A, in a word or two.
pub fn change(change: Change) -> &'static str {
    match change {
        Change::Better => "better",
        Change::LikelyBetter => "likely better",
        Change::Worse => "WORSE",
        Change::LikelyWorse => "likely worse",
        Change::Same => "same",
        Change::Unresolved => "can't tell yet",
    }
}

/// The interval of the ratio; without one, the numbers of samples.
pub fn interval(row: &Compared) -> String {
    let few = format!("{} and {} only", row.samples.0, row.samples.1);
    row.interval.map_or(few, |interval| format!("{} to {}", times(interval.low), times(interval.high)))
}

/// A ratio with three significant digits; far below 1, with as many as its reciprocal needs.
pub fn times(ratio: f64) -> String {
    match ratio {
        r if r >= 100.0 => format!("{r:.0}"),
        r if r >= 10.0 => format!("{r:.1}"),
        r if r < 0.01 => format!("{r:.4}"),
        r if r < 0.1 => format!("{r:.3}"),
        r => format!("{r:.2}"),
    }
}
