//! Ledgers that cannot be written: another user's, on a read-only medium, in a folder without write permission.
//! In: a path. Out: a read-only connection that shows all stored data, including what is still in the write-ahead log.
//! No file is created next to the ledger.

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, AtFlags, CWD, accessat};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Largest ledger that is copied for reading, in bytes.
const COPY_LIMIT: u64 = 1 << 30;

/// A connection, and the folder of the copy that it reads, if any.
pub(crate) type Opened = (Connection, Option<tempfile::TempDir>);

/// Whether SQLite could write the file and create its own files next to it.
pub(crate) fn can_be_written(path: &Path) -> bool {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().unwrap_or(Path::new("/"));
    let may = |path: &Path, access| accessat(CWD, path, access, AtFlags::EACCESS).is_ok();
    may(&real, Access::WRITE_OK | Access::READ_OK) && may(folder, Access::WRITE_OK | Access::EXEC_OK)
}

/// Opens a ledger for reading only.
///
/// # Errors
/// The error of the system or SQLite.
pub(crate) fn open(path: &Path) -> Result<Opened, String> {
    let failed = |error: rusqlite::Error| error.to_string();
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    let log = beside(&path, "-wal").metadata().map_or(0, |found| found.len());
    if log == 0 && !beside(&path, "-shm").exists() {
        // No process has it open, so it does not change; opened otherwise, SQLite would need files next to it.
        return Ok((connect(&uri(&path), OpenFlags::SQLITE_OPEN_URI).map_err(failed)?, None));
    }
    let shared = connect(&path, OpenFlags::empty());
    if let Ok(connection) = shared.and_then(|connection| readable(&connection).map(|()| connection)) {
        return Ok((connection, None));
    }
    // A log without its index (a run was killed) can only be read where the index can be created.
    copy(&path)
}

/// Opens a writable copy, which is removed with the returned folder.
///
/// # Errors
/// The error of the system or SQLite.
pub(crate) fn copy(path: &Path) -> Result<Opened, String> {
    let copied = path.canonicalize().and_then(|path| copied(&path));
    let (copy, folder) = copied.map_err(|error| format!("copying it and its log to read them: {error}"))?;
    let connection = Connection::open_with_flags(
        copy,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW,
    );
    Ok((connection.map_err(|error| error.to_string())?, Some(folder)))
}

fn connect(path: &Path, more: OpenFlags) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | more)
}

fn readable(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0)).map(drop)
}

fn copied(path: &Path) -> io::Result<(PathBuf, tempfile::TempDir)> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().canonicalize()?.join("ledger.db");
    for end in ["", "-wal"] {
        let from = beside(path, end);
        if !from.exists() {
            continue;
        }
        let size = from.metadata()?.len();
        if size > COPY_LIMIT {
            return Err(io::Error::other(format!("{} has {size} bytes; the limit is {COPY_LIMIT}", from.display())));
        }
        std::fs::copy(&from, beside(&copy, end))?;
    }
    Ok((copy, folder))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// `file:` and the path, every byte but plain letters and digits escaped.
fn uri(path: &Path) -> PathBuf {
    let escaped = |byte: &u8| match byte {
        b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let path: String = path.as_os_str().as_bytes().iter().map(escaped).collect();
    format!("file://{path}?immutable=1").into()
}
