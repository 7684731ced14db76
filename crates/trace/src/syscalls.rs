//! The calls that are watched: those about files, and those by which threads wait for each other.
//! In: a name or number. Out: where its texts are. Both watchers read this one table.

use libc as c;

/// Where the memory lies that a call's arguments point to, as far as it is of interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Points {
    /// Nowhere.
    No,
    /// To a text each, from these arguments.
    Text(usize),
    Texts(usize, usize),
    /// To two numbers of 32 bits, from this argument.
    Pair(usize),
    /// To a socket's address, from the second argument.
    Address,
}

/// A call that is watched.
pub struct Watched {
    /// As strace calls it.
    pub name: &'static str,
    /// As the kernel numbers it.
    pub number: i64,
    /// Its texts.
    pub points: Points,
}

const fn watched(name: &'static str, number: i64, points: Points) -> Watched {
    Watched { name, number, points }
}

use Points::{Address, No, Pair, Text, Texts};

/// All of them.
pub const WATCHED: &[Watched] = &[
    watched("openat", c::SYS_openat, Text(1)),
    watched("close", c::SYS_close, No),
    watched("read", c::SYS_read, No),
    watched("pread64", c::SYS_pread64, No),
    watched("readv", c::SYS_readv, No),
    watched("preadv", c::SYS_preadv, No),
    watched("preadv2", c::SYS_preadv2, No),
    watched("write", c::SYS_write, No),
    watched("pwrite64", c::SYS_pwrite64, No),
    watched("writev", c::SYS_writev, No),
    watched("pwritev", c::SYS_pwritev, No),
    watched("pwritev2", c::SYS_pwritev2, No),
    watched("lseek", c::SYS_lseek, No),
    watched("getdents64", c::SYS_getdents64, No),
    watched("mmap", c::SYS_mmap, No),
    watched("fsync", c::SYS_fsync, No),
    watched("fdatasync", c::SYS_fdatasync, No),
    watched("syncfs", c::SYS_syncfs, No),
    watched("sync", c::SYS_sync, No),
    watched("sync_file_range", c::SYS_sync_file_range, No),
    watched("msync", c::SYS_msync, No),
    watched("ftruncate", c::SYS_ftruncate, No),
    watched("truncate", c::SYS_truncate, Text(0)),
    watched("fallocate", c::SYS_fallocate, No),
    watched("copy_file_range", c::SYS_copy_file_range, No),
    watched("sendfile", c::SYS_sendfile, No),
    watched("ioctl", c::SYS_ioctl, No),
    watched("fadvise64", c::SYS_fadvise64, No),
    watched("fstat", c::SYS_fstat, No),
    watched("newfstatat", c::SYS_newfstatat, Text(1)),
    watched("statx", c::SYS_statx, Text(1)),
    watched("faccessat", c::SYS_faccessat, Text(1)),
    watched("faccessat2", c::SYS_faccessat2, Text(1)),
    watched("readlinkat", c::SYS_readlinkat, Text(1)),
    watched("renameat2", c::SYS_renameat2, Texts(1, 3)),
    watched("unlinkat", c::SYS_unlinkat, Text(1)),
    watched("mkdirat", c::SYS_mkdirat, Text(1)),
    watched("linkat", c::SYS_linkat, Texts(1, 3)),
    watched("symlinkat", c::SYS_symlinkat, Texts(0, 2)),
    watched("fchmod", c::SYS_fchmod, No),
    watched("fchmodat", c::SYS_fchmodat, Text(1)),
    watched("fchown", c::SYS_fchown, No),
    watched("fchownat", c::SYS_fchownat, Text(1)),
    watched("utimensat", c::SYS_utimensat, Text(1)),
    watched("getxattr", c::SYS_getxattr, Text(0)),
    watched("lgetxattr", c::SYS_lgetxattr, Text(0)),
    watched("fgetxattr", c::SYS_fgetxattr, No),
    watched("listxattr", c::SYS_listxattr, Text(0)),
    watched("llistxattr", c::SYS_llistxattr, Text(0)),
    watched("flistxattr", c::SYS_flistxattr, No),
    watched("setxattr", c::SYS_setxattr, Text(0)),
    watched("lsetxattr", c::SYS_lsetxattr, Text(0)),
    watched("fsetxattr", c::SYS_fsetxattr, No),
    watched("dup", c::SYS_dup, No),
    watched("dup3", c::SYS_dup3, No),
    watched("fcntl", c::SYS_fcntl, No),
    watched("chdir", c::SYS_chdir, Text(0)),
    watched("fchdir", c::SYS_fchdir, No),
    watched("clone", c::SYS_clone, No),
    watched("clone3", c::SYS_clone3, No),
    watched("execve", c::SYS_execve, No),
    watched("execveat", c::SYS_execveat, No),
    watched("wait4", c::SYS_wait4, No),
    watched("waitid", c::SYS_waitid, No),
    watched("pipe2", c::SYS_pipe2, Pair(0)),
    watched("futex", c::SYS_futex, No),
    watched("ppoll", c::SYS_ppoll, No),
    watched("pselect6", c::SYS_pselect6, No),
    watched("epoll_pwait", c::SYS_epoll_pwait, No),
    watched("rt_sigtimedwait", c::SYS_rt_sigtimedwait, No),
    watched("rt_sigsuspend", c::SYS_rt_sigsuspend, No),
    watched("kill", c::SYS_kill, No),
    watched("tgkill", c::SYS_tgkill, No),
    watched("nanosleep", c::SYS_nanosleep, No),
    watched("clock_nanosleep", c::SYS_clock_nanosleep, No),
    watched("socket", c::SYS_socket, No),
    watched("socketpair", c::SYS_socketpair, Pair(3)),
    watched("bind", c::SYS_bind, Address),
    watched("connect", c::SYS_connect, Address),
    watched("accept", c::SYS_accept, No),
    watched("accept4", c::SYS_accept4, No),
    watched("sendto", c::SYS_sendto, No),
    watched("sendmsg", c::SYS_sendmsg, No),
    watched("recvfrom", c::SYS_recvfrom, No),
    watched("recvmsg", c::SYS_recvmsg, No),
    watched("io_uring_setup", c::SYS_io_uring_setup, No),
    watched("io_submit", c::SYS_io_submit, No),
];

/// Calls that only older architectures have beside their heirs.
#[cfg(target_arch = "x86_64")]
pub const OLD: &[Watched] = &[
    watched("open", c::SYS_open, Text(0)),
    watched("creat", c::SYS_creat, Text(0)),
    watched("stat", c::SYS_stat, Text(0)),
    watched("lstat", c::SYS_lstat, Text(0)),
    watched("access", c::SYS_access, Text(0)),
    watched("readlink", c::SYS_readlink, Text(0)),
    watched("rename", c::SYS_rename, Texts(0, 1)),
    watched("renameat", c::SYS_renameat, Texts(1, 3)),
    watched("unlink", c::SYS_unlink, Text(0)),
    watched("rmdir", c::SYS_rmdir, Text(0)),
    watched("mkdir", c::SYS_mkdir, Text(0)),
    watched("link", c::SYS_link, Texts(0, 1)),
    watched("symlink", c::SYS_symlink, Texts(0, 1)),
    watched("chmod", c::SYS_chmod, Text(0)),
    watched("chown", c::SYS_chown, Text(0)),
    watched("lchown", c::SYS_lchown, Text(0)),
    watched("utimes", c::SYS_utimes, Text(0)),
    watched("utime", c::SYS_utime, Text(0)),
    watched("futimesat", c::SYS_futimesat, Text(1)),
    watched("dup2", c::SYS_dup2, No),
    watched("pipe", c::SYS_pipe, Pair(0)),
    watched("fork", c::SYS_fork, No),
    watched("vfork", c::SYS_vfork, No),
    watched("poll", c::SYS_poll, No),
    watched("select", c::SYS_select, No),
    watched("epoll_wait", c::SYS_epoll_wait, No),
    watched("pause", c::SYS_pause, No),
];
#[cfg(not(target_arch = "x86_64"))]
pub const OLD: &[Watched] = &[];

/// All calls that are watched on this architecture.
pub fn all() -> impl Iterator<Item = &'static Watched> {
    WATCHED.iter().chain(OLD)
}
