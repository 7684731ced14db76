//! `bakeoff gallery`: one page of many published runs.
//! In: folders with published runs. Out: a folder with the page and the ledgers, and a list of rejected runs.

use crate::args::GalleryArgs;
use crate::claims;
use crate::failure::Failure;
use crate::gallery::{Judged, Refused, gather, whole};
use crate::json::{self, Answer};
use crate::text;
use judge::{Certainty, Span};
use report::ReportError;
use report::gallery::{Gallery, write};
use report::view::plural;
use schemars::JsonSchema;
use serde::Serialize;
use std::time::{SystemTime, UNIX_EPOCH};

/// `bakeoff gallery --json`.
#[derive(Serialize, JsonSchema)]
pub struct Made {
    /// The page.
    page: String,
    /// Its length.
    page_bytes: u64,
    /// Machines that the runs were measured on, as far as they can be distinguished.
    machines: usize,
    /// Runs that are in it, the latest first.
    entries: Vec<OneEntry>,
    /// Those that were refused.
    refused: Vec<OneRefused>,
    /// Ratios over runs, by line and contenders: over all on real disks, and over those of each class of disk.
    ratios: Vec<Ratio>,
    /// Published claims that a run could test.
    claims: Vec<Score>,
}

/// A run of the gallery.
#[derive(Serialize, JsonSchema)]
struct OneEntry {
    /// Its id.
    run: String,
    /// The day on which it began.
    day: String,
    /// Class of its disk.
    disk: String,
    /// The disk in words.
    model: String,
    /// Series of its kernels.
    kernels: Vec<String>,
    /// Filesystems that competed.
    filesystems: Vec<String>,
    /// Workloads.
    workloads: Vec<String>,
    /// Contender to take; null if there is no answer.
    take: Option<String>,
    /// How certain that is: `open`, `likely`, `beyond-doubt`; null if there is no answer.
    #[schemars(with = "Option<String>")]
    certainty: Option<Certainty>,
    /// Its ledger, below the folder of the page.
    ledger: String,
}

/// A refused folder.
#[derive(Serialize, JsonSchema)]
struct OneRefused {
    /// The folder.
    folder: String,
    /// Why, in a sentence.
    why: String,
}

/// How many times worse one contender is than another, over the runs that compared them.
#[derive(Serialize, JsonSchema)]
struct Ratio {
    /// Class of disk; null for all real disks together.
    disk: Option<String>,
    /// Workload.
    workload: String,
    /// Its scale.
    scale: String,
    /// The line of it, in words.
    line: String,
    /// The contender that the other is compared with.
    of: String,
    /// The contender that is so many times worse.
    contender: String,
    /// How many times: on a typical machine.
    ratio: f64,
    /// 95 % interval of that.
    interval: Span,
    /// 95 % range for a further machine; null below three machines.
    prediction: Option<Span>,
    /// Runs that it is based on.
    runs: usize,
    /// Machines that these were measured on.
    machines: usize,
}

/// Results of a published claim.
#[derive(Serialize, JsonSchema)]
struct Score {
    /// Its id in `published/claims.csv`.
    claim: String,
    /// In words.
    statement: String,
    /// Runs on which it holds.
    holds: usize,
    /// Runs on which the opposite holds.
    reversed: usize,
    /// Runs that could test it.
    tested: usize,
}

impl Answer for Made {
    const SCHEMA: &'static str = "bakeoff-gallery";
}

/// Judges published runs, and writes the site.
pub fn gallery(args: &GalleryArgs) -> Result<u8, Failure> {
    let published = claims::read(None)?;
    let (mut judged, refused) = gather(&args.folders, &published)?;
    refused.iter().for_each(|refused| eprintln!("bakeoff: {}", refused.sentence()));
    if judged.is_empty() {
        let text = format!("making a gallery: {} published runs were found, and all were rejected", refused.len());
        return Err(Failure::new(text));
    }
    let gallery = whole(&judged, &refused, &published)?;
    let ledgers = judged.iter_mut().map(|one| (one.id.clone(), std::mem::take(&mut one.ledger))).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let page = write(&args.out, &gallery, ledgers, &now.as_nanos().to_string()).map_err(unwritten)?;
    let bytes = std::fs::metadata(&page).map_or(0, |found| found.len());
    let page = page.display().to_string();
    if args.json {
        json::print(&answer(page, bytes, &gallery, &judged, &refused))?;
    } else {
        print!("{}", summary(&page, bytes, &gallery));
    }
    Ok(0)
}

fn unwritten(error: ReportError) -> Failure {
    match error {
        ReportError::Writing { path, answer } => {
            Failure::new(format!("writing the gallery: {}: {answer}; name another folder with --out", path.display()))
        }
        other => Failure::new(other),
    }
}

fn machines(gallery: &Gallery) -> usize {
    gallery.entries.iter().map(|entry| entry.number + 1).max().unwrap_or(0)
}

fn summary(page: &str, bytes: u64, gallery: &Gallery) -> String {
    let tested = gallery.claims.iter().filter(|claim| !claim.tested.is_empty()).count();
    let shown = format!(
        "{} of {}, {} rejected. {tested} of {} published claims were tested. {page} has {} kB.",
        plural(gallery.entries.len(), "published run"),
        plural(machines(gallery), "machine"),
        gallery.refused.len(),
        gallery.claims.len(),
        bytes.div_ceil(1000)
    );
    text::wrapped(&shown, text::width(), "", "")
}

fn answer(page: String, page_bytes: u64, gallery: &Gallery, judged: &[Judged], refused: &[Refused]) -> Made {
    let entry = |one: &Judged| OneEntry {
        run: one.id.clone(),
        day: one.day.clone(),
        disk: one.disk.clone(),
        model: one.model.clone(),
        kernels: one.kernels.iter().cloned().collect(),
        filesystems: one.filesystems.iter().cloned().collect(),
        workloads: one.works.iter().map(|work| work.name.clone()).collect(),
        take: one.take.clone(),
        certainty: one.certainty,
        ledger: report::gallery::ledger_name(&one.id),
    };
    let refusal = |one: &Refused| OneRefused { folder: one.place.display().to_string(), why: one.sentence() };
    Made {
        page,
        page_bytes,
        machines: machines(gallery),
        entries: judged.iter().map(entry).collect(),
        refused: refused.iter().map(refusal).collect(),
        ratios: ratios(gallery),
        claims: scores(gallery),
    }
}

fn ratios(gallery: &Gallery) -> Vec<Ratio> {
    let span = |ends: &[f64]| Some(Span { low: *ends.first()?, high: *ends.get(1)? });
    let of_all = gallery.pools.iter().filter(|pool| pool.1 == -1);
    let one = |pool: &report::gallery::Pool| {
        let line = &gallery.lines[pool.2];
        let work = &gallery.works[line.work];
        Some(Ratio {
            disk: usize::try_from(pool.0).ok().map(|disk| gallery.disks[disk].clone()),
            workload: work.name.clone(),
            scale: work.scale.clone(),
            line: line.title.clone(),
            of: gallery.contenders[pool.3].clone(),
            contender: gallery.contenders[pool.4].clone(),
            ratio: *pool.5.first()?,
            interval: span(pool.5.get(1..)?)?,
            prediction: span(pool.5.get(3..)?),
            runs: pool.6,
            machines: pool.7,
        })
    };
    of_all.filter_map(one).collect()
}

fn scores(gallery: &Gallery) -> Vec<Score> {
    let tested = gallery.claims.iter().filter(|claim| !claim.tested.is_empty());
    let one = |claim: &report::gallery::Claim| {
        let count = |wanted: u8| claim.tested.iter().filter(|(_, outcome)| *outcome == wanted).count();
        Score {
            claim: claim.id.clone(),
            statement: claim.text.clone(),
            holds: count(0),
            reversed: count(1),
            tested: claim.tested.len(),
        }
    };
    tested.map(one).collect()
}
