//! Other ledgers: every run of a file that another bakeoff wrote, treated as hostile.
//! In: the path of a SQLite file. Out: its runs, checked as exported ones are; the file is only read.

use super::{COUNT_LIMIT, ImportError, Imported, portable};
use crate::store::Ledger;
use std::path::Path;

/// The first bytes of every SQLite file.
const SIGN: &[u8] = b"SQLite format 3\0";
/// Most runs that are imported from one ledger.
const MOST_RUNS: usize = 1000;

/// Whether a file begins like a SQLite file.
pub(super) fn looks_like(beginning: &[u8]) -> bool {
    beginning.starts_with(SIGN)
}

/// Every run of a ledger.
pub(super) fn read(path: &Path) -> Result<Vec<Imported>, ImportError> {
    let ledger = Ledger::open_foreign(path)?;
    let runs = ledger.runs()?;
    if runs.len() > MOST_RUNS {
        return Err(malformed(path, format!("it has more than {MOST_RUNS} runs; export the ones to import")));
    }
    runs.into_iter().map(|run| one(&ledger, path, run)).collect()
}

fn one(ledger: &Ledger, path: &Path, run: crate::RunRecord) -> Result<Imported, ImportError> {
    let (contenders, trials) = (ledger.contenders(&run.id)?, ledger.trials(&run.id)?);
    if trials.len() > COUNT_LIMIT || contenders.len() > COUNT_LIMIT {
        return Err(malformed(path, format!("run {} has more than {COUNT_LIMIT} trials or contenders", run.id)));
    }
    let why = |why: String| malformed(path, format!("run {}: {why}", run.id));
    portable::check(&run, &contenders, &trials).map_err(why)?;
    Ok(Imported { run, contenders, trials })
}

fn malformed(path: &Path, why: String) -> ImportError {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    ImportError::Malformed { file, kind: "a ledger", why }
}
