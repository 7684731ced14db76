//! The witness: a process next to a remote stage, which works and inspects there, and communicates by lines of JSON.
//! In: [`Order`]s on its standard input. Out: [`Reply`]s; the work waits for an answer to each mark.

use crate::error::{ReliabilityError, doing};
use crate::faults::{self, Access, Looked, Worked};
use crate::kernel_log;
use crate::power_cut::hands::{self, Hands, Marker, Question, Seen};
use crate::power_cut::{Chosen, Work};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use staging::{Beside, Line, Remote, Serial};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Time limit for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(300);
/// Most bytes of a line.
const LINE_LIMIT: u64 = 16 << 20;
/// Lines of the kernel's log in a reply.
const KERNEL_LINES: usize = 6;

/// A request to the witness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Order {
    /// Write the initial files of the promises below a root.
    SetUp { root: PathBuf, chosen: Chosen, unsynced: Duration, seed: u64 },
    /// Execute them; each mark waits for an answer.
    Work,
    /// The mark was recorded.
    Marked,
    /// A state is about to be mounted on this root.
    Begin { root: PathBuf },
    /// Inspect it.
    Look(Question),
    /// Report the kernel's messages since then.
    KernelWords { since: f64 },
    /// Write the original files of a fault, below the latest root.
    LayFilesOut,
    /// Read every n-th of them, and write others; each mark waits for an answer.
    WorkOnFiles { every: usize },
    /// The mark was not recorded: stop the work.
    Enough,
    /// Inspect all of them, and the written ones with these numbers.
    LookAtFiles { acknowledged: Vec<u32> },
    /// Write a file of this name.
    WriteProbe { name: String },
}

/// A reply of the witness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Reply {
    Done,
    /// This has returned.
    Mark(u64),
    /// The present time, on the clock of the kernel's log.
    Begun(f64),
    Seen(Seen),
    KernelWords(Vec<String>),
    /// Result of the work on a faulty disk.
    Worked(Worked),
    /// Result of inspecting the files.
    Looked(Looked),
    /// Whether a file could be written.
    Access(Access),
    /// The request failed: the action, and why.
    Failed {
        doing: String,
        why: String,
    },
}

impl Reply {
    /// The error for a reply that does not match the request.
    pub fn unexpected(self) -> ReliabilityError {
        match self {
            Reply::Failed { doing, why } => ReliabilityError::Work { doing, why },
            other => ReliabilityError::Witness(format!("sent an unexpected answer: {other:?}")),
        }
    }
}

/// A stage in a guest whose disk is served here, and its witness once started.
pub(crate) struct Guest<'g> {
    pub remote: Remote<Serial<'g>>,
    witness: Option<Witness>,
}

impl<'g> Guest<'g> {
    pub fn of(remote: Remote<Serial<'g>>) -> Guest<'g> {
        Guest { remote, witness: None }
    }

    pub fn witness(&mut self) -> Result<&mut Witness, ReliabilityError> {
        match &mut self.witness {
            Some(known) => Ok(known),
            none => Ok(none.insert(Witness::of(self.remote.start(Beside::Witness)?)?)),
        }
    }

    /// Starts another guest with the same disk; it gets a new witness.
    pub fn start_again(&mut self) -> Result<(), ReliabilityError> {
        self.witness = None;
        Ok(self.remote.start_again()?)
    }
}

/// The client's end of a witness. When dropped, it ends the witness.
pub(crate) struct Witness {
    input: Box<dyn Write + Send>,
    replies: Receiver<io::Result<Reply>>,
    fate: Box<dyn Fn() -> String + Send>,
    hang_up: Box<dyn Fn() + Send>,
}

impl Witness {
    /// Connects to a started witness.
    pub fn of(line: Line) -> Result<Witness, ReliabilityError> {
        let Line { input, output, fate, hang_up } = line;
        let (send, replies) = channel();
        std::thread::Builder::new()
            .spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(reply) = next(&mut output).transpose() {
                    let failed = reply.is_err();
                    if send.send(reply).is_err() || failed {
                        return;
                    }
                }
            })
            .map_err(doing("reading from the witness"))?;
        Ok(Witness { input, replies, fate, hang_up })
    }

    pub fn say(&mut self, order: &Order) -> Result<(), ReliabilityError> {
        say(&mut self.input, order)
            .map_err(|error| ReliabilityError::Witness(format!("does not accept requests: {error}")))
    }

    pub fn hear(&mut self) -> Result<Reply, ReliabilityError> {
        let silent = || ReliabilityError::Witness(format!("sends nothing for {} s", ANSWER_LIMIT.as_secs()));
        self.hear_within(ANSWER_LIMIT)?.ok_or_else(silent)
    }

    /// Its next reply within some time; None if there is none.
    pub fn hear_within(&mut self, limit: Duration) -> Result<Option<Reply>, ReliabilityError> {
        use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
        let problem = match self.replies.recv_timeout(limit) {
            Ok(Ok(reply)) => return Ok(Some(reply)),
            Err(Timeout) => return Ok(None),
            Ok(Err(error)) => format!("sends invalid data: {error}"),
            Err(Disconnected) => format!("has ended: {}", (self.fate)()),
        };
        Err(ReliabilityError::Witness(problem))
    }

    /// Sends a request whose only answer is `Done`.
    pub fn ask(&mut self, order: &Order) -> Result<(), ReliabilityError> {
        match self.answer(order)? {
            Reply::Done => Ok(()),
            other => Err(other.unexpected()),
        }
    }

    /// Announces that a state is about to be mounted; returns the time on the clock of the kernel's log there.
    pub fn begin(&mut self, root: &Path) -> Result<f64, ReliabilityError> {
        match self.answer(&Order::Begin { root: root.to_owned() })? {
            Reply::Begun(now) => Ok(now),
            other => Err(other.unexpected()),
        }
    }

    pub fn look(&mut self, question: &Question) -> Result<Seen, ReliabilityError> {
        match self.answer(&Order::Look(question.clone()))? {
            Reply::Seen(seen) => Ok(seen),
            other => Err(other.unexpected()),
        }
    }

    pub fn kernel_words(&mut self, since: f64) -> Result<Vec<String>, ReliabilityError> {
        match self.answer(&Order::KernelWords { since })? {
            Reply::KernelWords(words) => Ok(words),
            other => Err(other.unexpected()),
        }
    }

    pub fn answer(&mut self, order: &Order) -> Result<Reply, ReliabilityError> {
        self.say(order)?;
        self.hear()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        (self.hang_up)();
    }
}

/// Runs the witness, until its input ends.
///
/// # Errors
/// A request cannot be read, or a reply cannot be written.
pub fn witness(input: impl Read + Send, output: impl Write + Send) -> io::Result<()> {
    let mut port = Port { input: BufReader::new(input), output };
    let mut hands: Option<Hands> = None;
    let mut below = PathBuf::new();
    while let Some(order) = next(&mut port.input)? {
        let reply = match order {
            Order::SetUp { root, chosen, unsynced, seed } => {
                match Hands::set_up(&Work::Promises { unsynced, chosen }, &root, seed) {
                    Ok(laid_out) => {
                        hands = Some(laid_out);
                        Reply::Done
                    }
                    Err(error) => failed(error),
                }
            }
            Order::Work => match hands.as_mut().map(|hands| hands.work(&mut port)) {
                Some(Ok(_)) => Reply::Done,
                Some(Err(error)) => failed(error),
                None => failed(ReliabilityError::Witness("has created no files".into())),
            },
            Order::Begin { root } => {
                below = root;
                Reply::Begun(kernel_log::now())
            }
            Order::Look(question) => Reply::Seen(hands::look(&below, &question)),
            // There is only one disk, and not all filesystems name it in messages.
            Order::KernelWords { since } => Reply::KernelWords(kernel_log::words(since, KERNEL_LINES)),
            Order::Marked | Order::Enough => failed(ReliabilityError::Witness("made no mark".into())),
            Order::LayFilesOut => match faults::lay_out(&below).map_err(doing("creating files")) {
                Ok(()) => Reply::Done,
                Err(error) => failed(error),
            },
            Order::WorkOnFiles { every } => {
                Reply::Worked(faults::at_work(&below, every.max(1), &mut || port.mark(0).is_ok()))
            }
            Order::LookAtFiles { acknowledged } => Reply::Looked(faults::look(&below, &acknowledged)),
            Order::WriteProbe { name } => Reply::Access(faults::access(&below.join(name))),
        };
        say(&mut port.output, &reply)?;
    }
    Ok(())
}

fn failed(error: ReliabilityError) -> Reply {
    match error {
        ReliabilityError::Work { doing, why } => Reply::Failed { doing, why },
        other => Reply::Failed { doing: "working".into(), why: other.to_string() },
    }
}

/// The witness's end of the connection.
struct Port<R, W> {
    input: BufReader<R>,
    output: W,
}

impl<R: Read + Send, W: Write + Send> Marker for Port<R, W> {
    fn mark(&mut self, word: u64) -> Result<(), ReliabilityError> {
        say(&mut self.output, &Reply::Mark(word)).map_err(doing("sending a mark"))?;
        match next(&mut self.input).map_err(doing("waiting for a mark"))? {
            Some(Order::Marked) => Ok(()),
            _ => Err(ReliabilityError::Stopped),
        }
    }

    fn go_on(&mut self) -> Result<(), ReliabilityError> {
        Ok(())
    }
}

fn say(output: &mut impl Write, what: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

fn next<T: DeserializeOwned>(input: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    match input.take(LINE_LIMIT).read_until(b'\n', &mut line)? {
        0 => Ok(None),
        _ => Ok(Some(serde_json::from_slice(&line)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power_cut::Later;
    use crate::power_cut::instances::Instances;
    use crate::power_cut::kept::{KeptPlace, Proof};
    use std::os::unix::net::UnixStream;

    /// A witness on a thread, and the connection to it.
    fn beside() -> (Witness, std::thread::JoinHandle<io::Result<()>>) {
        let (ours, theirs) = UnixStream::pair().expect("a pair of streams");
        let output = theirs.try_clone().expect("another handle");
        let working = std::thread::spawn(move || witness(theirs, output));
        let (input, closing) = (ours.try_clone().expect("a handle"), ours.try_clone().expect("a handle"));
        let hang_up = Box::new(move || drop(closing.shutdown(std::net::Shutdown::Both)));
        let fate = Box::new(|| "its stream ended".to_string());
        let line = Line { input: Box::new(input), output: Box::new(ours), fate, hang_up };
        (Witness::of(line).expect("listened to"), working)
    }

    #[test]
    fn a_witness_works_reports_every_mark_and_finds_broken_promises() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_owned();
        let (mut witness, working) = beside();
        let unsynced = Duration::from_millis(100);
        let chosen = Chosen::of(&[], &Later::ALL).expect("chosen");
        witness.ask(&Order::SetUp { root: root.clone(), chosen: chosen.clone(), unsynced, seed: 1 }).expect("laid out");
        witness.say(&Order::Work).expect("sent");
        let mut marks = 0;
        while let Reply::Mark(_) = witness.hear().expect("heard") {
            marks += 1;
            witness.say(&Order::Marked).expect("sent");
        }
        assert!(marks > 100, "{marks} marks");
        witness.begin(&root).expect("begun");
        let known = Instances::below(&root, &chosen);
        let one = known.all.iter().find(|one| one.promise().about().name == "replace").expect("it is known");
        let place = KeptPlace { folder: "replace-0".into(), file: one.place.file, done: one.promise().about().steps };
        let proofs = vec![Proof::Mount, Proof::Promise { name: "replace".into(), places: vec![place] }];
        let question = Question { proofs, diary: 1 };
        let seen = witness.look(&question).expect("looked");
        assert_eq!(seen.findings.iter().filter(|finding| finding.broken.is_some()).count(), 0, "{seen:?}");
        assert_eq!(seen.first_lost, None);
        std::fs::remove_dir_all(root.join("replace-0")).expect("removed");
        std::fs::remove_dir_all(root.join("diary")).expect("removed");
        let seen = witness.look(&question).expect("looked");
        assert!(seen.findings[1].broken.is_some() && seen.first_lost == Some(0), "{seen:?}");
        drop(witness);
        working.join().expect("no panic").expect("it ended in order");
    }

    #[test]
    fn a_witness_reads_and_writes_files_as_long_as_it_is_let() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_owned();
        let (mut witness, working) = beside();
        witness.begin(&root).expect("begun");
        witness.ask(&Order::LayFilesOut).expect("laid out");
        std::fs::remove_file(root.join("files-0/10-of-4")).expect("removed");
        witness.say(&Order::WorkOnFiles { every: 10 }).expect("sent");
        let mut marks = 0;
        let worked = loop {
            match witness.hear().expect("heard") {
                Reply::Mark(_) if marks < 80 => {
                    marks += 1;
                    witness.say(&Order::Marked).expect("sent");
                }
                Reply::Mark(_) => witness.say(&Order::Enough).expect("sent"),
                Reply::Worked(worked) => break worked,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((worked.read.right, worked.read.missing, worked.failed), (60, 1, 0), "{worked:?}");
        assert!(
            (1..20).contains(&worked.acknowledged.len()),
            "it received the order to stop: {:?}",
            worked.acknowledged
        );
        let answer = witness.answer(&Order::LookAtFiles { acknowledged: worked.acknowledged.clone() });
        let Ok(Reply::Looked(looked)) = answer else { panic!("{answer:?}") };
        assert_eq!((looked.after.right, looked.after.missing), (607, 1));
        assert_eq!(looked.kept.right as usize, worked.acknowledged.len());
        let answer = witness.answer(&Order::WriteProbe { name: "probe-after".into() });
        assert!(matches!(answer, Ok(Reply::Access(Access::Writable))), "{answer:?}");
        drop(witness);
        working.join().expect("no panic").expect("it ended in order");
    }

    #[test]
    fn one_that_is_gone_or_was_asked_for_too_early_is_an_error() {
        let (mut witness, working) = beside();
        let error = witness.ask(&Order::Work).expect_err("nothing is laid out");
        assert!(error.to_string().contains("created no files"), "{error}");
        (witness.hang_up)();
        let error = witness.begin(Path::new("/")).expect_err("it is gone");
        assert!(
            error.to_string().contains("does not accept requests") || error.to_string().contains("has ended"),
            "{error}"
        );
        drop(witness);
        working.join().expect("no panic").expect("it ended in order");
    }
}
