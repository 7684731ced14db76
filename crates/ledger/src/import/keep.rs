//! Stores an imported run in one transaction.
//! In: runs as read. Out: their ids in the ledger; an already stored run is refused, shards are merged.

use super::{Imported, Read, shards};
use crate::error::LedgerError;
use crate::store::{Ledger, insert_contenders, insert_trial, json, run_id, text};
use records::Origin;
use rusqlite::params;
use std::collections::BTreeMap;

impl Ledger {
    /// Stores an imported run with its contenders and trials, and returns its id.
    ///
    /// # Errors
    /// The ledger has the run already, or cannot be written; then nothing of the run is stored.
    pub fn keep_imported(&mut self, imported: &Imported) -> Result<String, LedgerError> {
        let run = &imported.run;
        let id = if run.id.is_empty() { run_id(run.began_ms, mark(imported)) } else { run.id.clone() };
        if self.holds(&id)? {
            return Err(LedgerError::Refused {
                doing: "saving an imported run in",
                path: self.path().into(),
                answer: format!("it has run {id} already; `bakeoff show {id}` shows it"),
            });
        }
        self.in_transaction("saving an imported run in", |transaction| insert(transaction, &id, imported))?;
        Ok(id)
    }

    /// Stores the runs of files: runs as they are, and shards merged with those of the same plan that are stored here.
    ///
    /// # Errors
    /// A run that is stored already (from a ledger it is skipped instead), shards that contradict each other, a ledger that cannot be
    /// written. What was stored before the error stays.
    pub fn keep_read(&mut self, files: Vec<Read>) -> Result<Vec<Kept>, LedgerError> {
        let mut kept = Vec::new();
        let mut plans: BTreeMap<String, Vec<(usize, Imported)>> = BTreeMap::new();
        for (file, read) in files.into_iter().enumerate() {
            for imported in read.runs {
                if shards::cut(&imported.run).is_some() {
                    plans.entry(shards::key(&imported)).or_default().push((file, imported));
                } else if read.is_ledger && self.holds(&imported.run.id)? {
                    kept.push(Kept { files: vec![file], run: imported.run.id, shards: None, is_new: false });
                } else {
                    let elsewhere = elsewhere(imported);
                    let run = self.keep_imported(&elsewhere)?;
                    kept.push(Kept { files: vec![file], run, shards: None, is_new: true });
                }
            }
        }
        for (key, shards) in plans {
            let (files, read) = shards.into_iter().unzip();
            kept.push(self.keep_shards(files, read, &key)?);
        }
        Ok(kept)
    }

    fn keep_shards(&mut self, files: Vec<usize>, read: Vec<Imported>, key: &str) -> Result<Kept, LedgerError> {
        let here = self.shards_here(key)?;
        let before = here.iter().find(|run| run.run.new.merged.is_some()).cloned();
        let all: Vec<Imported> = here.into_iter().chain(read).collect();
        let refused = |answer| LedgerError::Refused { doing: "merging shards in", path: self.path().into(), answer };
        let merged = shards::merged(&all).map_err(refused)?;
        let cut = shards::cut(&merged.run);
        let shards = cut.map(|cut| (cut.parts.len() as u32, cut.of));
        let run = merged.run.id.clone();
        let is_new = before.as_ref() != Some(&merged);
        if is_new {
            self.in_transaction("merging shards in", |transaction| {
                transaction.execute("DELETE FROM runs WHERE id = ?1", params![run])?;
                insert(transaction, &run, &merged)
            })?;
        }
        Ok(Kept { files, run, shards, is_new })
    }

    /// Shards of a plan in this ledger, measured here or merged earlier.
    fn shards_here(&self, key: &str) -> Result<Vec<Imported>, LedgerError> {
        let mut here = Vec::new();
        for run in self.runs()?.into_iter().filter(|run| shards::cut(run).is_some()) {
            let (contenders, trials) = (self.contenders(&run.id)?, self.trials(&run.id)?);
            let imported = Imported { run, contenders, trials };
            if shards::key(&imported) == key {
                here.push(imported);
            }
        }
        Ok(here)
    }
}

/// What happened to one run of the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Numbers of the files that it came from.
    pub files: Vec<usize>,
    /// Its id here.
    pub run: String,
    /// For merged shards: how many there are now, of how many.
    pub shards: Option<(u32, u32)>,
    /// Whether anything new was stored.
    pub is_new: bool,
}

/// Marks a run of another ledger as measured elsewhere.
fn elsewhere(mut imported: Imported) -> Imported {
    if imported.run.new.origin == Origin::Measured {
        imported.run.new.origin = Origin::Exported;
    }
    imported
}

fn insert(transaction: &rusqlite::Transaction, id: &str, imported: &Imported) -> rusqlite::Result<()> {
    let run = &imported.run;
    transaction.execute(
        "INSERT INTO runs (id, began_ms, ended_ms, status, ending, title, seed, new_run, ceiling, seconds)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            id,
            run.began_ms,
            run.ended_ms,
            text(&run.status),
            run.ending,
            run.new.title,
            run.new.seed.to_string(),
            json(&run.new),
            run.ceiling.as_ref().map(json),
            run.seconds
        ],
    )?;
    insert_contenders(transaction, id, &imported.contenders)?;
    imported.trials.iter().try_for_each(|trial| insert_trial(transaction, id, trial))
}

/// A number that distinguishes runs imported within one second.
fn mark(imported: &Imported) -> u64 {
    let text = json(&imported.trials);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
