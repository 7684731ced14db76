//! The user's own folders, by the XDG base directory specification.
//! In: the environment and /etc/passwd. Out: the folders of Bakeoff's configuration, caches and state; None where they are unknown.
//! Under sudo these are root's own folders: another user's folders are never used, whatever the environment names.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of Bakeoff's folder in each of them.
const NAME: &str = "bakeoff";

/// Configuration: `$XDG_CONFIG_HOME/bakeoff`, or `~/.config/bakeoff`.
pub fn config() -> Option<PathBuf> {
    find("XDG_CONFIG_HOME", ".config")
}

/// Data that can be created or downloaded again: `$XDG_CACHE_HOME/bakeoff`, or `~/.cache/bakeoff`.
pub fn cache() -> Option<PathBuf> {
    find("XDG_CACHE_HOME", ".cache")
}

/// Data that must outlive a run: `$XDG_STATE_HOME/bakeoff`, or `~/.local/state/bakeoff`.
pub fn state() -> Option<PathBuf> {
    find("XDG_STATE_HOME", ".local/state")
}

fn find(variable: &str, below_home: &str) -> Option<PathBuf> {
    let home = || own_home(std::env::var_os("HOME"), registered_home);
    choose(std::env::var_os(variable), below_home, home, is_own)
}

fn choose(
    named: Option<OsString>,
    below_home: &str,
    home: impl Fn() -> Option<PathBuf>,
    is_own: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    // By the specification a relative or empty value counts as unset.
    let named = named.map(PathBuf::from).filter(|path| path.is_absolute() && is_own(path));
    Some(named.or_else(|| Some(home()?.join(below_home)))?.join(NAME))
}

/// The home in the environment, unless it is empty, relative or another user's; then the registered one.
fn own_home(named: Option<OsString>, registered: impl Fn() -> Option<PathBuf>) -> Option<PathBuf> {
    named.map(PathBuf::from).filter(|path| path.is_absolute() && is_own(path)).or_else(registered)
}

/// The home of the effective user, by /etc/passwd.
fn registered_home() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    home_in(&std::fs::read_to_string("/etc/passwd").ok()?, user)
}

/// `name:password:user:group:about:home:shell`
fn home_in(passwd: &str, user: u32) -> Option<PathBuf> {
    let fields = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let of_user = |fields: &Vec<&str>| fields.get(2).and_then(|id| id.parse().ok()) == Some(user);
    fields.filter(of_user).filter_map(|fields| fields.get(5).map(PathBuf::from)).find(|home| home.is_absolute())
}

/// Whether the existing part of a path belongs to the caller or to root.
fn is_own(path: &Path) -> bool {
    let caller = rustix::process::geteuid().as_raw();
    let there = path.ancestors().find_map(|part| part.metadata().ok());
    there.is_some_and(|found| found.uid() == caller || found.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(named: Option<&str>) -> Option<PathBuf> {
        choose(named.map(OsString::from), ".config", || Some("/h".into()), |path| !path.starts_with("/foreign"))
    }

    #[test]
    fn a_variable_counts_only_where_it_is_an_absolute_path_of_ones_own() {
        assert_eq!(chosen(Some("/c")), Some("/c/bakeoff".into()));
        for other in [None, Some(""), Some("relative/c"), Some("/foreign/c")] {
            assert_eq!(chosen(other), Some("/h/.config/bakeoff".into()), "{other:?}");
        }
    }

    #[test]
    fn without_any_home_there_is_no_folder_and_none_is_made_up() {
        assert_eq!(choose(None, ".config", || None, |_| true), None);
    }

    #[test]
    fn a_home_that_is_unset_empty_or_relative_is_the_registered_one() {
        let registered = || Some(PathBuf::from("/registered"));
        for odd in [None, Some(""), Some("."), Some("no/slash/first")] {
            assert_eq!(own_home(odd.map(OsString::from), registered), registered(), "{odd:?}");
        }
        assert_eq!(own_home(Some("/".into()), registered), Some("/".into()));
    }

    #[test]
    fn the_home_of_another_user_is_not_used() {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let place = tempfile::tempdir().expect("a folder");
        std::os::unix::fs::chown(place.path(), Some(54321), None).expect("given away");
        assert_eq!(own_home(Some(place.path().into()), || Some("/root".into())), Some("/root".into()));
        assert!(!is_own(&place.path().join("not/yet/there")));
    }

    #[test]
    fn homes_are_read_by_number_and_odd_lines_passed_over() {
        let passwd = "root:x:0:0:root:/root:/bin/sh\nodd\nx:x:7:7::relative:/bin/sh\nx:x:7:7::/seven:/bin/sh\n";
        assert_eq!(home_in(passwd, 0), Some("/root".into()));
        assert_eq!(home_in(passwd, 7), Some("/seven".into()));
        assert_eq!(home_in(passwd, 8), None);
    }
}
