//! One portable file with everything of a run: written by `export`, read by `import`.
//! In: a run's records. Out: JSON; on request anonymous, without names of hosts, serial numbers and paths.

use super::{COUNT_LIMIT, Imported, error_text};
use crate::anonymous::{self, Owner};
use crate::error::LedgerError;
use crate::histogram::{self, HistogramError};
use crate::json;
use crate::migrate::{self, each};
use crate::sound;
use crate::store::Ledger;
use records::{ContenderRecord, Origin, RunRecord, TrialRecord};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Version of the format; later ones are refused.
pub const PORTABLE_VERSION: u32 = 3;
const KIND: &str = "bakeoff-run";
/// Fields of every version, besides the run.
#[derive(Serialize, Deserialize)]
struct Head {
    kind: String,
    portable_version: u32,
}

#[derive(Serialize)]
struct Portable<'a> {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    run: &'a Imported,
}

/// A run as one JSON text; on request anonymous, by what its records themselves show of their machine.
///
/// # Errors
/// A run that does not exist, a ledger that cannot be read.
pub fn export(ledger: &Ledger, run: &str, anonymous: bool) -> Result<String, LedgerError> {
    export_of(ledger, run, anonymous.then(Owner::default).as_ref())
}

/// The same; the names of `owner`, if given, appear in no text.
///
/// # Errors
/// As [`export`].
pub fn export_of(ledger: &Ledger, run: &str, owner: Option<&Owner>) -> Result<String, LedgerError> {
    let run = ledger.run(Some(run))?;
    let (contenders, trials) = (ledger.contenders(&run.id)?, ledger.trials(&run.id)?);
    let imported = Imported { run, contenders, trials };
    let Some(owner) = owner else { return Ok(document(&imported).to_string()) };
    let answered = |answer| LedgerError::Refused {
        doing: "making an anonymous copy of a run of",
        path: ledger.path().into(),
        answer,
    };
    let (clean, _) = anonymous::anonymous(imported, owner).map_err(answered)?;
    Ok(document(&clean).to_string())
}

/// A run in the form that [`super::import_bytes`] reads.
pub fn document(imported: &Imported) -> Value {
    let head = Head { kind: KIND.into(), portable_version: PORTABLE_VERSION };
    let text = serde_json::to_string(&Portable { head, run: imported });
    text.and_then(|text| serde_json::from_str(&text)).unwrap_or_default()
}

pub(super) fn looks_like(json: &str) -> bool {
    json.contains(KIND) && json.contains("\"portable_version\"")
}

/// Reads an exported run and marks it as measured elsewhere.
pub(super) fn read(json: &str) -> Result<Imported, String> {
    let head: Head = serde_json::from_str(json).map_err(|error| error_text(&error))?;
    if head.kind != KIND {
        return Err("it has a different format".into());
    }
    let mut imported: Imported = match head.portable_version {
        PORTABLE_VERSION => whole(json)?,
        1 => whole(
            &second_version(first_version(serde_json::from_str(json).map_err(|error| error_text(&error))?)).to_string(),
        )?,
        2 => whole(&second_version(serde_json::from_str(json).map_err(|error| error_text(&error))?).to_string())?,
        version => return Err(format!("it has version {version}; use the bakeoff that wrote it, or a newer one")),
    };
    let Imported { run, contenders, trials } = &mut imported;
    if trials.len() > COUNT_LIMIT || contenders.len() > COUNT_LIMIT {
        return Err(format!("it holds more than {COUNT_LIMIT} trials or contenders"));
    }
    check(run, contenders, trials)?;
    if run.new.origin == Origin::Measured {
        run.new.origin = Origin::Exported;
    }
    Ok(imported)
}

/// The whole file, or the field that cannot be read. Records are always read from text: each further source would be compiled again for every type.
fn whole<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    json::read(json).map_err(|error| error_text(&error))
}

/// Changes a field if it exists.
fn change(object: Option<&mut Value>, name: &str, change: fn(Value) -> Value) {
    if let Some(field) = object.and_then(|object| object.get_mut(name)) {
        *field = change(field.take());
    }
}

/// Converts a file of version 2 to today's form.
fn second_version(mut file: Value) -> Value {
    change(file.get_mut("run"), "new", migrate::cold_run);
    let of_phase = |phase: &mut Value| change(Some(phase), "evidence", migrate::cold_evidence);
    each(&mut file, "trials", |trial| each(trial, "phases", of_phase));
    file
}

/// Converts a file of version 1 to version 2.
fn first_version(mut file: Value) -> Value {
    change(file.get_mut("run"), "new", migrate::new_run);
    each(&mut file, "contenders", |contender| change(Some(contender), "asked", migrate::asked));
    each(&mut file, "trials", |trial| {
        change(Some(&mut *trial), "found", migrate::found);
        change(Some(&mut *trial), "closing", migrate::closing);
        each(trial, "phases", |phase| change(Some(phase), "evidence", migrate::evidence));
    });
    file
}

/// Checks what the rest of the program assumes of its own records.
pub(super) fn check(run: &RunRecord, contenders: &[ContenderRecord], trials: &[TrialRecord]) -> Result<(), String> {
    sound::run(run)?;
    sound::contenders(contenders)?;
    sound::trials(trials, contenders.len())?;
    sound::trial_times(trials)?;
    let groups = trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.outcome.groups);
    // An invalid histogram is shown as missing; one that would exhaust the reader's memory is refused.
    match groups.flat_map(|group| group.latency.values()).map(|latency| histogram::read(&latency.hdr)).find(is_trap) {
        Some(Err(trap)) => Err(trap.to_string()),
        _ => Ok(()),
    }
}

fn is_trap<T>(read: &Result<T, HistogramError>) -> bool {
    matches!(read, Err(HistogramError::TooLong | HistogramError::Size))
}
