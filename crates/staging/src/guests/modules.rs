//! The kernel modules that a guest needs: those of its filesystems and of the machine, with all their dependencies.
//! In: a kernel, filesystems, and the lists that depmod(8) makes. Out: files with their places, and names to load.
//! Kernels rename and split modules, so names are resolved through the kernel's own lists of aliases and soft dependencies.

use super::kernel::Kernel;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use layers::Layer;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules of the QEMU machine and of schedulers, and those that filesystems request by another name. Modules that a kernel lacks are built
/// in, or not needed by it.
const MODULES: [&str; 18] = [
    "virtio_pci",
    "virtio_blk",
    "virtio_console",
    "bfq",
    "kyber-iosched",
    "mq-deadline",
    "crc32c_generic",
    "crc32c-intel",
    "crc32c",
    "libcrc32c",
    "crc32_generic",
    "crc32",
    "xxhash_generic",
    "blake2b_generic",
    "sha256_generic",
    "nls_utf8",
    "loop",
    "fuse",
];

/// Modules for a guest.
pub(super) struct Modules {
    /// Files, and their places in the guest.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Names to load.
    pub load: Vec<String>,
}

/// The needed modules, with all their dependencies.
pub(super) fn modules(
    kernel: &Kernel,
    filesystems: &[&Filesystem],
    layers: &[&Layer],
) -> Result<Modules, StagingError> {
    let Some(folder) = &kernel.modules else {
        return Ok(Modules { files: Vec::new(), load: Vec::new() });
    };
    let list = std::fs::read_to_string(folder.join("modules.dep"))
        .map_err(|error| StagingError::file("read", &folder.join("modules.dep"), error))?;
    // A kernel without these lists requests nothing that they would name.
    let [softly, aliases] =
        ["modules.softdep", "modules.alias"].map(|name| std::fs::read_to_string(folder.join(name)).unwrap_or_default());
    let known = Known::read(&list, &softly, &aliases);
    let wanted = filesystems
        .iter()
        .flat_map(|fs| fs.guest.modules.iter().map(String::as_str).chain([fs.kernel.as_str()]))
        .chain(layers.iter().flat_map(|layer| layer.kernel.iter().chain(&layer.modules)).map(String::as_str))
        .chain(MODULES);
    let mut load: Vec<String> = Vec::new();
    let mut paths: BTreeSet<&str> = BTreeSet::new();
    for name in wanted.flat_map(|name| known.called(name)) {
        if !load.contains(&name) {
            known.add(&name, &mut paths);
            load.push(name);
        }
    }
    let place = Path::new("/lib/modules").join(&kernel.release);
    // The lists by which modprobe finds a module and its dependencies.
    let lists = std::fs::read_dir(folder).map_err(|error| StagingError::file("inspect", folder, error))?;
    let lists = lists.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let lists: Vec<String> = lists.filter(|name| name.starts_with("modules.")).collect();
    let files = paths.iter().map(|path| path.to_string()).chain(lists);
    Ok(Modules { files: files.map(|name| (folder.join(&name), place.join(&name))).collect(), load })
}

/// depmod's lists of a kernel's modules, by names with underscores.
struct Known<'l> {
    /// File of each module, and files of the modules that it needs to load.
    files: BTreeMap<String, (&'l str, Vec<&'l str>)>,
    /// What a module requests at run time: checksums of btrfs, which the kernel finds by the name of their algorithm.
    soft: BTreeMap<String, Vec<&'l str>>,
    /// Modules with another name.
    aliases: BTreeMap<String, Vec<String>>,
}

impl<'l> Known<'l> {
    fn read(list: &'l str, softly: &'l str, aliases: &'l str) -> Known<'l> {
        let lines = list.lines().filter_map(|line| line.split_once(':'));
        let files = lines.map(|(path, needs)| (module_name(path), (path, needs.split_whitespace().collect())));
        let mut known = Known { files: files.collect(), soft: BTreeMap::new(), aliases: BTreeMap::new() };
        // softdep btrfs pre: blake2b-256 post: other
        for mut words in softly.lines().map(str::split_whitespace) {
            if let (Some("softdep"), Some(module)) = (words.next(), words.next()) {
                let asked = words.filter(|word| !word.ends_with(':'));
                known.soft.entry(normal(module)).or_default().extend(asked);
            }
        }
        // alias crypto-crc32c crc32c_cryptoapi
        for mut words in aliases.lines().map(str::split_whitespace) {
            if let (Some("alias"), Some(name), Some(module)) = (words.next(), words.next(), words.next()) {
                known.aliases.entry(normal(name)).or_default().push(normal(module));
            }
        }
        known
    }

    /// The modules that a name means; none if the kernel has it built in, or not at all.
    fn called(&self, name: &str) -> Vec<String> {
        let name = normal(name);
        let found = if self.files.contains_key(&name) {
            vec![name]
        } else {
            self.aliases.get(&name).cloned().unwrap_or_default()
        };
        found.into_iter().filter(|module| self.files.contains_key(module)).collect()
    }

    /// Adds the files of a module and of all that it depends on or requests.
    fn add(&self, module: &str, paths: &mut BTreeSet<&'l str>) {
        let Some((path, needs)) = self.files.get(module) else { return };
        if !paths.insert(path) {
            return;
        }
        let asked = self.soft.get(module).into_iter().flatten().flat_map(|name| self.called(name));
        needs.iter().map(|path| module_name(path)).chain(asked).for_each(|name| self.add(&name, paths));
    }
}

fn normal(name: &str) -> String {
    name.replace('-', "_")
}

/// The name of the module in `kernel/fs/xfs/xfs.ko.xz`, in the form with underscores.
fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    normal(file.split(".ko").next().unwrap_or(file))
}

/// Whether a kernel has a filesystem: as a module, or built in. A kernel without a modules folder is assumed to have it.
pub(crate) fn kernel_has(kernel: &Kernel, name: &str) -> bool {
    let Some(folder) = &kernel.modules else {
        return true;
    };
    let lists =
        ["modules.dep", "modules.builtin"].map(|list| std::fs::read_to_string(folder.join(list)).unwrap_or_default());
    let name = normal(name);
    let listed = lists
        .iter()
        .flat_map(|list| list.lines())
        .any(|line| line.split(':').next().is_some_and(|path| module_name(path) == name));
    // ext4 implements ext2 and ext3; Debian's kernels mount them with it.
    listed || (["ext2", "ext3"].contains(&name.as_str()) && kernel_has(kernel, "ext4"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_come_with_what_they_depend_on_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let list = "kernel/fs/jfs/jfs.ko: kernel/fs/nls/nls_base.ko\nkernel/fs/nls/nls_base.ko:\nkernel/net/x.ko:\n\
                    kernel/drivers/char/virtio_console.ko.xz: kernel/drivers/virtio/virtio.ko.xz\n\
                    kernel/drivers/virtio/virtio.ko.xz:\n";
        std::fs::write(folder.path().join("modules.dep"), list).expect("written");
        std::fs::write(folder.path().join("modules.builtin"), "kernel/fs/ext4/ext4.ko\n").expect("written");
        let kernel = Kernel {
            name: "a test's".into(),
            release: "1.0".into(),
            image: "/none".into(),
            modules: Some(folder.path().into()),
        };
        let mut jfs = crate::Registry::embedded().expect("good").get("ext2").expect("known").clone();
        jfs.kernel = "jfs".into();
        let found = modules(&kernel, &[&jfs], &[]).expect("the list can be read");
        assert_eq!(found.load, ["jfs", "virtio_console"]);
        let places: Vec<String> = found.files.iter().map(|(_, place)| place.display().to_string()).collect();
        assert!(places.contains(&"/lib/modules/1.0/kernel/fs/nls/nls_base.ko".to_string()), "{places:?}");
        assert!(places.contains(&"/lib/modules/1.0/kernel/drivers/virtio/virtio.ko.xz".to_string()), "{places:?}");
        assert!(!places.iter().any(|place| place.ends_with("x.ko")), "{places:?}");
        assert!(kernel_has(&kernel, "jfs") && kernel_has(&kernel, "ext2") && !kernel_has(&kernel, "f2fs"));
    }

    #[test]
    fn modules_that_a_filesystem_needs_by_algorithm_name_come_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("written");
        let list = "kernel/fs/btrfs/btrfs.ko.xz: kernel/lib/raid6/raid6_pq.ko.xz\nkernel/lib/raid6/raid6_pq.ko.xz:\n\
                    kernel/crypto/crc32c-cryptoapi.ko.xz:\nkernel/crypto/blake2b_generic.ko.xz: kernel/lib/libblake2b.ko.xz\n\
                    kernel/lib/libblake2b.ko.xz:\nkernel/crypto/other.ko.xz:\n";
        write("modules.dep", list);
        write(
            "modules.softdep",
            "# of modules\nsoftdep btrfs pre: blake2b-256 sha256\nsoftdep btrfs pre: crypto-crc32c\n",
        );
        let aliases =
            "alias crypto-crc32c crc32c_cryptoapi\nalias blake2b-256 blake2b_generic\nalias crypto-other other\n";
        write("modules.alias", aliases);
        let kernel = Kernel {
            name: "a test's".into(),
            release: "6.16".into(),
            image: "/none".into(),
            modules: Some(folder.path().into()),
        };
        let registry = crate::Registry::embedded().expect("good");
        let found = modules(&kernel, &[registry.get("btrfs").expect("known")], &[]).expect("the lists can be read");
        let names: BTreeSet<String> =
            found.files.iter().map(|(file, _)| module_name(&file.to_string_lossy())).collect();
        for name in ["btrfs", "raid6_pq", "crc32c_cryptoapi", "blake2b_generic", "libblake2b"] {
            assert!(names.contains(name), "{name}: {names:?}");
        }
        assert!(!names.contains("other"), "{names:?}");
        assert!(found.load.contains(&"btrfs".to_owned()), "{:?}", found.load);
    }
}
