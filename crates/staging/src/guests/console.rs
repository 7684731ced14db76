//! What is known of a running machine besides its guest's answers: its process, its console, and how it ended.
//! In: the stream of its console, read by a thread. Out: [`Console`], the peer at the other end of the guest's serial port.
//! Of two causes the one that explains more is reported: a kernel panic before the end of QEMU's process.

use crate::remote::Peer;
use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use system::Tail;
use system::process::Process;

/// Bytes of the console that are kept.
const CONSOLE_KEPT: usize = 16 << 10;
/// Bytes of the console that go into the ledger with the command that started the machine; with a remark, they are what one command may take there.
pub(super) const CONSOLE_SHOWN: usize = 4000;

/// A machine's process and its console output.
#[derive(Debug)]
pub(super) struct Console {
    process: Process,
    /// QEMU's own output.
    log: PathBuf,
    output: Tail,
}

impl Console {
    /// Of a machine that was just started.
    pub fn listen(console: impl Read + Send + 'static, process: Process, log: PathBuf) -> Console {
        Console { process, log, output: Tail::of(console, CONSOLE_KEPT) }
    }

    /// The last `most` bytes of the console's output.
    pub fn end(&self, most: usize) -> String {
        self.output.last(most).replace('\r', "")
    }
}

impl Peer for Arc<Console> {
    fn name(&self) -> &str {
        "the guest"
    }

    fn fate(&self) -> String {
        // The last output of its console and its process may still be on the way.
        self.process.gone_within(Duration::from_secs(2));
        std::thread::sleep(Duration::from_millis(100));
        let console = self.end(CONSOLE_KEPT);
        let memory = self.remark();
        if let Some((_, why)) = console.lines().find_map(|line| line.split_once("Kernel panic - not syncing: ")) {
            return format!("its kernel panicked: {}{memory}", why.trim());
        }
        let process = if self.process.lives() { "QEMU closed its port" } else { "QEMU's process ended" };
        match last_line(&self.log) {
            Some(note) => format!("{process}: {note}{memory}"),
            None => format!("{process}{memory}{}", self.last_words()),
        }
    }

    /// Detected by the kernel's message when it kills a process for lack of memory.
    fn remark(&self) -> &str {
        let console = self.end(CONSOLE_KEPT);
        let starved = console.contains("Out of memory") || console.contains("out of memory");
        if starved { " (the guest had run out of memory)" } else { "" }
    }

    fn last_words(&self) -> String {
        let console = self.end(CONSOLE_SHOWN);
        let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        if last.is_empty() { "; its console is empty".into() } else { format!("; its console ends: {last}") }
    }

    fn kill(&self) {
        self.process.end(Duration::ZERO);
    }
}

/// The last line of QEMU's output.
pub(super) fn last_line(log: &std::path::Path) -> Option<String> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    text.trim().lines().next_back().map(str::to_owned)
}
