//! Whether a program passes power cuts only because filesystems give more than POSIX: fsync of a new file also makes its name durable.
//! In: a program. Out: which names of synced files may be gone according to POSIX, and whether its check passes without them.
//!
//! The program runs once more in a plain folder and is recorded. These names are removed from its result, and its check gets all of its lines.

use super::program::{FOLDER, Program, Running};
use crate::error::{ReliabilityError, doing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use trace::{NameAtRisk, Recording, Trace, Watcher};

/// Most names in a result.
const NAMES_KEPT: usize = 20;
/// Most bytes that a program may print.
const PRINTED_LIMIT: u64 = 256 << 20;
/// Free bytes of the host's disk that a program must leave, however large its own disk would be.
const KEPT_FREE: u64 = 256 << 20;
/// How long a program's children may run after its end: strace waits for all of them.
const GOES_ON: Duration = Duration::from_secs(10);
/// Runs the program in its own session: its lines go to the first file, its status and group to files beside that. At the end its group is
/// killed, as after each cut.
const RUN: &str = r#"echo $$ >"$0.group"; "$@" >"$0" 2>/dev/null </dev/null; echo $? >"$0.status"; kill -KILL 0"#;

/// What a program relies on beyond POSIX.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BeyondPosix {
    /// Names, relative to the program's folder, that POSIX does not protect when the program has ended: their file was synced, but not their folder after they were created. The first 20.
    pub names: Vec<String>,
    /// How many there are.
    pub count: usize,
    /// Output of its check without them, if that failed: the program relies on more than POSIX promises. Null if it passed, or if there are none.
    pub found: Option<String>,
    /// Why this could not be checked; null if it was.
    pub unseen: Option<String>,
}

/// Where and how long a program is inspected.
pub struct Look<'l> {
    /// The program.
    pub program: &'l Program,
    /// An empty folder, accessible to users that the program may become.
    pub folder: &'l Path,
    /// Bytes that the program may write there.
    pub room: u64,
    /// Whether to continue.
    pub go_on: &'l dyn Fn() -> bool,
}

impl Look<'_> {
    /// Runs the inspection.
    ///
    /// # Errors
    /// The user stopped it. If the program cannot be checked, the reason is in [`BeyondPosix::unseen`].
    pub fn look(&self) -> Result<BeyondPosix, ReliabilityError> {
        let looked = self.looked();
        if !(self.go_on)() {
            return Err(ReliabilityError::Stopped);
        }
        Ok(looked.unwrap_or_else(|why| BeyondPosix { unseen: Some(why), ..BeyondPosix::default() }))
    }

    fn looked(&self) -> Result<BeyondPosix, String> {
        let Look { program, folder, .. } = *self;
        let in_words = |error: ReliabilityError| error.to_string();
        program.prepared(folder).map_err(in_words)?;
        let (trace, lines) = self.recorded()?;
        if trace.header.hides_calls() {
            return Err("it uses io_uring or io_submit, whose syncs a recording may miss".into());
        }
        let at_risk = trace::names_at_risk(&trace);
        let names = at_risk.iter().take(NAMES_KEPT).map(|one| one.name.clone()).collect();
        let mut looked = BeyondPosix { names, count: at_risk.len(), ..BeyondPosix::default() };
        if at_risk.is_empty() {
            return Ok(looked);
        }
        // The check may change the files that it reads.
        let (place, copy) = (folder.join(FOLDER), folder.join("copy"));
        let copying = ["cp", "-a", "--reflink=auto", "--", FOLDER, "copy"].map(String::from);
        let copied = Running::start(&copying, folder, Stdio::null())
            .and_then(|mut running| running.end(Instant::now() + program.limit));
        copied.map_err(doing("copying its folder")).map_err(in_words)?;
        let whole = program.check(folder, &lines);
        whole.map_err(|output| format!("its check fails on the result of the recorded program: {output}"))?;
        let without = || {
            fs::remove_dir_all(&place)?;
            fs::rename(&copy, &place)?;
            at_risk.iter().try_for_each(|one| take_away(&place, one))
        };
        without().map_err(doing("removing names")).map_err(in_words)?;
        looked.found = program.check(folder, &lines).err();
        Ok(looked)
    }

    /// Runs the program while it is recorded; returns the lines that it printed.
    fn recorded(&self) -> Result<(Trace, Vec<String>), String> {
        let out = self.folder.join("printed");
        let [group, status] = ["group", "status"].map(|of| out.with_extension(of));
        let words = ["setsid", "sh", "-c", RUN].map(String::from).into_iter();
        let words = words.chain([out.to_string_lossy().into_owned()]).chain(self.program.command.iter().cloned());
        let mut asked = Recording {
            command: words.collect(),
            folder: self.folder.join(FOLDER),
            // strace slows the program down but is ready at once; nothing is timed here.
            watcher: Some(Watcher::Strace),
            made_by: String::new(),
            now: String::new(),
            filesystem: String::new(),
            kernel: crate::kernel(),
            free_memory: system::in_memory::available(),
        };
        let mut answer = self.record(&asked, &out, &status);
        if answer.is_err() && !group.exists() {
            asked.watcher = None;
            answer = self.record(&asked, &out, &status);
        }
        if answer.is_err() && !status.exists() {
            kill(&group);
        }
        let trace = answer?;
        match fs::read_to_string(&status).map(|text| text.trim().to_string()) {
            Ok(text) if text == "0" => {}
            Ok(text) => return Err(format!("the recorded program ended with status {text}")),
            Err(_) => return Err("the process group of the recorded program was killed".into()),
        }
        let printed = fs::read(&out).map_err(|error| format!("reading its output: {error}"))?;
        let lines = String::from_utf8_lossy(&printed).lines().map(String::from).collect();
        Ok((trace, lines))
    }

    /// Records it as long as it keeps within its limits.
    fn record(&self, asked: &Recording, out: &Path, status: &Path) -> Result<Trace, String> {
        let (end, free, ended) = (Instant::now() + self.program.limit, free(self.folder), Cell::new(None));
        let go_on = || {
            let now = Instant::now();
            if status.exists() && ended.get().is_none() {
                ended.set(Some(now));
            }
            match () {
                _ if !(self.go_on)() => Err("it was stopped"),
                _ if now > end => Err("the recorded program took too long"),
                _ if ended.get().is_some_and(|ended| now > ended + GOES_ON) => {
                    Err("its child processes continued after its end")
                }
                _ if fs::metadata(out).is_ok_and(|out| out.len() > PRINTED_LIMIT) => Err("it printed too much"),
                // Others write to the same disk, so the folder's content is counted only once the disk has lost this much.
                _ if free.saturating_sub(self::free(self.folder)) > self.room => self.fits(),
                _ => Ok(()),
            }
        };
        trace::record_while(asked, &|| go_on().map_err(String::from)).map(|recorded| recorded.trace)
    }

    /// Whether the folder has no more content than its disk would hold, and leaves the host enough space. Deleted files that the program
    /// keeps open are in no folder; the host's limit covers those.
    fn fits(&self) -> Result<(), &'static str> {
        match () {
            _ if free(self.folder) < KEPT_FREE => Err("its host had too little free space"),
            _ if used(&self.folder.join(FOLDER)) > self.room => Err("it needed more space than its disk has"),
            _ => Ok(()),
        }
    }
}

/// Free bytes of a folder's filesystem.
fn free(folder: &Path) -> u64 {
    rustix::fs::statvfs(folder).map_or(0, |found| found.f_bfree.saturating_mul(found.f_frsize))
}

/// Bytes of the files in a folder and its subfolders, without following links. Files that vanish meanwhile do not count.
fn used(folder: &Path) -> u64 {
    let (mut bytes, mut folders) = (0_u64, vec![folder.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            if found.is_dir() {
                folders.push(entry.path());
            }
            bytes = bytes.saturating_add(found.blocks().saturating_mul(512));
        }
    }
    bytes
}

/// Restores a name to its state when its folder was last synced.
fn take_away(folder: &Path, at_risk: &NameAtRisk) -> io::Result<()> {
    let path = folder.join(&at_risk.name);
    match &at_risk.former {
        Some(former) => fs::rename(&path, folder.join(former)),
        None if fs::symlink_metadata(&path)?.is_dir() => fs::remove_dir_all(&path),
        None => fs::remove_file(&path),
    }
}

/// Kills the processes of the group that a file names, which may outlive an early end of the recording.
fn kill(group: &Path) {
    let named = fs::read_to_string(group).ok().and_then(|text| text.trim().parse().ok());
    if let Some(group) = named.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_others_beside_the_folder_do_not_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let words = || vec!["true".to_string()];
        let limit = Duration::from_secs(1);
        let program = Program { prepare: Vec::new(), command: words(), check: words(), limit };
        let look = Look { program: &program, folder: folder.path(), room: 1 << 20, go_on: &|| true };
        let inside = folder.path().join(FOLDER).join("in/it");
        fs::create_dir_all(&inside).expect("folders");
        let write = |path: &Path, kib: usize| fs::write(path, vec![1; kib << 10]).expect("a file");
        write(&folder.path().join("beside"), 4 << 10);
        write(&inside.join("small"), 512);
        std::os::unix::fs::symlink("../../beside", inside.join("link")).expect("a link");
        assert_eq!(look.fits(), Ok(()));
        write(&inside.join("large"), 512);
        assert_eq!(look.fits(), Err("it needed more space than its disk has"));
    }
}
