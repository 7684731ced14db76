//! A temporary folder, and the program run in it like a user would.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

pub mod browser;

use ledger::{Access, Ledger, TrialRecord};
use records::PhaseRecord;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Polls until a value is available or the time limit is reached.
pub fn until<T>(patience: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + patience;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A scratch folder in which the program runs.
pub struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a scratch folder") }
    }

    /// A folder in memory if possible: for tests that measure any directory.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Self { folder: folder.expect("a scratch folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file is written");
        path
    }

    fn command(&self, words: &str) -> Command {
        let words: Vec<String> = words.split_whitespace().map(str::to_string).collect();
        self.command_of(&words)
    }

    fn command_of(&self, words: &[String]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff"));
        command.args(words);
        self.at_home(&mut command);
        command
    }

    fn at_home<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.current_dir(self.folder.path()).env("NO_COLOR", "1").stdin(Stdio::null());
        command.env("XDG_CONFIG_HOME", self.folder.path().join("config"))
    }

    /// Runs the program and waits for its end.
    pub fn bakeoff(&self, words: &str) -> Printed {
        Printed::from(self.command(words).output().expect("the program starts"))
    }

    /// The same with arguments that may contain spaces.
    pub fn bakeoff_words(&self, words: &[String]) -> Printed {
        Printed::from(self.command_of(words).output().expect("the program starts"))
    }

    /// Runs a shell line for at most a minute; `$BAKEOFF` is the program.
    pub fn shell(&self, line: &str) -> Printed {
        let mut command = Command::new("timeout");
        command.args(["60", "sh", "-c", line]).env("BAKEOFF", env!("CARGO_BIN_EXE_bakeoff"));
        Printed::from(self.at_home(&mut command).output().expect("the shell starts"))
    }

    /// Runs the program with its standard output or standard error connected to a pipe without a reader.
    pub fn unread(&self, words: &str, stream: Unread) -> Printed {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = self.command(words);
        match stream {
            Unread::Out => command.stdout(writer).stderr(Stdio::piped()),
            Unread::Err => command.stderr(writer).stdout(Stdio::piped()),
        };
        Printed::from(command.spawn().and_then(std::process::Child::wait_with_output).expect("the program starts"))
    }

    /// Starts the program with these outputs.
    pub fn spawn_with(&self, words: &str, out: Stdio, err: Stdio) -> Child {
        self.command(words).stdout(out).stderr(err).spawn().expect("the program starts")
    }

    /// Starts the program without waiting.
    pub fn start(&self, words: &str) -> Child {
        self.start_with(words, &[])
    }

    /// The same with environment variables.
    pub fn start_with(&self, words: &str, variables: &[(&str, &str)]) -> Child {
        quiet(self.command(words).envs(variables.iter().copied()))
    }

    /// The same with arguments that may contain spaces.
    pub fn start_words(&self, words: &[String]) -> Child {
        quiet(&mut self.command_of(words))
    }
}

/// A stream without a reader.
pub enum Unread {
    Out,
    Err,
}

/// Output and exit status of the program.
#[derive(Debug)]
pub struct Printed {
    pub status: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Printed {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Printed {
    /// The program succeeded.
    pub fn well(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:#?}");
        self
    }

    /// The program failed with one clear error that contains all of `words`, and a non-zero status.
    pub fn refused(self, words: &[&str]) -> Self {
        assert!(self.status.is_some_and(|status| status != 0), "{self:#?}");
        for word in words {
            assert!(self.err.contains(word), "the error should speak of `{word}`: {}", self.err);
        }
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}

fn quiet(command: &mut Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// A loop device used as an empty disk; it may have partitions.
pub struct Disk {
    pub node: String,
    pub file: PathBuf,
}

impl Disk {
    /// A disk of so many bytes, on a new sparse file.
    pub fn new(file: PathBuf, bytes: u64) -> Self {
        std::fs::File::create(&file).and_then(|made| made.set_len(bytes)).expect("a sparse file");
        let attached = Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&file).output();
        let node = String::from_utf8_lossy(&attached.expect("losetup runs").stdout).trim().to_owned();
        assert!(node.starts_with("/dev/loop"), "{node}");
        Self { node, file }
    }

    /// Names of the partitions that the kernel shows.
    pub fn partitions(&self) -> Vec<String> {
        let name = self.node.trim_start_matches("/dev/");
        let entries = std::fs::read_dir(Path::new("/sys/block").join(name)).expect("the disk is there");
        let names = entries.filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()));
        names.filter(|entry| entry.starts_with(&format!("{name}p"))).collect()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.node]).status();
    }
}

/// Whether this process is root; if not, the test counts as left out and does nothing.
pub fn root(_test: &str) -> bool {
    let lack = prerequisites::lack_of("root");
    lack.iter().for_each(|why| prerequisites::leave_out("root", why));
    lack.is_none()
}

/// Leftovers of this program in `folder`: mounts, loop devices, image files.
pub fn leftovers(folder: &Path) -> Vec<String> {
    let folder = folder.to_string_lossy().into_owned();
    let loops = Command::new("losetup").args(["-l", "-n", "-O", "NAME,BACK-FILE"]).output().expect("losetup runs");
    let mut left: Vec<String> = String::from_utf8_lossy(&loops.stdout)
        .lines()
        .filter(|line| line.contains(&folder))
        .map(str::to_owned)
        .collect();
    let names: Vec<String> = left.iter().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    let mounts = std::fs::read_to_string("/proc/mounts").expect("mounts can be read");
    left.extend(
        mounts
            .lines()
            .filter(|line| line.contains(&folder) || names.iter().any(|name| line.starts_with(name.as_str())))
            .map(str::to_owned),
    );
    let files = std::fs::read_dir(&folder).expect("the folder can be read");
    left.extend(
        files
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .filter(|name| name.ends_with(".img")),
    );
    left
}

/// Trials of the latest run, with the label of their contender.
pub fn trials(place: &Place) -> Vec<(String, TrialRecord)> {
    let ledger = Ledger::open(&place.path("bakeoff.db"), Access::Read).expect("the ledger opens");
    let run = ledger.run(None).expect("the run");
    let contenders = ledger.contenders(&run.id).expect("contenders");
    let label = |trial: &TrialRecord| contenders[trial.contender as usize].label.clone();
    ledger.trials(&run.id).expect("trials").into_iter().map(|trial| (label(&trial), trial)).collect()
}

/// A phase of a trial by its name.
pub fn phase<'t>(trial: &'t TrialRecord, name: &str) -> &'t PhaseRecord {
    let names = || trial.phases.iter().map(|phase| phase.name.as_str()).collect::<Vec<_>>();
    trial.phases.iter().find(|phase| phase.name == name).unwrap_or_else(|| panic!("no {name} among {:?}", names()))
}
