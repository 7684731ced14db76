//! Every input that the fuzzer once found worth keeping is read again, on any compiler, in little time and memory.

use fuzz::TARGETS;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// Memory that the replay may take, in bytes: one input that takes more ends the test.
const MEMORY: u64 = 2 << 30;
/// Files and bytes that one target's corpus may have, so that the repository stays small.
const MOST_FILES: usize = 200;
const MOST_BYTES: u64 = 300_000;

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    files
}

#[test]
fn every_kept_input_is_read_or_refused() {
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY), maximum: None }).expect("a process may bound itself");
    for target in TARGETS {
        for file in files(&corpus(target.name)) {
            let data = fs::read(&file).expect("it is readable");
            let kept = std::panic::catch_unwind(|| (target.run)(&data));
            assert!(kept.is_ok(), "{} breaks the target {}", file.display(), target.name);
        }
    }
}

#[test]
fn every_seed_is_taken() {
    for target in TARGETS {
        for (number, seed) in fuzz::seeds::of(target.name).iter().enumerate() {
            assert!(seed.len() <= target.largest, "seed {number} of {} has {} bytes", target.name, seed.len());
            (target.run)(seed);
        }
    }
}

#[test]
fn every_target_has_a_small_corpus_and_every_corpus_a_target() {
    for target in TARGETS {
        let files = files(&corpus(target.name));
        let bytes: u64 = files.iter().map(|file| file.metadata().expect("it is there").len()).sum();
        assert!((1..=MOST_FILES).contains(&files.len()), "{} holds {} files", target.name, files.len());
        assert!(bytes <= MOST_BYTES, "{} holds {bytes} bytes", target.name);
    }
    for folder in files(&corpus("")) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        assert!(TARGETS.iter().any(|target| target.name == name), "no target reads the corpus {name}");
    }
}
