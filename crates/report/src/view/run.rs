//! Facts about the run itself: when, where, by which plan, and the command that repeats it.
//! In: the record of a run. Out: a [`RunView`].

use super::pairs::pairs;
use super::{Material, story};
use records::{Machine, NewRun, Origin};
use serde::Serialize;
use std::collections::BTreeMap;

/// The run.
#[derive(Debug, Clone, Serialize)]
pub struct RunView {
    /// Its id in the ledger.
    pub id: String,
    /// The question in a line.
    pub title: String,
    /// When it began, as RFC 3339 in UTC.
    pub began: String,
    /// How long it took, in seconds; absent while it is open, and where it is unknown.
    pub seconds: Option<f64>,
    /// `open`, `interrupted` or `finished`.
    pub status: String,
    /// Why it ended.
    pub ending: Option<String>,
    /// The source of the figures, if they were imported.
    pub origin: Option<String>,
    /// Version of the program.
    pub version: String,
    /// Seed of orders and contents.
    pub seed: u64,
    /// The command line to repeat it, one line.
    pub repeat: String,
    /// The command that resumes it.
    #[serde(skip)]
    pub resume: String,
    /// Features of the filesystems, if they were probed when the run began.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<records::feature::Probed>,
    /// The machine, flattened: heading and value.
    pub machine: Vec<(String, String)>,
    /// The plan as resolved, flattened.
    pub plan: Vec<(String, String)>,
    /// Whether the contenders' images were in memory, so that no disk was used.
    pub in_memory: bool,
    /// Descriptions of the modelled disks that replaced a real one, by name.
    #[serde(skip)]
    pub modelled: Vec<String>,
    /// Limits of this machine's memory and clock.
    pub ceiling: Vec<(String, String)>,
}

pub(super) fn run(material: &Material) -> RunView {
    let record = &material.run;
    let stamp = jiff::Timestamp::from_millisecond(record.began_ms).unwrap_or_default();
    RunView {
        id: record.id.clone(),
        title: record.new.title.clone(),
        began: stamp.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        seconds: record.ended_ms.and_then(|ended| record.took().or_else(|| by_dates(material, ended))),
        status: record.status.name().into(),
        ending: record.ending.clone(),
        origin: match &record.new.origin {
            Origin::Measured => None,
            Origin::Exported => Some(elsewhere(&record.new)),
            Origin::Foreign { program, file } => Some(format!("results of {program}, read from {file}")),
        },
        version: record.new.version.clone(),
        seed: record.new.seed,
        repeat: repeat(&whole_plan(&record.new.command_line, record.new.merged.is_some()), record.new.seed),
        resume: record.new.resume_command(&record.id),
        features: record.new.machine.iter().flat_map(|machine| machine.features.clone()).collect(),
        machine: machines(&record.new),
        plan: plan(&record.new),
        in_memory: record.new.plan.as_ref().is_some_and(|plan| plan.place.is_in_memory()),
        modelled: modelled(material),
        ceiling: record.ceiling.as_ref().map(story::ceiling).unwrap_or_default(),
    }
}

/// The modelled disks of contenders, each once.
fn modelled(material: &Material) -> Vec<String> {
    let asked = material.contenders.iter().filter_map(|record| record.asked.as_ref());
    let disks = asked.filter_map(|asked| axes::value(asked, "disk"));
    let names: indexmap::IndexSet<String> = disks.map(|disk| axes::disk_name(&disk).to_owned()).collect();
    names.into_iter().collect()
}

/// Seconds of a run whose ledger does not contain them: from its dates, but not less than its trials took, since the wall clock may have
/// been set back. Shards may run in parallel, so only their dates count. Absent where neither gives a duration.
fn by_dates(material: &Material, ended: i64) -> Option<f64> {
    let dates = ended.saturating_sub(material.run.began_ms) as f64 / 1e3;
    let trials: f64 = material.trials.iter().map(records::TrialRecord::took).sum();
    let seconds = if material.run.new.merged.is_some() { dates } else { dates.max(trials) };
    (seconds > 0.0).then_some(seconds)
}

fn elsewhere(new: &NewRun) -> String {
    match &new.merged {
        Some(merged) => format!("merged from {}", super::plural(merged.parts.len(), "shard")),
        None => "measured elsewhere, read from an exported file".into(),
    }
}

fn plan(new: &NewRun) -> Vec<(String, String)> {
    let shards = new.merged.iter().map(|merged| ("shard, of".into(), merged.of.to_string()));
    pairs(&new.plan).into_iter().chain(shards).collect()
}

/// The machine; with several, each under the number of its shard.
fn machines(new: &NewRun) -> Vec<(String, String)> {
    match (&new.machine, &new.merged) {
        (None, Some(merged)) => {
            let named = merged.parts.iter().map(|part| (format!("shard {}", part.index + 1), &part.machine));
            pairs(&named.collect::<BTreeMap<_, _>>())
        }
        // Features of filesystems have a table of their own.
        (machine, _) => pairs(&machine.clone().map(|machine| Machine { features: Vec::new(), ..machine })),
    }
}

/// The arguments that started a run; for merged shards those of the whole plan, without a shard.
fn whole_plan(words: &[String], put_together: bool) -> Vec<String> {
    let mut words = words.to_vec();
    if !put_together {
        return words;
    }
    words.retain(|word| !word.starts_with("--shard="));
    if let Some(at) = words.iter().position(|word| word == "--shard") {
        words.drain(at..(at + 2).min(words.len()));
    }
    words
}

/// The command line as a user would type it, with the seed for an identical run.
fn repeat(words: &[String], seed: u64) -> String {
    let quoted = |word: &String| {
        let plain = !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_./:=,%+@".contains(letter));
        if plain { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) }
    };
    let mut line: Vec<String> = words.iter().map(quoted).collect();
    if !line.is_empty() && !words.iter().any(|word| word.starts_with("--seed")) {
        line.push(format!("--seed {seed}"));
    }
    line.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_that_were_put_together_are_repeated_as_the_whole_plan() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let whole = words("bakeoff run mail --samples 4 --seed 7");
        assert_eq!(whole_plan(&words("bakeoff run mail --shard 2/4 --samples 4 --seed 7"), true), whole);
        assert_eq!(whole_plan(&words("bakeoff run mail --shard=2/4 --samples 4 --seed 7"), true), whole);
        let one = words("bakeoff run mail --shard 2/4 --samples 4 --seed 7");
        assert_eq!(whole_plan(&one, false), one, "a shard alone is repeated as a shard");
    }
}
