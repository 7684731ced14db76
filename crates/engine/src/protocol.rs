//! The agent's side of the protocol: one request after the other, each answered.
//! In: JSON lines of `workload::message::Request`. Out: JSON lines of `workload::message::Reply`.
//! A request that cannot be carried out is answered with the reason; the agent continues.

use crate::clock::Calibrator;
use crate::phase::Manner;
use crate::{ager, cached, ceiling, check, needs, phase, survey, sys};
use std::io::{self, BufRead, Read, Write};
use workload::message::{LINE_LIMIT, Message as _, PROTOCOL, Reply, Request};
use workload::program::Program;

/// State of the agent between requests.
pub struct Agent {
    /// The program that was loaded.
    pub program: Option<Program>,
    /// The clock's calibration.
    pub calibrator: Calibrator,
}

/// Serves requests from `input` until it ends or `Quit` arrives.
///
/// Must be called from a process with one thread: phases run in forked children.
pub fn agent(mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    serve(&mut input, &mut output)
}

/// As [`agent`], without generics, so that it is compiled here, with this crate's optimisation, and not in the calling program.
fn serve(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    sys::raise_open_files();
    let mut agent = Agent { program: None, calibrator: Calibrator::start() };
    let hello =
        Reply::Hello { protocol: PROTOCOL, version: env!("CARGO_PKG_VERSION").to_owned(), pid: std::process::id() };
    hello.send(output)?;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut *input).take(LINE_LIMIT as u64 + 1).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        if line.len() > LINE_LIMIT {
            refuse(output, format!("a request of more than {LINE_LIMIT} bytes"))?;
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request longer than the protocol allows"));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match Request::read(&line) {
            Ok(Request::Quit) => return Ok(()),
            Ok(request) => agent.answer(request, input, output)?,
            Err(e) => refuse(output, format!("not a request of protocol {PROTOCOL}: {e}"))?,
        }
    }
}

/// Start time of a prepared phase; None if it is cancelled or the input has ended.
fn start(input: &mut dyn BufRead) -> io::Result<Option<u64>> {
    Ok(match next(input)? {
        Some(Request::Start { at_ns }) => Some(at_ns),
        _ => None,
    })
}

/// The next request; None if it is invalid, or there is none.
fn next(input: &mut dyn BufRead) -> io::Result<Option<Request>> {
    let mut line = Vec::new();
    input.take(LINE_LIMIT as u64).read_until(b'\n', &mut line)?;
    Ok(Request::read(&line).ok())
}

fn refuse(output: &mut dyn Write, reason: String) -> io::Result<()> {
    Reply::Refused { reason }.send(output)
}

impl Agent {
    fn answer(&mut self, request: Request, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
        let reply = self.carry_out(request, input, output)?;
        reply.unwrap_or_else(|reason| Reply::Refused { reason }).send(output)
    }

    /// The last reply to a request, or why it was not carried out.
    fn carry_out(
        &mut self,
        request: Request,
        input: &mut dyn BufRead,
        output: &mut dyn Write,
    ) -> io::Result<Result<Reply, String>> {
        Ok(match request {
            Request::Load(program) => check::program(&program).and_then(|()| {
                let lacking = needs::lacking(&program)?;
                self.program = Some(*program);
                Ok(Reply::Loaded { lacking })
            }),
            Request::MeasureCeiling => Ok(Reply::Ceiling(ceiling::measure(&self.calibrator))),
            Request::Perform { phase, pass, slices } => match self.with_phase(phase) {
                Ok(program) => {
                    let mut go_on = || Ok(matches!(next(input)?, Some(Request::GoOn)));
                    let manner = if slices > 1 { Manner::Cut(slices, &mut go_on) } else { Manner::Whole };
                    Ok(phase::perform(program, phase, pass, &self.calibrator, output, manner)?)
                }
                Err(reason) => Err(reason),
            },
            Request::PerformTogether { phase, pass } => match self.with_phase(phase) {
                Ok(program) => {
                    let mut agreed = || start(input);
                    let manner = Manner::Together(&mut agreed);
                    Ok(phase::perform(program, phase, pass, &self.calibrator, output, manner)?)
                }
                Err(reason) => Err(reason),
            },
            Request::Quit | Request::Start { .. } | Request::Cancel | Request::GoOn => {
                Err("no phase is ready to begin".into())
            }
            Request::EmptyCaches { .. } | Request::Enter { .. } => {
                Err("only the leader of several clients can do that".into())
            }
            Request::Age(asked) => Ok(ager::age(&asked, output)?),
            Request::Survey(asked) => survey::survey(&asked).map(|layout| Reply::Surveyed(Box::new(layout))),
            Request::Warm { phase } => self.with_phase(phase).and_then(|program| cached::warm(program, phase)),
            Request::CountCached { phase } => self.with_phase(phase).and_then(|program| cached::count(program, phase)),
        })
    }

    /// The loaded program, if it has this phase.
    fn with_phase(&self, phase: usize) -> Result<&Program, String> {
        let program = self.program.as_ref().ok_or("no program is loaded; send `load` first")?;
        match program.phases.len() {
            count if phase < count => Ok(program),
            count => Err(format!("phase {phase} does not exist: the program has {count}, numbered from 0")),
        }
    }
}
