//! Keeping an imported run: all of it in one transaction.
//! In: a run as it was read. Out: its id in the ledger; a run that is there already is refused.

use super::Imported;
use crate::error::LedgerError;
use crate::store::{Ledger, insert_contenders, insert_trial, json, run_id, text};
use rusqlite::params;

impl Ledger {
    /// Keeps an imported run with its contenders and trials, and returns its id.
    ///
    /// # Errors
    /// A ledger that holds the run already, or that cannot be written; nothing of the run is kept then.
    pub fn keep_imported(&mut self, imported: &Imported) -> Result<String, LedgerError> {
        let run = &imported.run;
        let id = if run.id.is_empty() { run_id(run.began_ms, mark(imported)) } else { run.id.clone() };
        if self.holds(&id)? {
            return Err(LedgerError::Refused {
                doing: "keeping an imported run in",
                path: self.path().into(),
                answer: format!("it holds run {id} already; `bakeoff show {id}` shows it"),
            });
        }
        self.in_transaction("keeping an imported run in", |transaction| {
            transaction.execute(
                "INSERT INTO runs (id, began_ms, ended_ms, status, ending, title, seed, new_run, ceiling)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    id,
                    run.began_ms,
                    run.ended_ms,
                    text(&run.status),
                    run.ending,
                    run.new.title,
                    run.new.seed.to_string(),
                    json(&run.new),
                    run.ceiling.as_ref().map(json)
                ],
            )?;
            insert_contenders(transaction, &id, &imported.contenders)?;
            imported.trials.iter().try_for_each(|trial| insert_trial(transaction, &id, trial))
        })?;
        Ok(id)
    }
}

/// A number that tells apart what was read in one second.
fn mark(imported: &Imported) -> u64 {
    let text = json(&imported.trials);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
