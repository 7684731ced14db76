//! Whether a failure is due to the request or to a temporary condition, decided where the failure is known.
//! In: an errno, an exit status, a signal. Out: a [`Cause`], by which callers decide whether to retry.
//! Error texts are not parsed: they change with versions and languages.

use records::Cause;
use rustix::io::Errno;

/// Errnos of a temporary condition, which do not depend on the request.
const OF_THE_MOMENT: [Errno; 18] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::NOMEM,
    Errno::BUSY,
    Errno::AGAIN,
    Errno::INTR,
    Errno::IO,
    Errno::TXTBSY,
    Errno::MFILE,
    Errno::NFILE,
    Errno::TIMEDOUT,
    Errno::STALE,
    Errno::NXIO,
    Errno::NODEV,
    Errno::NOBUFS,
    // A filesystem that became read-only after an error.
    Errno::ROFS,
    // A filesystem whose server is gone.
    Errno::NOTCONN,
    Errno::CONNABORTED,
];

/// The cause for an errno.
pub fn of_errno(errno: Errno) -> Cause {
    if OF_THE_MOMENT.contains(&errno) { Cause::Passing } else { Cause::Lasting }
}

/// The cause for an error of the standard library; [`Cause::Unclear`] where no system call failed.
pub fn of_io(error: &std::io::Error) -> Cause {
    error.raw_os_error().map_or(Cause::Unclear, |number| of_errno(Errno::from_raw_os_error(number)))
}

/// The cause for an exit status that is not success. A shell and `nsenter` return 128 plus the signal for a command that a signal ended.
pub fn of_status(status: i32) -> Cause {
    const SIGNALS: std::ops::RangeInclusive<i32> = 129..=159;
    if SIGNALS.contains(&status) { Cause::Passing } else { Cause::Unclear }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_passes_a_wrong_argument_lasts_and_a_status_may_be_either() {
        assert_eq!(of_errno(Errno::NOSPC), Cause::Passing);
        assert_eq!(of_errno(Errno::NOTCONN), Cause::Passing);
        assert_eq!(of_errno(Errno::INVAL), Cause::Lasting);
        assert_eq!(of_io(&std::io::Error::from_raw_os_error(12)), Cause::Passing);
        assert_eq!(of_io(&std::io::Error::other("words")), Cause::Unclear);
        assert_eq!(of_status(1), Cause::Unclear);
        assert_eq!(of_status(137), Cause::Passing, "killed behind a shell");
    }
}
