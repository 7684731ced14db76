//! A job file as fio(1) describes it: sections of options, and `[global]` ones that apply to the jobs after them.
//! In: text and the environment's variables. Out: jobs with all that applies to each, every option checked; or the lines that cannot run.
//! fio gets the output of [`written`](JobFile::written) for these jobs, never the original text.

use crate::lines::{Line, Lookup, Section, sections, shown};
use crate::map::Map;
use crate::{names, numbers, options};
use std::fmt;

/// Bytes of a job file at most, read or written; it is passed to fio on standard input.
const TEXT_LIMIT: usize = 60 << 10;
/// Jobs of one file.
const JOBS_LIMIT: usize = 64;
/// Jobs and their copies (`numjobs`): what fio runs at most.
const COPIES_LIMIT: u64 = 4096;
/// Problems listed in an error.
const PROBLEMS_LIMIT: usize = 8;
/// Name of a placeholder for earlier jobs; no section may have it.
const EARLIER: &str = "-earlier-";

/// The value of an option, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its value; `1` for a bare word.
    pub value: String,
    /// Number of its line, from 1.
    pub line: usize,
}

/// A job, with all options set by the sections before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Job {
    /// Name of its section, and of its files.
    pub name: String,
    /// Number of the section's line.
    pub line: usize,
    /// Options by their canonical name, in the order in which they were last set.
    settings: Vec<(&'static str, Setting)>,
    /// The folders of its files, if it names files: those of the section that named them.
    files_in: Option<String>,
}

/// A job file, all of it checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// In order.
    pub jobs: Vec<Job>,
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
    /// Reads a job file, with the values of the environment's variables.
    ///
    /// # Errors
    /// It is too long, has no jobs, or has lines with devices, paths outside the folder, commands, unknown options, or options that belong
    /// elsewhere; all of them are listed, each with its number.
    pub fn read(text: &str, variable: Lookup<'_>) -> Result<JobFile, Problem> {
        JobFile::read_mapped(text, variable, &Map::default())
    }

    /// The same, with other paths for some of its absolute ones.
    ///
    /// # Errors
    /// As above.
    pub fn read_mapped(text: &str, variable: Lookup<'_>, map: &Map) -> Result<JobFile, Problem> {
        if text.len() > TEXT_LIMIT {
            return Err(Problem(vec![format!("it has {} bytes; the limit is {TEXT_LIMIT}", text.len())]));
        }
        let (mut sections, mut problems) = sections(text, variable);
        sections.iter_mut().flat_map(|section| &mut section.lines).for_each(|line| map.apply(line));
        let file = JobFile { jobs: jobs(&sections, &mut problems) };
        if problems.is_empty() {
            problems = file.problems();
        }
        if problems.is_empty() { Ok(file) } else { Err(Problem(problems)) }
    }

    /// What is wrong with the file as a whole.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.jobs.is_empty() {
            problems.push("it has no job: a section besides [global]".into());
        }
        if self.jobs.len() > JOBS_LIMIT {
            problems.push(format!("it has {} jobs; the limit is {JOBS_LIMIT}", self.jobs.len()));
        }
        let copies = self.jobs.iter().map(Job::copies).fold(0, u64::saturating_add);
        if copies > COPIES_LIMIT {
            problems.push(format!("its jobs have {copies} copies in all (`numjobs`); the limit is {COPIES_LIMIT}"));
        }
        for (at, job) in self.jobs.iter().enumerate() {
            if let Some(Setting { value, line }) = job.get("numjobs")
                && plain_number(value).is_none()
            {
                problems.push(format!("line {line}: `numjobs={}` is not a plain number", shown(value)));
            }
            if let Some(other) = job.get("wait_for")
                && self.jobs[..at].iter().all(|earlier| earlier.name != other.value)
            {
                problems.push(format!("line {}: there is no job `{}` before this one", other.line, other.value));
            }
            if let Some(files) = job.get("filename")
                && job.files_in.as_deref() != job.text("directory")
            {
                problems.push(format!(
                    "line {}: `filename={}` and the `directory` of [{}] are in different sections, and fio takes the folder of the \
                     section that names the files: write both in [{}]",
                    files.line, shown(&files.value), job.name, job.name
                ));
            }
        }
        let bytes = JobFile::written(&self.jobs, 0).len();
        if bytes > TEXT_LIMIT && problems.is_empty() {
            problems
                .push(format!("its jobs have {bytes} bytes, including inherited options; the limit is {TEXT_LIMIT}"));
        }
        problems
    }

    /// The text of a job file with these jobs alone: only what was checked, without global sections. `earlier` jobs and copies are before
    /// them in the whole file. fio numbers its jobs and derives random numbers from the number, so as many placeholders that end at once
    /// replace them; the first job is then in the second group of the report.
    #[must_use]
    pub fn written(jobs: &[Job], earlier: u64) -> String {
        let mut text = String::new();
        if earlier > 0 {
            text +=
                &format!("[{EARLIER}]\nioengine=null\nrw=read\nsize=4k\ncreate_only=1\nthread=1\nnumjobs={earlier}\n");
        }
        for (at, job) in jobs.iter().enumerate() {
            text += &format!("[{}]\n", job.name);
            let first = earlier > 0 && at == 0;
            for (key, setting) in &job.settings {
                if !(first && ["stonewall", "new_group"].contains(key)) {
                    text += &format!("{key}={}\n", setting.value);
                }
            }
            if first {
                text += "new_group=1\n";
            }
        }
        text
    }

    /// Jobs that run in parallel, one set after the other: a job with `stonewall` waits for all before it.
    #[must_use]
    pub fn stages(&self) -> Vec<&[Job]> {
        let mut starts: Vec<usize> = vec![0];
        starts.extend((1..self.jobs.len()).filter(|at| self.jobs[*at].truth("stonewall")));
        starts.push(self.jobs.len());
        starts.windows(2).map(|pair| &self.jobs[pair[0]..pair[1]]).collect()
    }

    /// Whether each stage can run by itself: no job waits for another by name.
    #[must_use]
    pub fn can_be_parted(&self) -> bool {
        self.jobs.iter().all(|job| job.get("wait_for").is_none())
    }
}

impl Job {
    /// The setting of an option.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().find(|(known, _)| *known == key).map(|(_, setting)| setting)
    }

    /// All options that are set.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static str, &Setting)> {
        self.settings.iter().map(|(key, setting)| (*key, setting))
    }

    /// How many copies of it run (`numjobs`).
    #[must_use]
    pub fn copies(&self) -> u64 {
        self.text("numjobs").and_then(plain_number).unwrap_or(1).max(1)
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

    /// Whether it bypasses the page cache.
    #[must_use]
    pub fn is_direct(&self) -> bool {
        self.truth("direct") || self.text("buffered").is_some_and(|text| !numbers::truth(text))
    }

    /// Its operation: the word of `rw` without an offset; reads if it is not set.
    #[must_use]
    pub fn pattern(&self) -> &str {
        self.text("rw").map_or("read", |text| text.split(':').next().unwrap_or(text).trim())
    }

    /// Whether it reads, and whether it writes.
    #[must_use]
    pub fn directions(&self) -> (bool, bool) {
        if self.text("ioengine").is_some_and(|engine| !options::transfers(engine)) {
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

/// The jobs of a file's sections, and what is wrong with them.
fn jobs(sections: &[Section], problems: &mut Vec<String>) -> Vec<Job> {
    let (mut jobs, mut globals): (Vec<Job>, Job) = (Vec::new(), Job::default());
    for section in sections {
        let mut job = globals.clone();
        let checked: Vec<(&Line, options::Checked)> =
            section.lines.iter().filter_map(|line| check(line, problems)).collect();
        // fio applies a section's folder to its files, even if the folder comes after them.
        let folder = checked.iter().rev().find(|(_, option)| option.key == "directory");
        let folder =
            folder.map_or_else(|| job.text("directory").map(str::to_owned), |(_, option)| option.value.clone());
        // Without a folder, files are in the contender's own.
        let folder = folder.filter(|folder| !folder.is_empty());
        for (line, option) in checked {
            let Some(mut value) = option.value else { continue };
            let earlier = job.settings.iter().position(|(key, _)| *key == option.key);
            let earlier = earlier.map(|at| job.settings.remove(at).1);
            if option.adds {
                if job.files_in != folder && earlier.is_some() {
                    problems.push(format!(
                        "line {}: `{}` adds to the files of a section in another `directory`: name all files of a job in one section",
                        line.number, shown(&line.written)
                    ));
                }
                value = earlier.map(|earlier| earlier.value + ":").unwrap_or_default() + &value;
                job.files_in.clone_from(&folder);
            }
            if !(option.key == "directory" && value.is_empty()) {
                job.settings.push((option.key, Setting { value, line: line.number }));
            }
        }
        if section.is_global() {
            globals = job;
            continue;
        }
        match names::job(&section.name) {
            Ok(name) => jobs.push(Job { name, line: section.number, ..job }),
            Err(why) => problems.push(format!("line {}: `[{}]` {why}", section.number, shown(&section.name))),
        }
    }
    jobs
}

fn check<'a>(line: &'a Line, problems: &mut Vec<String>) -> Option<(&'a Line, options::Checked)> {
    match options::checked(&line.key, line.value.as_deref()) {
        Ok(option) => Some((line, option)),
        Err(why) => {
            let Line { number, key, value, written } = line;
            let expanded = value.as_ref().map_or_else(|| key.clone(), |value| format!("{key}={value}"));
            let origin = if written.contains("${") { format!(", from `{}`,", shown(written)) } else { String::new() };
            problems.push(format!("line {number}: `{}`{origin} {why}", shown(&expanded)));
            None
        }
    }
}

/// A number without a unit, also in hexadecimal digits.
fn plain_number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<JobFile, Problem> {
        let known = |name: &str| match name {
            "TARGET" => Some("/dev/loop7".to_owned()),
            "PLACE" => Some("/srv".into()),
            "WHEN" => Some("prerun".into()),
            "SIZE" => Some("4m".into()),
            "LINES" => Some("1m\nexec_prerun=reboot".into()),
            "SECTION" => Some("1m\n[/dev/loop7]".into()),
            "COMMENT" => Some("1m;x".into()),
            "PAIR" => Some("filename=/dev/loop7".into()),
            "KEY" => Some("exec_prerun".into()),
            _ => None,
        };
        JobFile::read(text, &known)
    }

    fn taken(text: &str) -> JobFile {
        read(text).unwrap_or_else(|problem| panic!("{text}: {problem}"))
    }

    #[test]
    fn globals_hold_for_the_jobs_after_them() {
        let text = "; a comment\n[global]\nbs=4k\ndirect=1\n[a]\nrw=randread\n[global-large]\nblocksize=1m # large\n[b]\nreadwrite=write\nstonewall\n";
        let file = taken(text);
        let of = |at: usize, key: &str| file.jobs[at].text(key);
        assert_eq!((of(0, "bs"), of(1, "bs"), of(1, "direct")), (Some("4k"), Some("1m"), Some("1")));
        assert_eq!((file.jobs[0].directions(), file.jobs[1].directions()), ((true, false), (false, true)));
        assert_eq!(file.stages().iter().map(|stage| stage.len()).collect::<Vec<_>>(), [1, 1]);
        assert!(file.jobs[0].is_direct() && !file.jobs[0].truth("stonewall"));
    }

    #[test]
    fn a_path_outside_the_folder_is_refused_with_its_line() {
        for (line, why) in [
            ("filename=/dev/sdb", "names a device"),
            ("filename=a:/dev/nvme0n1", "names a device"),
            ("filename = a\\:/dev/nvme0n1", "names a device"),
            ("directory=/tmp", "a path outside"),
            ("filename=../../etc/passwd", "leads out"),
            ("filename=${TARGET}", "`filename=/dev/loop7`, from `filename=${TARGET}`, names a device"),
            ("directory=${PLACE}", "a path outside"),
            ("directory=${PLACE}/x:y", "a path outside"),
            ("exec_prerun=rm -rf x", "runs a command"),
            ("exec_${WHEN}=touch /var/tmp/executed", "runs a command"),
            ("${KEY}=touch x", "runs a command"),
            ("${PAIR}", "names a device"),
            ("size=${LINES}", "neither a number nor a list"),
            ("size=${SECTION}", "neither a number nor a list"),
            ("size=${COMMENT}", "neither a number nor a list"),
            ("size=${TARGET}", "neither a number nor a list"),
            ("filename=${NONE}", "not set"),
            ("filename=-", "begins with"),
            ("filename=x$ncpus", "has '$'"),
            ("size=8*$mb_memory", "neither a number nor a list"),
            ("filename_format=/dev/$jobname", "is a path"),
            ("filename_format=../$jobname", "is a path"),
            ("ioengine=net", "not an engine that works on files"),
            ("ioengine=external:/tmp/evil.so", "not an engine that works on files"),
            ("ioengine=cpuio", "not an engine that works on files"),
            ("ioscheduler=bfq", "sets the disk's scheduler"),
            ("write_iolog=/root/log", "writes a log"),
            ("write_bw_log", "writes a log"),
            ("write_lat_log=x", "writes a log"),
            ("read_iolog=x", "replays an I/O log"),
            ("opendir=/etc", "opens all files"),
            ("verify_state_load=1", "keeps the state"),
            ("mem=mmaphuge:/mnt/huge", "uses memory"),
            ("buffer_pattern='/etc/shadow'", "a file name"),
            ("rw=randtrim", "trims devices"),
            ("io_submit_mode=offload", "hang forever"),
            ("unified_rw_reporting=1", "adds up reads and writes"),
            ("--rw=read", "not an option"),
            ("--exec_prerun=reboot", "not an option"),
            ("trigger=reboot", "not an option"),
            ("include other.fio", "includes another file"),
            ("include\tother.fio", "includes another file"),
        ] {
            let text = format!("[global]\nsize=1m\n[job]\n{line}\n");
            let problem = read(&text).expect_err(line).to_string();
            assert!(problem.starts_with("line 4: ") && problem.contains(why), "{line}: {problem}");
        }
    }

    #[test]
    fn files_that_several_lines_name_add_up_and_each_is_checked() {
        let problem = read("[global]\nfilename=/dev/loop7\n[job]\nfilename=inside\n").expect_err("a device");
        assert_eq!(
            problem.0,
            ["line 2: `filename=/dev/loop7` names a device: jobs run on files in each contender's folder"]
        );
        let file = taken("[global]\nfilename=a\n[b]\nfilename=b:c\nfilename=./d\nsize=1m\n[c]\nsize=1m\n");
        assert_eq!((file.jobs[0].text("filename"), file.jobs[1].text("filename")), (Some("a:b:c:d"), Some("a")));
    }

    #[test]
    fn files_are_in_the_folder_of_the_section_that_names_them() {
        let file = taken("[a]\nfilename=x\ndirectory=sub\n[b]\ndirectory=sub\nfilename=x\n");
        assert_eq!(file.jobs[0].text("directory"), file.jobs[1].text("directory"));
        for text in [
            "[global]\nfilename=x\n[a]\ndirectory=sub\n",
            "[global]\ndirectory=one\nfilename=x\n[a]\ndirectory=two\n",
            "[global]\nfilename=x\n[a]\ndirectory=sub\nfilename=y\n",
        ] {
            assert!(read(text).expect_err(text).to_string().contains("section"), "{text}");
        }
    }

    #[test]
    fn names_of_sections_become_names_of_files_and_stay_inside() {
        for name in ["/dev/loop7", "../../..", "..", "a/b", "${TARGET}", "$jobname", "-", "x'y", "a\\:b"] {
            for more in ["", "filename_format=$jobname\n", "filename_format=$JOBNAME.$filenum\n", "filename=inside\n"] {
                let text = format!("[global]\nsize=1m\n{more}[{name}]\nrw=write\n");
                let problem = read(&text).expect_err(name).to_string();
                assert!(
                    problem.starts_with(&format!("line {}: `[{name}]` ", if more.is_empty() { 3 } else { 4 })),
                    "{problem}"
                );
            }
        }
    }

    #[test]
    fn fio_gets_nothing_but_what_was_checked() {
        let text = "; /dev/sda\n[global-all]\n# exec_prerun=reboot\nsize=${SIZE} ; filename=/dev/sda\nbs=4k\nbs=8k\n\
                    description=rm -rf / \u{e9}\n\n[ a b ]\nname=other\nfilename_format=$jobname.$filenum\nthread\nnrfiles=2\nlog_avg_msec=10\n[c]\nstonewall\n";
        let file = taken(text);
        assert_eq!(
            JobFile::written(&file.jobs[..1], 0),
            "[a b]\nsize=4m\nbs=8k\nfilename_format=$jobname.$filenum\nthread=1\nnrfiles=2\n"
        );
        assert_eq!(JobFile::written(&file.jobs[1..], 0), "[c]\nsize=4m\nbs=8k\nstonewall=1\n");
        let again = read(&JobFile::written(&file.jobs, 0)).expect("what was written is a job file");
        assert_eq!(JobFile::written(&again.jobs, 0), JobFile::written(&file.jobs, 0));
    }

    #[test]
    fn a_job_that_runs_by_itself_keeps_its_number() {
        let file = taken("[a]\nsize=1m\nnumjobs=0x3\n[b]\nstonewall\nsize=1m\n[c]\nsize=2m\nnew_group\n");
        assert_eq!(file.jobs[0].copies(), 3);
        assert_eq!(
            JobFile::written(&file.jobs[1..], 3),
            "[-earlier-]\nioengine=null\nrw=read\nsize=4k\ncreate_only=1\nthread=1\nnumjobs=3\n\
             [b]\nsize=1m\nnew_group=1\n[c]\nsize=2m\nnew_group=1\n"
        );
        read("[-earlier-]\nsize=1m\n").expect_err("a name that begins with a sign");
    }

    #[test]
    fn every_line_that_is_wrong_is_named_once() {
        let problem = read("size=1m\n[global]\ndirectory=/a\n[x]\n[y]\nfilename=/b\n").expect_err("three lines");
        assert_eq!(problem.0.len(), 3, "{problem}");
        assert!(read("[global]\nbs=4k\n").expect_err("no job").to_string().contains("no job"));
        let many: String = (0..65).map(|number| format!("[j{number}]\n")).collect();
        assert!(read(&many).expect_err("many").to_string().contains("65 jobs"));
        assert!(read("[a]\nnumjobs=5000\n").expect_err("copies").to_string().contains("5000 copies"));
        let long = "x".repeat(1000);
        let lines =
            [format!("{long}=1"), format!("filename=/{long}"), format!("size={long}"), format!("include {long}")];
        let lines: String = lines.iter().cycle().take(40).map(|line| format!("{line}\n")).collect();
        let refusal = read(&format!("[a]\n{}", lines)).expect_err("long lines").to_string();
        assert!(refusal.len() < 4096, "a refusal of {} bytes", refusal.len());
        assert!(read("[a]\nwait_for=b\n[b]\n").expect_err("later").to_string().contains("there is no job"));
    }

    /// Fragments of hostile and common job files.
    const PIECES: [&str; 48] = [
        "[",
        "]",
        "\n",
        "\n",
        "\n",
        "=",
        "=",
        ":",
        "\\:",
        ",",
        ";",
        "#",
        " ",
        "\t",
        "\r",
        "\0",
        "$",
        "${TARGET}",
        "${PLACE}",
        "${KEY}",
        "${LINES}",
        "${SECTION}",
        "${PAIR}",
        "${COMMENT}",
        "${",
        "/",
        "..",
        "../",
        "/dev/loop7",
        "-",
        "'",
        "\"",
        "global",
        "[global]\n",
        "[a]\n",
        "[b]\nstonewall\n",
        "filename=",
        "directory=",
        "filename_format=",
        "$jobname",
        "size=1m\n",
        "rw=",
        "randread\n",
        "exec_prerun=",
        "include ",
        "mem=mmap",
        "x",
        "1",
    ];

    #[test]
    fn whatever_is_taken_stays_inside_and_is_read_again_as_it_was_written() {
        let mut state = 7_u64;
        let mut draw = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut accepted = 0;
        for _ in 0..1_500 {
            let mut text = String::from("[job]\n");
            for _ in 0..=draw(3) {
                let key =
                    ["filename=", "directory=", "filename_format=", "filename=a", "size=1m", "[x", "[global", "thread"];
                text += if draw(4) > 0 { key[draw(key.len())] } else { "" };
                (0..draw(4)).for_each(|_| text += PIECES[draw(PIECES.len())]);
                text += if text.ends_with("[x") { "]\n" } else { "\n" };
            }
            let Ok(file) = read(&text) else { continue };
            accepted += 1;
            let written = JobFile::written(&file.jobs, 0);
            for line in written.lines() {
                let (key, value) = line.split_once('=').unwrap_or((line, ""));
                let value = if key == "filename_format" {
                    value.to_lowercase().replace("$job", "").replace("$file", "")
                } else {
                    value.into()
                };
                let inside = value.split([':', '/']).all(|name| name != "..")
                    && !value.split(':').any(|name| name.starts_with('/'));
                assert!(inside && !value.contains(['$', '\'', '"', '\\', ';', '#']), "{text:?} became {written:?}");
                let section = line.starts_with('[') && !line.contains(['/', '$']) && !line.starts_with("[global");
                assert!(section || options::is_known(key), "{text:?} became {written:?}");
            }
            let again = read(&written).unwrap_or_else(|problem| panic!("{text:?} became {written:?}: {problem}"));
            assert_eq!(JobFile::written(&again.jobs, 0), written, "{text:?}");
        }
        assert!(accepted > 100, "{accepted} were taken");
    }

    #[test]
    fn comments_hold_no_variables() {
        assert_eq!(taken("[load]\n; directory=${WHERE}\nsize=1m # ${WHERE}\n").jobs[0].text("size"), Some("1m"));
    }
}
