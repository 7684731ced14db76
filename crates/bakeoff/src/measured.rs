//! Measured safety of contenders in views of a run, next to what their descriptions declare.
//! In: the built-in table, and results of `powercut` on this machine. Out: a sentence and a badge for each contender.

use records::Found;
use reliability::measured::{self, Measured};
use reliability::power_cut::Survived;
use report::view::ContenderView;
use report::{Material, View};
use std::path::PathBuf;

/// File name of this machine's results.
const FILE: &str = "power-cuts.json";

/// Saves results for views of later runs; a failure is reported on standard error.
pub fn keep(all: &[Survived]) {
    let date = jiff::Zoned::now().date().to_string();
    let rows: Vec<Measured> = all.iter().filter_map(|one| Measured::of(one, date.clone())).collect();
    let Some(path) = file().filter(|_| !rows.is_empty()) else { return };
    if let Err(error) = measured::add(&path, &rows) {
        eprintln!("saving the results for reports of later runs: {}: {error}", path.display());
    }
}

/// Adds measured safety and the driver to each contender of a view.
pub fn beside(material: &Material, mut view: View) -> View {
    let known = known();
    let found: Vec<Option<&Measured>> =
        view.contenders.iter().map(|contender| of(material, contender, &known)).collect();
    let differ = found.iter().flatten().any(|one| one.kept_all()) && found.iter().flatten().any(|one| !one.kept_all());
    for (contender, found) in view.contenders.iter_mut().zip(found) {
        if let Some(driver) = trial(material, contender).and_then(reliability::driver) {
            join(&mut contender.badge, format!("{driver} driver"));
        }
        let Some(found) = found else { continue };
        contender.measured = Some(found.words());
        if differ {
            join(&mut contender.badge, badge(found));
        }
    }
    view
}

/// Adds a part to a badge.
fn join(badge: &mut String, part: String) {
    let parts = [std::mem::take(badge), part];
    *badge = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ");
}

/// What was found of a contender in its first trial with a record of it.
fn trial<'m>(material: &'m Material, contender: &ContenderView) -> Option<&'m Found> {
    let mut trials = material.trials.iter().filter(|trial| trial.contender as usize == contender.index);
    trials.find_map(|trial| trial.found.as_ref())
}

/// The result in a few words, to fit below a name.
fn badge(found: &Measured) -> String {
    match found.worst() {
        Some((promise, _)) => format!("breaks {promise}"),
        None if found.unmountable > found.unmountable_torn => "not mounted".into(),
        None if found.unmountable > 0 => "not mounted if torn".into(),
        None => "survives cuts".into(),
    }
}

fn of<'m>(material: &Material, contender: &ContenderView, known: &'m [Measured]) -> Option<&'m Measured> {
    let record = material.contenders.iter().find(|record| record.index as usize == contender.index)?;
    let asked = record.asked.as_ref()?;
    let found = trial(material, contender)?;
    let host = material.run.new.machine.as_ref().map(|machine| machine.kernel.as_str());
    let kernel = found.kernel.as_deref().or(host).unwrap_or_default();
    measured::of(known, (&asked.filesystem, &found.durability, &record.label), kernel)
}

/// Results of this machine, then the built-in ones.
fn known() -> Vec<Measured> {
    let here = file().map(|path| (measured::read(&path), path));
    let here = match here {
        Some((Err(error), path)) => {
            eprintln!("leaving out earlier results of this machine: {}: {error}", path.display());
            Vec::new()
        }
        Some((Ok(rows), _)) => rows,
        None => Vec::new(),
    };
    here.into_iter().chain(measured::shipped()).collect()
}

fn file() -> Option<PathBuf> {
    system::folders::state().map(|folder| folder.join(FILE))
}
