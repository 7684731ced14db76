//! The other end of a remote stage: a process that sets one contender up and answers requests, with the code that stages locally.
//! In: [`Ask`]s. Out: [`Heard`], a heartbeat each second, and the engine's lines.
//! The process that starts this one chooses the target of the stage; a message never does.

use super::engine::{Port, RunningEngine};
use super::message::{self, Answered, Ask, Asked, Beside, ENGINE, Fault, Heard, Hello, Waking};
use crate::error::StagingError;
use crate::features::{self, Feature};
use crate::stage::remount::Remountable;
use crate::stage::target::{Target, Where};
use crate::staged::Staged;
use crate::{Stage, staged};
use serde::Serialize;
use std::io::{self, BufReader, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use system::{Journal, Snapshot};

/// Interval of the heartbeat.
const BEAT: Duration = Duration::from_secs(1);

/// Serves one stage, until it is closed or the other end hangs up; then nothing of it is left. `beside`: the command that starts the engine
/// or another process next to it; `open`: the target to stage on.
pub fn serve(
    input: impl Read,
    output: impl Write + Send + 'static,
    beside: &dyn Fn(Beside) -> Vec<String>,
    open: impl FnOnce(&Asked, &Journal) -> Result<Target, StagingError>,
) {
    let no_copy = |_: &Waking| Err(StagingError::contender("", "this machine cannot continue as a copy", ""));
    serve_copies(input, output, beside, &no_copy, open);
}

/// The same in a machine that may continue as a copy of itself, once or many times, after its hello; `wake` makes it take over what a copy lacks.
pub(crate) fn serve_copies(
    input: impl Read,
    output: impl Write + Send + 'static,
    beside: &dyn Fn(Beside) -> Vec<String>,
    wake: &dyn Fn(&Waking) -> Result<(), StagingError>,
    open: impl FnOnce(&Asked, &Journal) -> Result<Target, StagingError>,
) {
    let port = Port(Arc::new(Mutex::new(output)));
    if port.say(&Heard::Hello(Hello::here())).is_err() {
        return;
    }
    // The stream ends with the stage, whatever this thread does then.
    let beating = Arc::downgrade(&port.0);
    std::thread::spawn(move || {
        while beating.upgrade().is_some_and(|port| Port(port).say(&Heard::Alive).is_ok()) {
            std::thread::sleep(BEAT);
        }
    });
    let journal = Journal::new();
    let mut serving = Serving { input: BufReader::new(input), port, journal, beside, running: None, looks: Vec::new() };
    if let Err(error) = serving.converse(wake, open) {
        system::note(&format!("sending to the other end: {error}"));
    }
}

/// The next message.
enum Next {
    Ask(Ask),
    /// A line for the engine.
    Line(Vec<u8>),
}

/// Time limit of tests on a damaged filesystem.
const HARMED: Duration = Duration::from_secs(180);

/// What a filesystem can do, tested on images of `bytes` in this machine's memory, or smaller ones if it has less room.
fn probed(asked: &Asked, bytes: u64, journal: &Journal) -> Result<Vec<Feature>, StagingError> {
    let room = rustix::fs::statvfs(std::env::temp_dir()).map_or(bytes, |value| value.f_bavail * value.f_frsize);
    // A second device and other files must fit as well; in whole MiB.
    let bytes = bytes.min((room / 4 * 3) >> 20 << 20);
    let place = Where::Image { bytes, folder: std::env::temp_dir() };
    let target = Target::open(&asked.registry()?, &place, journal)?;
    features::probe_with_patience(target, &asked.contender.filesystem, HARMED)
}

struct Serving<'a, R> {
    input: BufReader<R>,
    port: Port,
    journal: Journal,
    /// The command that starts a process next to the stage.
    beside: &'a dyn Fn(Beside) -> Vec<String>,
    running: Option<RunningEngine>,
    looks: Vec<Snapshot>,
}

impl<R: Read> Serving<'_, R> {
    /// The first request stages, after an optional wake; the others are about that stage. Or the only request probes.
    fn converse(
        &mut self,
        wake: &dyn Fn(&Waking) -> Result<(), StagingError>,
        open: impl FnOnce(&Asked, &Journal) -> Result<Target, StagingError>,
    ) -> io::Result<()> {
        let mut first = self.next();
        if let Some(Next::Ask(Ask::Wake(waking))) = &first {
            let woken = wake(waking);
            if woken.is_ok() {
                self.port.say(&Heard::Hello(Hello::here()))?;
            }
            self.answer(woken)?;
            first = self.next();
        }
        let asked = match first {
            Some(Next::Ask(Ask::Stage(asked))) => asked,
            Some(Next::Ask(Ask::Probe { asked, bytes })) => {
                return self.answer(probed(&asked, bytes, &self.journal));
            }
            _ => return Ok(()),
        };
        let mut target = match open(&asked, &self.journal) {
            Ok(target) => target,
            Err(error) => return self.answer(Err::<(), _>(error)),
        };
        target.start_cold_by(asked.cold);
        let stage = match target.stage(&asked.contender) {
            Ok(stage) => stage,
            Err(error) => return self.answer(Err::<(), _>(error)),
        };
        self.answer(Ok(stage.setup()))?;
        self.attend(stage)
    }

    fn attend(&mut self, mut stage: Stage<'_>) -> io::Result<()> {
        let is_to_be_closed = self.talk(&mut stage);
        // Unmounting comes after the end of its last user.
        self.running = None;
        if !is_to_be_closed? {
            return Ok(());
        }
        let closed = stage.close();
        self.answer(closed)
    }

    /// Answers until the stage is to be closed, or the requests end; returns whether it is to be closed.
    fn talk(&mut self, stage: &mut dyn Remountable) -> io::Result<bool> {
        while let Some(next) = self.next() {
            match next {
                Next::Line(line) => {
                    if let Some(engine) = &mut self.running {
                        engine.tell(line);
                    }
                }
                Next::Ask(Ask::EndEngine) => self.running = None,
                Next::Ask(Ask::Close) => return Ok(true),
                Next::Ask(ask) => self.carry_out(ask, stage)?,
            }
        }
        Ok(false)
    }

    fn carry_out(&mut self, ask: Ask, stage: &mut dyn Remountable) -> io::Result<()> {
        match ask {
            Ask::Start(which) => {
                let started = self.start(which, stage);
                self.answer(started)
            }
            Ask::Look => {
                let looked = stage.look().map(|now| self.looks.push(now));
                self.answer(looked)
            }
            Ask::Since(look) => self.answer(stage.since(&self.looks.get(look).cloned().unwrap_or_else(Snapshot::take))),
            Ask::FailedBelow { during } => self.answer(Ok(stage.failed_below(&during).map(Fault::from))),
            Ask::Usage => self.answer(stage.usage()),
            Ask::Sync => self.answer(stage.sync()),
            Ask::DropCaches => self.answer(stage.drop_caches()),
            Ask::Settle => self.answer(stage.settle()),
            Ask::Unmount => self.answer(stage.unmount_only()),
            Ask::CloseLayers => self.answer(stage.close_layers()),
            Ask::Mount => self.answer(stage.mount_state()),
            Ask::LoseDevice(number) => self.answer(stage.lose_device(number)),
            Ask::HasAllDevices => self.answer(stage.has_all_devices()),
            Ask::Check => self.answer(stage.check_unmounted()),
            Ask::Wake(_) | Ask::Stage(_) | Ask::Probe { .. } | Ask::EndEngine | Ask::Close => {
                let error = StagingError::contender("", "the request is not possible at this point", "");
                self.answer(Err::<(), _>(error))
            }
        }
    }

    fn start(&mut self, which: Beside, stage: &mut dyn Remountable) -> Result<(), StagingError> {
        let staged::Engine::Here(mut words) = stage.engine()? else { return Ok(()) };
        words.extend((self.beside)(which));
        let failed = |error: io::Error| {
            let cause = system::cause::of_io(&error);
            StagingError::failed("", format!("its {} could not be started: {error}", which.verb()), "", cause)
        };
        self.running = Some(RunningEngine::start(&words, &self.port).map_err(failed)?);
        Ok(())
    }

    fn answer(&self, answer: Result<impl Serialize, StagingError>) -> io::Result<()> {
        let answer = match answer {
            Ok(answer) => Ok(serde_json::value::to_raw_value(&answer)?),
            Err(error) => Err(Fault::from(error)),
        };
        self.port.say(&Heard::Answered(Box::new(Answered { answer, commands: self.journal.drain() })))
    }

    /// None at the end, and after an invalid request.
    fn next(&mut self) -> Option<Next> {
        let mut line = Vec::new();
        match message::receive(&mut self.input, &mut line) {
            Ok(true) if line[0] == ENGINE => Some(Next::Line(line.split_off(1))),
            Ok(true) => serde_json::from_slice(&line)
                .map(Next::Ask)
                .map_err(|error| system::note(&format!("an invalid request: {error}")))
                .ok(),
            Ok(false) => None,
            Err(error) => {
                system::note(&format!("reading requests: {error}"));
                None
            }
        }
    }
}
