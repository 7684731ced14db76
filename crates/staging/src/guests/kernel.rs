//! Kernels for guests: given as a path, or Debian's, downloaded and unpacked into a cache folder without being installed.
//! In: `debian:6.1`, `debian:newest`, a kernel's file, or a folder with `boot/` and `lib/modules/`. Out: [`Kernel`], or what is wrong with it.
//! The newest Debian kernel is determined before a plan is made, so that labels and records name its series.

use super::debian;
use super::kernel_file::{first_named, release, unpacked, wrong};
use crate::error::StagingError;
use std::path::{Path, PathBuf};
use system::Journal;

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// As it was requested.
    pub name: String,
    /// Its release, which is the name of its modules' folder.
    pub release: String,
    /// The file that is booted.
    pub image: PathBuf,
    /// Folder of its modules, `.../lib/modules/RELEASE`; absent if everything is built in.
    pub modules: Option<PathBuf>,
}

/// A kernel as it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// Debian's package of this series: `6.1`.
    Debian(String),
    /// The newest of Debian's.
    Newest,
    /// A file, or a folder.
    Path(PathBuf),
}

/// Whether a contender's kernel is not this machine's.
pub fn is_guest(kernel: Option<&str>) -> bool {
    kernel.is_some_and(|kernel| kernel != "host")
}

/// The name under which a kernel is recorded: `debian:newest` becomes its series. A series that is not downloaded is searched in Debian's
/// suites. Only their lists are downloaded, if they are older than a day or lack it.
///
/// # Errors
/// It is neither `host`, nor a Debian series that is downloaded or available, nor an existing file or folder.
pub fn kernel_called(name: &str) -> Result<String, StagingError> {
    if name == "host" {
        return Ok(name.into());
    }
    match named(name)? {
        Named::Newest => Ok(format!("debian:{}", debian::newest(&Journal::new())?)),
        Named::Debian(series) => debian::check(name, &series).map(|()| name.into()),
        Named::Path(_) => Ok(name.into()),
    }
}

/// The release of a contender's kernel, or the part of it in its name: `6.12` of `debian:6.12`. None if a path leads to no kernel.
pub fn kernel_release(kernel: Option<&str>) -> Option<String> {
    let Some(name) = kernel.filter(|name| is_guest(Some(name))) else {
        return Some(rustix::system::uname().release().to_string_lossy().into_owned());
    };
    match named(name).ok()? {
        Named::Debian(series) => Some(series),
        Named::Newest => None,
        Named::Path(path) => release(&handed_in(name, &path).ok()?.0).ok(),
    }
}

/// Parses a kernel's name; nothing is downloaded or opened.
pub(crate) fn named(name: &str) -> Result<Named, StagingError> {
    if let Some(series) = name.strip_prefix("debian:") {
        return match series {
            "newest" => Ok(Named::Newest),
            _ if debian::is_series(series) => Ok(Named::Debian(series.into())),
            _ => Err(wrong(
                name,
                "is not a series of Debian's kernels",
                "write debian:newest, debian:6.1 or debian:6.12",
            )),
        };
    }
    let path = PathBuf::from(name);
    if path.exists() {
        return Ok(Named::Path(path));
    }
    let way = "write host, debian:newest, debian:6.1, debian:6.12, the path of a kernel, or of a folder with boot/ and lib/modules/";
    Err(wrong(name, "is neither a file, a folder nor a Debian kernel", way))
}

/// Whether that kernel needs no download.
pub fn kernel_is_here(name: &str) -> bool {
    match named(name) {
        Ok(Named::Debian(series)) => debian::is_here(&series),
        Ok(Named::Path(_)) => true,
        Ok(Named::Newest) | Err(_) => false,
    }
}

/// A kernel that a guest can boot without a download: this machine's own, if its file and its modules can be read, else the newest
/// downloaded Debian kernel.
pub fn kernel_at_hand() -> Option<String> {
    own_kernel(Path::new("/"), &rustix::system::uname().release().to_string_lossy())
        .map(|image| image.display().to_string())
        .or_else(|| debian::kernels_here().pop())
}

/// The file of the running kernel, in a system below this root; None if there is none that a guest can boot.
fn own_kernel(root: &Path, running: &str) -> Option<PathBuf> {
    let modules = root.join("lib/modules").join(running);
    let is_it = |image: &PathBuf| release(image).is_ok_and(|found| found == running);
    let images = [root.join("boot").join(format!("vmlinuz-{running}")), modules.join("vmlinuz")];
    images.into_iter().find(is_it).filter(|_| modules.join("modules.dep").exists())
}

/// Finds a kernel; downloads a Debian kernel that is not here yet.
pub(crate) fn find(name: &str, journal: &Journal) -> Result<Kernel, StagingError> {
    let (image, modules) = match named(name)? {
        Named::Debian(series) => of_debian(name, &series, journal)?,
        Named::Newest => of_debian(name, &debian::newest(journal)?, journal)?,
        Named::Path(path) => handed_in(name, &path)?,
    };
    let release = release(&image).map_err(|problem| {
        wrong(
            name,
            problem,
            format!("{} must be a bootable kernel for x86-64, such as /boot/vmlinuz-*", image.display()),
        )
    })?;
    let modules = modules.or_else(|| modules_beside(&image, &release));
    if let Some(folder) = &modules
        && !folder.join("modules.dep").exists()
    {
        let base = folder.ancestors().nth(3).unwrap_or(Path::new("/")).display().to_string();
        let problem = format!("has modules in {}, but no list of their dependencies", folder.display());
        return Err(wrong(name, problem, format!("depmod -b {base} {release}")));
    }
    Ok(Kernel { name: name.into(), release, image, modules })
}

fn of_debian(name: &str, series: &str, journal: &Journal) -> Result<(PathBuf, Option<PathBuf>), StagingError> {
    let folder = debian::folder(name, series, journal)?;
    unpacked(&folder).ok_or_else(|| {
        let way = format!("remove {} and try again", folder.display());
        wrong(name, "was unpacked, but has no kernel with modules", way)
    })
}

/// Downloads a Debian kernel if it is not here yet.
///
/// # Errors
/// It is not a kernel, no suite has it, or the network is unavailable.
pub fn fetch_kernel(name: &str) -> Result<(), StagingError> {
    find(name, &Journal::new()).map(|_| ())
}

fn handed_in(name: &str, path: &Path) -> Result<(PathBuf, Option<PathBuf>), StagingError> {
    if !path.is_dir() {
        return Ok((path.into(), None));
    }
    let image = first_named(&path.join("boot"), "vmlinuz").or_else(|| first_named(path, "vmlinuz"));
    let way = "a kernel folder needs boot/vmlinuz-RELEASE and lib/modules/RELEASE, as in its package";
    Ok((image.ok_or_else(|| wrong(name, "has no kernel", way))?, None))
}

/// Modules of a kernel given by path: in the folder of its package, next to it, or installed here.
fn modules_beside(image: &Path, release: &str) -> Option<PathBuf> {
    let near = image.ancestors().skip(1).take(2).map(|folder| folder.join("lib/modules").join(release));
    let installed = Path::new("/lib/modules").join(release);
    near.chain([installed]).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_host_debians_series_and_paths() {
        assert!(!is_guest(None) && !is_guest(Some("host")) && is_guest(Some("debian:6.1")));
        assert_eq!(named("debian:6.12").expect("a series"), Named::Debian("6.12".into()));
        assert_eq!(named("/").expect("it is there"), Named::Path("/".into()));
        assert_eq!(named("debian:newest").expect("a name"), Named::Newest);
        for name in [
            "debian:",
            "debian:latest",
            "debian:6.1.2",
            "debian:6",
            "debian:six.1",
            "6.1",
            "/no/such/kernel",
            "fedora:6.1",
        ] {
            let error = named(name).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains("debian:6.1"), "{error}");
        }
    }

    #[test]
    fn the_kernel_that_runs_is_at_hand_where_its_file_and_modules_are() {
        let root = tempfile::tempdir().expect("a folder");
        let (boot, modules) = (root.path().join("boot"), root.path().join("lib/modules/6.12.1-x"));
        std::fs::create_dir_all(&boot).expect("made");
        std::fs::create_dir_all(&modules).expect("made");
        assert_eq!(own_kernel(root.path(), "6.12.1-x"), None);
        let image = crate::guests::kernel_file::tests::image_of("6.12.1-x");
        std::fs::write(boot.join("vmlinuz-6.12.1-x"), &image).expect("written");
        assert_eq!(own_kernel(root.path(), "6.12.1-x"), None, "without modules");
        std::fs::write(modules.join("modules.dep"), "").expect("written");
        assert_eq!(own_kernel(root.path(), "6.12.1-x"), Some(boot.join("vmlinuz-6.12.1-x")));
        assert_eq!(own_kernel(root.path(), "6.12.2-x"), None, "another one runs");
        std::fs::rename(boot.join("vmlinuz-6.12.1-x"), modules.join("vmlinuz")).expect("moved");
        assert_eq!(own_kernel(root.path(), "6.12.1-x"), Some(modules.join("vmlinuz")), "where others keep it");
    }

    #[test]
    fn a_file_or_folder_without_a_kernel_is_refused() {
        let error = find("/etc/passwd", &Journal::new()).expect_err("text").to_string();
        assert!(error.contains("/etc/passwd") && error.contains("not a kernel"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let error = find(&folder.path().display().to_string(), &Journal::new()).expect_err("empty").to_string();
        assert!(error.contains("has no kernel"), "{error}");
    }
}
