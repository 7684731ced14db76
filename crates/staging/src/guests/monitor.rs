//! QEMU's monitor: saves the state of a machine, with its memory, once its guest is up.
//! In: the stream of a monitor. Out: the state, in an unnamed file in memory.
//! Sources: QEMU's docs/interop/qmp-spec.rst and its description of `migrate`.

use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the monitor, and the stream of the state, may be silent.
const SILENCE: Duration = Duration::from_secs(20);
/// How long QEMU may take to report completion after all is written.
const DONE_LIMIT: Duration = Duration::from_secs(5);
/// Bytes a second: as fast as possible.
const UNLIMITED: u64 = 1 << 40;

/// A monitor that takes commands.
pub(super) struct Monitor {
    input: BufReader<UnixStream>,
    output: UnixStream,
}

#[derive(Serialize)]
struct Request<'a> {
    execute: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Arguments<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
enum Arguments<'a> {
    #[serde(untagged)]
    Bandwidth {
        #[serde(rename = "max-bandwidth")]
        bytes_per_second: u64,
    },
    #[serde(untagged)]
    To { uri: &'a str },
}

/// A line of the monitor; one that is not an answer has neither field.
#[derive(Deserialize)]
struct MonitorLine {
    #[serde(rename = "return")]
    returned: Option<Returned>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Returned {
    /// Status of the save: `active`, `completed`, `failed` ...
    status: Option<String>,
    /// Why it failed.
    #[serde(rename = "error-desc")]
    why: Option<String>,
}

#[derive(Deserialize)]
struct Refusal {
    desc: String,
}

impl Monitor {
    /// Opens the conversation.
    ///
    /// # Errors
    /// It does not answer as a monitor.
    pub fn open(stream: UnixStream) -> Result<Monitor, String> {
        let prepared = stream.set_read_timeout(Some(SILENCE)).and_then(|()| stream.try_clone());
        let mut monitor = Monitor { output: prepared.map_err(unheard)?, input: BufReader::new(stream) };
        monitor.tell("qmp_capabilities", None)?;
        Ok(monitor)
    }

    /// Saves the machine's state into a file, through a socket that is made in `folder`; the machine is stopped afterwards.
    ///
    /// # Errors
    /// QEMU refuses or fails, or the state has more bytes than `most`; in words.
    pub fn save(&mut self, folder: &Path, most: u64) -> Result<File, String> {
        let path = folder.join("state");
        let failed = |error: io::Error| format!("its state could not be saved: {error}");
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let file = File::from(
            rustix::fs::memfd_create("bakeoff-guest", rustix::fs::MemfdFlags::CLOEXEC)
                .map_err(|error| failed(error.into()))?,
        );
        self.tell("migrate-set-parameters", Some(Arguments::Bandwidth { bytes_per_second: UNLIMITED }))?;
        self.tell("migrate", Some(Arguments::To { uri: &format!("unix:{}", path.display()) }))?;
        let stream = accepted(&listener).map_err(failed)?;
        let copied = io::copy(&mut (&stream).take(most.saturating_add(1)), &mut &file).map_err(failed)?;
        if copied > most {
            return Err(format!("its state needs more than the {} MB of memory available for it", most / 1_000_000));
        }
        self.completed()?;
        Ok(file)
    }

    /// Waits until QEMU reports completion.
    fn completed(&mut self) -> Result<(), String> {
        let end = Instant::now() + DONE_LIMIT;
        loop {
            let returned = self.tell("query-migrate", None)?;
            match returned.status.as_deref() {
                Some("completed") => return Ok(()),
                Some(status @ ("failed" | "cancelled")) => {
                    let why = returned.why.unwrap_or_else(|| status.into());
                    return Err(format!("QEMU could not save its state: {why}"));
                }
                status if Instant::now() > end => {
                    return Err(format!("QEMU does not finish saving its state: {}", status.unwrap_or("no status")));
                }
                _ => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Sends one command, and waits for its answer.
    fn tell(&mut self, execute: &str, arguments: Option<Arguments>) -> Result<Returned, String> {
        let parsed = serde_json::to_vec(&Request { execute, arguments }).map_err(|error| error.to_string())?;
        self.output.write_all(&[&parsed[..], b"\n"].concat()).map_err(unheard)?;
        loop {
            let mut line = String::new();
            if self.input.read_line(&mut line).map_err(unheard)? == 0 {
                return Err("QEMU's monitor ended".into());
            }
            let results: MonitorLine = serde_json::from_str(&line)
                .map_err(|error| format!("QEMU's monitor sent an invalid answer: {error}"))?;
            if let Some(refusal) = results.error {
                return Err(format!("QEMU's monitor refused {execute}: {}", refusal.desc));
            }
            if let Some(returned) = results.returned {
                return Ok(returned);
            }
        }
    }
}

/// The stream of the first connection, within the silence limit.
fn accepted(listener: &UnixListener) -> io::Result<UnixStream> {
    listener.set_nonblocking(true)?;
    let end = Instant::now() + SILENCE;
    loop {
        match listener.accept() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(2));
            }
            met => {
                let (stream, _) = met?;
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(SILENCE))?;
                return Ok(stream);
            }
        }
    }
}

fn unheard(error: io::Error) -> String {
    format!("QEMU's monitor does not accept requests: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A monitor that sends these lines, one for each command after its greeting.
    fn monitor(lines: &'static [&'static str]) -> Result<Monitor, String> {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        std::thread::spawn(move || {
            let mut out = theirs.try_clone().expect("another handle");
            writeln!(out, r#"{{"QMP": {{"version": {{}}, "capabilities": []}}}}"#).expect("sent");
            let value = BufReader::new(theirs).lines();
            for (_, line) in value.zip(lines) {
                writeln!(out, "{line}").expect("sent");
            }
        });
        Monitor::open(ours)
    }

    #[test]
    fn events_are_skipped_and_refusals_are_reported_with_their_text() {
        let mut known = monitor(&[
            r#"{"return": {}}"#,
            "{\"timestamp\": {}, \"event\": \"STOP\"}\n{\"return\": {\"status\": \"completed\"}}",
            r#"{"error": {"class": "GenericError", "desc": "not now"}}"#,
        ])
        .expect("it takes commands");
        known.completed().expect("it is done");
        let refused = known.tell("migrate", None).err().expect("refused");
        assert_eq!(refused, "QEMU's monitor refused migrate: not now");
        assert_eq!(known.tell("migrate", None).err().expect("gone"), "QEMU's monitor ended");
    }

    #[test]
    fn a_failed_save_is_reported_with_its_reason() {
        let mut known = monitor(&[r#"{"return": {}}"#, r#"{"return": {"status": "failed", "error-desc": "no room"}}"#])
            .expect("it takes commands");
        assert_eq!(known.completed().expect_err("it failed"), "QEMU could not save its state: no room");
    }

    #[test]
    fn commands_are_written_as_the_monitor_reads_them() {
        let results = |results: Request| serde_json::to_string(&results).expect("JSON");
        assert_eq!(results(Request { execute: "query-migrate", arguments: None }), r#"{"execute":"query-migrate"}"#);
        let to = Request { execute: "migrate", arguments: Some(Arguments::To { uri: "unix:/a" }) };
        assert_eq!(results(to), r#"{"execute":"migrate","arguments":{"uri":"unix:/a"}}"#);
        let bandwidth = Arguments::Bandwidth { bytes_per_second: 5 };
        let set = Request { execute: "migrate-set-parameters", arguments: Some(bandwidth) };
        assert_eq!(results(set), r#"{"execute":"migrate-set-parameters","arguments":{"max-bandwidth":5}}"#);
    }
}
