//! The guest's side: the first processes of its system, which bring it up and then serve a stage as on any other machine.
//! In: the disk that the host provides, and a serial port. Out: what [`crate::remote::serve`] sends on it.
//! It ends by switching the machine off, whatever happened.

use crate::error::StagingError;
use crate::remote::message::Waking;
use crate::remote::{self, Asked};
use crate::stage::target::Target;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::{Command, Journal};

/// Name of the port for requests.
pub(crate) const CONTROL_PORT: &str = "bakeoff.control";
/// The disk, as the guest sees it.
pub(crate) const DISK: &str = "/dev/vda";
/// All disks of a guest with this many; virtio names them in the order in which they were given.
pub(crate) fn disks(count: usize) -> Vec<PathBuf> {
    (b'a'..=b'z').take(count).map(|letter| PathBuf::from(format!("/dev/vd{}", char::from(letter)))).collect()
}

/// File in the guest that names the modules to load, one a line.
pub(crate) const MODULES_FILE: &str = "/etc/bakeoff-modules";
/// Where the guest has this program.
pub(crate) const PROGRAM: &str = "/usr/bin/bakeoff";

/// How long devices may take to appear.
const APPEAR: Duration = Duration::from_secs(20);

/// Serves a stage in a guest: the first process starts the second and reaps orphans; the second does the work. After the work the machine
/// is switched off.
///
/// # Errors
/// This is not a guest of bakeoff, so nothing was done.
pub fn boot() -> Result<(), StagingError> {
    if std::process::id() == 1 {
        return first();
    }
    let second = rustix::process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() == 1);
    let started_so =
        std::fs::read_to_string("/proc/cmdline").is_ok_and(|line| line.contains(&format!("rdinit={PROGRAM}")));
    if !(second && started_so) {
        let text = "`bakeoff guest` runs only as the first process of a virtual machine that bakeoff starts";
        return Err(StagingError::guest(text));
    }
    begin()
}

/// The first process: orphans become its children, and would stay zombies if it did not reap them.
fn first() -> Result<(), StagingError> {
    let done = mounted().and_then(|()| {
        let failed =
            |error: std::io::Error| StagingError::guest(format!("its second process cannot be started: {error}"));
        let second = std::process::Command::new(PROGRAM).arg("guest").spawn().map_err(failed)?;
        // Every process is reaped here, so the handle must not wait for one.
        let id = second.id();
        loop {
            match rustix::process::wait(rustix::process::WaitOptions::empty()) {
                Ok(Some((ended, _))) if u32::try_from(ended.as_raw_nonzero().get()) == Ok(id) => return Ok(()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(StagingError::guest(format!("waiting for its processes failed: {error}"))),
            }
        }
    });
    if let Err(error) = done {
        system::note(&format!("bakeoff in the guest: {error}"));
    }
    // Time for the last console output.
    std::thread::sleep(Duration::from_millis(50));
    let off = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    Err(StagingError::guest(format!("power-off failed: {off:?}")))
}

/// Where the C library keeps named semaphores and shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

fn mounted() -> Result<(), StagingError> {
    let quiet = Journal::new();
    let mounts = [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run"), ("tmpfs", "/tmp")];
    for (kind, point) in mounts {
        let command = Command::new(["mount", "-t", kind, kind, point]);
        // Some kernels mount /dev by themselves.
        if let Err(error) = command.run(&quiet)
            && kind != "devtmpfs"
        {
            return Err(StagingError::command(format!("mounting {point}"))(error));
        }
    }
    // It holds the named semaphores by which NILFS2's tools and its cleaner exclude each other.
    let shared = std::fs::create_dir_all(SHARED_MEMORY).map_err(|error| error.to_string());
    let mounting = || Command::new(["mount", "-t", "tmpfs", "tmpfs", SHARED_MEMORY]).run(&quiet);
    if let Err(error) = shared.and_then(|()| mounting().map(|_| ()).map_err(|error| error.to_string())) {
        system::note(&format!("{SHARED_MEMORY}: {error}"));
    }
    // Only an axis needs it, and reports a kernel without it.
    if let Err(error) = Command::new(["mount", "-t", "cgroup2", "cgroup2", "/sys/fs/cgroup"]).run(&quiet) {
        system::note(&format!("{error}"));
    }
    Ok(())
}

fn begin() -> Result<(), StagingError> {
    let quiet = Journal::new();
    let list = std::fs::read_to_string(MODULES_FILE).unwrap_or_default();
    if !list.trim().is_empty() {
        let words = ["modprobe", "-a"].into_iter().chain(list.split_whitespace());
        // A module that matters shows below: no port, no disk, no filesystem.
        if let Err(error) = Command::new(words).run(&quiet) {
            system::note(&format!("{error}"));
        }
    }
    let control = open_port(CONTROL_PORT)?;
    let reading = control.try_clone().map_err(|error| StagingError::file("open", Path::new(CONTROL_PORT), error))?;
    let beside = |beside: remote::Beside| [PROGRAM, beside.verb()].map(String::from).to_vec();
    remote::serve_copies(reading, control, &beside, &wake, open);
    Ok(())
}

/// Takes over what this machine lacks as a copy of the booted one.
fn wake(waking: &Waking) -> Result<(), StagingError> {
    let failed = |what: &str, error: std::io::Error| StagingError::guest(format!("{what} failed: {error}"));
    system::copied::set_clock(waking.since_epoch).map_err(|error| failed("setting its clock", error))?;
    system::copied::stir(&waking.seed).map_err(|error| failed("seeding its random numbers", error))
}

/// The host's disk, which is in the host's custody.
fn open(asked: &Asked, journal: &Journal) -> Result<Target, StagingError> {
    let end = Instant::now() + APPEAR;
    while !Path::new(DISK).exists() {
        if Instant::now() > end {
            return Err(StagingError::guest(format!("the disk {DISK} did not appear: is virtio_blk missing?")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let Some(mark) = &asked.mark else {
        return Err(StagingError::guest("the host did not name the owner of the disk"));
    };
    Target::open_in_guest(&asked.registry()?, PathBuf::from(DISK), journal, mark)
}

fn open_port(name: &str) -> Result<File, StagingError> {
    let end = Instant::now() + APPEAR;
    loop {
        let ports = std::fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten();
        let named = |entry: &std::fs::DirEntry| {
            std::fs::read_to_string(entry.path().join("name")).is_ok_and(|found| found.trim() == name)
        };
        let mut ports = ports.filter(named);
        if let Some(entry) = ports.next() {
            let node = Path::new("/dev").join(entry.file_name());
            match OpenOptions::new().read(true).write(true).open(&node) {
                Ok(file) => return Ok(file),
                Err(error) if Instant::now() > end => return Err(StagingError::file("open", &node, error)),
                Err(_) => {}
            }
        } else if Instant::now() > end {
            return Err(StagingError::guest(format!("the port {name} did not appear: is virtio_console missing?")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
