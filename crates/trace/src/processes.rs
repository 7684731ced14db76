//! Descriptors, folders and memory of the recorded threads.
//! In: births, ends, and calls that open, duplicate and close. Out: what a descriptor referred to when it was used.

use crate::events::OffCpu;
use crate::names::Node;
use crate::waiting::Channel;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// An open file description, which descriptors of several processes may share.
#[derive(Debug)]
pub struct Handle {
    /// Its number in the trace.
    pub number: u32,
    /// The opened node.
    pub node: Node,
}

/// The writing end of a channel.
#[derive(Debug)]
pub struct Writer(pub Channel);

/// What a descriptor refers to. Files outside of the folder have none.
#[derive(Debug, Clone)]
pub enum Open {
    /// A node in the folder.
    Inside(Rc<Handle>),
    /// A folder outside, relative to which paths may be given.
    Folder(String),
    /// A pipe or a connection: the channel to read from, and the one to write to.
    Channel(Option<Channel>, Option<Rc<Writer>>),
    /// A socket with this address that accepts connections.
    Listening(i64),
}

#[derive(Debug, Clone)]
struct Slot {
    open: Open,
    close_on_exec: bool,
}

/// Descriptors of a process.
#[derive(Debug, Clone, Default)]
pub struct Table(HashMap<i32, Slot>);

/// The last descriptor of something was closed.
#[derive(Debug)]
pub enum Closed {
    /// The last descriptor of a node in the folder.
    Handle(Rc<Handle>),
    /// The last writing end.
    Writer(Channel),
}

impl Table {
    /// What a descriptor refers to.
    pub fn get(&self, descriptor: i32) -> Option<&Open> {
        self.0.get(&descriptor).map(|slot| &slot.open)
    }

    /// Sets what a descriptor refers to; returns what that closed.
    pub fn set(&mut self, descriptor: i32, open: Open, close_on_exec: bool) -> Option<Closed> {
        self.0.insert(descriptor, Slot { open, close_on_exec }).and_then(closed)
    }

    /// Sets whether exec closes it.
    pub fn close_on_exec(&mut self, descriptor: i32, goes: bool) {
        if let Some(slot) = self.0.get_mut(&descriptor) {
            slot.close_on_exec = goes;
        }
    }

    /// Closes a descriptor.
    pub fn close(&mut self, descriptor: i32) -> Option<Closed> {
        self.0.remove(&descriptor).and_then(closed)
    }

    /// Closes descriptors at exec, or all of them at the end of the process.
    pub fn close_all(&mut self, at_exec: bool) -> Vec<Closed> {
        let mut going: Vec<i32> =
            self.0.iter().filter(|(_, slot)| !at_exec || slot.close_on_exec).map(|(number, _)| *number).collect();
        going.sort_unstable();
        going.into_iter().filter_map(|descriptor| self.close(descriptor)).collect()
    }
}

fn closed(slot: Slot) -> Option<Closed> {
    match slot.open {
        Open::Inside(handle) if Rc::strong_count(&handle) == 1 => Some(Closed::Handle(handle)),
        Open::Channel(_, Some(writer)) => Rc::try_unwrap(writer).ok().map(|writer| Closed::Writer(writer.0)),
        _ => None,
    }
}

/// The base of relative paths.
#[derive(Debug, Clone)]
pub enum Place {
    /// In the folder.
    Inside(Node),
    /// Outside.
    Outside(String),
}

/// A running thread.
#[derive(Debug)]
pub struct Thread {
    /// Its number in the trace.
    pub number: u32,
    /// The kernel's number of its process.
    pub process: i32,
    /// Its descriptors.
    pub table: Rc<RefCell<Table>>,
    /// Its working folder.
    pub place: Rc<RefCell<Place>>,
    /// Identifies the address space, for futexes.
    pub memory: u32,
    /// Time of its last event.
    pub seen: u64,
    /// Its off-processor time then.
    pub off: OffCpu,
    /// Nanoseconds of own time since its last action.
    pub think: u64,
    /// Its calls until then that the watcher did not record.
    pub unwatched: u64,
    /// Nanoseconds of recording still in its time, to be subtracted from what follows.
    pub owed: u64,
    /// Nanoseconds that its last call slept until a signal interrupted it: own time if the thread continues, none if it ends.
    pub cut_short: u64,
    /// When that call began.
    pub cut_since: u64,
    /// Its sleeps since it last waited for another thread, by their actions.
    pub sleeps: Vec<u32>,
    /// It had to wait for space in this stream until a moment, and has not continued yet.
    pub room: Option<(Channel, u64)>,
    /// Nanoseconds that it waited for a descriptor that it has not used yet.
    pub waited: u64,
    /// Start and end of that wait.
    pub waited_since: u64,
    pub waited_until: u64,
}

const CLONE_VM: u64 = libc::CLONE_VM as u64;
const CLONE_FS: u64 = libc::CLONE_FS as u64;
const CLONE_FILES: u64 = libc::CLONE_FILES as u64;
const CLONE_THREAD: u64 = libc::CLONE_THREAD as u64;

impl Thread {
    fn new(number: u32, process: i32, table: Rc<RefCell<Table>>, place: Rc<RefCell<Place>>, seen: u64) -> Thread {
        Thread {
            number,
            process,
            table,
            place,
            memory: number,
            seen,
            off: OffCpu::default(),
            think: 0,
            unwatched: 0,
            owed: 0,
            cut_short: 0,
            cut_since: 0,
            sleeps: Vec::new(),
            room: None,
            waited: 0,
            waited_since: 0,
            waited_until: 0,
        }
    }

    /// The first thread.
    pub fn first(process: i32, place: Place, seen: u64) -> Thread {
        Thread::new(0, process, Rc::default(), Rc::new(RefCell::new(place)), seen)
    }

    /// A thread created by this one.
    pub fn child(&self, number: u32, child: i32, flags: u64, at: u64) -> Thread {
        let table = if flags & CLONE_FILES != 0 {
            self.table.clone()
        } else {
            Rc::new(RefCell::new(self.table.borrow().clone()))
        };
        let place =
            if flags & CLONE_FS != 0 { self.place.clone() } else { Rc::new(RefCell::new(self.place.borrow().clone())) };
        let process = if flags & CLONE_THREAD != 0 { self.process } else { child };
        let made = Thread::new(number, process, table, place, at);
        if flags & CLONE_VM != 0 { Thread { memory: self.memory, ..made } } else { made }
    }

    /// exec: nothing is shared any more. Returns what it closed.
    pub fn execute(&mut self) -> Vec<Closed> {
        let (table, place) = (self.table.borrow().clone(), self.place.borrow().clone());
        (self.table, self.place) = (Rc::new(RefCell::new(table)), Rc::new(RefCell::new(place)));
        self.memory = self.number;
        self.table.borrow_mut().close_all(true)
    }

    /// The thread ends. Returns what no process has open any more.
    pub fn end(&mut self) -> Vec<Closed> {
        if Rc::strong_count(&self.table) > 1 { Vec::new() } else { self.table.borrow_mut().close_all(false) }
    }
}
