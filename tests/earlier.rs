//! Ledgers of earlier versions, for tests of what has become of them; `tests/ledgers/README.md` says what they hold.
//! In: a version and a name. Out: a copy of the ledger in a folder of its own, and what that version showed of it.

#![allow(dead_code, reason = "each test uses the part that it needs")]

use std::io::Read;
use std::path::{Path, PathBuf};

/// All ledgers of version 0.1.
pub const LEDGERS: [&str; 9] =
    ["plain", "aged", "directory", "failing", "interrupted", "shard-1", "shard-2", "merged", "foreign"];

/// A copy of a ledger.
pub struct Earlier {
    folder: tempfile::TempDir,
    /// The ledger.
    pub path: PathBuf,
}

impl Earlier {
    /// A ledger of version 0.1.
    pub fn ledger(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join(format!("{name}.db"));
        std::fs::write(&path, bytes(&format!("{name}.db"))).expect("it is written");
        Self { folder, path }
    }

    /// The folder that it lies in.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A file of version 0.1.
pub fn bytes(name: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ledgers/0.1/");
    let file = std::fs::File::open(format!("{path}{name}.gz")).expect("it is kept with the tests");
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("it is whole");
    bytes
}
