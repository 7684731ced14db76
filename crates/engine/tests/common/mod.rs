//! Helpers of the engine's tests: an agent in a separate process, and short forms of programs.
//! In: filesets and phases. Out: outcomes.
//! Used by every test file, each of which needs only a part.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use workload::message::{Reply, Request};
use workload::outcome::PhaseOutcome;
use workload::program::*;

/// A running agent.
pub struct Agent {
    pub child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub hello: Reply,
}

impl Agent {
    pub fn start() -> Agent {
        let mut child = Command::new(env!("CARGO_BIN_EXE_engine-agent"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut agent = Agent { child, input, output, hello: Reply::Loaded { lacking: Vec::new() } };
        agent.hello = agent.receive();
        agent
    }

    /// An agent that has loaded this program.
    pub fn with(program: &Program) -> Agent {
        let mut agent = Agent::start();
        assert_eq!(agent.ask(&Request::Load(Box::new(program.clone()))), Reply::Loaded { lacking: Vec::new() });
        agent
    }

    pub fn send(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
        self.input.flush().unwrap();
    }

    pub fn receive(&mut self) -> Reply {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the agent answers");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:?}"))
    }

    /// Sends a request, and returns the reply.
    pub fn ask(&mut self, request: &Request) -> Reply {
        self.send(&serde_json::to_string(request).unwrap());
        self.answer()
    }

    /// The reply to a request; skips progress.
    pub fn answer(&mut self) -> Reply {
        loop {
            match self.receive() {
                Reply::Progress { .. } => {}
                reply => return reply,
            }
        }
    }

    pub fn perform(&mut self, phase: usize) -> Reply {
        self.ask(&Request::Perform { phase, pass: 0, slices: 1 })
    }

    /// Performs a phase that must succeed.
    pub fn done(&mut self, phase: usize) -> PhaseOutcome {
        self.done_pass(phase, 0)
    }

    pub fn done_pass(&mut self, phase: usize, pass: u32) -> PhaseOutcome {
        match self.ask(&Request::Perform { phase, pass, slices: 1 }) {
            Reply::Done(outcome) => *outcome,
            other => panic!("phase {phase}: {other:?}"),
        }
    }

    /// Performs a phase that must fail; returns its reason and the partial outcome.
    pub fn failed(&mut self, phase: usize) -> (String, Option<PhaseOutcome>) {
        match self.perform(phase) {
            Reply::Failed { reason, partial, .. } => (reason, partial.map(|p| *p)),
            other => panic!("phase {phase} did not fail: {other:?}"),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder in memory if there is one, so that tests are quick.
pub fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

pub fn fileset(directory: &str, files: u64, size: Size) -> Fileset {
    Fileset {
        name: "files".into(),
        directory: directory.into(),
        files,
        per_worker: false,
        layout: Layout::Flat,
        names: Names::Decimal,
        size,
        content: Content::default(),
        copies: None,
    }
}

pub fn group(over: Over, steps: &[Step]) -> Group {
    Group {
        name: "workers".into(),
        workers: 1,
        processes: false,
        over,
        order: Order::InOrder,
        count: None,
        first: 0,
        steps: steps.to_vec(),
        io: Io::default(),
        rate: None,
        shifted: false,
    }
}

pub fn phase(groups: Vec<Group>) -> Phase {
    let steps = groups.iter().flat_map(|g| &g.steps);
    let writes = steps.clone().any(|s| matches!(s, Step::Write | Step::Create | Step::Unlink | Step::Mkdir));
    Phase {
        name: "phase".into(),
        operation: "operation".into(),
        cache: Cache::AsFound,
        figure: Figure::ItemsPerSecond,
        writes,
        passes: 1,
        pause_ns: 0,
        end: End::Work,
        groups,
        preparation: false,
        after: After::default(),
        time_limit: 0,
        needs: Vec::new(),
    }
}

pub fn program(root: &Path, filesets: Vec<Fileset>, phases: Vec<Phase>) -> Program {
    Program {
        workload: "test".into(),
        seed: 11,
        root: PathBuf::from(root),
        root_inode: None,
        device: None,
        durable: Durable { syncfs: true, ..Durable::default() },
        tools: Default::default(),
        filesets,
        phases,
        error_limit: 0,
        time_limit: 60,
        client: None,
    }
}

pub const FILES: Over = Over::Files { fileset: 0 };
pub const DIRECTORIES: Over = Over::Directories { fileset: 0 };

pub fn blocks(block: u64) -> Over {
    Over::Blocks { fileset: 0, block, length: None }
}

pub fn create() -> Vec<Step> {
    vec![Step::Create, Step::Write, Step::Close]
}

pub fn read() -> Vec<Step> {
    vec![Step::Open, Step::Read, Step::Close]
}

/// All files below a folder, as paths relative to it, sorted.
pub fn tree(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in std::fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

/// A filesystem that is unmounted when dropped.
pub struct Mounted(pub tempfile::TempDir);

impl Mounted {
    pub fn tmpfs(options: &str) -> Option<Mounted> {
        let dir = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(dir.path()).output().ok()?;
        mount.status.success().then(|| Mounted(dir))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// Decodes a histogram from its interchange form.
pub fn decode(histogram: &workload::outcome::Histogram) -> hdrhistogram::Histogram<u64> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(&histogram.hdr).unwrap();
    hdrhistogram::serialization::Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap()
}

impl Agent {
    /// Process ids of the running workers.
    pub fn workers(&self) -> Vec<u32> {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().map(|p| p.parse().unwrap()).collect()
    }
}
