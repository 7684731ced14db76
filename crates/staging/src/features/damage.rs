//! Whether damage is noticed: a bit is flipped on the image, in a file's data and in a name, while nothing is mounted.
//! In: a target of images. Out: what noticed it: the mount, the read, a scrub, a check, or nothing.
//! Every copy on the image is flipped, so that a second copy does not hide the damage of the first.

use super::space::different;
use super::tools::{TOOL_LIMIT, on_stage, run};
use super::{Answer, Found};
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::feature_tools::More;
use crate::stage::Stage;
use crate::stage::recipe::Commands;
use crate::stage::target::Target;
use memchr::memmem;
use records::Contender;
use rustix::fs::SeekFrom;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A text in the middle of the file's data, and nowhere else.
const DATA: &[u8] = b"bakeoff: this byte will be flipped where it lies on the image";
/// A name in the directory, and nowhere else.
const NAME: &str = "bakeoff-damaged-name-7391";
/// Bytes of the file.
const LENGTH: usize = 512 << 10;
/// Bytes read at once.
const PART: usize = 4 << 20;
/// Bytes of the image that are searched at most.
const SEARCH_CAP: u64 = 512 << 20;
/// Copies that are flipped at most.
const COPIES: usize = 64;

/// Answers for data and for metadata.
pub(super) fn notices(target: &mut Target, filesystem: &Filesystem, found: &mut Found) {
    let plain = Contender::plain(&filesystem.name);
    let text = |tried: Result<Answer, StagingError>| tried.unwrap_or_else(|error| Answer::unknown(error.to_string()));
    found.put("checksum_data", text(on_stage(target, &plain, &mut data)));
    found.put("checksum_metadata", text(on_stage(target, &plain, &mut metadata)));
}

/// Different in every block except for the text in its middle, so that it cannot be compressed or deduplicated.
fn content() -> Vec<u8> {
    let mut bytes = different(LENGTH);
    bytes[LENGTH / 2..LENGTH / 2 + DATA.len()].copy_from_slice(DATA);
    bytes
}

fn data(stage: &mut Stage<'_>) -> Result<Answer, StagingError> {
    let path = stage.state.seen(&stage.state.root).join("data");
    let content = content();
    std::fs::write(&path, &content).map_err(|error| StagingError::file("write", &path, error))?;
    let copies = match flipped(stage, DATA, "the image does not contain the file's bytes as they were written")? {
        Ok(copies) => copies,
        Err(answer) => return Ok(answer),
    };
    let path = stage.state.seen(&stage.state.root).join("data");
    match std::fs::read(&path) {
        Err(error) => return Ok(Answer::yes(format!("{copies} flipped; reading the file fails: {error}"))),
        Ok(read) if read == content => {
            return Ok(Answer::yes(format!("{copies} flipped; the file reads as written")));
        }
        Ok(_) => {}
    }
    let silent = format!("{copies} flipped; the file reads without an error, with wrong data");
    if scrub(stage)? {
        return Ok(Answer { text: "only a scrub".into(), ..Answer::yes(format!("{silent}; a scrub finds it")) });
    }
    Ok(match check_complains(stage)? {
        Some(true) => Answer { text: "only a check".into(), ..Answer::yes(format!("{silent}; a check finds it")) },
        _ => Answer::no(format!("{silent}; a check finds nothing")),
    })
}

fn metadata(stage: &mut Stage<'_>) -> Result<Answer, StagingError> {
    let folder = stage.state.seen(&stage.state.root).join("names");
    std::fs::create_dir(&folder).map_err(|error| StagingError::file("make", &folder, error))?;
    // The directory must be large enough for the name to be in a block of names instead of the inode.
    for number in 0..200 {
        let path = folder.join(format!("neighbour-{number}"));
        File::create(&path).map_err(|error| StagingError::file("make", &path, error))?;
    }
    let path = folder.join(NAME);
    File::create(&path).map_err(|error| StagingError::file("make", &path, error))?;
    let copies = match flipped(stage, NAME.as_bytes(), "the image does not contain the name as it was given")? {
        Ok(copies) => copies,
        Err(answer) => return Ok(answer),
    };
    let folder = stage.state.seen(&stage.state.root).join("names");
    if let Err(error) = listed(&folder) {
        return Ok(Answer::yes(format!("{copies} of a name flipped; listing the directory fails: {error}")));
    }
    match std::fs::metadata(folder.join(NAME)) {
        Ok(_) => return Ok(Answer::yes(format!("{copies} of a name flipped; the file is still found"))),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Ok(Answer::yes(format!("{copies} of a name flipped; the lookup fails: {error}")));
        }
        Err(_) => {}
    }
    let silent = format!("{copies} of a name flipped; listing the directory gives no error and another name");
    Ok(match check_complains(stage)? {
        Some(true) => Answer { text: "only a check".into(), ..Answer::yes(format!("{silent}; a check finds it")) },
        _ => Answer::no(format!("{silent}; a check finds nothing")),
    })
}

fn listed(folder: &Path) -> std::io::Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        entry?.file_type()?;
        count += 1;
    }
    Ok(count)
}

/// Unmounts, flips a bit in every copy of these bytes on the device, and mounts again. Returns the number of copies, in words, or a final
/// answer; `nowhere`: if there is no copy.
fn flipped(
    stage: &mut Stage<'_>,
    wanted: &[u8],
    nowhere: &'static str,
) -> Result<Result<String, Answer>, StagingError> {
    stage.sync()?;
    stage.take_off()?;
    let Some((file, device)) = stage.state.image.as_ref().map(|image| (image.file.clone(), image.device.path.clone()))
    else {
        return Ok(Err(Answer::unknown(nowhere)));
    };
    let places = found_at(&file, wanted).map_err(|error| StagingError::file("search", &file, error))?;
    // Through the device, so that its page cache does not hide the change.
    let node = File::options().read(true).write(true).open(&device);
    let node = node.map_err(|error| StagingError::file("open", &device, error))?;
    for place in &places {
        let at = place + wanted.len() as u64 / 2;
        let mut byte = [0];
        let turned = node.read_exact_at(&mut byte, at).and_then(|()| node.write_all_at(&[byte[0] ^ 4], at));
        turned
            .and_then(|()| node.sync_all())
            .map_err(|error| StagingError::file("change a byte of", &device, error))?;
    }
    drop(node);
    if places.is_empty() {
        stage.put_back()?;
        return Ok(Err(Answer::unknown(nowhere)));
    }
    Ok(match stage.put_back() {
        Ok(_) => Ok(if places.len() == 1 { "1 copy".into() } else { format!("{} copies", places.len()) }),
        Err(error) => Err(Answer::yes(format!("it can no longer be mounted: {error}"))),
    })
}

/// Offsets of these bytes in a sparse file.
fn found_at(path: &Path, wanted: &[u8]) -> std::io::Result<Vec<u64>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let (mut places, mut searched, mut at) = (Vec::new(), 0, 0);
    while at < length && searched < SEARCH_CAP && places.len() < COPIES {
        let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(at)) else { break };
        let end = rustix::fs::seek(&file, SeekFrom::Hole(start)).unwrap_or(length);
        at = start;
        while at < end && places.len() < COPIES {
            // Parts overlap, so that a match across their border is found.
            let mut part = vec![0; PART.min((end - at) as usize) + wanted.len()];
            let read = file.read_at(&mut part, at)?;
            places.extend(memmem::find_iter(&part[..read], wanted).map(|place| at + place as u64));
            searched += read as u64;
            at += PART.min((end - at) as usize) as u64;
        }
    }
    places.sort_unstable();
    places.dedup();
    places.truncate(COPIES);
    Ok(places)
}

/// Whether a scrub finds damage; false if there is no scrub.
fn scrub(stage: &Stage<'_>) -> Result<bool, StagingError> {
    let command =
        stage.state.filesystem.as_ref().map(|filesystem| filesystem.features.scrub.clone()).unwrap_or_default();
    Ok(!command.is_empty() && run(stage, &command, &More::default()).is_err())
}

/// Whether the filesystem's check finds damage, unmounted; None if there is none or it could not be run.
fn check_complains(stage: &mut Stage<'_>) -> Result<Option<bool>, StagingError> {
    let Some(check) = stage.state.filesystem.as_ref().and_then(|filesystem| filesystem.check.clone()) else {
        return Ok(None);
    };
    stage.take_off()?;
    let Some(command) = stage.state.commands().and_then(Commands::check) else { return Ok(None) };
    let command = command.limit(TOOL_LIMIT).accept(&(0..=255).collect::<Vec<_>>());
    Ok(command.run(&stage.target.journal).ok().map(|answer| !check.clean.contains(&answer.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_found_wherever_they_lie_in_a_sparse_file() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(64 << 20).expect("sparse");
        // At the start, across the border of two parts of one extent, and far away.
        let extent = vec![1u8; PART + 4096];
        file.as_file().write_all_at(&extent, 0).expect("written");
        let places = [0, PART as u64 - 7, (40 << 20) + 3];
        for place in places {
            file.as_file().write_all_at(DATA, place).expect("written");
        }
        assert_eq!(found_at(file.path(), DATA).expect("searched"), places);
        assert!(found_at(file.path(), b"not there at all").expect("searched").is_empty());
    }
}
