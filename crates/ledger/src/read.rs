//! Reading a ledger: runs, contenders, trials.
//! In: an open ledger and a run's id. Out: the records as stored, or an error with the ledger, the run and the unreadable field.

use crate::error::LedgerError;
use crate::fields::{Fault, from_json, maybe_named, maybe_whole, named, parsed, whole};
use crate::guard::{self, Brought};
use crate::sound;
use crate::store::{Ledger, foreign};
use records::{CommandRecord, ContenderRecord, PhaseRecord, RunRecord, TrialRecord};
use rusqlite::{OptionalExtension, Row, params};
use std::collections::BTreeMap;

impl Ledger {
    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunRecord>, LedgerError> {
        self.rows("reading runs from", "SELECT * FROM runs ORDER BY began_ms, id", [], |row, _| {
            run_from(row).map_err(|fault| fault.within(&run_of(row)))
        })
    }

    /// One run: by its id, a prefix of it, or the latest (`None` or `latest`). Other runs need not be readable.
    pub fn run(&self, asked: Option<&str>) -> Result<RunRecord, LedgerError> {
        let query = "SELECT id FROM runs ORDER BY began_ms, id";
        let known: Vec<String> = self.rows("reading runs from", query, [], |row, _| id(row))?;
        let no_such = |why: String| LedgerError::NoSuchRun {
            path: self.path().into(),
            asked: asked.unwrap_or("latest").into(),
            why,
        };
        let id = match asked {
            None | Some("latest") => known.last().ok_or_else(|| no_such("it has no run yet".into()))?,
            Some(asked) => {
                let mut matching = known.iter().filter(|id| id.starts_with(asked));
                match (matching.next(), matching.next()) {
                    (Some(id), None) => id,
                    (None, _) => {
                        return Err(no_such(format!("there is no such run; the ledger has {}", listed(&known))));
                    }
                    _ => return Err(no_such("several ids begin with this; give more of the id".into())),
                }
            }
        };
        let mut run = self.rows("reading a run from", "SELECT * FROM runs WHERE id = ?1", params![id], |row, _| {
            run_from(row).map_err(|fault| fault.within(&run_of(row)))
        })?;
        run.pop().ok_or_else(|| no_such("it no longer exists".into()))
    }

    /// Contenders of a run in the order of the plan, hidden twins included.
    pub fn contenders(&self, run: &str) -> Result<Vec<ContenderRecord>, LedgerError> {
        let query = "SELECT * FROM contenders WHERE run = ?1 ORDER BY number";
        let contenders = self.rows("reading contenders from", query, params![run], |row, number| {
            contender_from(row).map_err(|fault| fault.within(&format!("run {run}, contender {number}")))
        })?;
        self.taken(sound::contenders(&contenders))?;
        Ok(contenders)
    }

    /// Trials of a run in the order of execution, as one consistent snapshot, even while a run adds to them.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, LedgerError> {
        let moment = self.connection.unchecked_transaction();
        let _moment = moment.map_err(|error| self.refusal("reading trials from", &error))?;
        let query = "SELECT * FROM trials WHERE run = ?1 ORDER BY id";
        let rows = self.rows("reading trials from", query, params![run], |row, number| {
            let place = format!("run {run}, trial {number}");
            let trial = trial_from(row).map_err(|fault| fault.within(&place))?;
            Ok((row.get::<_, i64>("id")?, trial))
        })?;
        let numbers: BTreeMap<i64, usize> = rows.iter().enumerate().map(|(number, (id, _))| (*id, number)).collect();
        let of = |row: &Row| format!("phase {}", text(row, "name"));
        let mut phases = self.of_trials("reading phases from", "phases", (run, &numbers), phase_from, of)?;
        let of = |_: &Row| "its commands".to_owned();
        let mut commands = self.of_trials("reading commands from", "commands", (run, &numbers), command_from, of)?;
        let trials = rows.into_iter().map(|(id, trial)| TrialRecord {
            phases: phases.remove(&id).unwrap_or_default(),
            commands: commands.remove(&id).unwrap_or_default(),
            ..trial
        });
        let trials: Vec<TrialRecord> = trials.collect();
        self.taken(sound::trials(&trials, self.count_of_contenders(run)?))?;
        Ok(trials)
    }

    /// The rows of a table that belong to the trials of a run, by trial and in their order; `of` names a row in errors.
    fn of_trials<T>(
        &self,
        doing: &'static str,
        table: &str,
        (run, numbers): (&str, &BTreeMap<i64, usize>),
        from: fn(&Row) -> Result<T, Fault>,
        of: impl Fn(&Row) -> String,
    ) -> Result<BTreeMap<i64, Vec<T>>, LedgerError> {
        let query = format!(
            "SELECT {table}.* FROM {table} JOIN trials ON trials.id = {table}.trial WHERE trials.run = ?1
             ORDER BY {table}.trial, {table}.place"
        );
        let rows = self.rows(doing, &query, params![run], |row, _| {
            let trial = row.get("trial")?;
            let number = || numbers.get(&trial).map_or_else(|| "?".into(), usize::to_string);
            let part = || format!("run {run}, trial {}, {}", number(), of(row));
            Ok((trial, from(row).map_err(|fault| fault.within(&part()))?))
        })?;
        let mut groups: BTreeMap<i64, Vec<T>> = BTreeMap::new();
        rows.into_iter().for_each(|(trial, made)| groups.entry(trial).or_default().push(made));
        Ok(groups)
    }

    /// Rows of a query, each converted with its number from 0.
    fn rows<T>(
        &self,
        doing: &'static str,
        query: &str,
        values: impl rusqlite::Params,
        mut from: impl FnMut(&Row, usize) -> Result<T, Fault>,
    ) -> Result<Vec<T>, LedgerError> {
        let read = || -> Result<Vec<T>, Fault> {
            let mut statement = self.connection.prepare_cached(query)?;
            let mut rows = statement.query(values)?;
            let (mut made, mut brought) = (Vec::new(), Brought::default());
            while let Some(row) = rows.next()? {
                brought.note(row)?;
                made.push(from(row, made.len())?);
            }
            Ok(made)
        };
        guard::bounded(&self.connection, read).map_err(|fault| self.fault(doing, fault))
    }

    fn count_of_contenders(&self, run: &str) -> Result<usize, LedgerError> {
        let query = "SELECT count(*) AS count FROM contenders WHERE run = ?1";
        let count: Vec<usize> =
            self.rows("reading contenders from", query, params![run], |row, _| whole(row, "count"))?;
        Ok(count.into_iter().sum())
    }

    /// Content that this program would never write makes the whole ledger untrusted.
    fn taken(&self, sound: Result<(), String>) -> Result<(), LedgerError> {
        sound.map_err(|why| foreign(self.path(), &why))
    }

    /// Whether the ledger holds a run of this id.
    pub fn holds(&self, run: &str) -> Result<bool, LedgerError> {
        self.connection
            .query_row("SELECT 1 FROM runs WHERE id = ?1", params![run], |_| Ok(()))
            .optional()
            .map(|found| found.is_some())
            .map_err(|error| self.refusal("reading runs from", &error))
    }
}

/// A run's id, which becomes part of paths and sentences.
fn id(row: &Row) -> Result<String, Fault> {
    let id: String = row.get("id")?;
    sound::id(&id).map_err(|why| Fault::Strange { why })?;
    Ok(id)
}

fn run_of(row: &Row) -> String {
    format!("run {}", text(row, "id"))
}

/// A column for the text of an error.
fn text(row: &Row, column: &str) -> String {
    row.get(column).unwrap_or_else(|_| "?".into())
}

fn run_from(row: &Row) -> Result<RunRecord, Fault> {
    let ceiling: Option<String> = row.get("ceiling")?;
    Ok(RunRecord {
        id: id(row)?,
        began_ms: row.get("began_ms")?,
        ended_ms: row.get("ended_ms")?,
        seconds: row.get("seconds")?,
        status: named(row, "status")?,
        ending: row.get("ending")?,
        new: parsed(row, "new_run")?,
        ceiling: ceiling.map(|text| from_json("ceiling", &text)).transpose()?,
    })
}

fn contender_from(row: &Row) -> Result<ContenderRecord, Fault> {
    Ok(ContenderRecord {
        index: whole(row, "number")?,
        label: row.get("label")?,
        asked: parsed(row, "asked")?,
        twin_of: maybe_whole(row, "twin_of")?,
        error: row.get("error")?,
        cause: maybe_named(row, "cause")?,
    })
}

fn trial_from(row: &Row) -> Result<TrialRecord, Fault> {
    Ok(TrialRecord {
        block: whole(row, "block")?,
        position: whole(row, "position")?,
        attempt: whole(row, "attempt")?,
        contender: whole(row, "contender")?,
        workload: row.get("workload")?,
        scale: row.get("scale")?,
        began_ms: row.get("began_ms")?,
        ended_ms: row.get("ended_ms")?,
        seconds: row.get("seconds")?,
        status: named(row, "status")?,
        reason: row.get("reason")?,
        cause: maybe_named(row, "cause")?,
        found: parsed(row, "found")?,
        closing: parsed(row, "closing")?,
        remarks: parsed(row, "remarks")?,
        phases: Vec::new(),
        commands: Vec::new(),
    })
}

fn phase_from(row: &Row) -> Result<PhaseRecord, Fault> {
    Ok(PhaseRecord {
        name: row.get("name")?,
        operation: row.get("operation")?,
        cache: named(row, "cache")?,
        figure: named(row, "figure")?,
        preparation: row.get("preparation")?,
        outcome: parsed(row, "outcome")?,
        evidence: parsed(row, "evidence")?,
    })
}

fn command_from(row: &Row) -> Result<CommandRecord, Fault> {
    Ok(CommandRecord {
        line: row.get("line")?,
        status: maybe_whole(row, "status")?,
        output: row.get("output")?,
        elapsed_ns: whole(row, "elapsed_ns")?,
    })
}

/// The last few names of a list, as text.
fn listed(names: &[String]) -> String {
    match names {
        [] => "no run yet".into(),
        names => names.iter().rev().take(8).cloned().collect::<Vec<_>>().join(", "),
    }
}
