//! States that show something broken, saved in files, and inspected again.
//! In: the disk after a cut, and the finding. Out: an image and its description; and from these the same finding, or not.

use super::campaign::Account;
use super::ground::{AfterCut, Ground, Place};
use super::hands::Question;
use super::program::Program;
use super::promises::{self, Finding};
use super::result::Example;
use crate::error::{ReliabilityError, doing};
use disk::{Disk, PAGE, Record, State};
use records::Contender;
use rustix::fs::FallocateFlags;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::create::Folder;
use system::input;

/// Version of the description.
const FORMAT: u32 = 1;
/// Bytes copied at a time.
const PIECE: usize = 1 << 20;
/// Most bytes of a description: a million lines of a program.
const DESCRIPTION_LIMIT: u64 = 256 << 20;

/// What is broken in a state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Proof {
    /// It cannot be mounted.
    Mount,
    /// A promise, executed at these places.
    Promise { name: String, places: Vec<KeptPlace> },
    /// A program's check, with the lines that the program had printed.
    Program { check: Vec<String>, lines: Vec<String>, limit_seconds: f64 },
}

/// Where a promise was executed, below the root, and how many of its steps had returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptPlace {
    pub folder: PathBuf,
    pub file: u32,
    pub done: u32,
}

/// A state that shows something broken.
pub(crate) struct Shown {
    pub name: String,
    pub state: State,
    pub example: Example,
    pub proof: Proof,
}

/// A state in a file, with everything that is needed to inspect it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeptState {
    format: u32,
    /// The contender, with its mkfs and mount options.
    pub contender: Contender,
    /// The kernel of the finding.
    pub kernel: String,
    /// Size of the disk in bytes.
    pub bytes: u64,
    /// The finding.
    pub found: String,
    /// Which of the unsafe writes survived, in words.
    pub left: String,
    /// Name of the image, in the same folder.
    pub image: PathBuf,
    proof: Proof,
}

/// Result of inspecting a saved state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookedAgain {
    /// The present kernel.
    pub kernel: String,
    /// What is broken, if anything.
    pub found: Option<String>,
}

/// Saves the simplest state of everything that was broken; returns the names of the descriptions.
///
/// # Errors
/// A file cannot be written, or the served disk fails.
pub(crate) fn keep(
    place: &mut dyn Place,
    disk: &mut Disk,
    contender: &Contender,
    shown: Vec<Shown>,
    (folder, lying): (&Path, bool),
) -> Result<Vec<PathBuf>, ReliabilityError> {
    let served = place.image().ok_or(ReliabilityError::NoImage)?;
    let to = Folder::make(folder).map_err(doing(format!("creating the folder {}", folder.display())))?;
    let mut kept = Vec::new();
    for one in shown {
        disk.offer(&one.state, lying)?;
        let name = file_name(&contender.label, &one.name);
        let (image, description) = (format!("{name}.img"), format!("{name}.json"));
        let copied = fresh(&to, &image).and_then(|file| copy(&served, &file, true));
        let bytes = copied.map_err(doing(format!("saving {image}")))?;
        let state = KeptState {
            format: FORMAT,
            contender: contender.clone(),
            kernel: place.kernel(),
            bytes,
            found: one.example.found,
            left: one.example.left,
            image: image.into(),
            proof: one.proof,
        };
        let text = serde_json::to_vec_pretty(&state).map_err(io::Error::other);
        let written = text.and_then(|text| to.replace(&description, &text));
        let description = folder.join(description);
        written.map_err(doing(format!("writing {}", description.display())))?;
        kept.push(description);
    }
    Ok(kept)
}

/// Everything of a work that can be saved: what was broken, and the states that could not be mounted or crashed their kernel.
pub(crate) fn shown(account: &dyn Account, record: &Record, [refusal, loss]: [&Option<Example>; 2]) -> Vec<Shown> {
    let of = |(name, example): (&str, &Option<Example>)| {
        let example = example.clone()?;
        Some(Shown { name: name.into(), state: example.state?, example, proof: Proof::Mount })
    };
    account.shown(record).into_iter().chain([("mount", refusal), ("kernel", loss)].into_iter().filter_map(of)).collect()
}

/// A name without characters that are special to a shell or a folder.
fn file_name(label: &str, what: &str) -> String {
    let plain = |text: &str| {
        let kept = |next: char| if next.is_ascii_alphanumeric() || "+.=-".contains(next) { next } else { '-' };
        text.chars().map(kept).collect::<String>()
    };
    format!("{}-{}", plain(label), plain(what))
}

/// A new file in place of one from an earlier run. A link of that name is removed, its target stays. Other users cannot open the file: a
/// disk may hold private files of programs.
fn fresh(folder: &Folder, name: &str) -> io::Result<File> {
    match folder.remove(name) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => folder.new_private_file(name),
    }
}

/// Copies a disk's content, without zeros; returns its size. `fresh`: the target is empty.
fn copy(from: &Path, target: &File, fresh: bool) -> io::Result<u64> {
    let source = input::open(from).map_err(io::Error::other)?;
    let bytes = source.metadata()?.len();
    target.set_len(bytes)?;
    if !fresh {
        // Clears old content where the state has zeros.
        let clears = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        rustix::fs::fallocate(target, clears, 0, bytes)?;
    }
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    while at < bytes {
        let length = PIECE.min((bytes - at) as usize);
        source.read_exact_at(&mut piece[..length], at)?;
        for (block, data) in piece[..length].chunks(PAGE).enumerate() {
            if data.iter().any(|byte| *byte != 0) {
                target.write_all_at(data, at + (block * PAGE) as u64)?;
            }
        }
        at += length as u64;
    }
    target.sync_all()?;
    Ok(bytes)
}

impl KeptState {
    /// Reads a description.
    ///
    /// # Errors
    /// It cannot be read, or is invalid.
    pub fn read(path: &Path) -> io::Result<KeptState> {
        let text = input::text_file(path, DESCRIPTION_LIMIT).map_err(io::Error::other)?;
        let kept: KeptState = serde_json::from_str(&text)?;
        let is_name = Path::new(&kept.image).file_name().is_some_and(|name| name == kept.image.as_os_str());
        match kept.format {
            FORMAT if !is_name => {
                let problem = format!("its image {} is not the name of a file", kept.image.display());
                Err(io::Error::new(ErrorKind::InvalidData, problem))
            }
            FORMAT => Ok(kept),
            other => Err(io::Error::new(
                ErrorKind::InvalidData,
                format!("its format is {other}, and this bakeoff supports {FORMAT}"),
            )),
        }
    }

    /// Loads the state, from the image in `folder`, into the contender's disk, and inspects it.
    ///
    /// # Errors
    /// The image cannot be read or has another size, or the contender cannot be unmounted.
    pub fn look(&self, ground: &mut Ground<'_>, folder: &Path) -> Result<LookedAgain, ReliabilityError> {
        let place = ground.place();
        let served = place.image().ok_or(ReliabilityError::NoImage)?;
        place.unmount()?;
        let image = folder.join(&self.image);
        let copied = File::options().write(true).open(&served).and_then(|target| copy(&image, &target, false));
        copied.map_err(doing(format!("loading {} into the disk", image.display())))?;
        let question = Question { proofs: vec![self.proof.clone()], diary: 0 };
        let found = match place.state(&question, false)? {
            AfterCut::Mounted { seen, .. } => seen.findings.into_iter().next().and_then(|finding| finding.broken),
            AfterCut::Refused(why) => Some(why),
            AfterCut::Lost(why) => Some(format!("its kernel crashed or hung: {why}")),
        };
        Ok(LookedAgain { kernel: place.kernel(), found })
    }
}

impl Proof {
    /// Inspects a mounted root.
    pub fn look(&self, root: &Path) -> Finding {
        match self {
            Proof::Mount => Finding::default(),
            Proof::Promise { name, places } => promises::look(name, root, places),
            Proof::Program { check, lines, limit_seconds } => {
                let limit = Duration::from_secs_f64(limit_seconds.clamp(0.0, 1e6));
                let program = Program { prepare: Vec::new(), command: Vec::new(), check: check.clone(), limit };
                program.check(root, lines).map_or_else(Finding::broken, |()| Finding::default())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_holds_what_the_disk_holds_and_takes_no_room_for_zeros() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let disk = File::create(path("disk")).expect("made");
        disk.set_len(8 << 20).expect("sized");
        disk.write_all_at(&[7; 5000], (3 << 20) + 100).expect("written");
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").expect("written");
        std::os::unix::fs::symlink(&victim, path("kept")).expect("linked");
        let kept = fresh(&Folder::open(folder.path()).expect("there"), "kept").expect("made");
        assert_eq!(copy(&path("disk"), &kept, true).expect("copied"), 8 << 20);
        assert_eq!(std::fs::read_to_string(&victim).expect("read"), "precious");
        assert_eq!(std::fs::symlink_metadata(path("kept")).expect("there").mode() & 0o777, 0o600);
        assert_eq!(std::fs::read(path("kept")).expect("read"), std::fs::read(path("disk")).expect("read"));
        assert!(std::fs::metadata(path("kept")).expect("there").blocks() * 512 < 1 << 20);
        // Old content of the target is cleared.
        std::fs::write(path("served"), vec![9; 8 << 20]).expect("written");
        let served = File::options().write(true).open(path("served")).expect("opened");
        copy(&path("kept"), &served, false).expect("copied");
        assert_eq!(std::fs::read(path("served")).expect("read"), std::fs::read(path("disk")).expect("read"));
    }

    #[test]
    fn a_description_that_is_no_file_or_names_another_folder_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept.json");
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0)
            .expect("made");
        assert!(KeptState::read(&path).expect_err("a FIFO").to_string().contains("it is a FIFO"));
        assert!(copy(&path, &File::open("/dev/null").expect("there"), true).is_err(), "nor is one copied from");
        std::fs::remove_file(&path).expect("removed");
        let state = |image: &str| KeptState {
            format: FORMAT,
            contender: Contender::plain("ext4"),
            kernel: "6.1".into(),
            bytes: 1,
            found: String::new(),
            left: String::new(),
            image: image.into(),
            proof: Proof::Mount,
        };
        for (image, is_fine) in [("a.img", true), ("../a.img", false), ("/dev/sda", false), ("..", false), ("", false)]
        {
            std::fs::write(&path, serde_json::to_vec(&state(image)).expect("text")).expect("written");
            assert_eq!(KeptState::read(&path).is_ok(), is_fine, "{image}");
        }
    }

    #[test]
    fn names_of_files_have_nothing_that_a_shell_minds() {
        assert_eq!(file_name("ext4 data=journal", "replace-unsynced"), "ext4-data=journal-replace-unsynced");
        assert_eq!(file_name("../x;y", "fsync"), "..-x-y-fsync");
    }
}
