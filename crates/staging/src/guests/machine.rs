//! A virtual machine: QEMU's process, its serial ports, and the end of what its console said.
//! In: a kernel, an initramfs, a disk, an accelerator. Out: a machine whose guest has said hello, or why it did not.
//! It is watched: a guest that falls silent is ended, and however it ends, its process and its sockets go with it.

use super::message::{self, AGENT_PORT, Answer, Ask, CONTROL_PORT, PROGRAM};
use super::watched::{CONSOLE_SHOWN, State, watch};
use crate::error::StagingError;
use crate::ownership::cleanup_journal::{Made, Mark};
use records::{Backend, Cause};
use std::io::ErrorKind;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use system::process::Process;
use system::{Command, Journal, Record};

/// How long a guest may take to switch itself off before its process is ended.
const OFF_LIMIT: Duration = Duration::from_secs(10);
/// Answers that may wait unread.
const ANSWERS_WAITING: usize = 16;
/// The program.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// What a machine is made of.
#[derive(Debug, Clone)]
pub(crate) struct Parts<'a> {
    pub kernel: &'a Path,
    pub initramfs: &'a Path,
    pub disk: Option<&'a Path>,
    pub backend: Backend,
    pub memory_bytes: u64,
    /// How long it may take until it says hello.
    pub boot_limit: Duration,
}

/// A running machine.
#[derive(Debug)]
pub(crate) struct Machine {
    child: Child,
    process: Process,
    folder: PathBuf,
    command: Command,
    control: UnixStream,
    agent: UnixStream,
    answers: Receiver<(Result<Answer, message::Fault>, Vec<Record>)>,
    state: Arc<State>,
    /// Release of the guest's kernel.
    pub kernel: String,
    /// How long it took until it said hello.
    pub boot: Duration,
}

impl Machine {
    /// Starts one and waits for its guest's hello.
    pub fn start(parts: &Parts, journal: &Journal, mark: &mut Mark) -> Result<Machine, StagingError> {
        let folder = mark.folder().join("guest");
        std::fs::create_dir_all(&folder).map_err(|error| StagingError::file("make", &folder, error))?;
        let started = Machine::begin(parts, &folder, journal, mark);
        if started.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        started
    }

    fn begin(parts: &Parts, folder: &Path, journal: &Journal, mark: &mut Mark) -> Result<Machine, StagingError> {
        let began = Instant::now();
        let listen = |name: &str| {
            let path = folder.join(name);
            // One of a machine that went before.
            let _ = std::fs::remove_file(&path);
            UnixListener::bind(&path).map_err(|error| StagingError::file("listen on", &path, error))
        };
        let (console, control, agent) = (listen("console")?, listen("control")?, listen("agent")?);
        let command = command(parts, folder);
        let log = folder.join("qemu.log");
        let (mut child, process) = command
            .clone()
            .hint("QEMU is in Debian's qemu-system-x86")
            .start(journal, &log)
            .map_err(StagingError::command("starting a virtual machine"))?;
        let state = Arc::new(State::new(process, log));
        let ports = mark
            .will_make(Made::Daemon { process })
            .and_then(|()| Ok((accept(&console, &state)?, accept(&control, &state)?, accept(&agent, &state)?)));
        let (console, control, agent) = match ports {
            Ok(ports) => ports,
            Err(error) => {
                end(&mut child, process, mark);
                return Err(error);
            }
        };
        let (sender, answers) = sync_channel(ANSWERS_WAITING);
        let watched = watch(&state, console, &control, &agent, sender);
        let mut machine = Machine {
            child,
            process,
            folder: folder.into(),
            command,
            control,
            agent,
            answers,
            state,
            kernel: String::new(),
            boot: Duration::ZERO,
        };
        match watched.and_then(|()| machine.await_hello(parts.boot_limit)) {
            Ok(kernel) => {
                machine.kernel = kernel;
                machine.boot = began.elapsed();
                Ok(machine)
            }
            Err(error) => {
                machine.end(journal, mark);
                Err(error)
            }
        }
    }

    fn await_hello(&self, limit: Duration) -> Result<String, StagingError> {
        let end = Instant::now() + limit;
        loop {
            let (hello, closed) = {
                let known = self.state.known();
                (known.hello.clone(), known.closed)
            };
            if let Some(kernel) = hello {
                return Ok(kernel);
            }
            if closed || !self.process.lives() {
                return Err(StagingError::Guest(self.state.fate()));
            }
            if Instant::now() > end {
                let said = self.state.last_lines();
                return Err(StagingError::Guest(format!("it did not boot within {} s{said}", limit.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asks something of the guest, and waits for the answer; commands that were run for it go into the journal.
    /// `limit` is longer than those of the commands in it.
    pub fn ask(&self, ask: &Ask, label: &str, limit: Duration, journal: &Journal) -> Result<Answer, StagingError> {
        let failed = |problem: String| StagingError::failed(label, problem, "", Cause::Unclear);
        let lost = || failed(format!("the guest was lost: {}", self.state.fate()));
        message::send(&self.control, ask).map_err(|_| lost())?;
        match self.answers.recv_timeout(limit) {
            Ok((answer, commands)) => {
                for mut record in commands {
                    record.guest = Some(self.kernel.clone());
                    journal.add(record);
                }
                answer.map_err(|fault| fault.of(label, self.state.memory()))
            }
            Err(RecvTimeoutError::Disconnected) => Err(lost()),
            Err(RecvTimeoutError::Timeout) => {
                Err(failed(format!("the guest did not answer within {} s", limit.as_secs())))
            }
        }
    }

    /// The stream of the engine's lines, and who can say how the engine ended.
    pub fn agent(&self) -> std::io::Result<AgentLine> {
        Ok(AgentLine { stream: self.agent.try_clone()?, state: Arc::clone(&self.state) })
    }

    /// Ends the machine, in order where its guest still listens; what its console said goes into the journal.
    pub fn end(mut self, journal: &Journal, mark: &mut Mark) {
        // The guest takes the end of its port for the word to switch off.
        let _ = self.control.shutdown(Shutdown::Write);
        let end = Instant::now() + OFF_LIMIT;
        let answers = !self.state.known().closed;
        while answers && self.process.lives() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        end_process(&mut self.child, self.process);
        let _ = self.control.shutdown(Shutdown::Both);
        let _ = self.agent.shutdown(Shutdown::Both);
        let status = self.child.try_wait().ok().flatten().and_then(|status| status.code());
        journal.add(self.command.record_of(status, self.state.console_end(CONSOLE_SHOWN), "the end of its console"));
        let process = self.process;
        mark.removed(|made| matches!(made, Made::Daemon { process: known } if *known == process));
        // It lies in memory and is emptied by the next boot, if not by this.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// The engine's line into a guest.
#[derive(Debug)]
pub struct AgentLine {
    stream: UnixStream,
    state: Arc<State>,
}

impl AgentLine {
    /// The stream, for reading and writing.
    ///
    /// # Errors
    /// The system has no file descriptor left.
    pub fn stream(&self) -> std::io::Result<UnixStream> {
        self.stream.try_clone()
    }

    /// How the engine or its guest ended, in words.
    pub fn fate(&self) -> String {
        self.state.fate()
    }

    /// Ends the conversation: whoever reads from the stream reads its end.
    pub fn hang_up(&self) {
        // It may be closed already, which is what is wanted.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

fn end(child: &mut Child, process: Process, mark: &mut Mark) {
    end_process(child, process);
    mark.removed(|made| matches!(made, Made::Daemon { process: known } if *known == process));
}

fn end_process(child: &mut Child, process: Process) {
    process.end(Duration::from_secs(5));
    // Reaped, so that no zombie stays.
    let _ = child.wait();
}

/// The command that starts QEMU, as a person could type it.
pub(crate) fn command(parts: &Parts, folder: &Path) -> Command {
    let socket = |name: &str| format!("socket,id={name},path={},server=off", folder.join(name).display());
    let accel = match parts.backend {
        Backend::Kvm => ["kvm", "host"],
        // Several threads, one for each processor of the guest.
        Backend::Emulation => ["tcg,thread=multi", "max"],
    };
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get().min(16));
    // An oops ends the machine at once, as a panic does: what comes after one is worth nothing.
    let line = format!(
        "console=ttyS0 loglevel=5 panic=-1 oops=panic random.trust_cpu=on rdinit={PROGRAM} PATH=/usr/sbin:/usr/bin:/sbin:/bin -- guest"
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
        ("-chardev", socket("agent")),
        ("-device", format!("virtserialport,chardev=agent,name={AGENT_PORT}")),
    ];
    words.extend(more.into_iter().flat_map(|(flag, value)| [flag.to_string(), value]));
    if let Some(disk) = parts.disk {
        // cache=none: past the host's page cache, and the guest's flushes reach the disk.
        words.push("-drive".into());
        words.push(format!("if=none,id=disk,format=raw,cache=none,aio=native,discard=unmap,file={}", disk.display()));
        words.push("-device".into());
        words.push("virtio-blk-pci,drive=disk".into());
    }
    Command::new(words)
}

/// Waits until QEMU connects to a socket.
fn accept(listener: &UnixListener, state: &State) -> Result<UnixStream, StagingError> {
    const LIMIT: Duration = Duration::from_secs(20);
    let failed = |error: std::io::Error| StagingError::Guest(format!("its port answered: {error}"));
    listener.set_nonblocking(true).map_err(failed)?;
    let end = Instant::now() + LIMIT;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(failed)?;
                return Ok(stream);
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(failed(error)),
            Err(_) if !state.process.lives() || Instant::now() > end => return Err(StagingError::Guest(state.fate())),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}
