//! What a test needs of the machine it runs on, asked in its first line: `needs!(root, fio);`.
//! In: names of needs. Out: the test goes on; or it returns and is counted as left out, with its reason; or, where everything is
//! required, it fails.
//!
//! `cargo test` knows no test that could not do its work: it would count as passed. So each one that is left out writes a line to the
//! file that `BAKEOFF_LEFT_OUT` names, and `scripts/test` takes it off the number of passed tests and prints the reasons.
//! `BAKEOFF_REQUIRE=all` makes a missing need a failure, except for the needs in `BAKEOFF_MAY_LACK` (separated by commas).
//!
//! ```
//! use prerequisites::needs;
//!
//! fn a_test_that_mounts() {
//!     needs!(root, loop_devices);
//!     // ...
//! }
//! # a_test_that_mounts();
//! ```

use std::io::Write;
use std::path::Path;

/// File to which a line is added for each test that is left out.
pub const LEFT_OUT: &str = "BAKEOFF_LEFT_OUT";

/// `all`: a need that is missing fails the test.
pub const REQUIRE: &str = "BAKEOFF_REQUIRE";

/// Needs that may be missing all the same, separated by commas.
pub const MAY_LACK: &str = "BAKEOFF_MAY_LACK";

/// Programs that tests need, by the name of the need: program, Debian's package.
const PROGRAMS: &[(&str, &str, &str)] = &[
    ("fio", "fio", "fio"),
    ("bonnie", "bonnie++", "bonnie++"),
    ("chromium", "chromium", "chromium"),
    ("git", "git", "git"),
    ("python", "python3", "python3"),
    ("strace", "strace", "strace"),
    ("bpftrace", "bpftrace", "bpftrace"),
    ("xfs", "mkfs.xfs", "xfsprogs"),
    ("btrfs", "mkfs.btrfs", "btrfs-progs"),
    ("zfs", "zfs-fuse", "zfs-fuse"),
    ("sgdisk", "sgdisk", "gdisk"),
    ("qemu", "qemu-system-x86_64", "qemu-system-x86"),
    ("gcc", "gcc", "build-essential"),
    ("make", "make", "build-essential"),
    ("rsync", "rsync", "rsync"),
    ("zstd", "zstd", "zstd"),
    ("sqlite", "sqlite3", "sqlite3"),
    ("rocksdb", "db_bench", "rocksdb-tools"),
    ("postgres", "pg_ctlcluster", "postgresql"),
    ("postal", "postal", "postal"),
    ("postfix", "postfix", "postfix"),
    ("gluster", "glusterd", "glusterfs-server"),
    ("sshfs", "sshfs", "sshfs"),
    ("sshd", "sshd", "openssh-server"),
    ("ip", "ip", "iproute2"),
    ("slurm", "slurmctld", "slurm-wlm"),
    ("munge", "munged", "munge"),
    ("mpi", "mpirun", "openmpi-bin"),
];

/// Leaves the test where this machine lacks one of the needs; see the crate's documentation.
#[macro_export]
macro_rules! needs {
    ($($need:ident),+ $(,)?) => {
        $(
            if let Some(why) = $crate::lack_of(stringify!($need)) {
                $crate::leave_out(stringify!($need), &why);
                return;
            }
        )+
    };
}

/// Why this machine cannot answer a need; None where it can.
///
/// # Panics
/// The need is unknown: a mistake of the test.
pub fn lack_of(need: &str) -> Option<String> {
    match need {
        "root" => (!is_root()).then(|| "root is needed, for mounts and devices".into()),
        "loop_devices" => (!Path::new("/dev/loop-control").exists()).then(|| "the kernel has no loop devices".into()),
        program => {
            let known = PROGRAMS.iter().find(|(name, _, _)| *name == program);
            let (_, program, package) = known.unwrap_or_else(|| panic!("there is no need {need:?}"));
            (!is_installed(program)).then(|| format!("{program} is missing (Debian's package {package})"))
        }
    }
}

/// Counts the test that runs on this thread as left out.
///
/// # Panics
/// Everything is required, and this need is not on the list of those that may be missing.
pub fn leave_out(need: &str, why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let may_lack = std::env::var(MAY_LACK).unwrap_or_default();
    let excused = may_lack.split([',', ' ']).any(|name| name == need);
    assert!(
        excused || std::env::var(REQUIRE).as_deref() != Ok("all"),
        "{test} could not do its work: {why}; {REQUIRE}=all asks for it ({MAY_LACK}={need} excuses it)"
    );
    println!("left out: {test}: {why}");
    let Some(file) = std::env::var_os(LEFT_OUT) else { return };
    let line = format!("{need}\t{test}\t{}\n", why.replace(['\n', '\t'], " "));
    let written = std::fs::OpenOptions::new().create(true).append(true).open(&file);
    // Lines of tests that run at the same time do not mix: each is one write to a file that is appended to.
    let written = written.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("{test} is left out and cannot be counted in {file:?}: {error}"));
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")))
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var("PATH").unwrap_or_default();
    path.split(':').chain(["/usr/sbin", "/sbin"]).any(|folder| Path::new(folder).join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn an_unknown_need_is_a_mistake_of_the_test() {
        assert!(std::panic::catch_unwind(|| lack_of("rooot")).is_err());
    }

    #[test]
    fn a_present_program_is_not_missing_and_a_missing_one_is_named_with_its_package() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program"));
        for (need, program, package) in PROGRAMS {
            if let Some(why) = lack_of(need) {
                assert!(why.contains(program) && why.contains(package), "{why}");
            }
        }
    }

    /// Runs in a process of its own, which the test below starts with another environment.
    #[test]
    fn stand_in_for_a_test_that_lacks_something() {
        if std::env::var("PREREQUISITES_STAND_IN").is_ok() {
            leave_out("telescope", "no telescope is here");
        }
    }

    #[test]
    fn skipped_tests_are_counted_and_fail_if_everything_is_required() {
        let file = std::env::temp_dir().join(format!("left-out-{}", std::process::id()));
        let stand_in = |required: &[(&str, &str)]| {
            let mut command = Command::new(std::env::current_exe().expect("this test's own program"));
            command.args(["--exact", "tests::stand_in_for_a_test_that_lacks_something", "--nocapture"]);
            command.env("PREREQUISITES_STAND_IN", "1").env_remove(REQUIRE).env_remove(MAY_LACK).env(LEFT_OUT, &file);
            command.envs(required.iter().copied()).output().expect("it starts").status.success()
        };
        assert!(stand_in(&[]));
        assert!(!stand_in(&[(REQUIRE, "all")]));
        assert!(!stand_in(&[(REQUIRE, "all"), (MAY_LACK, "microscope")]));
        assert!(stand_in(&[(REQUIRE, "all"), (MAY_LACK, "microscope,telescope")]));
        let counted = std::fs::read_to_string(&file).expect("it was written");
        std::fs::remove_file(&file).expect("removed");
        let line = "telescope\ttests::stand_in_for_a_test_that_lacks_something\tno telescope is here";
        assert_eq!(counted.lines().collect::<Vec<_>>(), [line, line]);
    }
}
