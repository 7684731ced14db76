//! A Debian kernel, downloaded and unpacked into a folder without being installed.
//! In: an offer of the suites. Out: a folder with `boot/vmlinuz-RELEASE` and `lib/modules/RELEASE`, independent of its packaging.
//! Only modules that a guest can need are unpacked; depmod(8) makes their lists.

use super::choice::Offer;
use super::suites::{DOWNLOAD_LIMIT, Suites};
use crate::error::StagingError;
use std::path::{Path, PathBuf};
use system::{Command, Journal};

/// Folders of a kernel package that no guest needs: their hardware is not in QEMU's machine.
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

/// Downloads a kernel and unpacks it into an empty folder.
pub(super) fn fetch(suites: &Suites, offer: &Offer, folder: &Path, journal: &Journal) -> Result<(), StagingError> {
    suites.download(offer, folder, journal)?;
    let place = folder.display().to_string();
    let excluded: Vec<String> =
        LEFT_OUT.iter().map(|part| format!("--exclude='./*lib/modules/*/kernel/{part}'")).collect();
    // One package after the other: newer kernels and their modules are packages of their own.
    let unpacking = format!(
        "cd {place} && for package in *.deb; do dpkg-deb --fsys-tarfile \"$package\" | tar -x --exclude=./usr/share {} || exit 1; done && rm *.deb",
        excluded.join(" ")
    );
    Command::shell(unpacking)
        .limit(DOWNLOAD_LIMIT)
        .run(journal)
        .map_err(StagingError::command(format!("unpacking {}", offer.package)))?;
    let release = arrange(folder).map_err(|error| StagingError::file("put in order", folder, error))?;
    Command::new(["depmod", "-b", &place, &release])
        .hint("depmod is in Debian's kmod")
        .run(journal)
        .map_err(StagingError::command(format!("listing the modules of {}", offer.package)))
        .map(|_| ())
}

/// Moves kernel and modules to the traditional places, and returns the release: newer packages have all below usr/lib/modules/RELEASE.
fn arrange(folder: &Path) -> std::io::Result<String> {
    let (modules, newer) = (folder.join("lib/modules"), folder.join("usr/lib/modules"));
    if newer.is_dir() {
        std::fs::create_dir_all(folder.join("lib"))?;
        std::fs::rename(&newer, &modules)?;
    }
    let release = only_folder(&modules)?;
    let kernel = modules.join(&release).join("vmlinuz");
    if kernel.is_file() {
        std::fs::create_dir_all(folder.join("boot"))?;
        std::fs::rename(&kernel, folder.join("boot").join(format!("vmlinuz-{release}")))?;
    }
    // Some versions of depmod search lib, others usr/lib.
    let _ = std::fs::remove_dir_all(folder.join("usr"));
    std::fs::create_dir(folder.join("usr"))?;
    std::os::unix::fs::symlink("../lib", folder.join("usr/lib"))?;
    Ok(release)
}

fn only_folder(folder: &Path) -> std::io::Result<String> {
    let entries: Vec<PathBuf> = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    match entries.as_slice() {
        [one] if one.is_dir() => Ok(one.file_name().unwrap_or_default().to_string_lossy().into_owned()),
        _ => Err(std::io::Error::other(format!("its package has {} module folders instead of one", entries.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, "").expect("written");
    }

    #[test]
    fn kernels_lie_the_same_whichever_way_they_were_packaged() {
        let ways = [
            ["boot/vmlinuz-7.3.4+deb13-amd64", "lib/modules/7.3.4+deb13-amd64/kernel/fs/xfs/xfs.ko.xz"],
            ["usr/lib/modules/7.3.4+deb13-amd64/vmlinuz", "usr/lib/modules/7.3.4+deb13-amd64/kernel/fs/xfs/xfs.ko.xz"],
        ];
        for files in ways {
            let place = tempfile::tempdir().expect("a folder");
            files.iter().for_each(|name| put(place.path(), name));
            assert_eq!(arrange(place.path()).expect("arranged"), "7.3.4+deb13-amd64");
            for name in ways[0] {
                assert!(place.path().join(name).is_file(), "{name} of {files:?}");
            }
            assert!(place.path().join("usr/lib/modules/7.3.4+deb13-amd64/kernel").is_dir());
        }
    }

    #[test]
    fn a_package_without_modules_is_refused() {
        let place = tempfile::tempdir().expect("a folder");
        assert!(arrange(place.path()).is_err());
        std::fs::create_dir_all(place.path().join("lib/modules")).expect("made");
        assert!(arrange(place.path()).expect_err("none").to_string().contains("0 module folders"));
    }
}
