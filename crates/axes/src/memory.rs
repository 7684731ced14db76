//! `limit.memory`: as much memory as a smaller machine would have, by a control group around the engine's process.
//! In: bytes. Out: a group of version 1 or 2 with that limit. The engine enters it before it opens a file, so that the page cache of its
//! files is charged to it. Sources: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst of the kernel.

use crate::axis::{About, Applied, Axis, DEFAULT, Ground, Look, Seen, Takes};
use crate::size::bytes;
use records::OptionFound;
use std::path::{Path, PathBuf};

/// No process runs in less.
const LEAST: u64 = 1 << 20;
/// Largest page size; the kernel counts whole pages.
const LARGEST_PAGE: u64 = 64 << 10;
/// Enters a group, then becomes the command that follows.
const ENTER: &str = "echo $$ > \"$0\" && exec \"$@\"";

pub(crate) struct Memory;

/// Files of a group, by version.
struct Files {
    limit: &'static str,
    /// Files that prevent swapping under the limit, the first that exists, and the value to write; None: the limit itself.
    swap: &'static [(&'static str, Option<&'static str>)],
    now: &'static str,
    most: &'static str,
    kills: &'static str,
}

const ONE: Files = Files {
    limit: "memory.limit_in_bytes",
    swap: &[("memory.memsw.limit_in_bytes", None), ("memory.swappiness", Some("0"))],
    now: "memory.usage_in_bytes",
    most: "memory.max_usage_in_bytes",
    kills: "memory.oom_control",
};
const TWO: Files = Files {
    limit: "memory.max",
    swap: &[("memory.swap.max", Some("0"))],
    now: "memory.current",
    most: "memory.peak",
    kills: "memory.events",
};

/// Where groups can be created.
struct Place {
    parent: PathBuf,
    files: &'static Files,
    /// The file that enables the controller for the parent's groups, if it is not enabled yet.
    enable: Option<PathBuf>,
}

impl Place {
    /// Whether a group created here has a file. For a group that does not exist yet this is inferred from the machine.
    fn offers(&self, group: &Path, file: &str, machine: &dyn Look) -> bool {
        let has = |group: &Path, file: &str| machine.read(&group.join(file)).is_some();
        match has(group, self.files.limit) {
            true => has(group, file),
            // The root group of version 2 has no limits.
            false => has(&self.parent, file) || (self.enable.is_some() && has(Path::new("/proc"), "swaps")),
        }
    }
}

impl Axis for Memory {
    fn about(&self) -> About {
        About { takes: Takes::Sizes, is_ordered: true, ..About::named("limit.memory") }
    }

    fn check(&self, _: &str, value: &str) -> Result<(), String> {
        match bytes(value) {
            _ if value == DEFAULT => Ok(()),
            Some(bytes) if bytes >= LEAST => Ok(()),
            _ => Err(format!("`{value}` is too little memory for any process; the minimum is some tens of MiB")),
        }
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" memory={value}")
    }

    fn rank(&self, value: &str) -> Option<f64> {
        // All of the machine's memory is more than any part of it.
        bytes(value).or((value == DEFAULT).then_some(u64::MAX)).map(|bytes| bytes as f64)
    }

    fn works_here(&self, machine: &dyn Look) -> Result<(), String> {
        place(machine).map(|_| ())
    }

    fn apply(&self, _: &str, value: &str, ground: &mut dyn Ground) -> Result<Applied, String> {
        let place = place(&*ground)?;
        let bytes = bytes(value).ok_or_else(|| format!("`{value}` is not a size"))?.to_string();
        if let Some(file) = &place.enable {
            ground.set(file, "+memory", "-memory")?;
        }
        let group = place.parent.join(ground.name());
        ground.make_group(&group)?;
        ground.write(&group.join(place.files.limit), &bytes)?;
        let swap = place.files.swap.iter().find(|(file, _)| place.offers(&group, file, &*ground));
        if let Some((file, value)) = swap {
            ground.write(&group.join(file), value.unwrap_or(&bytes))?;
        }
        let own = "this filesystem has its own cache, which limit.memory does not limit";
        let remarks = ground.has_own_cache().then(|| own.to_owned()).into_iter().collect();
        let entrance = group.join("cgroup.procs").display().to_string();
        let enter = vec!["sh".into(), "-c".into(), ENTER.into(), entrance];
        Ok(Applied { enter, shown: group, remarks, flushes_off: false })
    }

    fn read_back(&self, seen: &Seen) -> Result<Vec<OptionFound>, String> {
        let Seen { value, applied, machine, .. } = *seen;
        let file = applied.shown.join(files(applied, machine).limit);
        let found = machine.read(&file).map(|text| text.trim().to_owned());
        let takes = |found: u64, asked: u64| found <= asked && asked - found < LARGEST_PAGE;
        let number = found.as_deref().and_then(|found| found.parse().ok());
        if !number.zip(bytes(value)).is_some_and(|(found, asked)| takes(found, asked)) {
            let shown = found.as_deref().unwrap_or("nothing");
            return Err(format!("limit.memory {value} did not take effect: {} shows {shown}", file.display()));
        }
        Ok(vec![OptionFound { asked: format!("limit.memory {value}"), found, by: file.display().to_string() }])
    }

    fn after(&self, seen: &Seen) -> Vec<OptionFound> {
        let Seen { value, applied, machine, .. } = *seen;
        let files = files(applied, machine);
        let shown = [("in use at most", files.most), ("in use at the end", files.now)];
        let one = |(what, name): (&str, &str)| {
            let file = applied.shown.join(name);
            // Kernels before 5.19 have no memory.peak.
            let found = machine.read(&file).map(|text| text.trim().to_owned());
            OptionFound { asked: format!("limit.memory {value}, {what}"), found, by: file.display().to_string() }
        };
        shown.into_iter().map(one).collect()
    }

    fn explains(&self, seen: &Seen) -> Option<String> {
        let Seen { value, applied, machine, .. } = *seen;
        let file = applied.shown.join(files(applied, machine).kills);
        let text = machine.read(&file)?;
        let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())?;
        (kills > 0).then(|| {
            let file = file.display();
            format!("limit.memory {value} is too low for this work: the kernel killed the engine ({file}: oom_kill {kills}); raise it")
        })
    }
}

/// The version's files of a group, detected from the group itself.
fn files(applied: &Applied, machine: &dyn Look) -> &'static Files {
    if machine.read(&applied.shown.join(TWO.limit)).is_some() { &TWO } else { &ONE }
}

fn place(machine: &dyn Look) -> Result<Place, String> {
    let read = |path: &str| machine.read(Path::new(path)).unwrap_or_default();
    let (mounts, own) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    two(&mounts, &own, machine).or_else(|| one(&mounts, &own)).ok_or_else(|| {
        "limit.memory needs the memory controller of control groups, which is not mounted here (mount -t cgroup2 cgroup2 \
         /sys/fs/cgroup; in a container, start it with its control groups writable)"
            .into()
    })
}

/// Version 1: below the process's own group, whose limits stay in force.
fn one(mounts: &str, own: &str) -> Option<Place> {
    let with_memory = |list: &str| list.split(',').any(|word| word == "memory");
    let (root, point, _) = mounts.lines().filter_map(mount).find(|(_, _, rest)| {
        let mut words = rest.split(' ');
        words.next() == Some("cgroup") && words.next_back().is_some_and(with_memory)
    })?;
    let path = own.lines().filter_map(group).find(|(controllers, _)| with_memory(controllers))?.1;
    Some(Place { parent: below(root, point, path), files: &ONE, enable: None })
}

/// Version 2: the nearest ancestor that enables the controller for its groups, since such a group may hold no processes; otherwise the
/// root, which is exempt from that rule.
fn two(mounts: &str, own: &str, machine: &dyn Look) -> Option<Place> {
    let (root, point, _) = mounts.lines().filter_map(mount).find(|(_, _, rest)| rest.starts_with("cgroup2 "))?;
    let has = |group: &Path, file: &str| {
        machine.read(&group.join(file)).is_some_and(|text| text.split_whitespace().any(|word| word == "memory"))
    };
    if !has(Path::new(point), "cgroup.controllers") {
        return None;
    }
    let path =
        own.lines().filter_map(group).find(|(controllers, _)| controllers.is_empty()).map_or("/", |(_, path)| path);
    let start = below(root, point, path);
    let above = start.ancestors().take_while(|group| group.starts_with(point));
    let giving = above.into_iter().find(|group| has(group, "cgroup.subtree_control"));
    Some(match giving {
        Some(parent) => Place { parent: parent.into(), files: &TWO, enable: None },
        None => {
            Place { parent: point.into(), files: &TWO, enable: Some(Path::new(point).join("cgroup.subtree_control")) }
        }
    })
}

/// Root, mountpoint, and what follows the dash (type, source, options) of a line of mountinfo; proc_pid_mountinfo(5).
fn mount(line: &str) -> Option<(&str, &str, &str)> {
    let (front, rest) = line.split_once(" - ")?;
    let mut words = front.split(' ').skip(3);
    Some((words.next()?, words.next()?, rest))
}

/// Controllers and path of a line of /proc/self/cgroup; cgroups(7).
fn group(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

/// Path of a group below a mountpoint that shows the hierarchy from `root` on.
fn below(root: &str, point: &str, path: &str) -> PathBuf {
    let within = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
    // For a process of another namespace the path begins with `/..`; then the mountpoint's own group is the nearest that is visible.
    let visible = within.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if visible { Path::new(point).join(within) } else { point.into() }
}

#[cfg(test)]
mod tests;
