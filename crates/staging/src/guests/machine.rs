//! A virtual machine: QEMU's process, its serial port, and the end of its console output.
//! In: a kernel, an initramfs, a disk, an accelerator, how it begins. Out: a machine whose guest has sent its hello, or why it did not.
//! However it ends, its process and its sockets are removed; if this process is killed, the kernel kills QEMU, too.

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
use std::os::unix::process::ExitStatusExt as _;
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
/// How long a process whose sockets are closed may take to be gone.
const GONE_LIMIT: Duration = Duration::from_secs(2);
/// What is added to the error of a machine that is no fault of its guest.
const KILLED: &str = "; a signal killed QEMU";
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
    /// How long it may take to send its hello.
    pub boot_limit: Duration,
    /// Its clock counts executed instructions, so its times are not real times.
    pub counts: bool,
    pub start: Start<'a>,
}

/// How a machine begins.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Start<'a> {
    /// Its kernel boots.
    Boot,
    /// Its kernel boots, on empty disks of these sizes instead of its own, and it has a monitor through which it can be saved.
    BootToKeep(&'a [u64]),
    /// It continues as a copy of the machine saved in this file.
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
    /// How long it took to send its hello.
    pub boot: Duration,
    /// QEMU's monitor, if it was started with one.
    pub monitor: Option<UnixStream>,
    /// A remark on how it was started; may be empty.
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
            let killed = machine.was_killed();
            machine.end(journal, mark);
            let error = StagingError::guest(why);
            return Err(if killed { error.passing(KILLED) } else { error });
        }
        machine.boot = began.elapsed();
        Ok(machine)
    }

    fn begin(parts: &Parts, folder: &Path, journal: &Journal, mark: &mut Mark) -> Result<Machine, StagingError> {
        let listen = |name: &str| {
            let path = folder.join(name);
            // A socket of an earlier machine.
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
                let killed = is_killed(&mut child);
                end(&mut child, process, mark);
                Err(if killed { error.passing(KILLED) } else { error })
            }
        }
    }

    /// Whether a signal ended it that this process did not send.
    pub fn was_killed(&mut self) -> bool {
        self.link.is_closed()
            && !self.link.ended_here()
            && self.process.gone_within(GONE_LIMIT)
            && is_killed(&mut self.child)
    }

    /// Ends the machine, in order if its guest still responds; the end of its console output goes into the journal.
    pub fn end(&mut self, journal: &Journal, mark: &mut Mark) {
        if self.ended {
            return;
        }
        // The guest switches off at the end of its port.
        self.link.hang_up();
        let deadline = Instant::now() + OFF_LIMIT;
        let answers = !self.link.is_closed();
        while answers && self.process.lives() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.end_at_once(journal, mark);
    }

    /// Ends the machine without a request to its guest, which has nothing left to do.
    pub fn end_at_once(&mut self, journal: &Journal, mark: &mut Mark) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        end(&mut self.child, self.process, mark);
        let status = self.child.try_wait().ok().flatten().and_then(|status| status.code());
        journal.add(self.command.record_of(status, self.console.end(CONSOLE_SHOWN), "the end of its console"));
        // The folder is in memory and is emptied by the next boot at the latest.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn is_killed(child: &mut Child) -> bool {
    child.try_wait().ok().flatten().is_some_and(|status| status.signal().is_some())
}

fn end(child: &mut Child, process: Process, mark: &mut Mark) {
    process.end(Duration::from_secs(5));
    // Reaped, so that it does not stay a zombie.
    let _ = child.wait();
    mark.removed(|made| matches!(made, Made::Daemon { process: known } if *known == process));
}

/// The command that starts QEMU, as typed in a shell.
pub(crate) fn command(parts: &Parts, folder: &Path) -> Command {
    let socket = |name: &str| format!("socket,id={name},path={},server=off", folder.join(name).display());
    let accel = match parts.backend {
        Backend::Kvm => ["kvm", "host"],
        // The instructions of a single processor have a defined order.
        Backend::Emulation if parts.counts => ["tcg,thread=single", "max"],
        // Several threads, one for each of the guest's processors.
        Backend::Emulation => ["tcg,thread=multi", "max"],
    };
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get().min(16));
    let processors = if parts.counts { 1 } else { processors };
    // An oops ends the machine at once, like a panic: results after one are worthless. On a busy host timer ticks are late, and a kernel
    // that tests the timer would take that for broken hardware.
    let line = format!(
        "console=ttyS0 loglevel=5 panic=-1 oops=panic no_timer_check random.trust_cpu=on rdinit={PROGRAM} PATH=/usr/sbin:/usr/bin:/sbin:/bin{} -- guest",
        // The kernel passes unknown parameters to its first program in the environment.
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
        // 2^0 nanoseconds an instruction; when idle, the clock follows real time.
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

/// The backing of the guest's disk.
fn drive(at: usize, disk: &Path, start: Start) -> String {
    let name = format!("if=none,id=disk{}", at + 1);
    match start {
        // The guest reads its disk before it is saved, and must not remember anything of a disk that its copies get.
        Start::BootToKeep(bytes) => format!("{name},driver=null-co,read-zeroes=on,size={}", bytes[at]),
        // cache=none: past the host's page cache, and the guest's flushes reach the disk. The guest handles a disk's errors, even if it is
        // full: by default QEMU would then stop the machine.
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
                let text = last_line(log).map(|line| format!(": {line}")).unwrap_or_default();
                return Err(StagingError::guest(format!("{what}{text}")));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn refused(error: std::io::Error) -> StagingError {
    StagingError::guest(format!("its port failed: {error}"))
}
