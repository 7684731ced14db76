//! Shared parts of the tests: scratch folders, loop devices in place of real disks, and the check for root.
//! In: nothing. Out: things that clean up after themselves.
//! Every test file uses its own part of it.
#![allow(dead_code)]

use records::ColdWay;
use staging::{Cleaned, Contender, Leftover, Registry, Stage, StagingError, Survey, Target, Where};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use system::{Command, Journal};

pub const MIB: u64 = 1 << 20;

/// Folder of a test that is started again, to be killed.
pub const VICTIM: &str = "BAKEOFF_TEST_FOLDER";

/// Prints why a test is skipped, and returns whether it may continue.
pub fn root() -> bool {
    let lack = prerequisites::lack_of("root");
    lack.iter().for_each(|why| prerequisites::leave_out("root", why));
    own_mounts();
    lack.is_none()
}

/// Gives the thread of this test its own mount namespace: a test that copies all mounts would keep the devices of concurrent tests busy.
fn own_mounts() {
    if std::env::var_os(VICTIM).is_some() {
        // The test that kills it inspects its mounts.
        return;
    }
    thread_local!(static ENTERED: std::cell::OnceCell<()> = const { std::cell::OnceCell::new() });
    ENTERED.with(|once| {
        once.get_or_init(|| drop(system::own_mounts::enter()));
    });
}

/// Runs a command, which must succeed.
pub fn run(words: &[&str]) -> String {
    Command::new(words.iter().copied()).run(&Journal::new()).unwrap_or_else(|error| panic!("{error}")).stdout
}

/// The fixture of the tests.
pub struct Bench {
    pub registry: Registry,
    pub journal: Journal,
    pub folder: tempfile::TempDir,
}

impl Bench {
    pub fn new() -> Bench {
        own_mounts();
        Bench {
            registry: Registry::embedded().expect("the embedded filesystems are good"),
            journal: Journal::new(),
            folder: tempfile::tempdir().expect("a scratch folder"),
        }
    }

    pub fn image(&self, mib: u64) -> Where {
        Where::Image { bytes: mib * MIB, folder: self.folder.path().into() }
    }

    pub fn open(&self, place: &Where) -> Result<Target, StagingError> {
        Target::open(&self.registry, place, &self.journal)
    }

    /// The lines that were run since the last call, with the words of plans in place of these words.
    pub fn ran(&self, known: &[(&str, &str)]) -> Vec<String> {
        let mut ran: Vec<String> = Vec::new();
        for record in self.journal.drain() {
            let mut line = record.typed();
            for (from, to) in known.iter().filter(|(from, _)| !from.is_empty()) {
                line = line.replace(from, to);
            }
            // A setting is restored to its former value, which a plan does not know.
            let closing = ran.iter().any(|line: &String| line.starts_with("umount"));
            if let Some((_, setting)) = line.split_once(" > /sys").filter(|_| closing) {
                line = format!("sh -c 'echo WAS > /sys{setting}");
            }
            ran.push(line);
        }
        ran
    }

    /// A filesystem or a published option set, and a scheduler after `+`.
    pub fn contender(&self, name: &str) -> Contender {
        let sets: toml::Table = toml::from_str(include_str!("../../../../published/contenders.toml")).expect("sets");
        let (base, scheduler) = name.split_once('+').map_or((name, None), |(base, scheduler)| (base, Some(scheduler)));
        let plain = match sets.get(base) {
            None => Contender::plain(base),
            Some(set) => Contender {
                mkfs: set["mkfs"].clone().try_into().expect("words"),
                mount: set["mount"].clone().try_into().expect("a text"),
                ..Contender::plain(set["fs"].as_str().expect("a name"))
            },
        };
        Contender { label: name.into(), base: base.into(), scheduler: scheduler.map(str::to_owned), ..plain }
    }
}

/// A loop device in place of a real disk; it has the by-id name `bakeoff-test-NAME`.
pub struct Disk {
    pub path: PathBuf,
    pub by_id: String,
    link: PathBuf,
    /// Kept closed: a file that a process has open for writing counts as in use.
    pub file: tempfile::TempPath,
}

impl Disk {
    pub fn new(name: &str, mib: u64) -> Disk {
        own_mounts();
        let file = tempfile::NamedTempFile::new().expect("a file");
        file.as_file().set_len(mib * MIB).expect("sparse");
        let shown = run(&["losetup", "--find", "--show", "--partscan", &file.path().display().to_string()]);
        let path = PathBuf::from(shown.trim());
        let by_id = format!("bakeoff-test-{name}-{}", std::process::id());
        let folder = Path::new("/dev/disk/by-id");
        std::fs::create_dir_all(folder).expect("root may");
        let link = folder.join(&by_id);
        std::os::unix::fs::symlink(&path, &link).expect("a name of its own");
        Disk { path, by_id, link, file: file.into_temp_path() }
    }

    pub fn text(&self) -> String {
        self.path.display().to_string()
    }

    pub fn place(&self) -> Where {
        Where::Device { path: self.path.clone(), erase: None }
    }

    pub fn erased(&self) -> Where {
        Where::Device { path: self.path.clone(), erase: Some(self.by_id.clone()) }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.link);
        let _ = Command::new(["losetup", "--detach", &self.text()]).run(&Journal::new());
    }
}

/// A mount that ends with the test.
pub struct Mounted(pub PathBuf);

impl Mounted {
    pub fn new(words: &[&str], point: &Path) -> Mounted {
        own_mounts();
        std::fs::create_dir_all(point).expect("a mountpoint");
        let point_text = point.display().to_string();
        let all: Vec<&str> = ["mount"].iter().chain(words).copied().chain([point_text.as_str()]).collect();
        run(&all);
        Mounted(point.into())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new(["umount", &self.0.display().to_string()]).run(&Journal::new());
    }
}

/// A loop device on a file or device, with options of losetup's.
pub struct Attached(pub PathBuf);

impl Attached {
    pub fn new(target: &Path, options: &[&str]) -> Attached {
        let target = target.display().to_string();
        let words: Vec<&str> =
            ["losetup", "--find", "--show"].iter().chain(options).copied().chain([target.as_str()]).collect();
        Attached(run(&words).trim().into())
    }

    pub fn text(&self) -> String {
        self.0.display().to_string()
    }

    pub fn place(&self) -> Where {
        Where::Device { path: self.0.clone(), erase: None }
    }
}

impl Drop for Attached {
    /// A process that has every device open just now, such as mkfs in another test, delays the detaching for a moment.
    fn drop(&mut self) {
        let name = self.0.file_name().expect("named").to_string_lossy().into_owned();
        let attached = || std::fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok();
        let before = attached();
        let _ = Command::new(["losetup", "--detach", &self.text()]).run(&Journal::new());
        for _ in 0..500 {
            if before.is_none() || attached() != before {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// A shell in a separate process that reports when it is ready, and ends with the test.
pub struct Helper(std::process::Child);

impl Helper {
    /// Runs a shell command, then waits in the shell: `exec 3<>FILE`.
    pub fn new(line: &str) -> Helper {
        Helper::under(&["sh"], line)
    }

    /// The same after other words: `unshare -m sh`.
    pub fn under(words: &[&str], line: &str) -> Helper {
        let script = format!("{line} || exit 1; echo ready; exec sleep 300");
        let mut child = std::process::Command::new(words[0])
            .args(&words[1..])
            .args(["-c", &script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("started");
        let mut printed = [0; 6];
        let output = child.stdout.as_mut().expect("piped");
        std::io::Read::read_exact(output, &mut printed).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(&printed, b"ready\n", "{line}");
        Helper(child)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Writes bytes into a file or device at an offset.
pub fn write_at(path: &Path, at: u64, bytes: &[u8]) {
    let file = std::fs::OpenOptions::new().write(true).open(path).expect("opened");
    std::os::unix::fs::FileExt::write_all_at(&file, bytes, at).expect("written");
    file.sync_all().expect("synced");
}

/// An MBR partition table with an identifier: Linux partitions of these sizes in MiB, one after the other from 1 MiB on.
pub fn partition_table(id: u32, mebibytes: &[u32]) -> [u8; 512] {
    let mut sector = [0; 512];
    sector[440..444].copy_from_slice(&id.to_le_bytes());
    let mut start = 2048u32;
    for (entry, size) in sector[446..510].chunks_mut(16).zip(mebibytes) {
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..16].copy_from_slice(&(size * 2048).to_le_bytes());
        start += size * 2048;
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}

/// A disk with partitions, and their nodes.
pub fn partitioned(name: &str, id: u32, mebibytes: &[u32]) -> (Disk, Vec<PathBuf>) {
    let disk = Disk::new(name, 2 + u64::from(mebibytes.iter().sum::<u32>()));
    write_at(&disk.path, 0, &partition_table(id, mebibytes));
    run(&["partx", "--update", &disk.text()]);
    let parts: Vec<PathBuf> = (1..=mebibytes.len()).map(|n| PathBuf::from(format!("{}p{n}", disk.text()))).collect();
    assert!(parts.iter().all(|part| part.exists()), "the kernel shows the partitions");
    (disk, parts)
}

/// Leftovers of ended runs, here and in this folder.
pub fn survey(folder: &Path) -> Survey {
    staging::survey(&[PathBuf::from(folder)]).expect("the marks can be read")
}

/// Leftovers of the run with this id.
pub fn by_id(id: &str, folder: &Path) -> Vec<Leftover> {
    survey(folder).leftovers.into_iter().filter(|leftover| leftover.id == id).collect()
}

/// Removes it.
pub fn clean(found: &[Leftover], bench: &Bench) -> Vec<Cleaned> {
    staging::clean(found, &bench.journal)
}

/// Writes a cleanup record as version 0.1 did, of a process that has ended.
pub fn first_version(id: &str, made: &str) -> PathBuf {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("read");
    let text = format!(
        r#"{{"version": 1, "id": "{id}", "owner": {{"pid": 4194000, "started": 1}}, "boot_id": "{}", "made": [{made}]}}"#,
        boot.trim()
    );
    std::fs::create_dir_all("/var/lib/bakeoff/marks").expect("made");
    let path = PathBuf::from(format!("/var/lib/bakeoff/marks/{id}.json"));
    std::fs::write(&path, text).expect("written");
    path
}

/// The path by which this process reaches the stage's root.
pub fn reach(stage: &Stage<'_>) -> PathBuf {
    match stage.enter().iter().position(|word| word == "-t").and_then(|at| stage.enter().get(at + 1)) {
        Some(pid) => PathBuf::from(format!("/proc/{pid}/root{}", stage.root().display())),
        None => stage.root().into(),
    }
}

pub fn write_file(stage: &Stage<'_>, name: &str, bytes: usize) {
    let mut random = std::fs::File::open("/dev/urandom").expect("there");
    let mut data = vec![0; bytes];
    std::io::Read::read_exact(&mut random, &mut data).expect("endless");
    let mut file = std::fs::File::create(reach(stage).join(name)).expect("created");
    file.write_all(&data).expect("written");
}

pub fn read_file(stage: &Stage<'_>, name: &str) -> usize {
    std::fs::read(reach(stage).join(name)).expect("read").len()
}

/// These names, each once for every way to start cold.
pub fn each_way<'n>(names: &'n [&'n str]) -> impl Iterator<Item = (&'n str, ColdWay)> {
    names.iter().flat_map(|name| [ColdWay::Remount, ColdWay::Drop].map(|way| (*name, way)))
}
