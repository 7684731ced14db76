//! Numbers of system calls on every architecture.
//! In: those of the C library. Out: the same, and numbers that no call has for calls that this architecture lacks. So a match can name old
//! and new calls together; on arm64 the old ones never occur.

pub(crate) use libc::*;

#[cfg(not(target_arch = "x86_64"))]
macro_rules! absent {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(#[allow(non_upper_case_globals, reason = "the names of the C library")] pub(crate) const $name: c_long = $number;)*
    };
}

// Negative, since no call has such a number; distinct, so that no arm of a match hides another.
#[cfg(not(target_arch = "x86_64"))]
absent! {
    SYS_open = -1001, SYS_creat = -1002, SYS_stat = -1003, SYS_lstat = -1004, SYS_access = -1005, SYS_readlink = -1006,
    SYS_rename = -1007, SYS_link = -1008, SYS_unlink = -1009, SYS_symlink = -1010, SYS_mkdir = -1011, SYS_rmdir = -1012,
    SYS_chmod = -1013, SYS_chown = -1014, SYS_lchown = -1015, SYS_utime = -1016, SYS_utimes = -1017,
    SYS_futimesat = -1018, SYS_pipe = -1019, SYS_dup2 = -1020, SYS_poll = -1021, SYS_select = -1022,
    SYS_epoll_wait = -1023, SYS_pause = -1024,
}
