//! Programs without the parts that only a debugger reads.
//! In: an ELF file. Out: the same program, cut after the part that is loaded to run it.
//! A guest unpacks its programs into memory, and debugging data makes a program ten times as large.

/// The part of a 64-bit little-endian ELF file that its segments cover; every other file as it is.
pub(crate) fn slim(mut file: Vec<u8>) -> Vec<u8> {
    let Some(end) = loaded_end(&file).filter(|end| *end < file.len()) else {
        return file;
    };
    file.truncate(end);
    // No section table any more: its offset, the number of entries and the section of their names.
    file[0x28..0x30].fill(0);
    file[0x3c..0x40].fill(0);
    file
}

/// The end of the last byte that a program header covers.
fn loaded_end(file: &[u8]) -> Option<usize> {
    const SIXTY_FOUR_BIT_LITTLE_ENDIAN: [u8; 2] = [2, 1];
    if file.len() < 0x40 || !file.starts_with(b"\x7fELF") || file[4..6] != SIXTY_FOUR_BIT_LITTLE_ENDIAN {
        return None;
    }
    let word = |at: usize| Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?));
    let half = |at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    let (table, size, count) = (word(0x20)?, u64::from(half(0x36)?), u64::from(half(0x38)?));
    let mut end = table.checked_add(size.checked_mul(count)?)?;
    for index in 0..count {
        let header = usize::try_from(table + index * size).ok()?;
        end = end.max(word(header + 8)?.checked_add(word(header + 0x20)?)?);
    }
    (count > 0).then(|| usize::try_from(end).ok())?.filter(|end| *end <= file.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_runs_without_what_only_a_debugger_reads() {
        let program = std::env::current_exe().expect("a test is a program");
        let whole = std::fs::read(program).expect("it can be read");
        let length = whole.len();
        let slim = slim(whole);
        assert!(slim.len() < length, "a test is built with its symbols");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("slim");
        std::fs::write(&path, slim).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("made executable");
        // A process that another test forked while the file was open for writing has it open until its exec.
        let listed = (0..100).find_map(|_| match std::process::Command::new(&path).arg("--list").output() {
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(20));
                None
            }
            started => Some(started.expect("it starts")),
        });
        let listed = listed.expect("no other process has it open for long");
        assert!(listed.status.success() && !listed.stdout.is_empty());
    }

    #[test]
    fn a_file_that_is_no_program_is_not_changed() {
        for content in [&b"#!/bin/sh\necho"[..], b"", b"\x7fELF\x02\x01 cut off", &[0; 4096]] {
            assert_eq!(slim(content.to_vec()), content);
        }
    }
}
