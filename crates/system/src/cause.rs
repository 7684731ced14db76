//! Whether a failure belongs to what was asked for or to the moment, decided where the failure is known.
//! In: an errno, an exit status, a signal. Out: a [`Cause`], by which others decide whether to try again.
//! No sentence is read for it: their words change with versions and languages.

use records::Cause;
use rustix::io::Errno;

/// What an errno says of the moment, and nothing of what was asked for.
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
    // What a filesystem that was switched to read-only after an error answers.
    Errno::ROFS,
    // What a filesystem answers whose server is gone.
    Errno::NOTCONN,
    Errno::CONNABORTED,
];

/// By the number that the system answered.
pub fn of_errno(errno: Errno) -> Cause {
    if OF_THE_MOMENT.contains(&errno) { Cause::Passing } else { Cause::Lasting }
}

/// By an error of the standard library; [`Cause::Unclear`] where no system call made it.
pub fn of_io(error: &std::io::Error) -> Cause {
    error.raw_os_error().map_or(Cause::Unclear, |number| of_errno(Errno::from_raw_os_error(number)))
}

/// By an exit status that does not mean success. A shell and `nsenter` answer 128 and the signal for a command that one ended.
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
