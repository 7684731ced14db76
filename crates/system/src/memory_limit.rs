//! How much memory the control groups of this process leave it: a container, service or login may have a limit below the machine's free memory.
//! In: /proc/self/cgroup and the files of its groups. Out: bytes; None where nothing limits it.
//! Sources: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst of the kernel.

use crate::mounts::{self, Mount};
use std::path::{Path, PathBuf};

/// Files of a group: its limit, its usage, and the name of the reclaimable page cache in its statistics.
const FILES: [(&str, &str, &str); 2] = [
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ("memory.max", "memory.current", "inactive_file"),
];

/// Bytes that this process may still take before one of its groups is full.
pub(crate) fn left() -> Option<u64> {
    let own = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    mounts::here().iter().filter_map(|mount| Some((group(mount, &own)?, mount.point.clone()))).filter_map(lowest).min()
}

/// The folder of this process' group below a mount of the memory controller.
fn group(mount: &Mount, own: &str) -> Option<PathBuf> {
    let is_one = mount.kind == "cgroup" && mount.super_options.iter().any(|option| option == "memory");
    let path = own.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let ours = match mount.kind.as_str() {
            "cgroup2" => controllers.is_empty(),
            _ => is_one && controllers.split(',').any(|word| word == "memory"),
        };
        ours.then_some(path)
    })?;
    let inner = Path::new(path).strip_prefix(&mount.root).unwrap_or(Path::new(""));
    Some(mount.point.join(inner))
}

/// The least that a group or one of its ancestors leaves.
fn lowest((group, mount): (PathBuf, PathBuf)) -> Option<u64> {
    let all = group.ancestors().take_while(|folder| folder.starts_with(&mount));
    all.filter_map(of_group).min()
}

fn of_group(folder: &Path) -> Option<u64> {
    let number = |name: &str| std::fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
    let (limit, used, cache) =
        FILES.into_iter().find_map(|(limit, used, cache)| Some((number(limit)?, number(used)?, cache)))?;
    let statistics = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let can_go = statistics.lines().find_map(|line| line.strip_prefix(cache)?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(used.saturating_sub(can_go.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        folder
    }

    #[test]
    fn the_fullest_of_a_group_and_those_above_it_counts_and_cache_can_go() {
        let two = folder(&[
            ("memory.max", "1000\n"),
            ("memory.current", "300\n"),
            ("memory.stat", "anon 200\ninactive_file 100\n"),
            ("a/memory.max", "max\n"),
            ("a/memory.current", "10\n"),
            ("a/b/memory.max", "900\n"),
            ("a/b/memory.current", "200\n"),
        ]);
        assert_eq!(lowest((two.path().join("a/b"), two.path().into())), Some(700));
        assert_eq!(lowest((two.path().join("a"), two.path().into())), Some(800));
        let one = folder(&[
            ("memory.limit_in_bytes", "500\n"),
            ("memory.usage_in_bytes", "400\n"),
            ("memory.stat", "inactive_file 1\ntotal_inactive_file 150\n"),
        ]);
        assert_eq!(lowest((one.path().into(), one.path().into())), Some(250));
        assert_eq!(lowest((folder(&[]).path().into(), "/".into())), None);
    }

    #[test]
    fn the_group_is_found_below_the_mount_of_its_controller() {
        let mount = |kind: &str, options: &[&str], root: &str| Mount {
            id: 1,
            number: Default::default(),
            root: root.into(),
            point: "/sys/fs/cgroup/memory".into(),
            options: vec![],
            kind: kind.into(),
            source: String::new(),
            super_options: options.iter().map(|word| word.to_string()).collect(),
            seen_by: Default::default(),
        };
        let own = "9:name=systemd:/x\n4:memory:/box/a\n0::/unified\n";
        let found = |mount: Mount| group(&mount, own);
        assert_eq!(found(mount("cgroup", &["rw", "memory"], "/")), Some("/sys/fs/cgroup/memory/box/a".into()));
        assert_eq!(found(mount("cgroup", &["rw", "memory"], "/box")), Some("/sys/fs/cgroup/memory/a".into()));
        assert_eq!(found(mount("cgroup2", &[], "/")), Some("/sys/fs/cgroup/memory/unified".into()));
        assert_eq!(found(mount("cgroup", &["rw", "cpu"], "/")), None);
        assert_eq!(found(mount("tmpfs", &[], "/")), None);
    }
}
