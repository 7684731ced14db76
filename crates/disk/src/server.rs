//! The process that serves a disk: a FUSE folder, and requests about it on standard input.
//! In: the mount point, and the folder's capacity. Out: it serves until an `End` request or the end of its input.
//!
//! It is a separate process and never accesses what is mounted on the disk, so writeback that waits for it cannot deadlock. The process
//! that uses the disk can be killed at any moment: its files are closed, the input ends, and the server exits.
//!
//! It must not be the last process of a mount namespace. When that exits, the kernel unmounts everything in the namespace: a filesystem on
//! the disk would wait for ever for answers of the exiting server. So the server leaves the namespace in which its folder is mounted.

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

/// Its name in a list of mounts.
const NAME: &str = "bakeoff-disk";
/// Time limit for the kernel to release the folder after unmount.
const LEAVE_LIMIT: Duration = Duration::from_secs(2);
/// Most bytes of a request.
const LINE_LIMIT: u64 = 1 << 20;

/// How requests are answered: as fast as possible unless a disk is modelled.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// The modelled disk. All files of the folder start at its first byte.
    pub model: Option<Model>,
    /// Cost of the path to it and back: each request is answered this much before the model is done.
    pub path: PathCost,
    /// Reads are queued in the server, as on a modelled disk, and not answered by the receiving thread: for measuring that path.
    pub queues_reads: bool,
    /// The mount namespace to enter once the folder is mounted. The process that started this one then unmounts the folder.
    pub goes_on_in: Option<PathBuf>,
}

/// Serves a folder at `point` that holds at most `room` bytes, until `questions` ends.
///
/// # Errors
/// The folder cannot be mounted (without root, or without FUSE), or unmounted; or writing to `answers` fails.
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
    // Before starting threads: only a single-threaded process may change its mount namespace.
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
    // The client is gone and may have left something mounted on the disk. Requests still pending there fail when this process exits.
    if !is_apart {
        let _ = rustix::mount::unmount(point, UnmountFlags::DETACH);
    }
    std::process::exit(0)
}

/// Waits until the kernel releases the unmounted folder. A copy of the mount in another namespace, such as that of a service started
/// meanwhile, never releases it: requests there fail when this process exits.
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
