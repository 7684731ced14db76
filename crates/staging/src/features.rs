//! The features of a filesystem, tested on a fresh image or in a directory, not copied from a manual.
//! In: a target and the name of a filesystem. Out: one [`Feature`] for each question of [`QUESTIONS`], in their order.
//! Every test has a limit and states what was tried; nothing stays mounted.

mod cached;
mod damage;
mod limit;
mod names;
mod space;
mod times;
mod tools;
mod volume;

pub use crate::filesystems::feature_tools::FeatureTools;
pub use records::feature::{Answer, Feature};

use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::stage::target::Target;
use records::{Closing, Contender};
use std::path::Path;
use std::time::Duration;

/// The questions, each a key and a few words.
pub const QUESTIONS: [(&str, &str); 36] = [
    ("name_bytes", "longest name, in bytes"),
    ("name_letters", "longest name, in two-byte characters"),
    ("file_size", "largest file"),
    ("volume_size", "largest volume that mkfs accepts"),
    ("links", "links to one file"),
    ("directory_files", "files in one directory"),
    ("time_range", "timestamps, from and to"),
    ("time_step", "timestamps, resolution"),
    ("sparse", "sparse files"),
    ("punch", "hole punching"),
    ("preallocate", "preallocation"),
    ("truncate", "truncating a file frees space"),
    ("reflink", "reflinks"),
    ("clone_fsync", "fsync of a clone after a write"),
    ("copy_range", "copies within the kernel"),
    ("xattr", "extended attributes, largest value"),
    ("acl", "ACLs"),
    ("quota", "quotas"),
    ("direct", "O_DIRECT"),
    ("tmpfile", "O_TMPFILE"),
    ("atomic_writes", "atomic writes, largest"),
    ("uncached", "RWF_DONTCACHE"),
    ("forgets", "DONTNEED empties the cache"),
    ("reads_ahead", "WILLNEED fills the cache"),
    ("casefold", "case folding"),
    ("checksum_data", "detects a flipped byte in data"),
    ("checksum_metadata", "detects a flipped byte in metadata"),
    ("snapshots", "snapshots"),
    ("delete_snapshot", "deletes a snapshot"),
    ("rollback", "rollback to a snapshot"),
    ("scrub", "scrub while mounted"),
    ("check", "check while unmounted"),
    ("compression", "compression"),
    ("several_devices", "several devices"),
    ("grow", "grows"),
    ("shrink", "shrinks"),
];

/// Answers by key, in the order in which they are found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    answers: Vec<(&'static str, Answer)>,
}

impl Found {
    pub(crate) fn put(&mut self, key: &'static str, answer: Answer) {
        self.answers.push((key, answer));
    }

    /// In the order of the questions; a question that was not tried is answered so.
    fn in_order(mut self) -> Vec<Feature> {
        QUESTIONS
            .iter()
            .map(|(key, title)| {
                let at = self.answers.iter().position(|(known, _)| known == key);
                let answer = at.map_or_else(|| Answer::unknown("not tried here"), |at| self.answers.swap_remove(at).1);
                Feature { key: (*key).into(), title: (*title).into(), answer }
            })
            .collect()
    }
}

/// Probes a filesystem on this target, which must use images.
///
/// # Errors
/// It cannot be made or mounted here at all. A single question that fails is an answer.
pub fn probe_filesystem(target: &mut Target, name: &str) -> Result<Vec<Feature>, StagingError> {
    let filesystem = target.registry.get(name)?.clone();
    let mut found = unharmed(target, &filesystem)?;
    damage::notices(target, &filesystem, &mut found);
    Ok(found.in_order())
}

/// The same with a time limit, since a kernel may hang on damage. Questions without an answer by then are unknown, and what was made stays.
///
/// # Errors
/// As of [`probe_filesystem`].
pub(crate) fn probe_with_patience(
    mut target: Target,
    name: &str,
    patience: Duration,
) -> Result<Vec<Feature>, StagingError> {
    let filesystem = target.registry.get(name)?.clone();
    let mut found = unharmed(&mut target, &filesystem)?;
    let (telling, hearing) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut found = Found::default();
        damage::notices(&mut target, &filesystem, &mut found);
        let _ = telling.send(found);
    });
    match hearing.recv_timeout(patience) {
        Ok(more) => found.answers.extend(more.answers),
        Err(_) => {
            let why = format!("it hangs: no answer within {} s", patience.as_secs());
            for key in ["checksum_data", "checksum_metadata"] {
                found.put(key, Answer::unknown(&why));
            }
        }
    }
    Ok(found.in_order())
}

/// The questions that cause no damage.
fn unharmed(target: &mut Target, filesystem: &Filesystem) -> Result<Found, StagingError> {
    let mut found = Found::default();
    let plain = Contender::plain(&filesystem.name);
    let mut stage = target.stage(&plain)?;
    let root = stage.state.seen(&stage.state.root);
    in_folder(&root, &mut found);
    times::prepare(&root);
    // Values that are only in memory do not count.
    match stage.remount() {
        Ok(_) => times::read(&root, true, &mut found),
        Err(error) => found.put("time_range", Answer::unknown(error.to_string())),
    }
    let closing = stage.close()?;
    found.put("check", checked(filesystem, &closing));
    tools::with_options(target, filesystem, &mut found);
    tools::on_volume(target, filesystem, &mut found);
    found.put("volume_size", volume::largest(target, filesystem));
    Ok(found)
}

/// The result of its check after all this.
fn checked(filesystem: &Filesystem, closing: &Closing) -> Answer {
    let command = || filesystem.check.as_ref().map(|check| check.command.join(" ")).unwrap_or_default();
    match (closing.whole, closing.check_seconds) {
        (None, _) => Answer::no("it has no tool for this"),
        (Some(true), seconds) => {
            let seconds = seconds.map(|seconds| format!(" in {seconds:.2} s")).unwrap_or_default();
            Answer::yes(format!("{}: no damage found{seconds}", command()))
        }
        (Some(false), _) => {
            let damage = closing.damage().unwrap_or("without details");
            Answer { text: "yes, finds damage".into(), ..Answer::yes(format!("{}: {damage}", command())) }
        }
    }
}

/// Probes the filesystem of a directory, as far as possible without formatting.
///
/// # Errors
/// The directory is not writable.
pub fn probe_directory(target: &mut Target) -> Result<Vec<Feature>, StagingError> {
    let mut found = Found::default();
    let contender = Contender { filesystem: crate::DIRECTORY.into(), ..Contender::plain("directory") };
    let stage = target.stage(&contender)?;
    let root = stage.root().to_path_buf();
    in_folder(&root, &mut found);
    times::prepare(&root);
    times::read(&root, false, &mut found);
    stage.close()?;
    Ok(found.in_order())
}

/// The questions that need only a folder.
fn in_folder(root: &Path, found: &mut Found) {
    names::probe(root, found);
    space::probe(root, found);
    cached::probe(root, found);
}
