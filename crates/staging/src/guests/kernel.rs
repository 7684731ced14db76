//! Kernels for guests: by a path, or Debian's, downloaded and unpacked into a cache folder without being installed.
//! In: `debian:6.1`, a kernel's file, or a folder with `boot/` and `lib/modules/`. Out: [`Kernel`], or what is wrong with it.
//! Only the modules that a guest can need are unpacked; what lists them is made by depmod(8).

use crate::error::StagingError;
use crate::filesystems::tools::cache;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{Command, Journal};

/// How long downloading may take.
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(600);
/// Where the boot protocol of x86 has its signature, and the place of the version's text.
const SIGNATURE: (usize, &[u8]) = (0x202, b"HdrS");
const VERSION_AT: usize = 0x20e;
/// Folders of a kernel package that no guest needs: hardware that QEMU is not given.
const LEFT_OUT: [&str; 16] = [
    "sound",
    "drivers/gpu",
    "drivers/net",
    "drivers/media",
    "drivers/infiniband",
    "drivers/scsi",
    "drivers/staging",
    "drivers/iio",
    "drivers/usb",
    "drivers/hid",
    "drivers/input",
    "drivers/hwmon",
    "drivers/platform",
    "drivers/isdn",
    "drivers/mfd",
    "drivers/bluetooth",
];

/// A kernel that can be booted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// As it was asked for.
    pub name: String,
    /// Its release, which is the name of its modules' folder.
    pub release: String,
    /// The file that is booted.
    pub image: PathBuf,
    /// Folder of its modules, `.../lib/modules/RELEASE`; absent where everything is built in.
    pub modules: Option<PathBuf>,
}

/// A kernel as it is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// Debian's package of this series: `6.1`.
    Debian(String),
    /// A file, or a folder.
    Path(PathBuf),
}

/// Whether a contender's kernel is another than this machine's.
pub fn is_guest(kernel: Option<&str>) -> bool {
    kernel.is_some_and(|kernel| kernel != "host")
}

/// Refuses a name that is none of a kernel; nothing is fetched or opened.
///
/// # Errors
/// It is neither `host`, nor a series of Debian's, nor a file or folder that is there.
pub fn check_kernel_name(name: &str) -> Result<(), StagingError> {
    if name == "host" { Ok(()) } else { named(name).map(|_| ()) }
}

/// Reads a kernel's name; nothing is fetched or opened.
pub(crate) fn named(name: &str) -> Result<Named, StagingError> {
    if let Some(series) = name.strip_prefix("debian:") {
        let parts: Vec<&str> = series.split('.').collect();
        let number = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit());
        if parts.len() == 2 && parts.iter().all(number) {
            return Ok(Named::Debian(series.into()));
        }
        return Err(wrong(name, "is no series of Debian's kernels", "write debian:6.1 or debian:6.12"));
    }
    let path = PathBuf::from(name);
    if path.exists() {
        return Ok(Named::Path(path));
    }
    let way = "write host, debian:6.1, debian:6.12, the path of a kernel, or of a folder with boot/ and lib/modules/";
    Err(wrong(name, "is neither a file or folder, nor a kernel of Debian's", way))
}

fn wrong(name: &str, problem: impl std::fmt::Display, way: impl Into<String>) -> StagingError {
    StagingError::Kernel { name: name.into(), problem: problem.to_string(), way_out: way.into() }
}

/// Whether that kernel is there already, so that nothing needs to be downloaded for it.
pub fn kernel_is_here(name: &str) -> bool {
    match named(name) {
        Ok(Named::Debian(series)) => cached(&folder_of(&series)).is_some(),
        Ok(Named::Path(_)) => true,
        Err(_) => false,
    }
}

/// Finds a kernel; one of Debian's is downloaded where it is not there yet.
pub(crate) fn find(name: &str, journal: &Journal) -> Result<Kernel, StagingError> {
    let (image, modules) = match named(name)? {
        Named::Debian(series) => {
            let folder = folder_of(&series);
            if cached(&folder).is_none() {
                fetch(name, &series, &folder, journal)?;
            }
            cached(&folder).ok_or_else(|| {
                let way = format!("remove {} and try again", folder.display());
                wrong(name, "was unpacked, and holds no kernel with modules", way)
            })?
        }
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
        let problem = format!("has modules in {}, and no list of what they depend on", folder.display());
        return Err(wrong(name, problem, format!("depmod -b {base} {release}")));
    }
    Ok(Kernel { name: name.into(), release, image, modules })
}

/// Downloads a kernel of Debian's where it is not here yet.
///
/// # Errors
/// It is none, apt does not know it, or the network is not there.
pub fn fetch_kernel(name: &str) -> Result<(), StagingError> {
    find(name, &Journal::new()).map(|_| ())
}

/// Folder of a series that is downloaded: `$XDG_CACHE_HOME/bakeoff/kernels/debian-SERIES`.
fn folder_of(series: &str) -> PathBuf {
    cache().join("kernels").join(format!("debian-{series}"))
}

/// The kernel and the modules of an unpacked package.
fn cached(folder: &Path) -> Option<(PathBuf, Option<PathBuf>)> {
    let image = first_named(&folder.join("boot"), "vmlinuz-")?;
    let release = release(&image).ok()?;
    let modules = folder.join("lib/modules").join(release);
    modules.join("modules.dep").exists().then_some((image, Some(modules)))
}

fn first_named(folder: &Path, start: &str) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(start))
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found.pop()
}

fn handed_in(name: &str, path: &Path) -> Result<(PathBuf, Option<PathBuf>), StagingError> {
    if !path.is_dir() {
        return Ok((path.into(), None));
    }
    let image = first_named(&path.join("boot"), "vmlinuz").or_else(|| first_named(path, "vmlinuz"));
    let way = "a folder of a kernel holds boot/vmlinuz-RELEASE and lib/modules/RELEASE, as its package does";
    Ok((image.ok_or_else(|| wrong(name, "holds no kernel", way))?, None))
}

/// Modules of a kernel that was handed in: in the folder of its package, beside it, or installed here.
fn modules_beside(image: &Path, release: &str) -> Option<PathBuf> {
    let near = image.ancestors().skip(1).take(2).map(|folder| folder.join("lib/modules").join(release));
    let installed = Path::new("/lib/modules").join(release);
    near.chain([installed]).find(|folder| folder.is_dir())
}

/// The release that a kernel for x86 tells in its header (Documentation/arch/x86/boot.rst of the kernel).
fn release(image: &Path) -> Result<String, String> {
    let head = read_head(image).map_err(|error| format!("cannot be read: {error}"))?;
    let (at, signature) = SIGNATURE;
    if head.get(at..at + signature.len()) != Some(signature) {
        return Err("is not a kernel for x86: it has no boot header".into());
    }
    let place = usize::from(head[VERSION_AT]) + usize::from(head[VERSION_AT + 1]) * 256 + 0x200;
    let text: Vec<u8> = head.iter().skip(place).take_while(|byte| **byte > b' ').copied().collect();
    match String::from_utf8(text) {
        Ok(text) if text.chars().next().is_some_and(|first| first.is_ascii_digit()) => Ok(text),
        _ => Err("does not tell its release".into()),
    }
}

/// The beginning of a kernel's file, in which its version stands.
fn read_head(image: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    std::io::Read::read_to_end(&mut std::io::Read::take(std::fs::File::open(image)?, 64 << 10), &mut head)?;
    head.resize(head.len().max(0x210), 0);
    Ok(head)
}

/// Downloads Debian's package of a series and unpacks it beside `folder`, which it then becomes.
fn fetch(name: &str, series: &str, folder: &Path, journal: &Journal) -> Result<(), StagingError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(wrong(name, "is fetched for x86-64 only", "hand in a kernel by its path"));
    }
    let package = newest(name, series, journal)?;
    let fresh = folder.with_extension(format!("{}.new", std::process::id()));
    let made = std::fs::create_dir_all(&fresh).map_err(|error| StagingError::file("make", &fresh, error));
    let unpacked = made.and_then(|()| unpack(name, &package, &fresh, journal));
    let placed = unpacked.and_then(|()| {
        std::fs::rename(&fresh, folder).or_else(|error| {
            // Another run was quicker.
            if cached(folder).is_some() { Ok(()) } else { Err(StagingError::file("name", folder, error)) }
        })
    });
    if fresh.exists() {
        // Half a package is of no use to anybody.
        let _ = std::fs::remove_dir_all(&fresh);
    }
    placed
}

/// The newest kernel of a series that apt knows.
fn newest(name: &str, series: &str, journal: &Journal) -> Result<String, StagingError> {
    let pattern = format!("^linux-image-{}[.].*-amd64$", series.replace('.', "[.]"));
    let listed = Command::new(["apt-cache", "search", "--names-only", &pattern])
        .hint("kernels are downloaded with Debian's apt; elsewhere hand one in by its path")
        .run(journal)
        .map_err(StagingError::command(format!("looking for {name}")))?;
    let all = listed.stdout.lines().filter_map(|line| line.split_whitespace().next());
    let plain = |package: &&str| !["-cloud-", "-rt-", "-dbg", "-unsigned"].iter().any(|kind| package.contains(kind));
    all.filter(plain).max_by_key(|package| numbers(package)).map(str::to_string).ok_or_else(|| {
        let way = format!(
            "apt-get update; where apt still knows no linux-image-{series}.*-amd64, add a suite that has it to apt's sources"
        );
        wrong(name, "is not among the packages that apt knows", way)
    })
}

/// The numbers in a version, for comparing.
fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn unpack(name: &str, package: &str, folder: &Path, journal: &Journal) -> Result<(), StagingError> {
    let place = folder.display().to_string();
    let downloading = format!(
        "cd {place} && apt-get -q -o APT::Sandbox::User=root -o Acquire::Retries=1 -o Acquire::http::Timeout=30 download {package}"
    );
    Command::shell(downloading)
        .limit(DOWNLOAD_LIMIT)
        .hint("downloading needs the network; a kernel that is here can be handed in by its path")
        .run(journal)
        .map_err(StagingError::command(format!("downloading {name}")))?;
    let excluded: Vec<String> =
        LEFT_OUT.iter().map(|part| format!("--exclude='./lib/modules/*/kernel/{part}'")).collect();
    let unpacking = format!(
        "cd {place} && dpkg-deb --fsys-tarfile *.deb | tar -x --exclude=./usr {} && rm *.deb",
        excluded.join(" ")
    );
    Command::shell(unpacking)
        .limit(DOWNLOAD_LIMIT)
        .run(journal)
        .map_err(StagingError::command(format!("unpacking {name}")))?;
    let image = first_named(&folder.join("boot"), "vmlinuz-")
        .ok_or_else(|| wrong(name, "is a package without a kernel", "hand one in by its path"))?;
    let release = release(&image).map_err(|problem| wrong(name, problem, "hand one in by its path"))?;
    Command::new(["depmod", "-b", &place, &release])
        .hint("depmod is in Debian's kmod")
        .run(journal)
        .map_err(StagingError::command(format!("listing the modules of {name}")))
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_host_debians_series_and_paths() {
        assert!(!is_guest(None) && !is_guest(Some("host")) && is_guest(Some("debian:6.1")));
        assert_eq!(named("debian:6.12").expect("a series"), Named::Debian("6.12".into()));
        assert_eq!(named("/").expect("it is there"), Named::Path("/".into()));
        for name in ["debian:", "debian:6", "debian:six.1", "6.1", "/no/such/kernel", "fedora:6.1"] {
            let error = named(name).expect_err(name).to_string();
            assert!(error.contains(name) && error.contains("debian:6.1"), "{error}");
        }
    }

    #[test]
    fn a_file_that_is_no_kernel_is_told_apart() {
        let error = find("/etc/passwd", &Journal::new()).expect_err("text").to_string();
        assert!(error.contains("/etc/passwd") && error.contains("not a kernel"), "{error}");
        let folder = tempfile::tempdir().expect("a folder");
        let error = find(&folder.path().display().to_string(), &Journal::new()).expect_err("empty").to_string();
        assert!(error.contains("holds no kernel"), "{error}");
    }

    #[test]
    fn a_kernels_release_stands_in_its_header() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut head = vec![0; 0x1000];
        head[0x202..0x206].copy_from_slice(b"HdrS");
        head[VERSION_AT..VERSION_AT + 2].copy_from_slice(&0x300u16.to_le_bytes());
        let version = b"6.1.0-56-amd64 (debian@debian.org)";
        head[0x500..0x500 + version.len()].copy_from_slice(version);
        std::fs::write(file.path(), head).expect("written");
        assert_eq!(release(file.path()).as_deref(), Ok("6.1.0-56-amd64"));
    }

    #[test]
    fn the_tenth_of_a_series_is_newer_than_the_ninth() {
        assert!(numbers("linux-image-6.12.117+deb12-amd64") > numbers("linux-image-6.12.17+deb12-amd64"));
        assert!(numbers("linux-image-6.1.0-56-amd64") > numbers("linux-image-6.1.0-9-amd64"));
    }
}
