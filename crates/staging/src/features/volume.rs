//! The largest volume that mkfs accepts, tried on sparse files in memory.
//! In: a target, and a filesystem whose file has a command to try a size. Out: an answer.
//! Sizes are powers of two. Memory and time for mkfs are limited, so that a size that takes hours to format counts as refused.

use super::Answer;
use super::space::size_words;
use crate::filesystems::description::Filesystem;
use crate::filesystems::feature_tools::More;
use crate::ownership::cleanup_journal::Made;
use crate::stage::target::Target;
use std::path::Path;
use std::time::Duration;
use system::Command;

/// Sizes that are tried, as powers of two: 8 GiB to 4 EiB.
const POWERS: std::ops::RangeInclusive<u32> = 33..=62;
/// Time limit for one try.
const PATIENCE: Duration = Duration::from_secs(5);
/// Memory for mkfs, and for the file that it writes.
const MEMORY: &str = "--as=1073741824";
const ROOM: &str = "size=256m,mode=700";

/// Tries larger and larger sizes until one is refused.
pub(super) fn largest(target: &mut Target, filesystem: &Filesystem) -> Answer {
    if filesystem.features.volume.is_empty() {
        return Answer::unknown("its description has no command to test a size");
    }
    let folder = target.mark.folder();
    let point = folder.join("mnt");
    let mounted = target
        .mark
        .will_make(Made::Folder { path: folder })
        .map_err(|error| error.to_string())
        .and_then(|()| std::fs::create_dir_all(&point).map_err(|error| error.to_string()))
        .and_then(|()| {
            let words = ["mount", "-t", "tmpfs", "-o", ROOM, "tmpfs", &point.display().to_string()].map(String::from);
            Command::new(words).run(&target.journal).map(|_| ()).map_err(|error| error.to_string())
        });
    let answer = match mounted {
        Ok(()) => try_sizes(target, filesystem, &point.join("volume")),
        Err(error) => return Answer::unknown(error),
    };
    let unmounted = Command::new(["umount", &point.display().to_string()]).run(&target.journal);
    target.remove_folder();
    match unmounted {
        Ok(_) => answer,
        Err(error) => Answer { how: format!("{}; {error}", answer.how), ..answer },
    }
}

fn try_sizes(target: &Target, filesystem: &Filesystem, file: &Path) -> Answer {
    let mut most = None;
    for power in POWERS {
        let bytes = 1u64 << power;
        let made = std::fs::File::create(file).and_then(|file| file.set_len(bytes));
        let refused = match made {
            Ok(()) => accepts(target, filesystem, file).err(),
            Err(error) => Some(format!("no file of that size can be created: {error}")),
        };
        let _ = std::fs::remove_file(file);
        match refused {
            None => most = Some(bytes),
            Some(why) => return refused_at(most, bytes, &why),
        }
    }
    let most = most.unwrap_or_default();
    Answer::amount(
        most,
        format!("{} and more", size_words(most)),
        "sparse files of increasing powers of two; mkfs accepts all",
    )
}

fn refused_at(most: Option<u64>, refused: u64, why: &str) -> Answer {
    let how = format!("sparse files of powers of two; of {}: {}", size_words(refused), last_words(why));
    match most {
        Some(most) => Answer::amount(most, size_words(most), how),
        None => Answer::unknown(how),
    }
}

/// The end of a program's output, on one line.
fn last_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words[words.len().saturating_sub(30)..].join(" ")
}

fn accepts(target: &Target, filesystem: &Filesystem, file: &Path) -> Result<(), String> {
    let places = crate::filesystems::template::Placeholders {
        device: file.into(),
        name: String::new(),
        mountpoint: file.into(),
        label: target.mark.label(),
        nodes: file.into(),
        servers: file.into(),
        devices: Vec::new(),
        members: Vec::new(),
        pid: None,
    };
    let words = More::default().fill(&places, &filesystem.features.volume);
    let limited = ["prlimit".to_string(), MEMORY.into()].into_iter().chain(words);
    match Command::new(limited).limit(PATIENCE).run(&target.journal) {
        Ok(_) => Ok(()),
        Err(error) if error.answer.trim().is_empty() => Err(error.to_string()),
        Err(error) => Err(error.answer),
    }
}
