//! Calls on descriptors and processes, and waiting; none of them touches a file.
//! In: a recorded call. Out: its meaning; tables of descriptors and streams are updated.

use crate::actions::{Builder, Meaning, WAIT};
use crate::events::Seen;
use crate::numbers as c;
use crate::processes::{Open, Place, Thread, Writer};
use crate::trace::Call;
use crate::waiting::Channel;
use std::rc::Rc;

const CLOSE_ON_EXEC: i64 = c::O_CLOEXEC as i64;

impl Builder {
    /// The meaning of a call.
    pub fn meaning(&mut self, seen: &Seen) -> Meaning {
        self.of_descriptors(seen)
            .or_else(|| self.of_streams(seen))
            .or_else(|| self.of_waiting(seen))
            .or_else(|| self.of_files(seen))
            .unwrap_or(Meaning::Own)
    }

    /// What a thread's descriptor refers to.
    pub fn open(&mut self, thread: i32, descriptor: i64) -> Option<Open> {
        self.of(thread).table.borrow().get(descriptor as i32).cloned()
    }

    /// Sets what a descriptor refers to.
    pub fn set(&mut self, seen: &Seen, descriptor: i64, open: Option<Open>, close_on_exec: bool) {
        let table = self.of(seen.thread).table.clone();
        let closed = match open {
            Some(open) => table.borrow_mut().set(descriptor as i32, open, close_on_exec),
            None => table.borrow_mut().close(descriptor as i32),
        };
        self.closed(seen.thread, seen.end, closed.into_iter().collect());
    }

    fn of_descriptors(&mut self, seen: &Seen) -> Option<Meaning> {
        let [first, second, third, ..] = seen.arguments;
        match seen.call {
            c::SYS_close => {
                let inside = matches!(self.open(seen.thread, first), Some(Open::Inside(_)));
                let before = self.actions.len();
                self.set(seen, first, None, false);
                // Closing the last descriptor has already added an action, with the call's time.
                if inside && self.actions.len() > before {
                    return Some(Meaning::Signalled);
                }
            }
            c::SYS_dup => self.copy(seen, first, seen.result, false),
            c::SYS_dup2 => self.copy(seen, first, second, false),
            c::SYS_dup3 => self.copy(seen, first, second, third & CLOSE_ON_EXEC != 0),
            c::SYS_fcntl => match second as i32 {
                c::F_DUPFD => self.copy(seen, first, seen.result, false),
                c::F_DUPFD_CLOEXEC => self.copy(seen, first, seen.result, true),
                c::F_SETFD => {
                    let goes = third & i64::from(c::FD_CLOEXEC) != 0;
                    self.of(seen.thread).table.borrow_mut().close_on_exec(first as i32, goes);
                }
                _ => {}
            },
            c::SYS_chdir | c::SYS_fchdir if seen.result == 0 => {
                let place = match seen.call {
                    c::SYS_chdir => self.place_of(seen.thread, seen.texts.first().map_or("", String::as_str)),
                    _ => match self.open(seen.thread, first) {
                        Some(Open::Inside(handle)) => Place::Inside(handle.node),
                        Some(Open::Folder(path)) => Place::Outside(path),
                        _ => Place::Outside("/".into()),
                    },
                };
                *self.of(seen.thread).place.borrow_mut() = place;
            }
            c::SYS_execve | c::SYS_execveat if seen.result == 0 => {
                let closed = self.of(seen.thread).execute();
                self.closed(seen.thread, seen.end, closed);
            }
            _ => return None,
        }
        Some(Meaning::Own)
    }

    fn copy(&mut self, seen: &Seen, from: i64, to: i64, close_on_exec: bool) {
        if seen.result >= 0 && from != to {
            let open = self.open(seen.thread, from);
            self.set(seen, to, open, close_on_exec);
        }
    }

    fn place_of(&mut self, thread: i32, path: &str) -> Place {
        match self.path_at(thread, i64::from(c::AT_FDCWD), path) {
            Some(path) => match self.names.find(&path, true).node {
                Some(node) if self.names.is_folder(node) => Place::Inside(node),
                _ => Place::Outside("/".into()),
            },
            None => Place::Outside(self.whole_path(thread, i64::from(c::AT_FDCWD), path)),
        }
    }

    fn channel(
        &mut self,
        seen: &Seen,
        descriptor: i64,
        (read, write): (Option<Channel>, Option<Channel>),
        close_on_exec: bool,
    ) {
        let open = Open::Channel(read, write.map(|channel| Rc::new(Writer(channel))));
        self.set(seen, descriptor, Some(open), close_on_exec);
    }

    fn of_streams(&mut self, seen: &Seen) -> Option<Meaning> {
        let [first, second, ..] = seen.arguments;
        let done = seen.result >= 0;
        match (seen.call, seen.numbers.as_slice()) {
            (c::SYS_pipe | c::SYS_pipe2, &[reads, writes]) if done => {
                let goes = seen.call == c::SYS_pipe2 && second & CLOSE_ON_EXEC != 0;
                let stream = Channel::default();
                self.channel(seen, reads, (Some(stream.clone()), None), goes);
                self.channel(seen, writes, (None, Some(stream)), goes);
            }
            (c::SYS_socketpair, &[one, other]) if done => {
                let goes = second & i64::from(c::SOCK_CLOEXEC) != 0;
                let (there, back) = (Channel::default(), Channel::default());
                self.channel(seen, one, (Some(back.clone()), Some(there.clone())), goes);
                self.channel(seen, other, (Some(there), Some(back)), goes);
            }
            (c::SYS_socket, _) if done => self.set(seen, seen.result, None, false),
            (c::SYS_bind, &[_]) if done => {
                let address = address(seen);
                self.set(seen, first, Some(Open::Listening(address)), true);
            }
            (c::SYS_connect, &[_]) if done || seen.result == -i64::from(c::EINPROGRESS) => {
                let by = self.tell(seen.thread, seen.start);
                let made = self.waiting.connect(address(seen), by);
                self.channel(seen, first, (Some(made.back), Some(made.there)), true);
            }
            (c::SYS_accept | c::SYS_accept4, _) if done => {
                if let Some(Open::Listening(address)) = self.open(seen.thread, first)
                    && let Some(made) = self.waiting.accept(address)
                {
                    self.channel(seen, seen.result, (Some(made.there), Some(made.back)), true);
                    return Some(Meaning::Waited(Some(made.by)));
                }
                return Some(Meaning::Polled);
            }
            _ => return self.of_bytes(seen, first),
        }
        Some(Meaning::Own)
    }

    /// Reads and writes of pipes and connections.
    fn of_bytes(&mut self, seen: &Seen, descriptor: i64) -> Option<Meaning> {
        let reads = matches!(seen.call, c::SYS_read | c::SYS_readv | c::SYS_recvfrom | c::SYS_recvmsg);
        let writes = matches!(seen.call, c::SYS_write | c::SYS_writev | c::SYS_sendto | c::SYS_sendmsg);
        if !reads && !writes {
            return None;
        }
        match self.open(seen.thread, descriptor)? {
            Open::Channel(Some(stream), _) if reads && seen.result >= 0 => {
                let by = stream.borrow_mut().heard(seen.result as u64);
                if by.is_some() {
                    stream.borrow_mut().drain(seen.end, self.order.next());
                }
                Some(Meaning::Waited(by))
            }
            Open::Channel(_, Some(writer)) if writes && seen.result > 0 => {
                // A writer that waited for a descriptor waited for space.
                let &mut Thread { waited, waited_until, .. } = self.of(seen.thread);
                if waited > WAIT {
                    self.made_room(seen.thread, &writer.0, (seen.start, waited_until));
                }
                let action = self.tell(seen.thread, seen.start);
                writer.0.borrow_mut().tell(action, seen.result as u64);
                if seen.off_at_end.since(seen.off_at_start).asleep > WAIT {
                    self.of(seen.thread).room = Some((writer.0.clone(), seen.end));
                }
                Some(Meaning::Signalled)
            }
            Open::Inside(_) => None,
            _ => Some(Meaning::Own),
        }
    }

    /// A thread continues at a moment after a reader made space in a stream.
    pub fn made_room(&mut self, thread: i32, stream: &Channel, (now, until): (u64, u64)) {
        if let Some(by) = stream.borrow().drained(until) {
            self.of(thread).waited = 0;
            self.emit(thread, (now, now), Call::Wait, 0, &[], &[by]);
        }
    }

    fn of_waiting(&mut self, seen: &Seen) -> Option<Meaning> {
        let [address, operation, ..] = seen.arguments;
        Some(match seen.call {
            c::SYS_wait4 | c::SYS_waitid if seen.result > 0 => {
                let ended = self.waiting.ended(seen.result as i32);
                let number = self.of(seen.thread).number;
                if ended.is_empty() {
                    return Some(Meaning::Waited(None));
                }
                let ends: Vec<u32> = ended.iter().map(|end| end.action).collect();
                self.emit(seen.thread, (seen.start, seen.end), Call::Wait, 0, &[], &ends);
                ended.iter().for_each(|end| self.order.joined(number, end.thread));
                Meaning::Signalled
            }
            c::SYS_kill | c::SYS_tgkill if seen.result == 0 => {
                let action = self.tell(seen.thread, seen.start);
                self.waiting.signal(address as i32, seen.start, action);
                Meaning::Signalled
            }
            c::SYS_waitid | c::SYS_rt_sigsuspend | c::SYS_pause | c::SYS_rt_sigtimedwait => {
                let process = self.of(seen.thread).process;
                let sent = self.waiting.signalled(process, seen.start);
                Meaning::Waited(sent.or_else(|| self.waiting.any_end(seen.start)))
            }
            c::SYS_futex => return Some(self.of_futex(seen, address, operation)),
            c::SYS_poll | c::SYS_ppoll | c::SYS_select | c::SYS_pselect6 | c::SYS_epoll_wait | c::SYS_epoll_pwait => {
                let process = self.of(seen.thread).process;
                match seen.result {
                    ready if ready > 0 => Meaning::Polled,
                    0 => Meaning::TimedOut,
                    _ => Meaning::Waited(self.waiting.interrupted(process, (seen.start, seen.end))),
                }
            }
            c::SYS_nanosleep | c::SYS_clock_nanosleep => Meaning::Waited(None),
            _ => return None,
        })
    }

    fn of_futex(&mut self, seen: &Seen, address: i64, operation: i64) -> Meaning {
        const PRIVATE: i64 = c::FUTEX_PRIVATE_FLAG as i64;
        let memory = if operation & PRIVATE != 0 { self.of(seen.thread).memory } else { 0 };
        match (operation & 0x7f) as i32 {
            c::FUTEX_WAKE
            | c::FUTEX_WAKE_BITSET
            | c::FUTEX_WAKE_OP
            | c::FUTEX_REQUEUE
            | c::FUTEX_CMP_REQUEUE
            | c::FUTEX_UNLOCK_PI
                if seen.result > 0 =>
            {
                let action = self.tell(seen.thread, seen.start);
                self.waiting.wake(memory, address, action);
                Meaning::Signalled
            }
            c::FUTEX_WAIT | c::FUTEX_WAIT_BITSET | c::FUTEX_LOCK_PI if seen.result == 0 => {
                Meaning::Waited(self.waiting.woken(memory, address, seen.start))
            }
            c::FUTEX_WAIT | c::FUTEX_WAIT_BITSET if seen.result == -i64::from(c::ETIMEDOUT) => Meaning::TimedOut,
            _ => Meaning::Own,
        }
    }
}

/// Whether a call signals others, so that its start is what counts.
pub fn signals(seen: &Seen) -> bool {
    matches!(
        seen.call,
        c::SYS_write
            | c::SYS_writev
            | c::SYS_close
            | c::SYS_kill
            | c::SYS_tgkill
            | c::SYS_sendto
            | c::SYS_sendmsg
            | c::SYS_futex
            | c::SYS_connect
    ) && !matches!(
        (seen.call, (seen.arguments[1] & 0x7f) as i32),
        (c::SYS_futex, c::FUTEX_WAIT | c::FUTEX_WAIT_BITSET | c::FUTEX_LOCK_PI)
    )
}

/// A number that is equal for all calls with the same address.
fn address(seen: &Seen) -> i64 {
    const UNIX: i64 = c::AF_UNIX as i64;
    const PORT: i64 = 0xffff_ffff;
    let first = seen.numbers.first().copied().unwrap_or(0);
    match (first & 0xffff, seen.texts.first()) {
        (UNIX, Some(path)) => path.bytes().fold(7, |sum: i64, byte| sum.wrapping_mul(31).wrapping_add(i64::from(byte))),
        // The family and the port; servers listen on any address, and clients name one.
        _ => first & PORT,
    }
}
