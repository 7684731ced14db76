//! Bakeoff's engine at the same works, through the agent seam, as the product uses it.
//! In: a directory and a work. Out: operations or bytes a second.
//! Histograms are kept for every operation, as always.

use crate::bare::{BLOCK, LARGE, PER_DIRECTORY, SMALL};
use crate::table::Measured;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use workload::message::{Message as _, Reply, Request};
use workload::outcome::PhaseOutcome;
use workload::program::*;

/// The program whose agent is measured, where it is not this one.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Measure the agent of this program.
pub fn use_program(program: PathBuf) -> Result<(), String> {
    let whole = program.canonicalize().map_err(|e| format!("{}: {e}", program.display()))?;
    PROGRAM.set(whole).map_err(|_| "one program can be measured at a time".to_owned())
}

/// An agent in a process of its own.
pub struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Agent {
    /// Start one and give it a program.
    pub fn with(program: &Program) -> Result<Agent, String> {
        let own = || std::env::current_exe().map_err(|e| format!("finding this program: {e}"));
        let mut child = Command::new(PROGRAM.get().cloned().map_or_else(own, Ok)?)
            .arg("agent")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("starting the agent: {e}"))?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().ok_or("the agent has no output")?);
        let mut agent = Agent { child, input, output };
        agent.receive()?;
        match agent.ask(&Request::Load(Box::new(program.clone())))? {
            Reply::Loaded { .. } => Ok(agent),
            other => Err(format!("loading a program: {other:?}")),
        }
    }

    fn receive(&mut self) -> Result<Reply, String> {
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|e| format!("hearing from the agent: {e}"))?;
        Reply::read(line.as_bytes()).map_err(|e| format!("hearing from the agent: {e}: {line}"))
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, String> {
        let input = self.input.as_mut().ok_or("the agent has no input")?;
        request.send(input).map_err(|e| format!("asking the agent: {e}"))?;
        loop {
            match self.receive()? {
                Reply::Progress { .. } => {}
                reply => return Ok(reply),
            }
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Perform a phase.
    pub fn perform(&mut self, phase: usize) -> Result<PhaseOutcome, String> {
        match self.ask(&Request::Perform { phase, pass: 0, slices: 1 })? {
            Reply::Done(outcome) => Ok(*outcome),
            other => Err(format!("phase {phase}: {other:?}")),
        }
    }

    /// Measure the ceiling of this machine.
    pub fn ceiling(&mut self) -> Result<workload::outcome::Ceiling, String> {
        match self.ask(&Request::MeasureCeiling)? {
            Reply::Ceiling(ceiling) => Ok(ceiling),
            other => Err(format!("the ceiling: {other:?}")),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.wait();
    }
}

fn group(over: Over, steps: &[Step]) -> Group {
    Group {
        name: "all".into(),
        workers: 1,
        processes: true,
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

fn phase(group: Group) -> Phase {
    Phase {
        name: "phase".into(),
        operation: "operation".into(),
        cache: Cache::AsFound,
        figure: Figure::ItemsPerSecond,
        writes: false,
        passes: 1,
        pause_ns: 0,
        end: End::Work,
        groups: vec![group],
        preparation: false,
        after: After::default(),
        time_limit: 0,
        needs: Vec::new(),
    }
}

fn program(root: &Path, fileset: Fileset, phases: Vec<Phase>) -> Program {
    Program {
        workload: "bench".into(),
        seed: 1,
        root: root.to_owned(),
        root_inode: None,
        device: None,
        durable: Durable::default(),
        tools: Default::default(),
        filesets: vec![fileset],
        phases,
        error_limit: 0,
        time_limit: 600,
        client: None,
    }
}

/// A fileset of one large file, named `0`.
fn large(bytes: u64) -> Fileset {
    Fileset {
        name: "large".into(),
        directory: String::new(),
        files: 1,
        per_worker: false,
        layout: Layout::Flat,
        names: Names::Decimal,
        size: Size::Total { bytes, largest: bytes },
        content: Content::default(),
        copies: None,
    }
}

fn small(files: u64) -> Fileset {
    Fileset {
        name: "small".into(),
        directory: "ours".into(),
        files,
        per_worker: true,
        layout: Layout::PerDirectory(PER_DIRECTORY),
        names: Names::Decimal,
        size: Size::Uniform(SMALL as u64, SMALL as u64),
        content: Content::default(),
        copies: None,
    }
}

fn blocks(block: usize) -> Over {
    Over::Blocks { fileset: 0, block: block as u64, length: None }
}

fn one(root: &Path, fileset: Fileset, group: Group) -> Result<PhaseOutcome, String> {
    Agent::with(&program(root, fileset, vec![phase(group)]))?.perform(0)
}

fn measured(count: u64, outcome: &PhaseOutcome) -> Measured {
    let cpu = outcome.cpu.user_ns + outcome.cpu.system_ns;
    let rate = |ns: u64| count as f64 * 1e9 / ns as f64;
    Measured { per_second: rate(outcome.returned_ns), per_cpu_second: (cpu > 0).then(|| rate(cpu)) }
}

/// Random 4 KiB reads a second.
pub fn random_read(root: &Path, bytes: u64, count: u64, engine: Engine) -> Result<Measured, String> {
    let io = Io { engine, ..Io::default() };
    let read = Group { order: Order::Random, count: Some(count), io, ..group(blocks(BLOCK), &[Step::Read]) };
    let outcome = one(root, large(bytes), read)?;
    Ok(measured(outcome.items, &outcome))
}

/// Bytes a second of reading a file in 1 MiB blocks, so many times over.
pub fn sequential_read(root: &Path, bytes: u64, times: u64) -> Result<Measured, String> {
    let count = Some(bytes / LARGE as u64 * times);
    let outcome = one(root, large(bytes), Group { count, ..group(blocks(LARGE), &[Step::Read]) })?;
    Ok(measured(outcome.bytes_read, &outcome))
}

/// Bytes a second of writing incompressible data over a file that is there, in 1 MiB blocks.
pub fn fresh_write(root: &Path, bytes: u64) -> Result<Measured, String> {
    let outcome = one(root, large(bytes), group(blocks(LARGE), &[Step::Write]))?;
    Ok(measured(outcome.bytes_written, &outcome))
}

/// Create, stat, read and unlink small files: files a second of each.
pub fn small_files(root: &Path, files: u64, workers: u32) -> Result<Vec<Measured>, String> {
    let steps: [&[Step]; 4] = [
        &[Step::Create, Step::Write, Step::Close],
        &[Step::Stat],
        &[Step::Open, Step::Read, Step::Close],
        &[Step::Unlink],
    ];
    let over = Over::Files { fileset: 0 };
    let phases = steps.iter().map(|s| phase(Group { workers, ..group(over, s) })).collect();
    let mut agent = Agent::with(&program(root, small(files), phases))?;
    (0..steps.len()).map(|number| agent.perform(number).map(|outcome| measured(outcome.items, &outcome))).collect()
}

/// What this machine's memory and clock allow.
pub fn ceiling(root: &Path) -> Result<workload::outcome::Ceiling, String> {
    Agent::with(&program(root, large(LARGE as u64), Vec::new()))?.ceiling()
}

/// Seconds from starting the agent's process to the end of its first operation, which is a stat.
pub fn start(root: &Path) -> Result<f64, String> {
    let begun = std::time::Instant::now();
    let stat = group(Over::Files { fileset: 0 }, &[Step::Stat]);
    one(root, large(LARGE as u64), stat)?;
    Ok(begun.elapsed().as_secs_f64())
}

/// An agent whose first phase creates so many empty files, shuffled, out of a fileset of many more.
pub fn ten_million(root: &Path, files: u64, created: u64) -> Result<Agent, String> {
    let mut fileset = small(files);
    fileset.directory = "many".into();
    fileset.size = Size::Uniform(0, 0);
    let create = group(Over::Files { fileset: 0 }, &[Step::Create, Step::Close]);
    let create = Group { order: Order::Shuffled, count: Some(created), ..create };
    Agent::with(&program(root, fileset, vec![phase(create)]))
}
