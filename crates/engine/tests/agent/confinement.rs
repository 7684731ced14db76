//! What users' programs cannot change, whatever was checked before: everything but the contender's folder.
//! In: jobs of fio and shell lines that pass the checks. Out: files outside, unchanged.

use crate::commands::{ran, running, shell};
use crate::common::*;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use workload::outcome::CommandRun;
use workload::program::*;

/// A folder for the work, and one outside with another user's file in it.
struct Places {
    work: tempfile::TempDir,
    outside: tempfile::TempDir,
}

const LETTERS: &str = "letters\n";

impl Places {
    fn new() -> Places {
        let places = Places { work: folder(), outside: folder() };
        std::fs::write(places.precious(), LETTERS).unwrap();
        places
    }

    fn precious(&self) -> PathBuf {
        self.outside.path().join("precious")
    }

    /// Runs a phase, and checks that everything outside is unchanged; returns the result.
    fn tried(&self, phase: Phase) -> Result<CommandRun, String> {
        let mut agent = Agent::with(&program(self.work.path(), vec![], vec![phase]));
        let tried = match agent.perform(0) {
            workload::message::Reply::Done(outcome) => Ok(outcome.commands.into_iter().next().unwrap()),
            workload::message::Reply::Failed { reason, .. } => Err(reason),
            other => panic!("{other:?}"),
        };
        let names: Vec<_> =
            std::fs::read_dir(self.outside.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["precious"]);
        assert_eq!(std::fs::read_to_string(self.precious()).unwrap(), LETTERS);
        tried
    }

    fn refused(&self, phase: Phase, words: &[&str]) {
        let why = self.tried(phase).expect_err("it fails");
        assert!(words.iter().any(|word| why.contains(word)), "{why}");
    }
}

/// The kernel's errors for a write outside, as printed by fio and the shell.
const NO: [&str; 5] =
    ["Read-only file system", "Permission denied", "No such file", "Operation not permitted", "Invalid cross-device"];

fn as_user(phase: Phase, user: &str) -> Phase {
    changed(phase, |command| command.user = Some(user.into()))
}

fn changed(mut phase: Phase, change: impl FnOnce(&mut Command)) -> Phase {
    match &mut phase.groups[0].steps[0] {
        Step::Run(command) => change(command),
        other => panic!("{other:?}"),
    }
    phase
}

#[test]
fn a_job_of_fio_that_the_checker_let_through_changes_nothing_outside() {
    prerequisites::needs!(fio);
    let places = Places::new();
    let (precious, outside) = (places.precious(), places.outside.path().to_owned());
    let new = outside.join("new");
    let jobs = [
        format!("[global]\nfilename={}\n[job]\nrw=write\nsize=64k\n", precious.display()),
        format!("[{}]\nrw=write\nsize=64k\n", new.display()),
        format!("[job]\ndirectory={}\nrw=write\nsize=64k\n", outside.display()),
    ];
    for job in jobs {
        let fio = changed(running(&["fio", "-"]), |command| command.input = job.clone());
        places.refused(fio, &[&NO[..], &["fio"]].concat());
    }
    let inside =
        changed(running(&["fio", "-"]), |command| command.input = "[job]\nrw=write\nsize=64k\nfilename=f\n".into());
    assert!(!places.tried(inside).expect("it runs").confined_by.is_empty());
    assert_eq!(std::fs::metadata(places.work.path().join("f")).unwrap().len(), 65536);
}

#[test]
fn commands_of_root_and_of_users_write_in_their_folder_alone() {
    let places = Places::new();
    let outside = places.outside.path().display().to_string();
    let precious = places.precious().display().to_string();
    symlink(places.precious(), places.work.path().join("link")).unwrap();
    symlink(places.outside.path(), places.work.path().join("away")).unwrap();
    let lines = [
        format!("echo x >> {precious}"),
        format!("rm -f {precious}"),
        format!("mv {precious} ."),
        format!("ln {precious} hard && echo x >> hard"),
        format!("chmod 000 {precious}"),
        format!("touch -d 2001-01-01 {precious}"),
        format!("mkdir {outside}/new"),
        format!("mv $PWD/link {outside}/moved"),
        "echo x >> link".into(),
        "echo x > away/new".into(),
        "cd .. && echo x > ../escaped-from-work".into(),
        format!("truncate -s 0 {precious}"),
        format!("mount -o remount,rw,bind {outside} && echo x > {outside}/new"),
        format!("umount -l {outside}; umount -l $PWD; umount -l /; echo x > {outside}/new"),
        format!("unshare --map-root-user --mount sh -c 'mount -o remount,rw,bind /; echo x > {outside}/new'"),
        format!("echo x > /proc/1/root{outside}/new"),
        format!("nsenter --target 1 --mount sh -c 'echo x > {outside}/new'"),
        "mknod device b 7 0 && head -c 1 device".into(),
        "echo 0 > /proc/sys/kernel/printk".into(),
        "echo x > /tmp/bakeoff-confinement-test".into(),
        "kill -KILL 1; sleep 0.1; kill -0 1 && echo x > /escaped".into(),
        "chroot . /nothing; chroot /proc/1/root sh -c 'echo x > /escaped'".into(),
    ];
    let users: &[Option<&str>] = if as_root() { &[None, Some("nobody")] } else { &[None] };
    for user in users {
        for line in &lines {
            let phase = shell(line);
            let phase = user.map_or(phase.clone(), |user| as_user(phase, user));
            let tried = places.tried(phase);
            assert!(tried.is_err(), "{line} as {user:?}: {tried:?}");
        }
    }
    assert!(!Path::new("/escaped").exists() && !Path::new("/tmp/bakeoff-confinement-test").exists());
    assert!(!places.work.path().parent().unwrap().parent().unwrap().join("escaped-from-work").exists());
}

#[test]
fn no_device_of_the_machine_is_open_to_commands_and_the_harmless_ones_are() {
    prerequisites::needs!(root);
    let places = Places::new();
    let disks: Vec<String> = std::fs::read_dir("/sys/block")
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for disk in disks.iter().filter(|disk| Path::new("/dev").join(disk).exists()).take(3) {
        places.refused(shell(&format!("head -c 1 /dev/{disk}")), &["Permission denied"]);
    }
    let harmless = "head -c 8 /dev/urandom > /dev/null && echo x > /dev/stdout && : > /dev/full && : < /dev/zero";
    assert_eq!(places.tried(shell(harmless)).expect("it runs").output, "x");
}

#[test]
fn declared_private_folders_are_the_works_own() {
    prerequisites::needs!(root);
    // One of the private folders is an ancestor of the work folder.
    let places = Places { work: tempfile::tempdir_in("/tmp").unwrap(), ..Places::new() };
    let mine = format!("bakeoff-test-{}", std::process::id());
    let (in_tmp, in_run, in_memory) = (format!("/tmp/{mine}"), format!("/run/{mine}"), format!("/dev/shm/{mine}"));
    let line =
        format!("echo x > {in_tmp}; mkdir {in_run}/sockets; echo y > {in_memory}; ls /tmp; df -P /tmp | tail -n 1");
    let private = |phase| changed(phase, |command| command.private = vec!["/tmp".into(), in_run.clone()]);
    let run = places.tried(private(shell(&line))).expect("it runs");
    assert!(run.output.lines().any(|line| line == mine) && run.output.contains("bakeoff"), "{}", run.output);
    assert!([&in_tmp, &in_run, &in_memory].iter().all(|made| !Path::new(made).exists()));
    places.tried(as_user(private(shell(&format!("echo x > {in_tmp}"))), "nobody")).expect("a user's too");
    let missing = changed(shell("true"), |command| command.private = vec!["/no-such-folder".into()]);
    places.refused(missing, &["`private` names /no-such-folder"]);
}

#[test]
fn setuid_programs_give_a_user_nothing() {
    prerequisites::needs!(root);
    let places = Places::new();
    let copy = places.work.path().join("id");
    std::fs::copy("/usr/bin/id", &copy).unwrap();
    let chmod = std::process::Command::new("chmod").args(["4755", copy.to_str().unwrap()]).status().unwrap();
    assert!(chmod.success());
    let run = places.tried(as_user(shell("./id -u"), "nobody")).expect("it runs");
    assert_ne!(run.output, "0");
}

#[test]
fn a_command_is_unconfined_on_request_and_the_outcome_has_a_remark() {
    let places = Places::new();
    let line = format!("echo x > {}/new && rm {0}/new", places.outside.path().display());
    let phase = changed(shell(&line), |command| command.unconfined = true);
    let outcome = Agent::with(&program(places.work.path(), vec![], vec![phase])).done(0);
    assert!(outcome.commands[0].confined_by.is_empty());
    assert!(outcome.remarks.iter().any(|remark| remark.contains("ran unconfined")), "{:?}", outcome.remarks);
    let confined = ran(places.work.path(), shell("true"));
    assert!(!confined.confined_by.is_empty());
}

#[test]
fn a_folder_that_was_swapped_is_not_given_away() {
    prerequisites::needs!(root);
    let dir = folder();
    let (root, victim) = (dir.path().join("work"), dir.path().join("victim"));
    std::fs::create_dir(&root).unwrap();
    std::fs::create_dir(&victim).unwrap();
    let made = std::fs::metadata(&root).unwrap();
    let phase = as_user(shell("id -u > who"), "nobody");
    let asked = Program {
        root_inode: Some(Inode { device: made.dev(), number: made.ino() }),
        ..program(&root, vec![], vec![phase])
    };
    let mut agent = Agent::with(&asked);
    agent.done(0);
    std::fs::rename(&root, dir.path().join("moved")).unwrap();
    for swap in 0..3 {
        match swap {
            0 => symlink(&victim, &root).unwrap(),
            1 => std::fs::create_dir(&root).unwrap(),
            _ => std::fs::write(&root, "").unwrap(),
        }
        let (reason, _) = agent.failed(0);
        assert!(reason.contains("another process replaced the folder"), "{reason}");
        let facts = std::fs::metadata(&victim).unwrap();
        assert_eq!((facts.uid(), std::fs::read_dir(&victim).unwrap().count()), (0, 0));
        if swap == 1 { std::fs::remove_dir(&root).unwrap() } else { std::fs::remove_file(&root).unwrap() }
    }
    std::fs::rename(dir.path().join("moved"), &root).unwrap();
    agent.done(0);
}

fn as_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}
