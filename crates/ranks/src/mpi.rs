//! [`Fellows`] by MPI: nonblocking broadcasts, reductions and gathers, polled until they complete.
//! In: called by every rank in the same order. Out: as the trait defines.
//! A blocking wait in MPI spins, which slows engines on a machine with more ranks than cores. So every wait sleeps, except during pings.

use crate::fellows::{Fellows, Note, Offset, now_ns};
use mpi::Threading;
use mpi::collective::SystemOperation;
use mpi::datatype::PartitionMut;
use mpi::environment::Universe;
use mpi::request::{Request, Scope};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, CommunicatorCollectives as _, Destination as _, Root as _, Source as _};
use std::cell::RefCell;
use std::time::Duration;

/// Tag of notes; pings have the other.
const NOTE: i32 = 1;
const PING: i32 = 2;
/// Pings for one clock comparison; the shortest round trip counts.
const PINGS: usize = 24;
/// First and longest pause between two polls.
const PAUSES: (Duration, Duration) = (Duration::from_micros(50), Duration::from_millis(4));

/// All ranks of this job.
pub struct ByMpi {
    world: SimpleCommunicator,
    offset: RefCell<Offset>,
    // Dropped last: it ends MPI.
    _universe: Universe,
}

impl ByMpi {
    /// Joins the job.
    ///
    /// # Errors
    /// This process was not started as MPI starts its own, or MPI cannot be used.
    pub fn join() -> Result<Self, String> {
        let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
            .ok_or("MPI is already in use in this process; this is a bug in bakeoff")?;
        Ok(Self { world: universe.world(), offset: RefCell::default(), _universe: universe })
    }

    /// Name of this machine according to MPI.
    pub fn host() -> String {
        mpi::environment::processor_name().unwrap_or_else(|_| "unknown".into())
    }
}

/// Polls a request until it completes.
fn patiently<'a, D: ?Sized, S: Scope<'a>>(mut request: Request<'a, D, S>, meanwhile: &mut dyn FnMut()) {
    let mut pause = PAUSES.0;
    loop {
        match request.test() {
            Ok(_) => return,
            Err(under_way) => request = under_way,
        }
        meanwhile();
        std::thread::sleep(pause);
        pause = (pause * 2).min(PAUSES.1);
    }
}

impl Fellows for ByMpi {
    fn rank(&self) -> u32 {
        self.world.rank() as u32
    }

    fn size(&self) -> u32 {
        self.world.size() as u32
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) {
        let root = self.world.process_at_rank(0);
        let mut length = bytes.len() as u64;
        mpi::request::scope(|scope| patiently(root.immediate_broadcast_into(scope, &mut length), &mut || {}));
        bytes.resize(length as usize, 0);
        mpi::request::scope(|scope| patiently(root.immediate_broadcast_into(scope, &mut bytes[..]), &mut || {}));
    }

    fn all(&self, yes: bool) -> bool {
        let (mine, mut least) = (i32::from(yes), 0i32);
        mpi::request::scope(|scope| {
            let reduced = self.world.immediate_all_reduce_into(scope, &mine, &mut least, SystemOperation::min());
            patiently(reduced, &mut || {});
        });
        least == 1
    }

    fn gather(&self, bytes: &[u8], meanwhile: &mut dyn FnMut()) -> Vec<Vec<u8>> {
        let root = self.world.process_at_rank(0);
        let length = bytes.len() as i32;
        if self.rank() > 0 {
            mpi::request::scope(|scope| patiently(root.immediate_gather_into(scope, &length), meanwhile));
            mpi::request::scope(|scope| patiently(root.immediate_gather_varcount_into(scope, bytes), meanwhile));
            return Vec::new();
        }
        let mut counts = vec![0i32; self.size() as usize];
        mpi::request::scope(|scope| {
            patiently(root.immediate_gather_into_root(scope, &length, &mut counts[..]), meanwhile);
        });
        let places: Vec<i32> = counts
            .iter()
            .scan(0i32, |at, count| {
                let place = *at;
                *at = at.checked_add(*count).expect("answers of all clients below 2 GiB");
                Some(place)
            })
            .collect();
        let mut all = vec![0u8; counts.iter().map(|count| *count as usize).sum()];
        {
            let mut parts = PartitionMut::new(&mut all[..], counts.as_slice(), places.as_slice());
            mpi::request::scope(|scope| {
                patiently(root.immediate_gather_varcount_into_root(scope, bytes, &mut parts), meanwhile);
            });
        }
        let each = places.iter().zip(&counts);
        each.map(|(place, count)| all[*place as usize..(*place + *count) as usize].to_vec()).collect()
    }

    fn offset(&self) -> Offset {
        if self.rank() == 0 {
            (1..self.size()).for_each(|rank| self.hold_against(rank));
            return Offset::default();
        }
        self.be_held();
        *self.offset.borrow()
    }

    fn tell(&self, rank: u32, note: Note) {
        self.world.process_at_rank(rank as i32).send_with_tag(&note[..], NOTE);
    }

    fn received(&self) -> Option<(u32, Note)> {
        let (message, status) = self.world.any_process().immediate_matched_probe_with_tag(NOTE)?;
        let mut note = Note::default();
        message.matched_receive_into(&mut note[..]);
        Some((status.source_rank() as u32, note))
    }
}

impl ByMpi {
    /// Pings one rank, and sends it the offset of its clock.
    fn hold_against(&self, rank: u32) {
        let other = self.world.process_at_rank(rank as i32);
        let (mut shortest, mut ns) = (u64::MAX, 0i64);
        for _ in 0..PINGS {
            let sent = now_ns();
            other.send_with_tag(&0u64, PING);
            let (theirs, _) = other.receive_with_tag::<u64>(PING);
            let way = now_ns() - sent;
            if way < shortest {
                (shortest, ns) = (way, theirs as i64 - (sent + way / 2) as i64);
            }
        }
        other.send_with_tag(&[ns, shortest.div_ceil(2) as i64][..], PING);
    }

    fn be_held(&self) {
        let first = self.world.process_at_rank(0);
        let mut pause = PAUSES.0;
        while first.immediate_probe_with_tag(PING).is_none() {
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(1));
        }
        for _ in 0..PINGS {
            let (_, _) = first.receive_with_tag::<u64>(PING);
            first.send_with_tag(&now_ns(), PING);
        }
        let (found, _) = first.receive_vec_with_tag::<i64>(PING);
        *self.offset.borrow_mut() = Offset { ns: found[0], error_ns: found[1] as u64 };
    }
}
