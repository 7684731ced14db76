//! A virtual machine: QEMU's process, its serial port, and the end of what its console said.
//! In: a kernel, an initramfs, a disk, an accelerator, how it begins. Out: a machine whose guest has said hello, or why it did not.
//! However it ends, its process and its sockets go with it; where this process is killed, the kernel kills QEMU, too.

use super::boot::{CONTROL_PORT, PROGRAM};
use super::console::{CONSOLE_SHOWN, Console, last_line};
use crate::error::StagingError;
use crate::ownership::cleanup_journal::{Made, Mark};
use crate::remote::Link;
use crate::stage::members::serial;
use records::Backend;
use records::program::COUNTS_VARIABLE;
use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};
use system::process::Process;
use system::{Command, Journal};

/// How long a guest may take to switch itself off before its process is ended.
const OFF_LIMIT: Duration = Duration::from_secs(10);
/// How long QEMU may take to connect to its sockets.
const CONNECT_LIMIT: Duration = Duration::from_secs(20);
/// Name of the socket of QEMU's monitor.
const MONITOR: &str = "monitor";
/// The program.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// What a machine is made of.
#[derive(Debug, Clone)]
pub(crate) struct Parts<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    /// Nodes of its disks, in order.
    pub disks: &'a [PathBuf],
    pub backend: Backend,
    pub memory_bytes: u64,
    /// How long it may take until it says hello.
    pub boot_limit: Duration,
    /// Its clock goes by the instructions that it carries out, and no time of it is one that passed.
    pub counts: bool,
    pub start: Start<'a>,
}

/// How a machine begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Its kernel boots.
    Boot,
    /// Its kernel boots, on an empty disk of so many bytes in the place of its own, and it has a monitor by which it can be kept.
    BootToKeep(&'a [u64]),
    /// It goes on as a copy of the one that was kept in this file.
    Restore(&'a File),
}

/// A running machine.
pub(crate) struct Machine {
    child: Child,
    process: Process,
    folder: PathBuf,
    command: Command,
    console: Arc<Console>,
    /// The stream to the guest.
    pub link: Link,
    /// How long it took until it said hello.
    pub boot: Duration,
    /// QEMU's monitor, where it was started with one.
    pub monitor: Option<UnixStream>,
    /// What is to be said of how it was started; empty where there is nothing.
    pub remark: String,
    ended: bool,
}

impl Machine {
    /// Starts one and waits for its guest's hello.
    pub fn start(parts: &Parts, journal: &Journal, mark: &mut Mark) -> Result<Machine, StagingError> {
        let began = Instant::now();
        let folder = mark.folder().join("guest");
        std::fs::create_dir_all(&folder).map_err(|error| StagingError::file("make", &folder, error))?;
        let begun = Machine::begin(parts, &folder, journal, mark);
        if begun.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        let mut machine = begun?;
        let met = match parts.start {
            Start::Boot | Start::BootToKeep(_) => machine.link.await_hello(parts.boot_limit),
            Start::Restore(_) => machine.link.wake(parts.boot_limit),
        };
        if let Err(why) = met {
            machine.end(journal, mark);
            return Err(StagingError::guest(why));
        }
        machine.boot = began.elapsed();
        Ok(machine)
    }

    fn begin(parts: &Parts, folder: &Path, journal: &Journal, mark: &mut Mark) -> Result<Machine, StagingError> {
        let listen = |name: &str| {
            let path = folder.join(name);
            // One of a machine that went before.
            let _ = std::fs::remove_file(&path);
            UnixListener::bind(&path).map_err(|error| StagingError::file("listen on", &path, error))
        };
        let (console, control) = (listen("console")?, listen("control")?);
        let monitor = matches!(parts.start, Start::BootToKeep(_)).then(|| listen(MONITOR)).transpose()?;
        let command = command(parts, folder);
        let log = folder.join("qemu.log");
        let (mut child, process) = command
            .clone()
            .hint("QEMU is in Debian's qemu-system-x86")
            .start_tied(journal, &log)
            .map_err(StagingError::command("starting a virtual machine"))?;
        let connected = mark.will_make(Made::Daemon { process }).and_then(|()| {
            let console = accept(&console, process, &log)?;
            let console = Arc::new(Console::listen(console, process, log.clone()));
            let link = Link::open(accept(&control, process, &log)?, Arc::clone(&console)).map_err(refused)?;
            let monitor = monitor.map(|monitor| accept(&monitor, process, &log)).transpose()?;
            Ok((console, link, monitor))
        });
        match connected {
            Ok((console, link, monitor)) => Ok(Machine {
                child,
                process,
                folder: folder.into(),
                command,
                console,
                link,
                boot: Duration::ZERO,
                monitor,
                remark: String::new(),
                ended: false,
            }),
            Err(error) => {
                end(&mut child, process, mark);
                Err(error)
            }
        }
    }

    /// Ends the machine, in order where its guest still listens; what its console said goes into the journal.
    pub fn end(&mut self, journal: &Journal, mark: &mut Mark) {
        if self.ended {
            return;
        }
        // The guest takes the end of its port for the word to switch off.
        self.link.hang_up();
        let deadline = Instant::now() + OFF_LIMIT;
        let answers = !self.link.is_closed();
        while answers && self.process.lives() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.end_at_once(journal, mark);
    }

    /// Ends the machine without asking its guest, which has nothing left to do.
    pub fn end_at_once(&mut self, journal: &Journal, mark: &mut Mark) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        end(&mut self.child, self.process, mark);
        let status = self.child.try_wait().ok().flatten().and_then(|status| status.code());
        journal.add(self.command.record_of(status, self.console.end(CONSOLE_SHOWN), "the end of its console"));
        // It lies in memory and is emptied by the next boot, if not by this.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn end(child: &mut Child, process: Process, mark: &mut Mark) {
    process.end(Duration::from_secs(5));
    // Reaped, so that no zombie stays.
    let _ = child.wait();
    mark.removed(|made| matches!(made, Made::Daemon { process: known } if *known == process));
}

/// The command that starts QEMU, as a person could type it.
pub(crate) fn command(parts: &Parts, folder: &Path) -> Command {
    let socket = |name: &str| format!("socket,id={name},path={},server=off", folder.join(name).display());
    let accel = match parts.backend {
        Backend::Kvm => ["kvm", "host"],
        // Instructions of one processor alone come in one order.
        Backend::Emulation if parts.counts => ["tcg,thread=single", "max"],
        // Several threads, one for each processor of the guest.
        Backend::Emulation => ["tcg,thread=multi", "max"],
    };
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get().min(16));
    let processors = if parts.counts { 1 } else { processors };
    // An oops ends the machine at once, as a panic does: what comes after one is worth nothing. On a busy host the timer's ticks come
    // late, and a kernel that tests it takes that for broken hardware.
    let line = format!(
        "console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check random.trust_cpu=on rdinit={PROGRAM} PATH=/usr/sbin:/usr/bin:/sbin:/bin{} -- guest",
        // What a kernel does not know it puts into the environment of its first program.
        if parts.counts { format!(" {COUNTS_VARIABLE}=1") } else { String::new() }
    );
    let mut words: Vec<String> =
        [QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35"]
            .map(str::to_string)
            .to_vec();
    let more = [
        ("-accel", accel[0].to_string()),
        ("-cpu", accel[1].to_string()),
        ("-smp", processors.to_string()),
        ("-m", format!("{}M", parts.memory_bytes >> 20)),
        ("-kernel", parts.kernel.display().to_string()),
        ("-initrd", parts.initramfs.display().to_string()),
        ("-append", line),
        ("-chardev", socket("console")),
        ("-serial", "chardev:console".into()),
        ("-device", "virtio-serial-pci".into()),
        ("-chardev", socket("control")),
        ("-device", format!("virtserialport,chardev=control,name={CONTROL_PORT}")),
    ];
    words.extend(more.into_iter().flat_map(|(flag, value)| [flag.to_string(), value]));
    if parts.counts {
        // 2^0 nanoseconds an instruction; idle, the clock goes with the time on the wall.
        words.extend(["-icount", "shift=0,sleep=on"].map(String::from));
    }
    for (at, disk) in parts.disks.iter().enumerate() {
        let number = at + 1;
        let device = format!("virtio-blk-pci,drive=disk{number},serial={}", serial(number));
        words.extend(["-drive".into(), drive(at, disk, parts.start), "-device".into(), device]);
    }
    match parts.start {
        Start::Boot => {}
        Start::BootToKeep(_) => {
            words.extend([
                "-chardev".into(),
                socket(MONITOR),
                "-mon".into(),
                format!("chardev={MONITOR},mode=control"),
            ]);
        }
        Start::Restore(kept) => {
            let path = format!("/proc/{}/fd/{}", std::process::id(), kept.as_raw_fd());
            words.extend(["-incoming".into(), format!("exec:cat {path}")]);
        }
    }
    Command::new(words)
}

/// What stands behind the guest's disk.
fn drive(at: usize, disk: &Path, start: Start) -> String {
    let name = format!("if=none,id=disk{}", at + 1);
    match start {
        // The guest has looked at it before it is kept, and must not know anything of a disk that others are given.
        Start::BootToKeep(bytes) => format!("{name},driver=null-co,read-zeroes=on,size={}", bytes[at]),
        // cache=none: past the host's page cache, and the guest's flushes reach the disk. A disk's errors are the guest's to deal with, though it be full:
        // by itself QEMU would stop the machine then.
        Start::Boot | Start::Restore(_) => {
            let disk = disk.display();
            format!("{name},format=raw,cache=none,aio=native,discard=unmap,rerror=report,werror=report,file={disk}")
        }
    }
}

/// Waits until QEMU connects to a socket.
fn accept(listener: &UnixListener, process: Process, log: &Path) -> Result<UnixStream, StagingError> {
    listener.set_nonblocking(true).map_err(refused)?;
    let end = Instant::now() + CONNECT_LIMIT;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(refused)?;
                return Ok(stream);
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(refused(error)),
            Err(_) if !process.lives() || Instant::now() > end => {
                let what = if process.lives() { "QEMU does not open its port" } else { "QEMU's process ended" };
                let said = last_line(log).map(|line| format!(": {line}")).unwrap_or_default();
                return Err(StagingError::guest(format!("{what}{said}")));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn refused(error: std::io::Error) -> StagingError {
    StagingError::guest(format!("its port failed: {error}"))
}
