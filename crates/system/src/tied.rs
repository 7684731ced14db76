//! Processes that must not outlive this one, however it ends: nothing else would end the virtual machine of a killed run.
//! In: a command. Out: its process, which the kernel kills when this one is gone (prctl(2), PR_SET_PDEATHSIG).
//! The kernel tracks the thread that started it, not the process: so one thread starts them all, and lives as long as the process.

// Two calls between fork and exec.
#![allow(unsafe_code)]

use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

/// A command to start, and the channel for the result.
type Order = (Command, Sender<io::Result<Child>>);

/// Channel to the thread that starts commands; None if that thread could not be started.
static STARTER: OnceLock<Option<Mutex<Sender<Order>>>> = OnceLock::new();

/// Starts a command whose process is killed as soon as this one is gone.
///
/// # Errors
/// The system's error.
pub(crate) fn spawn(mut command: Command) -> io::Result<Child> {
    tie(&mut command, getpid());
    let none = || io::Error::other("the thread that starts it could not be started");
    let (answer, heard) = channel();
    let starter = STARTER.get_or_init(starter).as_ref().ok_or_else(none)?;
    let sent = starter.lock().unwrap_or_else(|poison| poison.into_inner()).send((command, answer));
    sent.map_err(|_| none())?;
    heard.recv().map_err(|_| none())?
}

fn starter() -> Option<Mutex<Sender<Order>>> {
    let (send, orders) = channel::<Order>();
    let working = move || {
        for (mut command, answer) in orders {
            // A send fails only if the caller is gone.
            let _ = answer.send(command.spawn());
        }
    };
    std::thread::Builder::new().name("starter".into()).spawn(working).ok().map(|_| Mutex::new(send))
}

fn tie(command: &mut Command, parent: Pid) {
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // Detects a parent that was killed before the kernel knew of this.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::Error::from(io::ErrorKind::BrokenPipe)) }
    };
    // SAFETY: between fork and exec it makes two system calls, and neither takes memory nor a lock.
    unsafe { command.pre_exec(tie) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// Set where this test is the process that is going to be killed.
    const VICTIM: &str = "BAKEOFF_TEST_TIED";

    fn lives(pid: u32) -> bool {
        crate::process::Process::of(pid).is_some_and(|process| process.lives())
    }

    /// Starts a long sleep from a thread that ends at once, prints its process id, and waits for its end.
    fn victim() {
        let started = std::thread::spawn(|| {
            let mut sleep = Command::new("sleep");
            sleep.arg("600").stdout(Stdio::null());
            spawn(sleep).expect("it starts").id()
        });
        let pid = started.join().expect("no panic");
        println!("sleeps: {pid}");
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn a_tied_process_outlives_the_thread_that_asked_for_it_and_not_the_process() {
        if std::env::var_os(VICTIM).is_some() {
            return victim();
        }
        let name = "tied::tests::a_tied_process_outlives_the_thread_that_asked_for_it_and_not_the_process";
        let mut run = Command::new(std::env::current_exe().expect("this program"));
        let run = run.args(["--exact", name, "--nocapture"]).env(VICTIM, "1").stdout(Stdio::piped()).spawn();
        let mut run = run.expect("it starts");
        let note = BufReader::new(run.stdout.take().expect("piped"));
        let text = note.lines().map_while(Result::ok).find_map(|line| Some(line.split_once("sleeps: ")?.1.to_string()));
        let sleep: u32 = text.expect("it says which").trim().parse().expect("a number");
        std::thread::sleep(Duration::from_millis(100));
        assert!(lives(sleep), "the thread that asked for it is gone, and the process is not");
        run.kill().expect("killed");
        run.wait().expect("reaped");
        let end = Instant::now() + Duration::from_secs(20);
        while lives(sleep) {
            assert!(Instant::now() < end, "it outlives the process that started it");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
