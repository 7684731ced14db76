//! A kernel without its compression, so that an emulated processor need not unpack it, which takes half of its boot.
//! In: a kernel's file as distributions ship it. Out: the ELF file in it, if QEMU can boot that; else none, and the file is booted as it is.
//! The boot protocol of x86 defines the place of the payload (Documentation/arch/x86/boot.rst). The ELF note of PVH defines the address at
//! which QEMU enters it (XEN_ELFNOTE_PHYS32_ENTRY in the kernel's include/xen/interface/elfnote.h).

use super::kernel_file::SIGNATURE;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{Command, Journal};

/// Limits for the bytes of a kernel's file, and of its unpacked content.
const MOST_PACKED: u64 = 256 << 20;
const MOST_UNPACKED: u64 = 1 << 30;
/// Time limit of unpacking.
const LIMIT: Duration = Duration::from_secs(60);
/// The first protocol version with the place of the payload.
const FIRST_WITH_PAYLOAD: u16 = 0x208;
/// Limits for program headers of an ELF file, and for bytes of its notes.
const MOST_HEADERS: usize = 64;
const MOST_NOTES: u64 = 64 << 10;
/// Type of a program header of notes, and of Xen's note with the PVH entry.
const NOTES: u32 = 4;
const ENTRY_OF_PVH: u32 = 18;

/// How payloads begin, the program that unpacks them, and whether the kernel's build appended their size.
const PACKERS: [(&[u8], &str, bool); 3] = [
    (b"\xfd7zXZ\0", "xz", true),
    (b"\x28\xb5\x2f\xfd", "zstd", true),
    // Its format ends with the size.
    (b"\x1f\x8b\x08", "gzip", false),
];

/// The kernel of a file, unpacked into a folder; None if it is packed in another way, its program is missing, or QEMU could not enter it.
pub(super) fn unpacked(image: &Path, release: &str, folder: &Path, journal: &Journal) -> Option<PathBuf> {
    let mut file = Vec::new();
    File::open(image).ok()?.take(MOST_PACKED).read_to_end(&mut file).ok()?;
    let (packed, program, size) = payload(&file)?;
    let (from, to) = (folder.join(format!("{release}.{program}")), folder.join(format!("{release}.vmlinux")));
    std::fs::write(&from, packed).ok()?;
    let words = ["sh", "-c", "exec \"$1\" -dc <\"$2\" >\"$3\"", "sh", program].map(String::from);
    let paths = [&from, &to].map(|path| path.display().to_string());
    let done = Command::new(words.into_iter().chain(paths)).limit(LIMIT).run(journal);
    let _ = std::fs::remove_file(&from);
    let whole = done.is_ok() && std::fs::metadata(&to).is_ok_and(|facts| facts.len() == size);
    if whole && File::open(&to).is_ok_and(|elf| has_entry(&elf)) {
        return Some(to);
    }
    let _ = std::fs::remove_file(&to);
    None
}

/// The packed kernel in a file, the program that unpacks it, and its unpacked size.
fn payload(file: &[u8]) -> Option<(&[u8], &'static str, u64)> {
    let word = |at: usize| file.get(at..at + 4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
    let (at, signature) = SIGNATURE;
    if file.get(at..at + signature.len()) != Some(signature) || (word(0x206)? as u16) < FIRST_WITH_PAYLOAD {
        return None;
    }
    // Sectors of the real-mode part, after the first; 0 means four.
    let sectors = match file[0x1f1] {
        0 => 4,
        value => usize::from(value),
    };
    let at = (sectors + 1) * 512 + word(0x248)? as usize;
    let packed = file.get(at..at.checked_add(word(0x24c)? as usize)?)?;
    let (_, program, size_behind) = PACKERS.iter().find(|(magic, ..)| packed.starts_with(magic))?;
    let (rest, size) = packed.split_last_chunk::<4>()?;
    let size = u64::from(u32::from_le_bytes(*size));
    (size <= MOST_UNPACKED).then_some((if *size_behind { rest } else { packed }, program, size))
}

/// Whether a 64-bit ELF file has the PVH entry.
fn has_entry(elf: &File) -> bool {
    let read = |at: u64, bytes: usize| {
        let mut read = vec![0; bytes];
        elf.read_exact_at(&mut read, at).ok().map(|()| read)
    };
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default());
    let Some(head) = read(0, 64).filter(|head| head.starts_with(b"\x7fELF\x02\x01")) else { return false };
    let count = usize::from(u16::from_le_bytes([head[56], head[57]])).min(MOST_HEADERS);
    let Some(headers) = read(number(&head, 32), count * 56) else { return false };
    headers.chunks_exact(56).filter(|header| header[..4] == NOTES.to_le_bytes()).any(|header| {
        let bytes = number(header, 32).min(MOST_NOTES) as usize;
        read(number(header, 8), bytes).is_some_and(|notes| has_entry_note(&notes))
    })
}

/// Whether Xen's note of the entry is among the notes. Each has the sizes of name and content, and its type; both are padded to four bytes.
fn has_entry_note(mut notes: &[u8]) -> bool {
    let word = |notes: &[u8], at: usize| u32::from_le_bytes(notes[at..at + 4].try_into().unwrap_or_default());
    while notes.len() >= 12 {
        let (name, content) = (word(notes, 0) as usize, word(notes, 4) as usize);
        let is_xens = notes[12..].starts_with(b"Xen\0") && name == 4;
        if is_xens && word(notes, 8) == ENTRY_OF_PVH {
            return true;
        }
        let bytes = name.next_multiple_of(4).saturating_add(content.next_multiple_of(4)).saturating_add(12);
        notes = notes.get(bytes..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn note(name: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let mut note: Vec<u8> =
            [name.len() as u32, content.len() as u32, kind].iter().flat_map(|word| word.to_le_bytes()).collect();
        for part in [name, content] {
            note.extend_from_slice(part);
            note.resize(note.len().next_multiple_of(4), 0);
        }
        note
    }

    /// An ELF file with a header of notes.
    fn elf(notes: &[u8]) -> Vec<u8> {
        let mut elf = vec![0; 120];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        elf[32] = 64;
        elf[56] = 1;
        elf[64] = NOTES as u8;
        elf[72] = 120;
        elf[96..104].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        elf.extend_from_slice(notes);
        elf
    }

    /// A kernel's file with a payload.
    fn image(packed: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 2 * 512];
        file[0x1f1] = 1;
        file[0x202..0x206].copy_from_slice(b"HdrS");
        file[0x206..0x208].copy_from_slice(&0x20fu16.to_le_bytes());
        file[0x248] = 16;
        file[0x24c..0x250].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        file.extend_from_slice(&[7; 16]);
        file.extend_from_slice(packed);
        file
    }

    fn packed_by(program: &str, content: &[u8]) -> Vec<u8> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(content).expect("written");
        let done = std::process::Command::new(program).arg("-c").arg(file.path()).output().expect("it packs");
        done.stdout
    }

    fn found(file: &[u8]) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().expect("a folder");
        let image = folder.path().join("vmlinuz");
        std::fs::write(&image, file).expect("written");
        let found =
            unpacked(&image, "6.1", folder.path(), &Journal::new()).map(|path| std::fs::read(path).expect("there"));
        let left = std::fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(left, 1 + usize::from(found.is_some()), "nothing else is left");
        found
    }

    #[test]
    fn a_kernel_that_pvh_can_enter_is_unpacked() {
        let entered = elf(&[note(b"Xen\0", 6, b"linux\0"), note(b"Xen\0", ENTRY_OF_PVH, &[0; 8])].concat());
        let gzip = packed_by("gzip", &entered);
        assert_eq!(found(&image(&gzip)), Some(entered.clone()));
        if system::command::find_program("xz").is_some() {
            let xz = [packed_by("xz", &entered), (entered.len() as u32).to_le_bytes().to_vec()].concat();
            assert_eq!(found(&image(&xz)), Some(entered.clone()));
            let other = [packed_by("xz", &entered), 7u32.to_le_bytes().to_vec()].concat();
            assert_eq!(found(&image(&other)), None, "it does not have its stated size");
        }
    }

    #[test]
    fn a_kernel_that_cannot_be_entered_or_unpacked_is_booted_as_it_is() {
        let without = elf(&note(b"Xen\0", 6, b"linux\0"));
        assert_eq!(found(&image(&packed_by("gzip", &without))), None, "it does not tell its entry");
        assert_eq!(found(&image(&packed_by("gzip", b"no ELF file"))), None);
        assert_eq!(found(&image(b"\x02!L\x18 packed in another way")), None);
        let entered = image(&packed_by("gzip", &elf(&note(b"Xen\0", ENTRY_OF_PVH, &[0; 8]))));
        for odd in [&entered[..entered.len() - 5], &entered[..0x240], b""] {
            assert_eq!(found(odd), None, "cut off");
        }
        let mut old = entered.clone();
        old[0x206] = 7;
        assert_eq!(found(&old), None, "an older protocol does not tell its payload");
    }

    #[test]
    fn notes_that_lie_about_their_sizes_end_the_search() {
        let mut lying = note(b"GNU\0", 3, &[1; 20]);
        lying[..4].copy_from_slice(&u32::MAX.to_le_bytes());
        lying.extend(note(b"Xen\0", ENTRY_OF_PVH, &[0; 8]));
        assert!(!has_entry_note(&lying));
        assert!(has_entry_note(&note(b"Xen\0", ENTRY_OF_PVH, &[0; 8])) && !has_entry_note(&[0; 13]));
    }
}
