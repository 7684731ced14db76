//! The engine next to a served stage: its process, and the lines from and to it.
//! In: the stage's prefix and the engine's command. Out: the engine's lines on the port, and finally how it ended.
//! An engine that does not accept a line is ended.

use super::message::{self, Heard};
use std::io::{self, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use system::process::{Process, how_it_ended};

/// Lines that may wait for the engine; it handles one request at a time.
const LINES_WAITING: usize = 16;
/// How long the engine may take to end after its input has ended.
const END_LIMIT: Duration = Duration::from_secs(5);
/// How long its last output may take to arrive after it ended; longer only if a child of its own keeps the output open.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The stream, shared by answers, the heartbeat and the engine's lines.
#[derive(Clone)]
pub(super) struct Port(pub(super) Arc<Mutex<dyn Write + Send>>);

impl Port {
    pub fn say(&self, message: &Heard) -> io::Result<()> {
        message::send(&mut *self.0.lock().unwrap_or_else(|poison| poison.into_inner()), message)
    }

    /// Forwards a line of the engine.
    pub fn pass(&self, line: &[u8]) -> io::Result<()> {
        message::send_engine(&mut *self.0.lock().unwrap_or_else(|poison| poison.into_inner()), line)
    }
}

/// A running engine. Dropping it ends it.
pub(super) struct RunningEngine {
    process: Option<Process>,
    input: Option<SyncSender<Vec<u8>>>,
}

impl RunningEngine {
    /// Starts it; its standard error is that of this process.
    pub fn start(words: &[String], port: &Port) -> io::Result<RunningEngine> {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // `clean` finds an engine that outlived its parent by this variable.
            .env(system::process::OWNER_VARIABLE, Process::current().to_string())
            .spawn()?;
        let process = Process::of(child.id());
        let mut stdin = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (input, lines) = sync_channel::<Vec<u8>>(LINES_WAITING);
        // An engine that has ended takes no line; its end is reported below.
        std::thread::spawn(move || lines.iter().try_for_each(|line| stdin.write_all(&line)));
        let outgoing = port.clone();
        let copying = std::thread::spawn(move || pass_on(stdout, &outgoing));
        let port = port.clone();
        std::thread::spawn(move || {
            let how = end_of(&mut child);
            let end = Instant::now() + LAST_WORDS;
            while !copying.is_finished() && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            // If this fails, the other end is gone.
            let _ = port.say(&Heard::EngineEnded(how));
        });
        Ok(RunningEngine { process, input: Some(input) })
    }

    /// Passes one line on; an engine that does not accept it is ended.
    pub fn tell(&mut self, line: Vec<u8>) {
        let taken = self.input.as_ref().is_some_and(|input| input.try_send(line).is_ok());
        if !taken {
            self.end(Duration::ZERO);
        }
    }

    fn end(&mut self, patience: Duration) {
        self.input = None;
        if let Some(process) = self.process.take()
            && !process.gone_within(patience)
        {
            process.end(Duration::ZERO);
        }
    }
}

impl Drop for RunningEngine {
    fn drop(&mut self) {
        self.end(END_LIMIT);
    }
}

/// Forwards lines until they end or one is longer than any message.
fn pass_on(stdout: impl Read, port: &Port) {
    let mut output = BufReader::new(stdout);
    let mut line = Vec::new();
    while matches!(message::receive(&mut output, &mut line), Ok(true)) && port.pass(&line).is_ok() {
        line = Vec::new();
    }
}

fn end_of(child: &mut Child) -> String {
    child.wait().map_or_else(|error| error.to_string(), how_it_ended)
}
