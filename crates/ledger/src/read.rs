//! Reading a ledger: runs, contenders, trials.
//! In: an open ledger and a run's id. Out: the records as they were kept.

use crate::error::LedgerError;
use crate::record::{CommandRecord, ContenderRecord, PhaseRecord, RunRecord, TrialRecord};
use crate::store::Ledger;
use rusqlite::{OptionalExtension, Row, params};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

impl Ledger {
    /// All runs, oldest first.
    pub fn runs(&self) -> Result<Vec<RunRecord>, LedgerError> {
        self.rows("reading runs from", "SELECT * FROM runs ORDER BY began_ms, id", [], run_from)
    }

    /// One run: by its id, the beginning of it, or the latest (`None` or `latest`).
    pub fn run(&self, asked: Option<&str>) -> Result<RunRecord, LedgerError> {
        let runs = self.runs()?;
        let no_such = |why: String| LedgerError::NoSuchRun {
            path: self.path().into(),
            asked: asked.unwrap_or("latest").into(),
            why,
        };
        match asked {
            None | Some("latest") => runs.into_iter().next_back().ok_or_else(|| no_such("it holds no run yet".into())),
            Some(asked) => {
                let known = runs.iter().map(|run| run.id.clone()).collect::<Vec<_>>();
                let mut matching: Vec<_> = runs.into_iter().filter(|run| run.id.starts_with(asked)).collect();
                match matching.len() {
                    1 => Ok(matching.remove(0)),
                    0 => Err(no_such(format!("there is none; it holds {}", listed(&known)))),
                    _ => Err(no_such("several begin like that; write more of its id".into())),
                }
            }
        }
    }

    /// Contenders of a run in the order of the plan, hidden twins included.
    pub fn contenders(&self, run: &str) -> Result<Vec<ContenderRecord>, LedgerError> {
        self.rows(
            "reading contenders from",
            "SELECT * FROM contenders WHERE run = ?1 ORDER BY number",
            params![run],
            |row| {
                Ok(ContenderRecord {
                    index: row.get("number")?,
                    label: row.get("label")?,
                    asked: parsed(row, "asked")?,
                    twin_of: row.get("twin_of")?,
                    error: row.get("error")?,
                })
            },
        )
    }

    /// Trials of a run in the order in which they were carried out.
    pub fn trials(&self, run: &str) -> Result<Vec<TrialRecord>, LedgerError> {
        let mut phases = self.phases(run)?;
        let mut commands = self.commands(run)?;
        let rows =
            self.rows("reading trials from", "SELECT * FROM trials WHERE run = ?1 ORDER BY id", params![run], |row| {
                Ok((row.get::<_, i64>("id")?, trial_from(row)?))
            })?;
        Ok(rows
            .into_iter()
            .map(|(id, trial)| TrialRecord {
                phases: phases.remove(&id).unwrap_or_default(),
                commands: commands.remove(&id).unwrap_or_default(),
                ..trial
            })
            .collect())
    }

    fn phases(&self, run: &str) -> Result<BTreeMap<i64, Vec<PhaseRecord>>, LedgerError> {
        let rows = self.rows(
            "reading phases from",
            "SELECT phases.* FROM phases JOIN trials ON trials.id = phases.trial WHERE trials.run = ?1
             ORDER BY phases.trial, phases.place",
            params![run],
            |row| {
                let phase = PhaseRecord {
                    name: row.get("name")?,
                    operation: row.get("operation")?,
                    cache: named(row, "cache")?,
                    figure: named(row, "figure")?,
                    preparation: row.get("preparation")?,
                    outcome: parsed(row, "outcome")?,
                    evidence: parsed(row, "evidence")?,
                };
                Ok((row.get("trial")?, phase))
            },
        )?;
        Ok(grouped(rows))
    }

    fn commands(&self, run: &str) -> Result<BTreeMap<i64, Vec<CommandRecord>>, LedgerError> {
        let rows = self.rows(
            "reading commands from",
            "SELECT commands.* FROM commands JOIN trials ON trials.id = commands.trial WHERE trials.run = ?1
             ORDER BY commands.trial, commands.place",
            params![run],
            |row| {
                let command = CommandRecord {
                    line: row.get("line")?,
                    status: row.get("status")?,
                    output: row.get("output")?,
                    elapsed_ns: row.get::<_, i64>("elapsed_ns")? as u64,
                };
                Ok((row.get("trial")?, command))
            },
        )?;
        Ok(grouped(rows))
    }

    fn rows<T>(
        &self,
        doing: &'static str,
        query: &str,
        values: impl rusqlite::Params,
        from: impl FnMut(&Row) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LedgerError> {
        let read = || -> rusqlite::Result<Vec<T>> {
            let mut statement = self.connection.prepare(query)?;
            statement.query_map(values, from)?.collect()
        };
        read().map_err(|error| self.refusal(doing, &error))
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

fn run_from(row: &Row) -> rusqlite::Result<RunRecord> {
    let ceiling: Option<String> = row.get("ceiling")?;
    Ok(RunRecord {
        id: row.get("id")?,
        began_ms: row.get("began_ms")?,
        ended_ms: row.get("ended_ms")?,
        status: named(row, "status")?,
        ending: row.get("ending")?,
        new: parsed(row, "new_run")?,
        ceiling: ceiling.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

fn trial_from(row: &Row) -> rusqlite::Result<TrialRecord> {
    Ok(TrialRecord {
        block: row.get("block")?,
        position: row.get("position")?,
        attempt: row.get("attempt")?,
        contender: row.get("contender")?,
        workload: row.get("workload")?,
        scale: row.get("scale")?,
        began_ms: row.get("began_ms")?,
        ended_ms: row.get("ended_ms")?,
        status: named(row, "status")?,
        reason: row.get("reason")?,
        found: parsed(row, "found")?,
        closing: parsed(row, "closing")?,
        remarks: parsed(row, "remarks")?,
        phases: Vec::new(),
        commands: Vec::new(),
    })
}

fn grouped<T>(rows: Vec<(i64, T)>) -> BTreeMap<i64, Vec<T>> {
    let mut groups: BTreeMap<i64, Vec<T>> = BTreeMap::new();
    for (key, value) in rows {
        groups.entry(key).or_default().push(value);
    }
    groups
}

fn parsed<T: DeserializeOwned>(row: &Row, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_json(&text)
}

fn named<T: DeserializeOwned>(row: &Row, column: &str) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    from_json(&serde_json::Value::String(text).to_string())
}

fn from_json<T: DeserializeOwned>(text: &str) -> rusqlite::Result<T> {
    serde_json::from_str(text)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error)))
}

/// The last few names of a list, in words.
fn listed(names: &[String]) -> String {
    match names {
        [] => "no run yet".into(),
        names => names.iter().rev().take(8).cloned().collect::<Vec<_>>().join(", "),
    }
}
