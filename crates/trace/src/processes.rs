//! What descriptors, folders and memory the threads of the recorded processes had.
//! In: births, ends, and calls that open, duplicate and close. Out: what a descriptor stood for when it was used.

use crate::events::OffCpu;
use crate::names::Node;
use crate::waiting::Channel;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// An open file description: what descriptors of several processes may share.
#[derive(Debug)]
pub struct Handle {
    /// Its number in the trace.
    pub number: u32,
    /// What was opened.
    pub node: Node,
}

/// The end of a channel that writes.
#[derive(Debug)]
pub struct Writer(pub Channel);

/// What a descriptor stands for. What lies outside the folder has none.
#[derive(Debug, Clone)]
pub enum Open {
    /// Something in the folder.
    Inside(Rc<Handle>),
    /// A folder outside, by which paths may be named.
    Folder(String),
    /// A pipe or a connection: where it reads from and where it writes to.
    Channel(Option<Channel>, Option<Rc<Writer>>),
    /// A socket with this address, on which others connect.
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

/// What closing a descriptor ended: nobody has it open any more.
#[derive(Debug)]
pub enum Closed {
    /// The last descriptor of something in the folder.
    Handle(Rc<Handle>),
    /// The last end that wrote.
    Writer(Channel),
}

impl Table {
    /// What a descriptor stands for.
    pub fn get(&self, descriptor: i32) -> Option<&Open> {
        self.0.get(&descriptor).map(|slot| &slot.open)
    }

    /// Gives a descriptor a meaning; what it had before is closed.
    pub fn set(&mut self, descriptor: i32, open: Open, close_on_exec: bool) -> Option<Closed> {
        self.0.insert(descriptor, Slot { open, close_on_exec }).and_then(closed)
    }

    /// Whether it goes when a program is executed.
    pub fn close_on_exec(&mut self, descriptor: i32, goes: bool) {
        if let Some(slot) = self.0.get_mut(&descriptor) {
            slot.close_on_exec = goes;
        }
    }

    /// A descriptor is closed.
    pub fn close(&mut self, descriptor: i32) -> Option<Closed> {
        self.0.remove(&descriptor).and_then(closed)
    }

    /// A program is executed, or the process ends.
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

/// Where relative paths begin.
#[derive(Debug, Clone)]
pub enum Place {
    /// In the folder.
    Inside(Node),
    /// Elsewhere.
    Outside(String),
}

/// A thread as it runs.
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
    /// Tells memories apart, for futexes.
    pub memory: u32,
    /// When it was last seen.
    pub seen: u64,
    /// How long it had been on no processor then.
    pub off: OffCpu,
    /// Nanoseconds of its own since its last action.
    pub think: u64,
    /// Nanoseconds of watching that its time still holds, and that are taken off what comes.
    pub owed: u64,
    /// Nanoseconds that its last call slept until a signal cut it short: its own if it goes on after that, and none if it ends.
    pub cut_short: u64,
    /// It had to wait until a moment for room in this stream, and has not gone on yet.
    pub room: Option<(Channel, u64)>,
    /// Nanoseconds that it waited for a descriptor without having used it yet.
    pub waited: u64,
    /// When that began and ended.
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
            owed: 0,
            cut_short: 0,
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

    /// One that this one makes.
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

    /// A program is executed: nothing is shared any more. What was closed by it.
    pub fn execute(&mut self) -> Vec<Closed> {
        let (table, place) = (self.table.borrow().clone(), self.place.borrow().clone());
        (self.table, self.place) = (Rc::new(RefCell::new(table)), Rc::new(RefCell::new(place)));
        self.memory = self.number;
        self.table.borrow_mut().close_all(true)
    }

    /// It ends. What nobody has open any more.
    pub fn end(&mut self) -> Vec<Closed> {
        if Rc::strong_count(&self.table) > 1 { Vec::new() } else { self.table.borrow_mut().close_all(false) }
    }
}
