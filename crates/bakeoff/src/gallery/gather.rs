//! Reads published runs from folders, as hostile input: each within limits, and judged again.
//! In: folders. Out: the runs whose statement agrees with their ledger, and a sentence on each of the others.

use super::judged::Judged;
use super::stated::{FORM, Stated, VERSION};
use crate::failure::Failure;
use ledger::anonymous::{Owner, anonymous};
use ledger::import::import_bytes;
use ledger::published::{LEDGER_FILE, PACKED_LIMIT, RESULTS_FILE, packed, unpacked};
use literature::Published;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Maximal depth of a published run below a named folder.
const DEPTH: usize = 4;
/// Most files and folders that are visited.
const MOST_NAMES: usize = 200_000;
/// Most runs of one gallery.
const MOST_RUNS: usize = 5000;
/// Largest statement, in bytes.
const STATED_LIMIT: u64 = 8 << 20;
/// Most bytes that the ledgers of one gallery take together.
const LEDGERS_LIMIT: usize = 1 << 30;
/// Most threads that judge at once: each holds a ledger in memory.
const THREADS: usize = 8;
/// Most letters shown of a reason or a name.
const SHOWN: usize = 400;

/// A rejected published run.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Its folder.
    pub place: PathBuf,
    /// Why, as a clause.
    pub why: String,
}

impl Refused {
    /// The name of its folder, which is safe to publish.
    pub fn name(&self) -> String {
        let name = self.place.file_name().unwrap_or_default().to_string_lossy();
        name.chars().take(SHOWN).collect()
    }

    /// What happened, in a sentence.
    pub fn sentence(&self) -> String {
        format!("{} is rejected: {}", self.place.display(), self.why)
    }
}

/// Reads and judges every published run below the folders, in the order of their ids.
///
/// # Errors
/// A folder cannot be read, or none holds a published run.
pub fn gather(folders: &[PathBuf], claims: &[Published]) -> Result<(Vec<Judged>, Vec<Refused>), Failure> {
    let mut found = Finding::default();
    for folder in folders {
        found.look(folder, 0)?;
    }
    let Finding { mut places, mut refused, .. } = found;
    if places.is_empty() {
        let named: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        let way = "`bakeoff publish --out FOLDER` writes them";
        return Err(Failure::new(format!(
            "looking for published runs: there are none in {}; {way}",
            named.join(" or ")
        )));
    }
    places.sort();
    for place in places.split_off(places.len().min(MOST_RUNS)) {
        refused.push(Refused { place, why: format!("a gallery has at most {MOST_RUNS} runs, and this one is full") });
    }
    let mut judged = Vec::new();
    let (mut ids, mut bytes) = (BTreeSet::new(), 0);
    for (place, one) in all_judged(&places, claims) {
        let why = match one {
            Ok(one) if ids.contains(&one.id) => format!("the gallery has run {} already", one.id),
            Ok(one) if bytes + one.ledger.len() > LEDGERS_LIMIT => {
                format!("the ledgers of a gallery have at most {} MiB, and this one is full", LEDGERS_LIMIT >> 20)
            }
            Ok(one) => {
                bytes += one.ledger.len();
                ids.insert(one.id.clone());
                judged.push(one);
                continue;
            }
            Err(why) => why,
        };
        refused.push(Refused { place, why });
    }
    judged.sort_by(|a: &Judged, b: &Judged| b.id.cmp(&a.id));
    Ok((judged, refused))
}

/// Found so far.
#[derive(Default)]
struct Finding {
    places: Vec<PathBuf>,
    refused: Vec<Refused>,
    names: usize,
}

impl Finding {
    fn look(&mut self, folder: &Path, depth: usize) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::new(format!("reading the folder {}: {error}", folder.display()));
        let listed = match std::fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) if depth > 0 => {
                self.refused.push(Refused { place: folder.into(), why: format!("it cannot be read: {error}") });
                return Ok(());
            }
            Err(error) => return Err(failed(error)),
        };
        let mut inner = Vec::new();
        for entry in listed {
            let entry = entry.map_err(failed)?;
            self.names += 1;
            if self.names > MOST_NAMES {
                let why = format!(
                    "it and the folders next to it have more than {MOST_NAMES} files; name only folders of published runs"
                );
                return Err(Failure::new(format!("reading the folder {}: {why}", folder.display())));
            }
            // Links are not followed: they lead elsewhere, possibly in a loop.
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_file() && entry.file_name() == RESULTS_FILE {
                self.places.push(folder.into());
                return Ok(());
            }
            if kind.is_dir() && depth < DEPTH {
                inner.push(entry.path());
            }
        }
        inner.sort();
        inner.iter().try_for_each(|folder| self.look(folder, depth + 1))
    }
}

/// Judges all of them in parallel; the results keep their order.
fn all_judged(places: &[PathBuf], claims: &[Published]) -> Vec<(PathBuf, Result<Judged, String>)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(places.len()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(place) = places.get(at) else { break };
                    let one = read(place, claims).map_err(|why| why.chars().take(SHOWN).collect());
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, one));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(at, one)| (places[at].clone(), one)).collect()
}

/// One published run, read and judged.
fn read(place: &Path, claims: &[Published]) -> Result<Judged, String> {
    let stated =
        stated(&place.join(RESULTS_FILE)).map_err(|why| format!("its {RESULTS_FILE} cannot be read: {why}"))?;
    let bytes =
        ledger_bytes(&place.join(LEDGER_FILE)).map_err(|why| format!("its {LEDGER_FILE} cannot be read: {why}"))?;
    let imported = import_bytes(&bytes, LEDGER_FILE).map_err(|error| error.to_string())?;
    drop(bytes);
    if imported.run.id != stated.run {
        return Err(format!("its results are of run {}, and its ledger is of run {}", stated.run, imported.run.id));
    }
    let (again, left_out) = anonymous(imported.clone(), &Owner::default())?;
    if !left_out.is_empty() || again != imported {
        return Err("its ledger identifies the machine or its owner; publish it with `bakeoff publish`, which removes this data".into());
    }
    // The site gets only what was judged, not anything else that the file may hold.
    let ledger = packed(&imported).map_err(|error| error.to_string())?;
    Judged::of(imported, &stated, ledger, claims)
}

fn stated(path: &Path) -> Result<Stated, String> {
    let text = system::input::text_file(path, STATED_LIMIT).map_err(|why| why.to_string())?;
    let stated: Stated = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    match stated.form_version {
        VERSION if stated.form == FORM => Ok(stated),
        version => Err(format!("its format is {} {version}, and this bakeoff reads {FORM} {VERSION}", stated.form)),
    }
}

fn ledger_bytes(path: &Path) -> Result<Vec<u8>, String> {
    let file = system::input::open(path).map_err(|why| why.to_string())?;
    let mut bytes = Vec::new();
    file.take(PACKED_LIMIT + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > PACKED_LIMIT {
        return Err(format!("it is larger than {} MiB", PACKED_LIMIT >> 20));
    }
    unpacked(&bytes)
}
