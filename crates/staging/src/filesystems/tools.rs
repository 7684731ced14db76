//! Tools of filesystems: on the PATH, or unpacked into a folder of their own because their package excludes another filesystem's.
//! In: a filesystem's description. Out: the path of a program, and the words that put the folder before the PATH.
//! The packages of OpenZFS and zfs-fuse cannot be installed together, and both call their programs zpool and zfs.

use crate::filesystems::description::Filesystem;
use std::path::{Path, PathBuf};
use system::Untrusted;
use system::command::find_program;

/// Where distributions may put such folders, and where they are in a guest.
const PACKAGED: &str = "/usr/lib/bakeoff";

/// The rest of the PATH, after the folder.
const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Entries of a folder that are searched for such folders at most.
const MOST_ENTRIES: usize = 10_000;

/// Folder for downloads and builds; the system's if the user has none.
pub(crate) fn cache() -> PathBuf {
    system::folders::cache().unwrap_or_else(|| PathBuf::from("/var/cache/bakeoff"))
}

/// The folder with a filesystem's unpacked tools, or those for the newest kernel if they were made for some kernels alone; None if they are
/// installed, missing, or could be another user's.
pub(crate) fn folder(filesystem: &Filesystem) -> Option<PathBuf> {
    unpacked(filesystem, "").chain(of_kernels(filesystem)).find(|folder| system::owned_path(folder).is_ok())
}

/// The folder whose tools go into a guest: that of its kernel if there is one (`openzfs-6.12` for `debian:6.12`), since a module and its
/// tools must have the same version.
pub(crate) fn folder_for(filesystem: &Filesystem, kernel: &str) -> Option<PathBuf> {
    let series = kernel.strip_prefix("debian:").map(|series| format!("-{series}"));
    let own = series.and_then(|series| unpacked(filesystem, &series).find(|path| system::owned_path(path).is_ok()));
    own.or_else(|| folder(filesystem))
}

/// The kernel that its unpacked tools were made for, if they were made for some kernels alone.
pub(crate) fn made_for(filesystem: &Filesystem) -> Option<String> {
    let plain = unpacked(filesystem, "").any(|folder| system::owned_path(&folder).is_ok());
    let folder = folder(filesystem).filter(|_| !plain)?;
    let (_, series) = folder.file_name()?.to_str()?.rsplit_once('-')?;
    Some(format!("debian:{series}"))
}

/// Why unpacked tools are not used: another user could have put them there, and they run as root.
pub(crate) fn distrusted(filesystem: &Filesystem) -> Option<Untrusted> {
    unpacked(filesystem, "").chain(of_kernels(filesystem)).find_map(|folder| system::owned_path(&folder).err())
}

/// Folders with its unpacked tools, whose names have this ending.
fn unpacked(filesystem: &Filesystem, ending: &str) -> impl Iterator<Item = PathBuf> {
    let named = filesystem.unpacked.as_ref().map(|facts| format!("{}{ending}", facts.folder));
    let bases = named.map(|name| [cache(), PathBuf::from(PACKAGED)].map(|base| base.join(&name)));
    bases.into_iter().flatten().filter(|folder| programs(folder).is_dir())
}

/// Folders with tools that were made for the kernels of a series, `openzfs-6.12`, the newest series first.
fn of_kernels(filesystem: &Filesystem) -> Vec<PathBuf> {
    let Some(facts) = &filesystem.unpacked else { return Vec::new() };
    let mut found: Vec<((u32, u32), PathBuf)> = Vec::new();
    for named in [cache(), PathBuf::from(PACKAGED)].map(|base| base.join(&facts.folder)) {
        let (Some(base), Some(name)) = (named.parent(), named.file_name()) else { continue };
        let series = |path: &Path| {
            let ending = path.file_name()?.to_str()?.strip_prefix(name.to_str()?)?.strip_prefix('-')?;
            let (major, minor) = ending.split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let entries = std::fs::read_dir(base).into_iter().flatten().flatten().take(MOST_ENTRIES);
        let paths = entries.map(|entry| entry.path()).filter(|path| programs(path).is_dir());
        found.extend(paths.filter_map(|path| Some((series(&path)?, path))));
    }
    found.sort_by_key(|(series, _)| std::cmp::Reverse(*series));
    found.into_iter().map(|(_, path)| path).collect()
}

/// The path of a program of a filesystem.
pub(crate) fn find(filesystem: &Filesystem, program: &str) -> Option<PathBuf> {
    let unpacked = folder(filesystem).map(|folder| programs(&folder).join(program)).filter(|path| path.is_file());
    unpacked.or_else(|| find_program(program))
}

/// Words that precede every command of a filesystem with unpacked tools; none for all others.
pub(crate) fn prefix(filesystem: &Filesystem) -> Vec<String> {
    folder(filesystem).map_or_else(Vec::new, |folder| before(&folder))
}

/// The same words in a guest, to which the folder is copied.
pub(crate) fn prefix_in_guest(filesystem: &Filesystem) -> Vec<String> {
    folder(filesystem).and_then(|_| in_guest(filesystem)).map_or_else(Vec::new, |folder| before(&folder))
}

/// Where its unpacked tools are in a guest, whichever of its folders they come from.
pub(crate) fn in_guest(filesystem: &Filesystem) -> Option<PathBuf> {
    let folder = Path::new(&filesystem.unpacked.as_ref()?.folder);
    Some(Path::new(PACKAGED).join(folder.file_name()?))
}

/// Words that put the tools of a folder before all others.
pub(crate) fn before(folder: &Path) -> Vec<String> {
    vec!["env".into(), format!("PATH={}:{SYSTEM}", programs(folder).display())]
}

/// How to install a filesystem's tools: an apt-get of the package, or the command in its description.
pub(crate) fn way_to(filesystem: &Filesystem, package: &str) -> String {
    let other = filesystem.unpacked.as_ref().map(|facts| format!("{}, or ", facts.made_by));
    format!("{}apt-get install {package}", other.unwrap_or_default())
}

fn programs(folder: &Path) -> PathBuf {
    folder.join("sbin")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;

    #[test]
    fn tools_that_were_made_for_kernels_alone_are_found_the_newest_first() {
        let registry = Registry::embedded().expect("good");
        let mut filesystem = registry.get("openzfs").expect("known").clone();
        let place = tempfile::tempdir().expect("a folder");
        let of = |ending: &str| place.path().join(format!("openzfs{ending}"));
        filesystem.unpacked.as_mut().expect("it has one").folder = of("").display().to_string();
        assert_eq!(folder(&filesystem), None);
        // Folders that are still being made, or were made for something else, do not count.
        for ending in ["-6.9", "-6.12", ".1234", "-old"] {
            std::fs::create_dir_all(of(ending).join("sbin")).expect("made");
        }
        assert_eq!(folder(&filesystem), Some(of("-6.12")));
        assert_eq!(folder_for(&filesystem, "debian:6.9"), Some(of("-6.9")));
        assert_eq!(made_for(&filesystem).as_deref(), Some("debian:6.12"), "there it runs by itself");
        assert!(prefix_in_guest(&filesystem)[1].contains("/openzfs/sbin:"));
        std::fs::create_dir_all(of("").join("sbin")).expect("made");
        assert_eq!((folder(&filesystem), made_for(&filesystem)), (Some(of("")), None));
    }

    #[test]
    fn an_unpacked_folder_goes_before_the_path_and_nothing_goes_before_installed_tools() {
        let registry = Registry::embedded().expect("good");
        let mut filesystem = registry.get("openzfs").expect("known").clone();
        let place = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(place.path().join("sbin")).expect("made");
        std::fs::write(place.path().join("sbin/sh"), "").expect("written");
        // An absolute name joined to a folder is itself.
        filesystem.unpacked.as_mut().expect("it has one").folder = place.path().display().to_string();
        assert_eq!(find(&filesystem, "sh"), Some(place.path().join("sbin/sh")));
        assert_eq!(find(&filesystem, "true"), find_program("true"));
        assert!(distrusted(&filesystem).is_none());
        assert_eq!(prefix(&filesystem)[0], "env");
        assert!(prefix(&filesystem)[1].starts_with(&format!("PATH={}/sbin:", place.path().display())));
        let inside = in_guest(&filesystem).expect("it has a place there");
        assert!(inside.starts_with(PACKAGED));
        assert!(prefix_in_guest(&filesystem)[1].starts_with(&format!("PATH={}/sbin:", inside.display())));
        assert!(way_to(&filesystem, "zfsutils-linux").contains("make openzfs"));
        assert_eq!(folder_for(&filesystem, "debian:6.12"), Some(place.path().into()));
        let mut newer = place.path().as_os_str().to_owned();
        newer.push("-6.12");
        std::fs::create_dir_all(Path::new(&newer).join("sbin")).expect("made");
        assert_eq!(folder_for(&filesystem, "debian:6.12"), Some(newer.clone().into()));
        assert_eq!(folder_for(&filesystem, "debian:6.1"), Some(place.path().into()));
        assert_eq!(in_guest(&filesystem), Some(inside), "it lies in the same place there");
        std::fs::remove_dir_all(&newer).expect("removed");
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(place.path(), open).expect("anybody may write there now");
        assert!(folder(&filesystem).is_none() && prefix(&filesystem).is_empty());
        assert!(distrusted(&filesystem).expect("it says why").to_string().contains("can be written by everybody"));
        let ext4 = registry.get("ext4").expect("known");
        assert!(folder(ext4).is_none() && prefix(ext4).is_empty());
        assert_eq!(way_to(ext4, "e2fsprogs"), "apt-get install e2fsprogs");
    }
}
