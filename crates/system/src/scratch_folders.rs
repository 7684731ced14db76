//! Temporary folders with the process id in their names, so that folders of a killed process can be recognised and removed.
//! In: the parent folder, and a name prefix. Out: the prefix of a new name; folders of ended processes are removed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The name prefix of this process's folder; a unique suffix follows.
pub fn prefix(kind: &str) -> String {
    format!("{kind}{}-", std::process::id())
}

/// Removes folders of this kind, and of this user, whose process is gone.
pub fn sweep(base: &Path, kind: &str) {
    let own = rustix::process::getuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let process = name.strip_prefix(kind).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
        let is_own = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == own);
        if let Some(process) = process.filter(|_| is_own)
            && !Path::new(&format!("/proc/{process}")).exists()
        {
            // Another process may remove it at the same time.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_folders_of_processes_that_are_gone_are_removed() {
        let base = tempfile::tempdir().expect("a folder");
        // No process has a number beyond the kernel's largest limit.
        let (gone, here, other) = ("kind-4194305-a", format!("{}a", prefix("kind-")), "kind-other");
        [gone, &here, other].iter().for_each(|name| fs::create_dir(base.path().join(name)).expect("made"));
        sweep(base.path(), "kind-");
        let left = [gone, &here, other].map(|name| base.path().join(name).exists());
        assert_eq!(left, [false, true, true]);
    }
}
