//! `bakeoff publish`: the parts of runs that can be made public, as a preview or written to a folder.
//! In: runs of a ledger. Out: for each a folder with its ledger, anonymous and compressed, and with its results.

use crate::args::PublishArgs;
use crate::failure::Failure;
use crate::gallery::Stated;
use crate::json::{self, Answer};
use crate::text;
use ledger::anonymous::{self, LeftOut, Owner, Rule};
use ledger::import::Imported;
use ledger::published::{LEDGER_FILE, RESULTS_FILE, packed};
use ledger::{Access, Ledger, Origin, RunRecord};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::Path;
use system::create::Folder;

/// `bakeoff publish --json`.
#[derive(Serialize, JsonSchema)]
pub struct Published {
    /// The folder; null if nothing was to be written.
    folder: Option<String>,
    /// The runs, in the requested order.
    runs: Vec<OneRun>,
    /// Runs that `--run all` cannot publish.
    not_published: Vec<NotPublished>,
}

/// A run that cannot be published.
#[derive(Serialize, JsonSchema)]
struct NotPublished {
    /// Its id.
    run: String,
    /// Why.
    why: String,
}

/// One run.
#[derive(Serialize, JsonSchema)]
struct OneRun {
    /// Its id.
    run: String,
    /// Its question in a line, as it leaves.
    title: String,
    /// Whether it was written now; false for a preview, and if the folder has it already.
    written: bool,
    /// Its files.
    files: Vec<OneFile>,
    /// What was left out, and how often.
    left_out: BTreeMap<String, u64>,
    /// Every published text, by its location in the ledger; lists are written `[]`. Everything else is numbers.
    texts: BTreeMap<String, BTreeSet<String>>,
}

/// A file of a published run.
#[derive(Serialize, JsonSchema)]
struct OneFile {
    /// Its name below the folder.
    name: String,
    /// Its length.
    bytes: u64,
}

impl Answer for Published {
    const SCHEMA: &'static str = "bakeoff-publish";
}

/// A run ready to publish.
struct Ready {
    run: RunRecord,
    files: Vec<(&'static str, Vec<u8>)>,
    left_out: LeftOut,
    texts: BTreeMap<String, BTreeSet<String>>,
}

/// The word for all runs measured here.
const ALL: &str = "all";

/// Names that identify this machine and its users.
pub fn owner() -> Owner {
    Owner { hosts: system::names::hosts(), users: system::names::users() }
}

/// Shows what would be published, and writes it on request: everything is prepared before the first file is written. With `all`, runs that
/// cannot be published are listed and skipped; for a run requested by name this is an error.
pub fn publish(path: &Path, args: &PublishArgs) -> Result<u8, Failure> {
    let ledger = Ledger::open(path, Access::Read)?;
    let runs = chosen(&ledger, &args.run)?;
    let owner = owner();
    let (mut ready, mut not_published) = (Vec::new(), Vec::new());
    for run in runs {
        let id = run.id.clone();
        match made_ready(&ledger, run, &owner) {
            Ok(one) => ready.push(one),
            Err(failure) if args.run.iter().any(|word| word == ALL) => {
                not_published.push(NotPublished { run: id, why: failure.text });
            }
            Err(failure) => return Err(failure),
        }
    }
    if ready.is_empty() {
        let why: Vec<&str> = not_published.iter().map(|one| one.why.as_str()).collect();
        return Err(Failure::new(format!(
            "publishing all runs of {}: no run can be published: {}",
            path.display(),
            why.join("; ")
        )));
    }
    let out = args.out.as_deref().filter(|_| !args.preview);
    let written = match out {
        Some(folder) => write(folder, &ready)?,
        None => vec![false; ready.len()],
    };
    if args.json {
        let runs = ready.iter().zip(&written).map(|(one, written)| one.answer(*written)).collect();
        let folder = out.map(|folder| folder.display().to_string());
        json::print(&Published { folder, runs, not_published })?;
        return Ok(0);
    }
    for (one, written) in ready.iter().zip(&written) {
        print!("{}", one.summary(out, *written));
    }
    for one in &not_published {
        print!("{}", text::wrapped(&text::harmless(&format!("Not published: {}", one.why)), text::width(), "", "  "));
    }
    if out.is_none() {
        let why = if args.out.is_some() { "without --preview" } else { "with --out FOLDER" };
        println!("Nothing was written. The same command {why} writes these files; bakeoff sends them nowhere.");
    }
    Ok(0)
}

/// The requested runs, each once.
fn chosen(ledger: &Ledger, asked: &[String]) -> Result<Vec<RunRecord>, Failure> {
    if asked.iter().any(|word| word == ALL) {
        let measured: Vec<RunRecord> =
            ledger.runs()?.into_iter().filter(|run| run.new.origin == Origin::Measured).collect();
        if measured.is_empty() {
            let text =
                format!("publishing all runs of {}: this machine measured none of them", ledger.path().display());
            return Err(Failure::new(text));
        }
        return Ok(measured);
    }
    let latest = || ledger.run(None).map(|run| vec![run]);
    let mut runs = match asked {
        [] => latest()?,
        _ => asked.iter().map(|word| ledger.run(Some(word))).collect::<Result<Vec<_>, _>>()?,
    };
    let mut seen = BTreeSet::new();
    runs.retain(|run| seen.insert(run.id.clone()));
    Ok(runs)
}

fn made_ready(ledger: &Ledger, run: RunRecord, owner: &Owner) -> Result<Ready, Failure> {
    let id = run.id.clone();
    let refused = |why: &str| Failure::new(format!("publishing run {id}: {why}"));
    if let Origin::Foreign { program, .. } = &run.new.origin {
        return Err(refused(&format!(
            "{program} measured it, and the imported file does not name the filesystem and the device"
        )));
    }
    let (contenders, trials) = (ledger.contenders(&id)?, ledger.trials(&id)?);
    let (clean, left_out) =
        anonymous::anonymous(Imported { run, contenders, trials }, owner).map_err(|why| refused(&why))?;
    // Anything that a second pass removes was missed by the first.
    let (again, rest) = anonymous::anonymous(clean.clone(), owner).map_err(|why| refused(&why))?;
    if !rest.is_empty() || again != clean {
        return Err(refused(
            "data that identifies the machine or its owner remains in it; this is a bug in bakeoff, please report it",
        ));
    }
    let table = samples::table(&clean.run, &clean.contenders, &clean.trials);
    let stated = Stated::of(&clean.run, &table).map_err(|failure| refused(&failure.text))?;
    if stated.verdict.rankings.is_empty() {
        return Err(refused("it has no figures"));
    }
    let results = serde_json::to_string_pretty(&stated)? + "\n";
    let files = vec![(LEDGER_FILE, packed(&clean)?), (RESULTS_FILE, results.into_bytes())];
    let texts = anonymous::texts(&ledger::import::document(&clean));
    Ok(Ready { run: clean.run, files, left_out, texts })
}

/// Writes each run to its own folder; returns for each whether it is new.
fn write(path: &Path, ready: &[Ready]) -> Result<Vec<bool>, Failure> {
    let refused = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| Failure::new(format!("writing published runs to {path}: {error}"))
    };
    let folder = Folder::make(path).map_err(refused(path))?;
    let mut written = Vec::new();
    for one in ready {
        let whole = path.join(&one.run.id);
        let own = folder.folder(&one.run.id).map_err(refused(&whole))?;
        let is_new = match own.read_file(RESULTS_FILE) {
            Err(error) if error.kind() == ErrorKind::NotFound => true,
            Err(error) => return Err(refused(&whole)(error)),
            Ok(_) => false,
        };
        // The results come last: a folder without them is not a published run.
        for (name, bytes) in one.files.iter().filter(|_| is_new) {
            own.replace(name, bytes).map_err(refused(&whole.join(name)))?;
        }
        written.push(is_new);
    }
    Ok(written)
}

impl Ready {
    fn answer(&self, written: bool) -> OneRun {
        let name = |name: &str| format!("{}/{name}", self.run.id);
        let file = |(own, bytes): &(&str, Vec<u8>)| OneFile { name: name(own), bytes: bytes.len() as u64 };
        let left = Rule::ALL.iter().map(|rule| (rule.name().to_owned(), self.left_out.of(*rule)));
        OneRun {
            run: self.run.id.clone(),
            title: self.run.new.title.clone(),
            written,
            files: self.files.iter().map(file).collect(),
            left_out: left.collect(),
            texts: self.texts.clone(),
        }
    }

    /// For people: the path, or every text that would be published.
    fn summary(&self, out: Option<&Path>, written: bool) -> String {
        let width = text::width();
        let mut shown = format!("Run {}: {}\n", self.run.id, self.run.new.title);
        let left = Rule::ALL.iter().filter(|rule| self.left_out.of(**rule) > 0);
        let left: Vec<String> = left.map(|rule| format!("{} ({})", rule.name(), self.left_out.of(*rule))).collect();
        let left = if left.is_empty() { "nothing".into() } else { left.join(", ") };
        shown.push_str(&text::wrapped(&format!("Left out: {left}."), width, "  ", "    "));
        for (name, bytes) in &self.files {
            let place = out.map_or_else(String::new, |folder| format!("{}/", folder.display()));
            shown.push_str(&format!("  {place}{}/{name}: {} bytes\n", self.run.id, bytes.len()));
        }
        match (out, written) {
            (Some(_), true) => {}
            (Some(_), false) => shown.push_str("  The folder has it already; it is not changed.\n"),
            (None, _) => shown.push_str(&self.preview(width)),
        }
        shown
    }

    fn preview(&self, width: usize) -> String {
        let mut shown = String::from("  Every published text, by location; all the rest is numbers:\n");
        for (place, texts) in &self.texts {
            let all: Vec<&str> = texts.iter().map(String::as_str).collect();
            let line = format!("{place}: {}", all.join(" | "));
            shown.push_str(&text::wrapped(&text::harmless(&line), width, "    ", "      "));
        }
        shown
    }
}
