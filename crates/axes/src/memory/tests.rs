//! The memory axis on stand-ins for both versions of control groups.

use super::*;
use std::collections::BTreeMap;

/// A machine's files, and the changes made to them in order.
#[derive(Default)]
struct Files {
    text: BTreeMap<PathBuf, String>,
    /// Files that appear in a group once it is created.
    offers: Vec<&'static str>,
    done: Vec<String>,
    own_cache: bool,
}

impl Files {
    fn with(files: &[(&str, &str)], offers: &[&'static str]) -> Self {
        let text = files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect();
        Self { text, offers: offers.to_vec(), ..Self::default() }
    }
}

impl Look for Files {
    fn read(&self, path: &Path) -> Option<String> {
        self.text.get(path).cloned()
    }
    fn names(&self, _: &Path) -> Vec<String> {
        Vec::new()
    }
}

impl Ground for Files {
    fn name(&self) -> String {
        "bakeoff-0a1b2c3d".into()
    }
    fn disk(&self) -> Option<crate::Disk> {
        None
    }
    fn has_own_cache(&self) -> bool {
        self.own_cache
    }
    fn set(&mut self, path: &Path, value: &str, back: &str) -> Result<(), String> {
        self.done.push(format!("{value} > {} (then {back})", path.display()));
        Ok(())
    }
    fn make_group(&mut self, group: &Path) -> Result<(), String> {
        self.done.push(format!("mkdir {}", group.display()));
        for name in self.offers.clone() {
            self.text.insert(group.join(name), String::new());
        }
        Ok(())
    }
    fn write(&mut self, path: &Path, value: &str) -> Result<(), String> {
        self.done.push(format!("{value} > {}", path.display()));
        // Counted in pages of 4 KiB.
        let kept = value.parse::<u64>().map_or(value.to_owned(), |bytes| (bytes & !4095).to_string());
        self.text.insert(path.into(), kept);
        Ok(())
    }
}

const MOUNTS_ONE: &str = "30 20 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                          31 20 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
const MOUNTS_TWO: &str = "30 20 0:25 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

fn version_one() -> Files {
    Files::with(
        &[
            ("/proc/self/mountinfo", MOUNTS_ONE),
            ("/proc/self/cgroup", "4:memory:/user/7\n0::/\n"),
            ("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n"),
        ],
        &["memory.limit_in_bytes", "memory.swappiness"],
    )
}

fn version_two(own: &str, given: &[(&str, &str)]) -> Files {
    let mut files = Files::with(
        &[
            ("/proc/self/mountinfo", MOUNTS_TWO),
            ("/proc/self/cgroup", own),
            ("/sys/fs/cgroup/cgroup.controllers", "cpu memory pids\n"),
            ("/sys/fs/cgroup/cgroup.subtree_control", "\n"),
        ],
        &["memory.max", "memory.swap.max"],
    );
    files.text.extend(given.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())));
    files
}

fn seen<'a>(value: &'a str, applied: &'a Applied, machine: &'a dyn Look) -> Seen<'a> {
    Seen { setting: "", value, applied, machine }
}

#[test]
fn version_one_makes_a_group_below_the_own_one_and_does_not_swap() {
    let mut ground = version_one();
    let applied = Memory.apply("", "64M", &mut ground).expect("it applies");
    let group = "/sys/fs/cgroup/memory/user/7/bakeoff-0a1b2c3d";
    assert_eq!(
        ground.done,
        [
            format!("mkdir {group}"),
            format!("67108864 > {group}/memory.limit_in_bytes"),
            format!("0 > {group}/memory.swappiness")
        ]
    );
    assert_eq!(applied.enter.last().map(String::as_str), Some(format!("{group}/cgroup.procs").as_str()));
    let found = Memory.read_back(&seen("64M", &applied, &ground)).expect("it took");
    assert_eq!((found[0].asked.as_str(), found[0].found.as_deref()), ("limit.memory 64M", Some("67108864")));
}

#[test]
fn version_one_limits_memory_and_swap_together_where_it_counts_swap() {
    let mut ground = version_one();
    ground.offers.push("memory.memsw.limit_in_bytes");
    Memory.apply("", "64M", &mut ground).expect("it applies");
    assert!(
        ground
            .done
            .last()
            .is_some_and(|done| done.starts_with("67108864 > ") && done.ends_with("memsw.limit_in_bytes"))
    );
}

#[test]
fn version_two_takes_the_nearest_group_that_gives_the_controller() {
    let slices = [("/sys/fs/cgroup/user.slice/cgroup.subtree_control", "memory pids\n")];
    let mut ground = version_two("0::/user.slice/session-2.scope\n", &slices);
    let applied = Memory.apply("", "2G", &mut ground).expect("it applies");
    assert_eq!(applied.shown, Path::new("/sys/fs/cgroup/user.slice/bakeoff-0a1b2c3d"));
    assert!(ground.done.iter().all(|done| !done.contains("subtree_control")), "{:?}", ground.done);
    assert!(ground.done.last().is_some_and(|done| done.starts_with("0 > ") && done.ends_with("memory.swap.max")));
}

#[test]
fn version_two_enables_a_missing_controller_at_the_root_and_disables_it_afterwards() {
    let mut ground = version_two("0::/\n", &[]);
    Memory.apply("", "2G", &mut ground).expect("it applies");
    assert_eq!(ground.done[0], "+memory > /sys/fs/cgroup/cgroup.subtree_control (then -memory)");
    assert_eq!(ground.done[1], "mkdir /sys/fs/cgroup/bakeoff-0a1b2c3d");
}

#[test]
fn a_path_that_is_not_visible_here_leads_to_the_mountpoint() {
    assert_eq!(below("/docker/x", "/sys/fs/cgroup", "/docker/x/y"), Path::new("/sys/fs/cgroup/y"));
    assert_eq!(below("/", "/sys/fs/cgroup", "/../other"), Path::new("/sys/fs/cgroup"));
    assert_eq!(below("/docker/x", "/sys/fs/cgroup", "/elsewhere"), Path::new("/sys/fs/cgroup"));
}

#[test]
fn a_limit_that_did_not_take_is_an_error_and_pages_are_rounded() {
    let mut ground = version_two("0::/\n", &[]);
    let applied = Memory.apply("", "67109000", &mut ground).expect("it applies");
    assert!(Memory.read_back(&seen("67109000", &applied, &ground)).is_ok(), "whole pages");
    ground.text.insert(applied.shown.join("memory.max"), "max\n".into());
    let error = Memory.read_back(&seen("67109000", &applied, &ground)).expect_err("no limit");
    assert!(error.contains("did not take") && error.contains("shows max"), "{error}");
}

#[test]
fn only_a_process_killed_for_memory_by_the_kernel_is_explained() {
    let mut ground = version_two("0::/\n", &[]);
    let applied = Memory.apply("", "16M", &mut ground).expect("it applies");
    assert_eq!(Memory.explains(&seen("16M", &applied, &ground)), None);
    let events = applied.shown.join("memory.events");
    ground.text.insert(events.clone(), "low 0\noom 0\noom_kill 0\n".into());
    assert_eq!(Memory.explains(&seen("16M", &applied, &ground)), None);
    ground.text.insert(events, "low 0\noom 2\noom_kill 1\noom_group_kill 0\n".into());
    let why = Memory.explains(&seen("16M", &applied, &ground)).expect("killed");
    assert!(why.contains("limit.memory 16M") && why.contains("oom_kill 1"), "{why}");
}

#[test]
fn a_missing_controller_is_an_error_that_names_the_mount_command() {
    let ground = Files::with(&[("/proc/self/mountinfo", ""), ("/proc/self/cgroup", "0::/\n")], &[]);
    let error = Memory.works_here(&ground).expect_err("nothing is mounted");
    assert!(error.contains("mount -t cgroup2"), "{error}");
}

#[test]
fn a_cache_that_the_kernel_does_not_charge_is_a_remark() {
    let mut ground = Files { own_cache: true, ..version_one() };
    assert_eq!(Memory.apply("", "64M", &mut ground).expect("it applies").remarks.len(), 1);
}

#[test]
fn sizes_have_their_order_and_no_limit_is_the_most() {
    let ranks: Vec<f64> = ["64M", "2G", DEFAULT].iter().filter_map(|value| Memory.rank(value)).collect();
    assert!(ranks.len() == 3 && ranks.is_sorted());
    assert!(Memory.check("", "4K").is_err() && Memory.check("", "64M").is_ok() && Memory.check("", DEFAULT).is_ok());
}
