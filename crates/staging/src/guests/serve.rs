//! The guest's side: the first processes of its system, which stage a contender with the same code as a host does.
//! In: [`Ask`]s from the control port. Out: [`Heard`] on it; the engine is started on the other port.
//! It ends by switching the machine off, whatever happened.

use super::message::{self, AGENT_PORT, Answer, Ask, CONTROL_PORT, DISK, Fault, Heard, MODULES_FILE, PROGRAM};
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::registry::Registry;
use crate::stage::Stage;
use crate::stage::target::Target;
use records::Contender;
use std::fs::{File, OpenOptions};
use std::io::BufReader;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use system::{Command, Journal, Snapshot};

/// How long devices may take to appear.
const APPEAR: Duration = Duration::from_secs(20);
/// How often the guest says that it lives.
const BEAT: Duration = Duration::from_secs(1);

/// The control port, shared by answers, the heartbeat and who waits for the engine.
type Port = Arc<Mutex<File>>;

/// Serves in a guest: as its first process, which starts the second and looks after orphans; and as the second, which does the
/// work. When the work is done the machine is switched off.
///
/// # Errors
/// This is no guest of bakeoff's, so that nothing was done.
pub fn serve() -> Result<(), StagingError> {
    if std::process::id() == 1 {
        return first();
    }
    let second = rustix::process::getppid().is_some_and(|parent| parent.as_raw_nonzero().get() == 1);
    let started_so =
        std::fs::read_to_string("/proc/cmdline").is_ok_and(|line| line.contains(&format!("rdinit={PROGRAM}")));
    if !(second && started_so) {
        let text = "`bakeoff guest` is the first process of a virtual machine that bakeoff starts, and nothing else";
        return Err(StagingError::Guest(text.into()));
    }
    begin()
}

/// The first process: what loses its parent becomes its child, and would stay a zombie if nobody asked for its status.
fn first() -> Result<(), StagingError> {
    let done = mounted().and_then(|()| {
        let failed =
            |error: std::io::Error| StagingError::Guest(format!("its second process cannot be started: {error}"));
        let second = std::process::Command::new(PROGRAM).arg("guest").spawn().map_err(failed)?;
        // Every status is taken here, so the handle must not ask for one.
        let id = second.id();
        loop {
            match rustix::process::wait(rustix::process::WaitOptions::empty()) {
                Ok(Some((ended, _))) if u32::try_from(ended.as_raw_nonzero().get()) == Ok(id) => return Ok(()),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(StagingError::Guest(format!("waiting for its processes answered {error}"))),
            }
        }
    });
    if let Err(error) = done {
        system::note(&format!("bakeoff in the guest: {error}"));
    }
    // What the console still has to say.
    std::thread::sleep(Duration::from_millis(50));
    let off = rustix::system::reboot(rustix::system::RebootCommand::PowerOff);
    Err(StagingError::Guest(format!("switching off answered {off:?}")))
}

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
    // Only an axis needs it, and says so where the kernel has none.
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
        // What matters of them shows below: no port, no disk, no filesystem.
        if let Err(error) = Command::new(words).run(&quiet) {
            system::note(&format!("{error}"));
        }
    }
    let control = open_port(CONTROL_PORT)?;
    let reading = control.try_clone().map_err(|error| StagingError::file("open", Path::new(CONTROL_PORT), error))?;
    let port: Port = Arc::new(Mutex::new(control));
    let kernel = rustix::system::uname().release().to_string_lossy().into_owned();
    say(&port, &Heard::Hello { kernel: kernel.clone() });
    let beating = Arc::clone(&port);
    std::thread::spawn(move || {
        loop {
            std::thread::sleep(BEAT);
            say(&beating, &Heard::Alive);
        }
    });
    converse(BufReader::new(reading), &port, &kernel);
    Ok(())
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
            return Err(StagingError::Guest(format!("the port {name} did not appear: is virtio_console missing?")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn say(port: &Port, message: &Heard) {
    let mut port = port.lock().unwrap_or_else(|poison| poison.into_inner());
    if let Err(error) = message::send(&mut *port, message) {
        system::note(&format!("the host cannot be told: {error}"));
    }
}

fn answer(port: &Port, journal: &Journal, answer: Result<Answer, StagingError>) {
    let commands = journal.drain();
    say(port, &Heard::Answered { answer: answer.map_err(Fault::from), commands });
}

/// What the host asks next; None at the end.
fn next(input: &mut BufReader<File>) -> Option<Ask> {
    let mut line = Vec::new();
    match message::receive(input, &mut line) {
        Ok(true) => serde_json::from_slice(&line)
            .map_err(|error| system::note(&format!("a question that is none: {error}")))
            .ok(),
        _ => None,
    }
}

/// The first question stages; the others are about what was staged.
fn converse(mut input: BufReader<File>, port: &Port, kernel: &str) {
    let journal = Journal::new();
    let Some(Ask::Stage { contender, description, id }) = next(&mut input) else {
        return;
    };
    let mut target = match open(&contender, &description, &id, &journal) {
        Ok(target) => target,
        Err(error) => return answer(port, &journal, Err(error)),
    };
    let stage = match target.stage(&contender) {
        Ok(stage) => stage,
        Err(error) => return answer(port, &journal, Err(error)),
    };
    let staged = Answer::Staged {
        root: stage.root().into(),
        device: stage.device().map(|device| device.path.clone()),
        durable: stage.durable().clone(),
        found: Box::new(stage.found().clone()),
        kernel: kernel.into(),
    };
    answer(port, &journal, Ok(staged));
    attend(stage, &mut input, port, &journal);
}

fn open(contender: &Contender, description: &str, id: &str, journal: &Journal) -> Result<Target, StagingError> {
    let end = Instant::now() + APPEAR;
    while !Path::new(DISK).exists() {
        if Instant::now() > end {
            return Err(StagingError::Guest(format!("the disk {DISK} did not appear: is virtio_blk missing?")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let name = &contender.filesystem;
    let mut registry = Registry::embedded()?;
    registry.add(Filesystem::parse(name, &format!("filesystems/{name}.toml"), description)?);
    Target::open_in_guest(&registry, PathBuf::from(DISK), journal, id)
}

fn attend(mut stage: Stage<'_>, input: &mut BufReader<File>, port: &Port, journal: &Journal) {
    let mut looked = None;
    while let Some(ask) = next(input) {
        let done = match ask {
            Ask::Stage { .. } => Err(StagingError::Guest("a stage is up already".into())),
            Ask::StartAgent => start_agent(&stage, port).map(|()| Answer::Done),
            Ask::Look => {
                looked = Some(Snapshot::take());
                Ok(Answer::Done)
            }
            Ask::Since => {
                let now = Snapshot::take();
                let before = looked.as_ref().unwrap_or(&now);
                Ok(Answer::Seen(Box::new(now.since(before, stage.watch()))))
            }
            Ask::Explain => Ok(Answer::Explained(stage.axes_explain())),
            Ask::Usage => stage.usage().map(Answer::Usage),
            Ask::Sync => stage.sync().map(|()| Answer::Done),
            Ask::DropCaches => stage.drop_caches().map(|dropped| Answer::Dropped(dropped.complete)),
            Ask::Settle { patience_ms } => {
                stage.settle(Duration::from_millis(patience_ms));
                Ok(Answer::Done)
            }
            Ask::Close => {
                let closed = stage.close().map(|closing| Answer::Closed(Box::new(closing)));
                return answer(port, journal, closed);
            }
        };
        answer(port, journal, done);
    }
}

/// The engine, in a process of its own, with its port for input and output and the console for its last words.
fn start_agent(stage: &Stage<'_>, port: &Port) -> Result<(), StagingError> {
    let line = open_port(AGENT_PORT)?;
    let failed = |error: std::io::Error| StagingError::Guest(format!("the engine could not be started: {error}"));
    let output = line.try_clone().map_err(failed)?;
    let prefix = stage.engine_prefix();
    let words: Vec<&str> = prefix.iter().map(String::as_str).chain([PROGRAM, "agent"]).collect();
    let mut child = std::process::Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::from(line))
        .stdout(Stdio::from(output))
        .spawn()
        .map_err(failed)?;
    let port = Arc::clone(port);
    std::thread::spawn(move || {
        let how = match child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (None, signal) => format!("signal {}", signal.unwrap_or(0)),
            },
            Err(error) => error.to_string(),
        };
        say(&port, &Heard::AgentEnded(how));
    });
    Ok(())
}
