//! The size that a device needs, so that a filesystem holds the files of a workload.
//! In: `[space]` of the filesystem's file, the mkfs options of a contender, numbers of files and bytes. Out: [`DeviceNeed`].
//! Content is rounded up to blocks, files and folders need metadata, and some filesystems fix the number of inodes when they are made.

use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::options;
use crate::filesystems::registry::Registry;
use crate::filesystems::template;
use records::Contender;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Reserve for fragmentation, and for rounding the number of inodes to block groups.
const MARGIN: f64 = 1.05;

/// How a filesystem uses space. Without this table the defaults hold, which suit most filesystems.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SpaceFacts {
    /// Unit in bytes in which content takes space.
    pub block: u64,
    /// Settings (`[settings]`) that change this unit; the largest value counts.
    pub block_settings: Vec<String>,
    /// Bytes of metadata for each file and folder, copies included: inode, name, extents.
    pub per_file: u64,
    /// Bytes for journal, log and other structures whose size does not follow from the files.
    pub fixed: u64,
    /// Share of the device that files cannot use: reserves, space for the cleaner.
    pub share: f64,
    /// How many inodes mkfs makes, if their number is fixed then.
    pub inodes: Option<InodeFacts>,
}

impl Default for SpaceFacts {
    fn default() -> Self {
        SpaceFacts {
            block: 4096,
            block_settings: Vec::new(),
            per_file: 4096,
            fixed: 256 << 20,
            share: 0.1,
            inodes: None,
        }
    }
}

/// The number of inodes of a filesystem that makes all of them with mkfs.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InodeFacts {
    /// Bytes of the device for each inode; never less than a block.
    pub per_inode: u64,
    /// Setting that changes this.
    pub setting: Option<String>,
    /// Flag that names a use (`-T news`), and bytes for each inode by use.
    #[serde(default)]
    pub uses: Option<InodeUses>,
    /// Setting that gives the number of inodes itself.
    pub count_setting: Option<String>,
}

/// Bytes for each inode by the use that an mkfs flag names.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InodeUses {
    /// The flag.
    pub flag: String,
    /// Bytes for each inode by the flag's value.
    pub per_inode: BTreeMap<String, u64>,
}

/// Files that a device must hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilesToHold {
    /// Files and folders at once.
    pub inodes: u64,
    /// Bytes in files at once.
    pub bytes: u64,
}

/// The smallest device for some files.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceNeed {
    /// Bytes of the device.
    pub bytes: u64,
    /// Size in bytes of the smallest device on which mkfs makes this filesystem, whatever it holds.
    pub smallest: u64,
    /// Size in bytes below which it certainly has too few inodes; 0 if inodes are made on demand.
    pub for_inodes: u64,
    /// The deciding fact, as a predicate of the filesystem: `makes one inode for each 16 KiB`.
    pub because: String,
    /// The number of inodes requested from mkfs, if that is too few for any size.
    pub too_few_inodes: Option<u64>,
}

/// The smallest device on which a contender holds some files.
///
/// # Errors
/// The contender's filesystem is unknown.
pub fn device_need(
    filesystems: &Registry,
    contender: &Contender,
    files: FilesToHold,
) -> Result<DeviceNeed, StagingError> {
    let filesystem = filesystems.get(&contender.filesystem)?;
    let words = template::asked_words(filesystem, contender);
    Ok(need(filesystem, &words, files))
}

fn need(filesystem: &Filesystem, words: &[String], files: FilesToHold) -> DeviceNeed {
    let facts = &filesystem.space;
    // Options that mkfs would reject are refused elsewhere, by name.
    let options = options::given(filesystem, words).unwrap_or_default();
    let asked = |name: &String| number(filesystem.settings.get(name)?.value_in(&options)?);
    let block = facts.block_settings.iter().filter_map(asked).max().unwrap_or(facts.block).max(1);
    let content = files.bytes.saturating_add(files.inodes.saturating_mul(block - 1));
    let taken = content.saturating_add(files.inodes.saturating_mul(facts.per_file));
    let usable = (1.0 - facts.share).clamp(0.1, 1.0);
    let for_content = (taken as f64 * MARGIN / usable) as u64 + facts.fixed;
    let mut found = DeviceNeed {
        bytes: for_content.max(filesystem.limits.smallest),
        smallest: filesystem.limits.smallest,
        for_inodes: 0,
        because: format!("stores content in blocks of {}", records::show_bytes(block)),
        too_few_inodes: None,
    };
    let Some(inodes) = &facts.inodes else { return found };
    if let Some(count) = inodes.count_setting.as_ref().and_then(asked) {
        found.too_few_inodes = (count < files.inodes).then_some(count);
        return found;
    }
    let by_use = inodes.uses.as_ref().and_then(|uses| {
        let named = options.iter().rfind(|one| one.flag == uses.flag)?;
        uses.per_inode.get(&named.value).copied()
    });
    let given = inodes.setting.as_ref().and_then(asked);
    let per_inode = given.or(by_use).unwrap_or(inodes.per_inode).max(block);
    found.for_inodes = files.inodes.saturating_mul(per_inode);
    let with_margin = (found.for_inodes as f64 * MARGIN) as u64;
    if with_margin > found.bytes {
        found.bytes = with_margin;
        found.because = format!("has one inode for each {}", records::show_bytes(per_inode));
    }
    found
}

/// A number as mkfs programs accept it: digits, and k, m or g for powers of 1,024.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let power = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_shl(power)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn need_of(filesystem: &str, options: &str, inodes: u64, bytes: u64) -> DeviceNeed {
        let registry = Registry::embedded().expect("good");
        let mut contender = Contender::plain(filesystem);
        contender.mkfs = options.split_whitespace().map(str::to_string).collect();
        device_need(&registry, &contender, FilesToHold { inodes, bytes }).expect("known")
    }

    #[test]
    fn ext4_needs_a_device_with_an_inode_for_each_file() {
        let plain = need_of("ext4", "", 300_002, 460_800_000);
        assert!(plain.bytes >= 300_002 * 16384 && plain.because.contains("inode"), "{plain:?}");
        assert_eq!(plain.for_inodes, 300_002 * 16384);
        // As mke2fs 1.47 does: options change the bytes for each inode, and a cluster raises them.
        assert_eq!(need_of("ext4", "-i 65536", 1000, 0).for_inodes, 1000 * 65536);
        assert_eq!(need_of("ext4", "-Tnews", 1000, 0).for_inodes, 1000 * 4096);
        assert_eq!(need_of("ext4", "-O bigalloc -C 65536", 1000, 0).for_inodes, 1000 * 65536);
        assert_eq!(need_of("ext4", "-b1024", 1000, 0).for_inodes, 1000 * 16384);
    }

    #[test]
    fn a_number_of_inodes_that_is_too_small_is_too_small_on_any_device() {
        assert_eq!(need_of("ext4", "-N 1000", 1001, 0).too_few_inodes, Some(1000));
        assert_eq!(need_of("ext4", "-N 1000", 1000, 0).too_few_inodes, None);
    }

    #[test]
    fn each_small_file_takes_a_block_and_its_metadata() {
        let xfs = need_of("xfs", "", 1_000_000, 1_536_000_000);
        assert!(xfs.bytes > 1_000_000 * 4096 + (512 << 20) && xfs.for_inodes == 0, "{xfs:?}");
        let large_blocks = need_of("xfs", "-b size=64k", 1_000_000, 1_536_000_000);
        assert!(large_blocks.bytes > 1_000_000 * 65536, "{large_blocks:?}");
    }

    #[test]
    fn every_shipped_filesystem_has_a_need_that_grows_with_the_files() {
        let registry = Registry::embedded().expect("good");
        for name in registry.names() {
            let small = need_of(name, "", 1_000, 1 << 20);
            let large = need_of(name, "", 1_000_000, 1 << 30);
            assert!(large.bytes > small.bytes && large.bytes >= (1 << 30), "{name}: {small:?}, {large:?}");
        }
    }
}
