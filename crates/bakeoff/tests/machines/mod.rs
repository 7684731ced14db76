//! Guests for tests: whether they can run here, places whose guests behave as a test needs, and checks for leftovers.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

use crate::support::{Place, Printed};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

pub const KERNEL: &str = "debian:6.1";

/// Guests need many resources: one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// The lock, if guests can run here; otherwise the test counts as left out, with the reason.
pub fn guests() -> Option<MutexGuard<'static, ()>> {
    static LACK: OnceLock<Option<String>> = OnceLock::new();
    let lack = LACK.get_or_init(|| {
        if !is_root() {
            return Some("guests need root".into());
        }
        staging::guests_lack()
            .or_else(|| (!staging::kernel_is_here(KERNEL) && !fetched()).then(|| "no kernel to boot".into()))
    });
    if let Some(lack) = lack {
        prerequisites::leave_out("guests", lack);
        return None;
    }
    Some(TURN.lock().unwrap_or_else(|poison| poison.into_inner()))
}

pub fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|printed| printed.stdout == b"0\n")
}

/// Whether Debian's kernel can be downloaded: apt knows it, and the network works.
pub fn fetched() -> bool {
    staging::fetch_kernel(KERNEL).map_err(|error| println!("{error}")).is_ok()
}

/// A place with a description of its own, `odd`, whose mkfs runs `make`.
pub fn place_with(make: &str) -> Place {
    let place = Place::new();
    let ext4 = include_str!("../../../../filesystems/ext4.toml");
    let own = r#"command = ["mkfs.ext4", "-F", "-q", "-L", "{label}", "{options}", "{device}"]"#;
    assert!(ext4.contains(own));
    let odd = ext4.replace(own, &format!("command = [\"sh\", \"-c\", {make:?}]"));
    std::fs::create_dir_all(place.path("config/bakeoff/filesystems")).expect("a folder is made");
    place.write("config/bakeoff/filesystems/odd.toml", &odd);
    place
}

pub const RUN: &str =
    "run small-files --set files=200 --set some=50 --samples 1 --image 256MiB --plain --no-report --scratch .";

pub fn failing(place: &Place, more: &str) -> Printed {
    let output = place.bakeoff(&format!("{RUN} {more}"));
    assert_eq!(output.status, Some(1), "{output:#?}");
    clean(place);
    output
}

/// No guest has left anything: no process, socket, loop device or file except the ledger.
pub fn clean(place: &Place) {
    let here = place.folder().display().to_string();
    let machines = machines(&here);
    assert!(machines.is_empty(), "{machines:?} still run");
    let loops = Command::new("losetup").arg("--list").output().expect("losetup answers");
    assert!(!String::from_utf8_lossy(&loops.stdout).contains(&here), "{loops:?}");
    let left: Vec<PathBuf> = std::fs::read_dir(place.folder())
        .expect("the folder is there")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("bakeoff-")))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

/// Process ids of QEMU with a disk, started in a folder.
pub fn machines(folder: &str) -> Vec<u32> {
    let folder = PathBuf::from(folder).canonicalize().expect("the folder is there");
    let processes = std::fs::read_dir("/proc").expect("it is there").flatten();
    let ours = |pid: &u32| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let text = String::from_utf8_lossy(&line);
        let there = std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
        there && ["qemu-system", "virtio-blk"].iter().all(|part| text.contains(part))
    };
    processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok()).filter(ours).collect()
}

/// Waits until a run has booted a machine with a disk, and returns its process id.
pub fn booted(place: &Place, child: &mut Child) -> u32 {
    let end = Instant::now() + Duration::from_secs(120);
    loop {
        let found = machines(&place.folder().display().to_string());
        // mkfs has started to write, so the agent in the guest is connected.
        if let Some(pid) = found.first().filter(|_| written_images(place) > 0) {
            return *pid;
        }
        assert!(child.try_wait().expect("it can be asked").is_none(), "the run ended before its guest was up");
        assert!(Instant::now() < end, "no guest after two minutes");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Images of a run that were written to.
pub fn written_images(place: &Place) -> usize {
    let entries = std::fs::read_dir(place.folder()).expect("the folder is there").flatten();
    let images = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "img"));
    images.filter_map(|entry| entry.metadata().ok()).filter(|facts| facts.blocks() > 0).count()
}

/// Writes, so that the test can detect it, and then takes longer than the test needs to end the guest. The retry after a lost guest is not ended.
pub const ENDLESS: &str = "dd if=/dev/urandom of={device} bs=1M count=1 conv=fsync; sleep 15";

pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status().expect("kill starts");
    assert!(sent.success());
}

/// The exported records of the last run.
pub fn exported(place: &Place) -> String {
    place.bakeoff("export --output out.json").well();
    std::fs::read_to_string(place.path("out.json")).expect("it was written")
}

/// Kills the process that started a machine and waits until the machine is gone: no cleanup runs, and the guest is in the middle of its work.
pub fn killed(place: &Place, child: &mut Child) {
    child.kill().expect("it is killed");
    child.wait().expect("it is reaped");
    let end = Instant::now() + Duration::from_secs(10);
    while !machines(&place.folder().display().to_string()).is_empty() {
        assert!(Instant::now() < end, "QEMU outlives the run");
        std::thread::sleep(Duration::from_millis(20));
    }
}
