//! Content of a guest's first root: this program, the tools of its filesystems, and the modules of its kernel.
//! In: a kernel and filesystems. Out: an initramfs in a file.
//! Programs come from this machine, with the libraries that the loader lists for them. So a program needs no special linking to run in a
//! guest, and the tools there have the versions that `bakeoff systems` shows.

use super::archive::Archive;
use super::boot::{MODULES_FILE, PROGRAM};
use super::kernel::Kernel;
use super::modules::modules;
use super::slim::slim;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::tools;
use layers::Layer;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use system::command::find_program;
use system::{Command, Journal};

/// Programs that staging runs for every filesystem, and those in the scripts of descriptions.
const PROGRAMS: [&str; 33] = [
    "sh",
    "mount",
    "umount",
    "sync",
    "fsfreeze",
    "blkid",
    "wipefs",
    "blockdev",
    "dmesg",
    "modprobe",
    "mkdir",
    "rmdir",
    "rm",
    "cat",
    "grep",
    "xargs",
    "sleep",
    "head",
    "tail",
    "tr",
    "sfdisk",
    "dd",
    "truncate",
    "nsenter",
    "unshare",
    "lsblk",
    "sed",
    "true",
    "ln",
    "mv",
    "env",
    "blkdiscard",
    "losetup",
];

/// Files that programs read.
const FILES: [&str; 5] = ["/etc/mke2fs.conf", "/etc/ld.so.cache", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf"];

/// Libraries that the C library opens by itself at run time, so that the loader does not list them.
const OPENED_AT_RUN_TIME: [&str; 2] = ["/lib/x86_64-linux-gnu/libgcc_s.so.1", "/lib/aarch64-linux-gnu/libgcc_s.so.1"];

/// Writes the archive for one kernel and these filesystems.
pub(crate) fn write(
    kernel: &Kernel,
    (filesystems, layers): (&[&Filesystem], &[&Layer]),
    to: &Path,
) -> Result<(), StagingError> {
    let failed = |error: std::io::Error| StagingError::file("write the guest's initial root", to, error);
    let mut archive = Archive::new(BufWriter::new(File::create(to).map_err(failed)?));
    skeleton(&mut archive).map_err(failed)?;
    let program =
        std::env::current_exe().map_err(|error| StagingError::file("find", Path::new("/proc/self/exe"), error))?;
    add_file(&mut archive, &program, Path::new(PROGRAM))?;
    let of_layers = layers.iter().flat_map(|layer| &layer.tools).map(|tool| tool.program.clone());
    let names = programs(filesystems, &kernel.name).into_iter().chain(of_layers);
    let tools: Vec<PathBuf> = names.filter_map(|name| find_program(&name)).collect();
    add_programs(&mut archive, &program, &tools)?;
    for filesystem in filesystems {
        add_unpacked(&mut archive, filesystem, &kernel.name)?;
    }
    let files =
        FILES.iter().copied().chain(filesystems.iter().flat_map(|fs| fs.guest.files.iter().map(String::as_str)));
    for path in files.map(Path::new).filter(|path| path.is_file()) {
        add_file(&mut archive, path, path)?;
    }
    let modules = modules(kernel, filesystems, layers)?;
    archive.file(Path::new(MODULES_FILE), 0o644, modules.load.join("\n").as_bytes()).map_err(failed)?;
    for (path, place) in &modules.files {
        add_file(&mut archive, path, place)?;
    }
    archive.finish().map_err(failed).map(|_| ())
}

/// Folders and links of any system, with the console that the kernel opens for its first program.
fn skeleton(archive: &mut Archive<impl std::io::Write>) -> std::io::Result<()> {
    for folder in [
        "/usr/bin",
        "/usr/sbin",
        "/usr/lib",
        "/usr/lib64",
        "/proc",
        "/sys",
        "/dev",
        "/run",
        "/tmp",
        "/var/lib",
        "/var/lock",
        "/etc",
        "/root",
    ] {
        archive.folder(Path::new(folder))?;
    }
    for name in ["bin", "sbin", "lib", "lib64"] {
        archive.link(&Path::new("/").join(name), &format!("usr/{name}"))?;
    }
    // zfs-fuse keeps its socket there.
    archive.link(Path::new("/var/run"), "/run")?;
    // mkfs.nilfs2 and others read there what is mounted.
    archive.link(Path::new("/etc/mtab"), "/proc/self/mounts")?;
    // The standard input of commands, including the one that mounts /dev.
    archive.node(Path::new("/dev/null"), 1, 3)?;
    archive.node(Path::new("/dev/console"), 5, 1)
}

fn programs(filesystems: &[&Filesystem], kernel: &str) -> BTreeSet<String> {
    let tools = filesystems.iter().flat_map(|filesystem| {
        // Tools in a folder of their own come with that folder.
        let own = tools::folder_for(filesystem, kernel).is_some();
        let installed = filesystem.tools.iter().map(|tool| &tool.program).chain(filesystem.features.programs());
        let encrypting = filesystem.encryption.iter().map(|facts| &facts.tool.program);
        installed.filter(move |_| !own).chain(&filesystem.guest.programs).chain(encrypting).cloned()
    });
    PROGRAMS.iter().map(|name| name.to_string()).chain(tools).collect()
}

/// The folder of tools that are not installed, with the libraries that they need from outside it.
fn add_unpacked(
    archive: &mut Archive<impl std::io::Write>,
    filesystem: &Filesystem,
    kernel: &str,
) -> Result<(), StagingError> {
    let found = tools::folder_for(filesystem, kernel).zip(tools::in_guest(filesystem));
    let Some((folder, place)) = found else { return Ok(()) };
    let mut found = Vec::new();
    for part in ["sbin", "lib"] {
        let inside = folder.join(part);
        let Ok(entries) = std::fs::read_dir(&inside) else { continue };
        for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            add_file(archive, &path, &place.join(part).join(path.file_name().unwrap_or_default()))?;
            found.push(path);
        }
    }
    let all: Vec<&PathBuf> = found.iter().filter(|path| interpreter(path).is_none()).collect();
    for library in libraries(&all)?.iter().filter(|path| !path.starts_with(&folder)) {
        add_file(archive, library, library)?;
    }
    Ok(())
}

/// Programs, and the libraries and interpreters that they and this program need.
fn add_programs(
    archive: &mut Archive<impl std::io::Write>,
    own: &PathBuf,
    programs: &[PathBuf],
) -> Result<(), StagingError> {
    for program in programs {
        add_file(archive, program, program)?;
    }
    let interpreters: BTreeSet<PathBuf> = programs.iter().filter_map(|program| interpreter(program)).collect();
    for path in &interpreters {
        add_file(archive, path, path)?;
    }
    let binary = |path: &&PathBuf| interpreter(path).is_none();
    let all: Vec<&PathBuf> = programs.iter().chain(&interpreters).filter(binary).chain([own]).collect();
    for library in libraries(&all)? {
        add_file(archive, &library, &library)?;
    }
    for path in OPENED_AT_RUN_TIME.map(Path::new).into_iter().filter(|path| path.exists()) {
        add_file(archive, path, path)?;
    }
    Ok(())
}

/// The program that runs a script; None if it is not a script.
fn interpreter(program: &Path) -> Option<PathBuf> {
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(File::open(program).ok()?, 128), &mut head).ok()?;
    let line = head.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_whitespace().map(str::to_string);
    let first = words.next()?;
    if first.ends_with("/env") { find_program(&words.next()?) } else { Some(PathBuf::from(first)) }
}

/// What the loader loads for these programs: `name => path (address)`, or `path (address)` for itself. A static program has none.
fn libraries(programs: &[&PathBuf]) -> Result<BTreeSet<PathBuf>, StagingError> {
    let words = std::iter::once("ldd".to_string()).chain(programs.iter().map(|path| path.display().to_string()));
    let value = Command::new(words)
        .accept(&[0, 1])
        .hint("ldd is in Debian's libc-bin")
        .run(&Journal::new())
        .map_err(StagingError::command("looking for the libraries of the guest's programs"))?;
    let path_in = |line: &str| {
        let place = line.split_once("=> ").map_or(line, |(_, place)| place).trim();
        let path = place.split(" (").next().unwrap_or(place);
        path.starts_with('/').then(|| PathBuf::from(path))
    };
    // A line that ends with a colon names the program of the lines that follow.
    Ok(value.stdout.lines().filter(|line| !line.ends_with(':')).filter_map(path_in).collect())
}

/// Adds a file under a path; top folders that are links in the archive are replaced by their targets.
fn add_file(archive: &mut Archive<impl std::io::Write>, from: &Path, path: &Path) -> Result<(), StagingError> {
    let linked = ["/bin", "/sbin", "/lib", "/lib64"].iter().any(|folder| path.starts_with(folder));
    let place = if linked { Path::new("/usr").join(path.strip_prefix("/").unwrap_or(path)) } else { path.into() };
    if archive.holds(&place) {
        return Ok(());
    }
    let reading = |error: std::io::Error| StagingError::file("read for the guest", from, error);
    let mode = std::fs::metadata(from).map_err(reading)?.permissions().mode();
    let content = slim(std::fs::read(from).map_err(reading)?);
    archive.file(&place, mode, &content).map_err(|error| StagingError::file("copy into the guest", from, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_brings_its_libraries_and_a_script_its_interpreter() {
        let shell = find_program("sh").expect("every system has one");
        let found = libraries(&[&shell]).expect("ldd answers");
        assert!(found.iter().any(|path| path.to_string_lossy().contains("libc.so")), "{found:?}");
        assert!(found.iter().any(|path| path.to_string_lossy().contains("ld-linux")), "{found:?}");
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/usr/bin/env sh\necho\n").expect("written");
        assert_eq!(interpreter(&script), Some(shell.clone()));
        assert_eq!(interpreter(&shell), None);
    }

    #[test]
    fn tools_in_a_folder_of_their_own_come_with_it_and_those_of_the_same_name_stay_out() {
        let place = tempfile::tempdir().expect("a folder");
        for (part, name) in [("sbin", "mkfs.ext2"), ("lib", "libof.so.1")] {
            std::fs::create_dir(place.path().join(part)).expect("made");
            std::fs::write(place.path().join(part).join(name), "#!/bin/sh\n").expect("written");
        }
        let registry = crate::Registry::embedded().expect("good");
        let mut own = registry.get("openzfs").expect("known").clone();
        own.tools = registry.get("ext2").expect("known").tools.clone();
        own.unpacked.as_mut().expect("it has one").folder = place.path().display().to_string();
        let named = programs(&[&own], "debian:6.1");
        assert!(!named.contains("mkfs.ext2") && named.contains("mknod"));
        let mut archive = Archive::new(Vec::new());
        add_unpacked(&mut archive, &own, "debian:6.1").expect("it can be read");
        let inside = tools::in_guest(&own).expect("it has a place there");
        assert!(archive.holds(&inside.join("sbin/mkfs.ext2")) && archive.holds(&inside.join("lib/libof.so.1")));
    }
}
