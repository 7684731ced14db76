//! The watched calls: those on files, and those by which threads wait for each other.
//! In: a name or number. Out: where its texts are. Both watchers use this table.

use libc::*;

/// Memory to which a call's arguments point, as far as it is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Points {
    /// Nowhere.
    No,
    /// A text at each of these arguments.
    Text(usize),
    Texts(usize, usize),
    /// Two numbers of 32 bits at this argument.
    Pair(usize),
    /// A socket's address at the second argument.
    Address,
}

/// A watched call.
pub(crate) struct Watched {
    /// Its name in strace.
    pub name: &'static str,
    /// Its number in the kernel.
    pub number: i64,
    /// Its texts.
    pub points: Points,
}

/// Calls by where their texts are, each by its name in the C library: strace's name with the prefix `SYS_`.
macro_rules! watched {
    ($($points:expr => $($call:ident)*;)*) => {
        &[$($(Watched { name: stringify!($call).split_at(4).1, number: $call, points: $points },)*)*]
    };
}

use Points::{Address, No, Pair, Text, Texts};

/// The calls of every architecture.
const WATCHED: &[Watched] = watched! {
    Text(1) => SYS_openat SYS_newfstatat SYS_statx SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_unlinkat SYS_mkdirat
        SYS_fchmodat SYS_fchownat SYS_utimensat;
    No => SYS_close SYS_read SYS_pread64 SYS_readv SYS_preadv SYS_preadv2 SYS_write SYS_pwrite64 SYS_writev SYS_pwritev
        SYS_pwritev2 SYS_lseek SYS_getdents64 SYS_mmap SYS_fsync SYS_fdatasync SYS_syncfs SYS_sync SYS_sync_file_range
        SYS_msync SYS_ftruncate SYS_fallocate SYS_copy_file_range SYS_sendfile SYS_ioctl SYS_fadvise64 SYS_fstat
        SYS_fchmod SYS_fchown SYS_fgetxattr SYS_flistxattr SYS_fsetxattr SYS_dup SYS_dup3 SYS_fcntl SYS_fchdir
        SYS_clone SYS_clone3 SYS_execve SYS_execveat SYS_wait4 SYS_waitid SYS_futex SYS_ppoll SYS_pselect6
        SYS_epoll_pwait SYS_rt_sigtimedwait SYS_rt_sigsuspend SYS_kill SYS_tgkill SYS_nanosleep SYS_clock_nanosleep
        SYS_socket SYS_accept SYS_accept4 SYS_sendto SYS_sendmsg SYS_recvfrom SYS_recvmsg SYS_io_uring_setup
        SYS_io_submit;
    Text(0) => SYS_truncate SYS_getxattr SYS_lgetxattr SYS_listxattr SYS_llistxattr SYS_setxattr SYS_lsetxattr
        SYS_chdir;
    Texts(1, 3) => SYS_renameat2 SYS_linkat;
    Texts(0, 2) => SYS_symlinkat;
    Pair(0) => SYS_pipe2;
    Pair(3) => SYS_socketpair;
    Address => SYS_bind SYS_connect;
};

/// Calls that only older architectures have beside their successors.
#[cfg(target_arch = "x86_64")]
const OLD: &[Watched] = watched! {
    Text(0) => SYS_open SYS_creat SYS_stat SYS_lstat SYS_access SYS_readlink SYS_unlink SYS_rmdir SYS_mkdir SYS_chmod
        SYS_chown SYS_lchown SYS_utimes SYS_utime;
    Texts(0, 1) => SYS_rename SYS_link SYS_symlink;
    Texts(1, 3) => SYS_renameat;
    Text(1) => SYS_futimesat;
    No => SYS_dup2 SYS_fork SYS_vfork SYS_poll SYS_select SYS_epoll_wait SYS_pause;
    Pair(0) => SYS_pipe;
};
#[cfg(not(target_arch = "x86_64"))]
const OLD: &[Watched] = &[];

/// All watched calls on this architecture.
pub fn all() -> impl Iterator<Item = &'static Watched> {
    WATCHED.iter().chain(OLD)
}
