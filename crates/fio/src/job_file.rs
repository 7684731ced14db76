//! A job file as fio(1) describes it: sections of options, `[global]` ones that hold for the jobs behind them.
//! In: text. Out: jobs with all that holds for each; or the lines that would leave the folder, or change the machine.
//! What an option may say beyond that is fio's to judge (`fio --parse-only`).

use crate::numbers;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Bytes of a job file at most: what its program gets on its standard input.
const TEXT_LIMIT: usize = 60 << 10;
/// Jobs of one file.
const JOBS_LIMIT: usize = 64;
/// Problems that are told at once.
const PROBLEMS_LIMIT: usize = 12;

/// Other names of options, and those that are used here.
const ALIASES: [(&str, &str); 5] = [
    ("blocksize", "bs"),
    ("readwrite", "rw"),
    ("wait_for_previous", "stonewall"),
    ("timeout", "runtime"),
    ("io_limit", "io_size"),
];

/// Engines that read and write files of a folder.
const TRANSFERS: [&str; 10] =
    ["sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "posixaio", "io_uring", "mmap", "splice"];
/// Engines that do something else with such files, or with none.
const ENGINES: [&str; 9] =
    ["ftruncate", "falloc", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete", "cpuio"];

/// Options that do something outside of the folder, and what.
const OUTSIDE: [(&str, &str); 13] = [
    ("exec_prerun", "runs a command: give it with --command, or before fio in a workload file"),
    ("exec_postrun", "runs a command: give it with --command, or behind fio in a workload file"),
    ("ioscheduler", "sets the disk's scheduler: name it with the contender (ext4+bfq)"),
    ("cgroup", "makes a control group: --memory and limit.memory= do"),
    ("cgroup_weight", "changes a control group"),
    ("cgroup_nodelete", "leaves a control group behind"),
    ("uid", "runs as another user: --user does"),
    ("gid", "runs as another group: --user does"),
    ("read_iolog", "replays a file of calls, which is not in the contender's folder"),
    ("opendir", "opens all files of a folder that is there, and the contender's is empty"),
    ("hostname", "talks over a network"),
    ("profile", "loads a profile instead of jobs"),
    ("ignore_zone_limits", "is for zoned devices"),
];

/// What an option is set to, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its value; `1` for a bare word.
    pub value: String,
    /// Number of its line, from 1.
    pub line: usize,
}

/// A job, with all that the sections before it say of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// Name of its section.
    pub name: String,
    /// Number of the section's line.
    pub line: usize,
    pub(crate) settings: BTreeMap<String, Setting>,
    /// Options that its own section sets.
    own: BTreeSet<String>,
}

/// A job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// As it was given.
    pub text: String,
    /// In order.
    pub jobs: Vec<Job>,
    /// Names of the environment's variables that it uses (`${NAME}`).
    pub variables: BTreeSet<String>,
}

/// Lines of a job file that cannot be run in a contender's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem(pub Vec<String>);

impl fmt::Display for Problem {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, more) = self.0.split_at(self.0.len().min(PROBLEMS_LIMIT));
        to.write_str(&shown.join("\n"))?;
        if more.is_empty() { Ok(()) } else { write!(to, "\nand {} lines more", more.len()) }
    }
}

impl std::error::Error for Problem {}

impl JobFile {
    /// Reads a job file.
    ///
    /// # Errors
    /// It is too long, has no jobs, or lines that name devices, paths outside of the folder, or something that is done elsewhere; all of
    /// them, each with its number.
    pub fn read(text: &str) -> Result<JobFile, Problem> {
        if text.len() > TEXT_LIMIT {
            return Err(Problem(vec![format!("it has {} bytes; the limit is {TEXT_LIMIT}", text.len())]));
        }
        let (jobs, mut problems) = sections(text);
        if jobs.len() > JOBS_LIMIT {
            problems.push(format!("it has {} jobs; the limit is {JOBS_LIMIT}", jobs.len()));
        }
        if jobs.is_empty() && problems.is_empty() {
            problems.push("it has no job: a section beside [global]".into());
        }
        let settings = jobs.iter().flat_map(|job| &job.settings);
        let settings: BTreeSet<(usize, &String, &String)> =
            settings.map(|(key, setting)| (setting.line, key, &setting.value)).collect();
        for (line, key, value) in settings {
            problems.extend(outside(key, value).map(|why| format!("line {line}: `{key}={value}` {why}")));
        }
        if !problems.is_empty() {
            return Err(Problem(problems));
        }
        Ok(JobFile { text: text.to_owned(), jobs, variables: variables(text) })
    }

    /// Jobs that work side by side, one set after the other: a job with `stonewall` waits for all before it.
    #[must_use]
    pub fn stages(&self) -> Vec<&[Job]> {
        let mut starts: Vec<usize> = vec![0];
        starts.extend((1..self.jobs.len()).filter(|at| self.jobs[*at].truth("stonewall")));
        starts.push(self.jobs.len());
        starts.windows(2).map(|pair| &self.jobs[pair[0]..pair[1]]).collect()
    }

    /// Whether each stage can be run by itself, its jobs named: no name stands twice, and nobody waits for a job by its name.
    #[must_use]
    pub fn can_be_parted(&self) -> bool {
        let names: BTreeSet<&str> = self.jobs.iter().map(|job| &*job.name).collect();
        names.len() == self.jobs.len() && self.jobs.iter().all(|job| job.get("wait_for").is_none())
    }
}

impl Job {
    /// What an option is set to.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key)
    }

    /// Its value.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key).map(|setting| &*setting.value)
    }

    /// Whether it is set, and not to 0.
    #[must_use]
    pub fn truth(&self, key: &str) -> bool {
        self.text(key).is_some_and(numbers::truth)
    }

    /// Its value in bytes.
    #[must_use]
    pub fn bytes(&self, key: &str) -> Option<u64> {
        let base = self.text("kb_base").and_then(|base| base.parse().ok()).unwrap_or(1024);
        numbers::bytes(self.text(key)?, base)
    }

    /// Its value as a plain number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        self.text(key)?.trim().parse().ok()
    }

    /// Its value in seconds.
    #[must_use]
    pub fn seconds(&self, key: &str) -> Option<f64> {
        numbers::seconds(self.text(key)?)
    }

    /// Whether it goes past the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.truth("direct") || self.text("buffered").is_some_and(|text| !numbers::truth(text))
    }

    /// What it does: the word of `rw`, without an offset behind it; reads, where it says nothing.
    #[must_use]
    pub fn pattern(&self) -> &str {
        self.text("rw").map_or("read", |text| text.split(':').next().unwrap_or(text).trim())
    }

    /// Whether it reads, and whether it writes.
    #[must_use]
    pub fn directions(&self) -> (bool, bool) {
        if self.text("ioengine").is_some_and(|engine| !TRANSFERS.contains(&engine)) {
            return (false, false);
        }
        match self.pattern() {
            "read" | "randread" => (true, false),
            "write" | "randwrite" => (false, true),
            "rw" | "readwrite" | "randrw" => (true, true),
            _ => (false, false),
        }
    }
}

/// Jobs, and what is wrong with the file's form.
fn sections(text: &str) -> (Vec<Job>, Vec<String>) {
    let (mut jobs, mut problems): (Vec<Job>, Vec<String>) = (Vec::new(), Vec::new());
    let mut globals: BTreeMap<String, Setting> = BTreeMap::new();
    // None before the first section; Some(None) in a global one.
    let mut section: Option<Option<usize>> = None;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            section = Some(if name == "global" {
                None
            } else {
                jobs.push(Job { name: name.into(), line: number, settings: globals.clone(), own: BTreeSet::new() });
                Some(jobs.len() - 1)
            });
            continue;
        }
        if line.split_whitespace().next() == Some("include") {
            problems.push(format!("line {number}: `{line}` reads another file: put its lines here"));
            continue;
        }
        let (key, value) = line.split_once('=').map_or((line, "1"), |(key, value)| (key.trim(), value.trim()));
        let key = ALIASES.iter().find(|(other, _)| *other == key).map_or(key, |(_, known)| known).to_owned();
        let setting = Setting { value: value.into(), line: number };
        match section {
            None => problems.push(format!("line {number}: `{line}` stands before the first [section]")),
            Some(None) => drop(globals.insert(key, setting)),
            Some(Some(job)) => {
                jobs[job].own.insert(key.clone());
                jobs[job].settings.insert(key, setting);
            }
        }
    }
    (jobs, problems)
}

/// Why an option cannot be taken; None where it stays in the folder.
fn outside(key: &str, value: &str) -> Option<String> {
    if let Some((_, why)) = OUTSIDE.iter().find(|(known, _)| *known == key) {
        return Some((*why).into());
    }
    if key == "ioengine" && !ENGINES.contains(&value) && !TRANSFERS.contains(&value) {
        return Some("is no engine that works on files of a folder".into());
    }
    if key == "zonemode" && value == "zbd" {
        return Some("is for zoned devices".into());
    }
    if key == "rw" && value.contains("trim") {
        return Some("trims devices; files have no blocks to trim".into());
    }
    // Paths in lists stand between colons; sizes, rates and patterns begin with digits and letters.
    let parts = || value.split([':', ',']).map(str::trim);
    if parts().any(|part| part.starts_with("/dev/")) {
        return Some("names a device: jobs run on files in each contender's folder".into());
    }
    if parts().any(|part| part.starts_with('/')) {
        return Some("is a path outside of the contender's folder: leave it out, or name it without the `/`".into());
    }
    if parts().any(|part| part.split('/').any(|name| name == "..")) {
        return Some("leads out of the contender's folder".into());
    }
    None
}

fn variables(text: &str) -> BTreeSet<String> {
    text.split("${").skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globals_hold_for_the_jobs_behind_them() {
        let text = "; a comment\n[global]\nbs=4k\ndirect=1\n[a]\nrw=randread\n[global]\nblocksize=1m # large\n[b]\nreadwrite=write\nstonewall\n";
        let file = JobFile::read(text).expect("read");
        let of = |at: usize, key: &str| file.jobs[at].text(key);
        assert_eq!((of(0, "bs"), of(1, "bs"), of(1, "direct")), (Some("4k"), Some("1m"), Some("1")));
        assert_eq!((file.jobs[0].directions(), file.jobs[1].directions()), ((true, false), (false, true)));
        assert_eq!(file.stages().iter().map(|stage| stage.len()).collect::<Vec<_>>(), [1, 1]);
        assert!(file.jobs[0].is_direct() && !file.jobs[0].truth("stonewall"));
    }

    #[test]
    fn what_leads_out_of_the_folder_is_refused_with_its_line() {
        for (line, why) in [
            ("filename=/dev/sdb", "names a device"),
            ("filename=a:/dev/nvme0n1", "names a device"),
            ("directory=/tmp", "a path outside"),
            ("filename=../../etc/passwd", "leads out"),
            ("exec_prerun=rm -rf x", "runs a command"),
            ("ioengine=net", "no engine that works on files"),
            ("ioengine=external:/tmp/evil.so", "no engine that works on files"),
            ("ioscheduler=bfq", "sets the disk's scheduler"),
            ("write_iolog=/root/log", "a path outside"),
            ("mem=mmaphuge:/mnt/huge", "a path outside"),
            ("rw=randtrim", "trims devices"),
            ("include other.fio", "reads another file"),
        ] {
            let text = format!("[global]\nsize=1m\n[job]\n{line}\n");
            let problem = JobFile::read(&text).expect_err(line).to_string();
            assert!(problem.starts_with("line 4: ") && problem.contains(why), "{line}: {problem}");
        }
    }

    #[test]
    fn every_line_that_is_wrong_is_named_once() {
        let problem =
            JobFile::read("size=1m\n[global]\ndirectory=/a\n[x]\n[y]\nfilename=/b\n").expect_err("three lines");
        assert_eq!(problem.0.len(), 3, "{problem}");
        assert!(JobFile::read("[global]\nbs=4k\n").expect_err("no job").to_string().contains("no job"));
    }

    #[test]
    fn variables_of_the_environment_are_found() {
        let file = JobFile::read("[a]\nsize=${SIZE}\nbs=${BS}k\nfilename=x.$jobnum\n").expect("read");
        assert_eq!(file.variables.into_iter().collect::<Vec<_>>(), ["BS", "SIZE"]);
    }
}
