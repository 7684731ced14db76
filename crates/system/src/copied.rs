//! State that a cloned machine must renew: the time of day, and random numbers that no other clone has.
//! In: both, from the process that made the clone. Out: the clock is set, and the kernel's generator is reseeded from the given bytes.
//! Sources: clock_settime(2), random(4).

// Two ioctls of /dev/urandom.
#![allow(unsafe_code)]

use rustix::fs::{Mode, OFlags};
use rustix::ioctl::{NoArg, Opcode, Setter, ioctl};
use rustix::time::{ClockId, Timespec, clock_settime};
use std::io;
use std::time::Duration;

/// Bytes of a seed: the state of the kernel's generator.
pub const SEED: usize = 32;

/// RNDADDENTROPY and RNDRESEEDCRNG (linux/random.h).
const ADD_ENTROPY: Opcode = 0x4008_5203;
const RESEED: Opcode = 0x5207;

/// `struct rand_pool_info` with its bytes.
#[repr(C)]
struct Pool {
    bits: i32,
    bytes: i32,
    seed: [u8; SEED],
}

/// Sets this machine's clock to a time since 1970 in UTC.
///
/// # Errors
/// The system's error: only root may set it.
pub fn set_clock(since_epoch: Duration) -> io::Result<()> {
    let refused = |error: std::num::TryFromIntError| io::Error::new(io::ErrorKind::InvalidInput, error);
    let seconds = i64::try_from(since_epoch.as_secs()).map_err(refused)?;
    let time = Timespec { tv_sec: seconds, tv_nsec: i64::from(since_epoch.subsec_nanos()) };
    Ok(clock_settime(ClockId::Realtime, time)?)
}

/// Mixes this seed into the kernel's random number generator.
///
/// # Errors
/// The system's error: only root may do it.
pub fn stir(seed: &[u8; SEED]) -> io::Result<()> {
    let device = rustix::fs::open("/dev/urandom", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    let pool = Pool { bits: (SEED * 8) as i32, bytes: SEED as i32, seed: *seed };
    // SAFETY: the first request reads the structure that random(4) describes, with as many bytes after it as its field states; the second
    // takes no argument. Neither writes to this process's memory.
    unsafe {
        ioctl(&device, Setter::<ADD_ENTROPY, Pool>::new(pool))?;
        ioctl(&device, NoArg::<RESEED>::new())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stirring_succeeds_for_root_and_is_an_error_for_others() {
        // Adding randomness harms no machine; without root the kernel refuses it.
        let stirred = stir(&[7; SEED]);
        assert_eq!(stirred.is_ok(), crate::process::is_root(), "{stirred:?}");
    }

    #[test]
    fn a_time_that_no_clock_holds_is_refused() {
        let error = set_clock(Duration::MAX).expect_err("beyond every clock");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
