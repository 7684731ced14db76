//! The life of a rank: the first starts the run and leads, the others follow.
//! In: the arguments of the command line. Out: an exit status.

use crate::asked::{Answer, Asked};
use crate::door::{Door, Event};
use crate::fellows::Fellows;
use crate::leader::{Deaf, Leader};
use crate::member::{Follower, Member, Watch};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// Progress notes per second that the first client receives from all others together.
const NOTES_A_SECOND: u32 = 64;

/// How a rank is started.
pub struct Start {
    /// The program `bakeoff`, which runs as engine and as the run's process.
    pub bakeoff: PathBuf,
    /// Arguments of the run's own process, at the first rank.
    pub arguments: Vec<String>,
    /// Name of this machine.
    pub host: String,
}

/// Takes part until the run is over.
///
/// # Errors
/// The run cannot be started, in one sentence.
pub fn run(fellows: &dyn Fellows, start: &Start) -> Result<u8, String> {
    let hosts = hosts(fellows, &start.host);
    let rank = fellows.rank() as usize;
    let first_elsewhere = hosts[rank] != hosts[0] && hosts.iter().position(|host| *host == hosts[rank]) == Some(rank);
    let engine = vec![start.bakeoff.display().to_string(), "agent".into()];
    let member = Member::new(fellows.rank(), first_elsewhere, engine);
    if rank > 0 {
        follow(fellows, member);
        return Ok(0);
    }
    let mut leader = Leader::new(fellows, member, hosts);
    let led = lead(&mut leader, start, fellows.size());
    leader.leave();
    led
}

/// The machines of all clients, known to all.
fn hosts(fellows: &dyn Fellows, own: &str) -> Vec<String> {
    let all = fellows.gather(own.as_bytes(), &mut || {});
    let all: Vec<String> = all.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let mut bytes = serde_json::to_vec(&all).unwrap_or_default();
    fellows.broadcast(&mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_else(|_| vec![own.to_owned(); fellows.size() as usize])
}

/// Online processors of this machine, including those that this process may not use.
pub fn processors() -> u64 {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    text.lines().filter(|line| line.starts_with("processor")).count().max(1) as u64
}

/// Warns if mpirun has bound this rank to some processors, as it does by default with few ranks: the engine,
/// its workers and the run are bound with it.
fn say_where_held() {
    let (held, all) = (std::thread::available_parallelism().map_or(1, |count| count.get() as u64), processors());
    if held < all {
        eprintln!(
            "mpirun binds this client, with all its workers, to {held} of {all} processors; `mpirun --bind-to none` avoids this."
        );
    }
}

fn lead(leader: &mut Leader, start: &Start, ranks: u32) -> Result<u8, String> {
    say_where_held();
    let door = Door::open().map_err(|error| format!("opening a socket for the run in /tmp: {error}"))?;
    let program = start.bakeoff.display();
    let mut command = Command::new("setpriv");
    if !is_terminal(std::os::unix::process::parent_id()) {
        command.env("NO_COLOR", "1");
    }
    let mut child = command
        // If the job is killed, the run ends in order: it unmounts, and keeps its results.
        .args(["--pdeathsig", "INT"])
        .arg(&start.bakeoff)
        .args(&start.arguments)
        .env(workload::message::CLIENTS_AT, door.path())
        .env(workload::message::CLIENTS_THERE, ranks.to_string())
        // mpirun kills whole process groups.
        .process_group(0)
        .spawn()
        .map_err(|error| format!("starting `setpriv --pdeathsig INT {program}` (util-linux): {error}"))?;
    let ended = door.events.clone();
    std::thread::spawn(move || {
        let status = child.wait();
        let code = status.map_or(1, |status| status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1));
        // The leader may have ended already.
        let _ = ended.send(Event::RunEnded(code));
    });
    loop {
        match door.coming.recv() {
            Ok(Event::RunEnded(code)) => return Ok(u8::try_from(code).unwrap_or(1)),
            Ok(event) => leader.take(event),
            Err(_) => return Err("the connection to the run's own process is lost".into()),
        }
    }
}

/// Whether this process writes to a terminal. mpirun gives each rank a pty of its own, even if its own output
/// is no terminal; that decides on colours.
fn is_terminal(process: u32) -> bool {
    let target = std::fs::read_link(format!("/proc/{process}/fd/1")).unwrap_or_default();
    ["/dev/pts/", "/dev/tty", "/dev/console"].iter().any(|terminal| target.to_string_lossy().starts_with(terminal))
}

fn follow(fellows: &dyn Fellows, mut member: Member) {
    loop {
        let mut bytes = Vec::new();
        fellows.broadcast(&mut bytes);
        let asked: Result<Asked, _> = serde_json::from_slice(&bytes);
        let answer = match &asked {
            Ok(asked) => member.answer(asked, fellows, &mut *watch(asked, fellows.size())),
            Err(error) => Answer::Failed { reason: format!("reading a request: {error}"), killed: false },
        };
        let answer = serde_json::to_vec(&answer).unwrap_or_default();
        fellows.gather(&answer, &mut || {});
        if matches!(asked, Ok(Asked::Leave)) {
            return;
        }
    }
}

fn watch(asked: &Asked, ranks: u32) -> Box<dyn Watch> {
    match asked {
        Asked::Perform { number, .. } => {
            let every = Duration::from_secs(u64::from(ranks.div_ceil(NOTES_A_SECOND).max(1)));
            Box::new(Follower { number: *number, every, sent: None })
        }
        _ => Box::new(Deaf),
    }
}
