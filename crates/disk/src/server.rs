//! The process that serves a disk: a FUSE folder, and questions about it on the standard input.
//! In: where, and how much it may hold. Out: it serves until it is told to end or nobody asks any more.
//!
//! It is a process of its own and never touches what is mounted on the disk, so that writeback which waits for it cannot wait for itself, and whoever uses the
//! disk can be killed at any moment: the last of its files is closed, the questions end, and this ends.
//!
//! For the same reason it must not be the last process of a mount namespace. When that ends, the kernel unmounts what is in it: a filesystem on the disk
//! would wait for answers of the process that is just ending, for ever. So this leaves the namespace in which its folder is mounted.

use crate::control::{Answer, Ask, PROTOCOL};
use crate::device;
use crate::folder::Folder;
use crate::inodes::{Inodes, Shared, lock};
use crate::path_cost::PathCost;
use disk_model::Model;
use fuser::{BackgroundSession, Config, MountOption, Session};
use rustix::mount::UnmountFlags;
use rustix::thread::LinkNameSpaceType;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What it is called in a list of mounts.
const NAME: &str = "bakeoff-disk";
/// How long the kernel may take to be done with the folder once that is unmounted.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);
/// Bytes of a question at most.
const LINE_LIMIT: u64 = 1 << 20;

/// How requests are answered: as fast as can be unless a disk is modelled.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// The disk that is modelled. All files of the folder begin at its beginning.
    pub model: Option<Model>,
    /// What the way to it and back costs: each request is answered so much before the model is done.
    pub path: PathCost,
    /// Reads go the same way within the server as on a modelled disk, and are not answered by the thread that takes them in: for measuring that way.
    pub queues_reads: bool,
    /// The mount namespace in which this process goes on once the folder is mounted. The process that started this one unmounts the folder then.
    pub goes_on_in: Option<PathBuf>,
}

/// Serves a folder at `point` that holds at most `room` bytes, until `questions` end.
///
/// # Errors
/// The folder cannot be mounted (without root, or without FUSE), or unmounted; what is written to `answers` cannot be.
pub fn serve(
    point: &Path,
    room: u64,
    service: &Service,
    questions: impl Read,
    mut answers: impl Write,
) -> io::Result<()> {
    let shared: Shared = Arc::new(Mutex::new(Inodes::with_room(room)));
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(NAME.into()),
        MountOption::NoDev,
        MountOption::NoSuid,
        MountOption::NoExec,
        MountOption::NoAtime,
    ];
    let (jobs, taken) = channel();
    let session = Session::new(Folder::of(&shared, service, jobs), point, &config)?;
    // Before threads are made: only a process without them may change its namespace.
    if let Some(namespace) = &service.goes_on_in {
        let mounts = Some(LinkNameSpaceType::Mount);
        rustix::thread::move_into_link_name_space(File::open(namespace)?.as_fd(), mounts)?;
    }
    device::start(&shared, service, taken);
    let session = session.spawn()?;
    let is_apart = service.goes_on_in.is_some();
    say(&mut answers, &Answer::Ready { protocol: PROTOCOL })?;
    let mut questions = io::BufReader::new(questions);
    while let Some(ask) = next(&mut questions)? {
        if ask == Ask::End {
            if !is_apart {
                rustix::mount::unmount(point, UnmountFlags::empty())?;
            }
            join(session, LEAVE_LIMIT)?;
            return say(&mut answers, &Answer::Done);
        }
        let answer = answer(&shared, &ask).unwrap_or_else(Answer::Refused);
        say(&mut answers, &answer)?;
    }
    // Whoever used the disk is gone, and may have left something on it. What is still asked of it fails when this process ends.
    if !is_apart {
        let _ = rustix::mount::unmount(point, UnmountFlags::DETACH);
    }
    std::process::exit(0)
}

/// Waits until the kernel is done with what was unmounted. A copy of the mount in another namespace, such as a service's that was started meanwhile, never lets it
/// go: what is asked there fails when this process ends.
fn join(session: BackgroundSession, limit: Duration) -> io::Result<()> {
    let (tell, ended) = channel();
    std::thread::spawn(move || tell.send(session.join()));
    ended.recv_timeout(limit).unwrap_or(Ok(()))
}

fn next(questions: &mut impl BufRead) -> io::Result<Option<Ask>> {
    let mut line = String::new();
    if questions.take(LINE_LIMIT).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&line)?))
}

fn say(answers: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    answers.write_all(&line)?;
    answers.flush()
}

fn answer(shared: &Shared, ask: &Ask) -> Result<Answer, String> {
    let mut inodes = lock(shared);
    match ask {
        Ask::Record(name) if inodes.record(OsStr::new(name)) => Ok(Answer::Done),
        Ask::Record(name) => Err(unknown(name)),
        Ask::Mark(word) => {
            inodes.recording().ok_or("nothing is recorded")?.marked(*word);
            Ok(Answer::Done)
        }
        Ask::Stop => Ok(Answer::Recorded(Box::new(inodes.stop()?.record().clone()))),
        Ask::Offer { state, lying } => {
            let (past, inode) = inodes.past().ok_or("nothing was recorded")?;
            if state.cut > past.record().moments.len() {
                return Err(format!("the record has {} events, and no {}", past.record().moments.len(), state.cut));
            }
            inode.content = past.state(state, *lying);
            Ok(Answer::Done)
        }
        Ask::Harm { file, fault } => counted(file, inodes.harm(OsStr::new(file), fault)),
        Ask::Mend => Ok(Answer::Counted(inodes.mend())),
        Ask::Flip { file, chosen } => counted(file, inodes.flip(OsStr::new(file), chosen)),
        Ask::Lateness => Ok(Answer::Late(Box::new(inodes.lateness.clone()))),
        Ask::End => Ok(Answer::Done),
    }
}

fn counted(file: &str, count: Option<u64>) -> Result<Answer, String> {
    count.map(Answer::Counted).ok_or_else(|| unknown(file))
}

fn unknown(file: &str) -> String {
    format!("there is no file {file}")
}
