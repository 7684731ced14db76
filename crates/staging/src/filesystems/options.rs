//! Options that a contender may give: its filesystem's file must list each flag and key, and none may name a device or a file.
//! In: the words for mkfs and mount. Out: [`Given`] flags with their values, the devices that are named as the file allows, or the first
//! word that is refused, and why.
//! Rules: "Custody of devices" in docs/method.md. Anything not known to be harmless is refused.

use crate::error::StagingError;
use crate::filesystems::description::{DeviceRule, Filesystem, Form};
use crate::filesystems::mkfs_settings::NamedSetting;
use crate::filesystems::readback;
use crate::filesystems::template;
use records::Contender;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Keys that name other devices, files, folders or places to filesystems and mount(8), or that make mount do something else.
const NAMING: [&str; 45] = [
    "altroot",
    "bdev",
    "bind",
    "bootfs",
    "cachefile",
    "compatibility",
    "config",
    "dev",
    "device",
    "devices",
    "encryption",
    "fd",
    "file",
    "hashdevice",
    "helper",
    "jdev",
    "journal_dev",
    "journal_device",
    "journal_path",
    "keyfile",
    "keylocation",
    "logdev",
    "loop",
    "lowerdir",
    "mountpoint",
    "move",
    "name",
    "offset",
    "options",
    "path",
    "protofile",
    "rbind",
    "remount",
    "rootdir",
    "rtdev",
    "sizelimit",
    "source",
    "src",
    "subdir",
    "subvol",
    "uhelper",
    "upperdir",
    "workdir",
    "tname",
    "vdev",
];

/// Beginnings of mount options that instruct other programs.
const ORDERS: [&str; 2] = ["x-", "verity."];

/// One mkfs option of the command line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Given {
    /// The flag.
    pub flag: String,
    /// Its value; empty if there is none.
    pub value: String,
}

/// A device of a contender's own, in addition to the one under test.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnDevice {
    /// Its entry in the filesystem's file.
    pub rule: DeviceRule,
    /// The path that the option gives.
    pub path: PathBuf,
}

/// Splits mkfs words into flags with their values: `-O x`, `-Ox`, `--csum x`, `--csum=x`, `-K`.
///
/// # Errors
/// A word that the filesystem's file does not list, in words.
pub(crate) fn given(filesystem: &Filesystem, words: &[String]) -> Result<Vec<Given>, String> {
    let (valued, switches) = flags(filesystem);
    let mut found: Vec<Given> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if !word.starts_with('-') || word == "-" || word == "--" {
            let text = format!("`{word}` has no flag before it in the mkfs options, so it may name a device or a file");
            return Err(text);
        }
        let long = word.starts_with("--");
        let (flag, attached) = match (long, word.split_once('=')) {
            (true, Some((flag, value))) => (flag, Some(value)),
            (true, None) => (word.as_str(), None),
            (false, _) => {
                let end = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
                (&word[..end], Some(&word[end..]).filter(|rest| !rest.is_empty()))
            }
        };
        let value = if switches.contains(flag) {
            if attached.is_some() {
                return Err(format!("`{word}`: {flag} takes no value; write each flag as a separate word"));
            }
            String::new()
        } else if valued.contains(flag) {
            let next = attached.map(str::to_string).or_else(|| rest.next().cloned());
            let value = next.filter(|value| !value.is_empty() && !value.starts_with('-'));
            value.ok_or_else(|| format!("the mkfs option {flag} has no value"))?
        } else {
            let known: Vec<&str> = valued.iter().chain(&switches).map(String::as_str).collect();
            return Err(format!(
                "the mkfs option {flag} is not one of those known to name no device or file: {}",
                if known.is_empty() { "none".into() } else { known.join(", ") }
            ));
        };
        found.push(Given { flag: flag.into(), value });
    }
    Ok(found)
}

/// The flags that a filesystem's file lists: with a value, and without.
fn flags(filesystem: &Filesystem) -> (BTreeSet<String>, BTreeSet<String>) {
    let make = &filesystem.make;
    let switches: BTreeSet<String> = make.switches.iter().cloned().collect();
    let described = filesystem.settings.values().map(|setting| &setting.flag);
    let valued = described
        .chain(filesystem.readback.iter().map(|rule| &rule.flag))
        .chain(make.defaults.iter().map(|default| &default.flag))
        .chain(filesystem.devices.iter().map(|rule| &rule.flag))
        .chain(filesystem.mount.option_flag.iter())
        .chain(&make.values);
    (valued.filter(|flag| !switches.contains(*flag)).cloned().collect(), switches)
}

/// The contender's own devices that its options name.
///
/// # Errors
/// An option that is refused.
pub(crate) fn devices(filesystem: &Filesystem, contender: &Contender) -> Result<Vec<OwnDevice>, StagingError> {
    let failed = |problem: String| {
        let way = "options of mkfs and mount must not name devices or files, except those that the filesystem's file declares \
                   under [[devices]]";
        StagingError::contender(&contender.label, problem, way)
    };
    let words = template::make_options(filesystem, contender);
    let mut found: Vec<OwnDevice> = Vec::new();
    for one in given(filesystem, &words).map_err(failed)? {
        for item in one.value.split(',') {
            if let Some(own) = own_device(filesystem, &one.flag, item).map_err(failed)? {
                if found.iter().any(|known| known.rule.role == own.rule.role) {
                    return Err(failed(format!("the options name two devices for the {}", own.rule.role)));
                }
                found.push(own);
            } else {
                mkfs_item(filesystem, &one.flag, item).map_err(failed)?;
            }
        }
    }
    for option in template::mount_options(filesystem, contender) {
        mount_option(filesystem, &option, &found).map_err(failed)?;
    }
    let elsewhere = contender.kernel.as_ref().is_some_and(|kernel| kernel != "host");
    match found.first() {
        Some(own) if elsewhere => {
            let problem = format!("its {} is on its own device, which a virtual machine does not get", own.rule.role);
            Err(StagingError::contender(&contender.label, problem, "leave out the kernel or the device"))
        }
        _ => Ok(found),
    }
}

/// Refuses a contender with options that name a forbidden device or file, or that need a program which is not installed.
///
/// # Errors
/// The first such option, and why.
pub fn check(filesystem: &Filesystem, contender: &Contender) -> Result<(), StagingError> {
    devices(filesystem, contender)?;
    let needed = filesystem.encrypting(&template::make_options(filesystem, contender)).map(|facts| &facts.tool);
    match needed.filter(|tool| system::command::find_program(&tool.program).is_none()) {
        Some(tool) => {
            let what = format!("{}: encryption by {}", contender.label, filesystem.title);
            Err(StagingError::missing_tool(&what, &tool.program, format!("apt-get install {}", tool.package)))
        }
        None => Ok(()),
    }
}

fn own_device(filesystem: &Filesystem, flag: &str, item: &str) -> Result<Option<OwnDevice>, String> {
    let Some((key, value)) = item.split_once('=') else { return Ok(None) };
    let Some(rule) = filesystem.devices.iter().find(|rule| rule.flag == flag && rule.key == key) else {
        return Ok(None);
    };
    if !value.starts_with('/') || value.contains("..") {
        return Err(format!("the mkfs option {flag} {item}: give the device's absolute path, such as /dev/sdc1"));
    }
    Ok(Some(OwnDevice { rule: rule.clone(), path: value.into() }))
}

fn mkfs_item(filesystem: &Filesystem, flag: &str, item: &str) -> Result<(), String> {
    let (key, value) = item.split_once('=').unwrap_or((item, item));
    let option = format!("the mkfs option {flag} {item}");
    // `encryption` is a property of ZFS; for mount(8) it names a key.
    let is_setting = |setting: &NamedSetting| setting.flag == flag && setting.key.as_deref() == Some(key);
    if is_naming(key) && !filesystem.settings.values().any(is_setting) {
        return Err(format!("{option} names a device, a file or an offset within one ({key})"));
    }
    // No mkfs has an option with a slash in its name.
    if item.contains('=') {
        plain_word(&option, key)?;
    }
    if !is_known(filesystem, value) {
        plain(&option, value)?;
    }
    Ok(())
}

fn mount_option(filesystem: &Filesystem, option: &str, devices: &[OwnDevice]) -> Result<(), String> {
    let (key, value) = option.split_once('=').map_or((option, None), |(key, value)| (key, Some(value)));
    let named = format!("the mount option {option}");
    let own = devices.iter().find(|own| own.rule.mount.as_deref() == Some(key));
    if let (Some(own), Some(value)) = (own, value) {
        // It is added automatically, and may be named once more.
        return match Path::new(value) == own.path {
            true => Ok(()),
            false => {
                Err(format!("{named} names a different device from that of mkfs, which is {}", own.path.display()))
            }
        };
    }
    let lower = key.to_ascii_lowercase();
    if ORDERS.iter().any(|order| lower.starts_with(order)) {
        return Err(format!("{named} is an option for a program other than the filesystem"));
    }
    if is_naming(key) {
        return Err(format!("{named} names a device, a file or an offset, or makes mount do something else"));
    }
    let general: Vec<&str> = readback::general_options().collect();
    let facts = &filesystem.mount;
    let listed = |option: &str| {
        general.contains(&option)
            || facts.options.iter().any(|known| known == option)
            || facts.silent.contains_key(option)
            || facts.gone.contains_key(option)
    };
    let word = |letter: char| letter.is_ascii_alphanumeric() || "_-.:@^+".contains(letter);
    if key.is_empty() || !key.chars().all(word) {
        return Err(format!("{named} is not an option of a filesystem"));
    }
    match value {
        // If mount options are properties that a tool sets, they may have values of their own.
        Some(_) if general.contains(&key) && facts.option_flag.is_none() => {
            Err(format!("{named} has a value, but {key} takes none: write {key}, or --axis mount.{key}=on,off"))
        }
        // Listed options take words and numbers, which are never files, whatever this folder contains.
        Some(value) if listed(key) || listed(option) => plain_word(&named, value),
        Some(value) => plain(&named, value),
        None => Ok(()),
    }
}

fn is_naming(key: &str) -> bool {
    let key = key.trim_start_matches('^').to_ascii_lowercase().replace('-', "_");
    NAMING.contains(&key.as_str())
}

/// A value that the filesystem's file itself lists.
fn is_known(filesystem: &Filesystem, value: &str) -> bool {
    let value = value.trim_start_matches('^');
    let settings = filesystem.settings.values();
    let defaults = filesystem.make.defaults.iter().flat_map(|default| &default.items);
    let mut named = settings.flat_map(|setting| setting.values.iter().chain(&setting.feature)).chain(defaults);
    let shown = || filesystem.readback.iter().filter(|rule| rule.form == Form::Features);
    named.any(|known| known == value) || shown().any(|rule| rule.names.contains_key(value))
}

/// Refuses a path, and a word or number that could mean one.
fn plain(option: &str, value: &str) -> Result<(), String> {
    plain_word(option, value)?;
    let is_number = value.starts_with(|letter: char| letter.is_ascii_digit());
    if !is_number && Path::new(value).exists() {
        return Err(format!("{option}: the current folder has a file {value}; run bakeoff from another folder"));
    }
    Ok(())
}

fn plain_word(option: &str, value: &str) -> Result<(), String> {
    let upper = value.to_ascii_uppercase();
    let by_tag = ["UUID=", "LABEL=", "PARTUUID=", "PARTLABEL=", "ID="].iter().any(|tag| upper.starts_with(tag));
    let odd = |letter: char| letter.is_control() || "\"'\\".contains(letter);
    if value.contains('/') || value.starts_with('.') || by_tag || value.chars().any(odd) {
        return Err(format!("{option} names a path, or may name one"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;

    fn asked(name: &str, mkfs: &str, mount: &str) -> Result<Vec<OwnDevice>, String> {
        let registry = Registry::embedded().expect("good");
        let mut contender = Contender::plain(name);
        contender.mkfs = mkfs.split_whitespace().map(str::to_string).collect();
        contender.mount = mount.into();
        devices(registry.get(name).expect("known"), &contender).map_err(|error| error.to_string())
    }

    #[test]
    fn a_setting_of_the_filesystems_file_is_no_name_of_a_device() {
        assert!(asked("openzfs", "-O encryption=aes-128-gcm", "").is_ok());
        assert!(asked("openzfs", "-O keylocation=file", "").is_err());
        assert!(asked("openzfs", "", "encryption=on").is_err());
        assert!(asked("zfs", "-O encryption=on", "").is_err());
    }

    #[test]
    fn words_that_name_a_device_or_a_file_are_refused_however_they_are_written() {
        let cases = [
            ("btrfs", "/dev/loop7"),
            ("btrfs", "loop7"),
            ("btrfs", "-K /dev/loop7"),
            ("btrfs", "-- /dev/loop7"),
            ("btrfs", "--rootdir=/etc"),
            ("btrfs", "--rootdir /etc"),
            ("btrfs", "-r /etc"),
            ("btrfs", "--root /etc"),
            ("btrfs", "-m single /dev/loop7"),
            ("btrfs", "-m /dev/loop7"),
            ("btrfs", "-L name"),
            ("xfs", "-l logdev=loop7"),
            ("xfs", "-l logd/=ve-f"),
            ("xfs", "-r rtdev=/dev/loop7"),
            ("xfs", "-d file,name=x,size=1g"),
            ("xfs", "-d name=/dev/loop7"),
            ("xfs", "-p /etc/passwd"),
            ("xfs", "-p/etc/passwd"),
            ("xfs", "-N"),
            ("xfs", "-c options=/etc/x"),
            ("xfs", "-l name=/dev/loop7"),
            ("xfs", "-d agcount=4 /dev/loop7"),
            ("ext4", "-z undo"),
            ("ext4", "-z/tmp/undo"),
            ("ext4", "-qz/tmp/undo"),
            ("ext4", "-d /etc"),
            ("ext4", "-E offset=1048576"),
            ("ext4", "-O journal_dev"),
            ("ext4", "-J device=UUID=1-2"),
            ("ext4", "-J device=loop7"),
            ("ext4", "-J device=/dev/../tmp/x"),
            ("ext4", "-l /tmp/blocks"),
            ("ext4", "-m"),
            ("ext4", "-n"),
            ("ext4", "-S"),
            ("ext4", "-b 1024 64m"),
            ("ext2", "-J device=/dev/loop7"),
            ("f2fs", "-c /dev/loop7"),
            ("f2fs", "-c=/dev/loop7"),
            ("jfs", "-j /dev/loop7"),
            ("jfs", "-J device=/dev/loop7"),
            ("reiserfs", "-j /dev/loop7"),
            ("zfs", "-o cachefile=/etc/x"),
            ("zfs", "-R /mnt"),
            ("zfs", "mirror /dev/loop7"),
            ("openzfs", "-o compatibility=x"),
            ("openzfs", "-O keylocation=file:///etc/key"),
            ("bcachefs", "/dev/loop7"),
            ("nilfs2", "-L x"),
            ("reiser4", "/dev/loop7"),
            ("bcachefs", "--source=/etc"),
        ];
        for (name, words) in cases {
            let refused = asked(name, words, "");
            assert!(refused.is_err(), "{name} {words}: {refused:?}");
        }
    }

    #[test]
    fn mount_options_that_name_something_or_order_something_are_refused() {
        let cases = [
            "X-mount.subdir=x",
            "x-systemd.requires=/x",
            "X-mount.mkdir",
            "x-mount.idmap=b:0:1:1",
            "logdev=/dev/loop7",
            "rtdev=/dev/loop7",
            "journal_path=/dev/loop7",
            "journal_dev=0x707",
            "loop",
            "loop=/dev/loop7",
            "offset=512",
            "sizelimit=1",
            "encryption=x",
            "bind",
            "rbind",
            "move",
            "remount",
            "helper=x",
            "uhelper=x",
            "device=/dev/loop7",
            "lowerdir=a",
            "noatime,bind",
            "subvol=/x",
            "verity.hashdevice=/dev/loop7",
            "source=loop7",
            "odd=/etc/passwd",
            "data=/x",
            "noatime\nbind",
            "a=\"b",
            "X-MOUNT.subdir=x",
            "fd=3",
            "keyfile=x",
        ];
        for (name, options) in
            cases.iter().flat_map(|options| [("ext4", options), ("xfs", options), ("btrfs", options)])
        {
            let refused = asked(name, "", options);
            assert!(refused.is_err(), "{name} {options}: {refused:?}");
        }
        for (name, options) in [("zfs", "mountpoint=/etc"), ("zfs", "keylocation=prompt"), ("openzfs", "mountpoint=x")]
        {
            assert!(asked(name, "", options).is_err(), "{name} {options}");
        }
    }

    #[test]
    fn options_of_filesystems_and_plain_unknown_words_are_taken() {
        for (name, mkfs, mount) in [
            ("ext4", "-m 1 -O ^has_journal,dir_index -E stride=4 -b4096", "noatime,data=writeback,no_such_option"),
            ("ext4", "-J size=100 -g 256 -G 4 -C 2097152 -T largefile -U clear -K", "barrier=0,nobh"),
            ("xfs", "-l lazy-count=1,version=2,size=128m -i attr=2 -K", "logbsize=256k,nobarrier"),
            ("btrfs", "--csum xxhash -n 16k -f -O ^no-holes -M --nodesize=16k", "compress=zstd:3,ssd,thread_pool=4"),
            ("zfs", "-O casesensitivity=insensitive -o version=23", "compression=gzip,noatime"),
            ("f2fs", "-O extra_attr,inode_checksum -a 1", "mode=lfs,background_gc=on"),
            ("nilfs2", "-b 4096", "order=strict"),
            ("jfs", "-s 32", "nointegrity"),
            ("reiserfs", "-h r5", "notail"),
        ] {
            assert_eq!(asked(name, mkfs, mount), Ok(Vec::new()), "{name} {mkfs} {mount}");
        }
    }

    #[test]
    fn a_declared_device_is_found_and_mount_may_name_that_one_only() {
        let found = asked("xfs", "-l logdev=/dev/loop7,size=64m", "logdev=/dev/loop7,noatime").expect("declared");
        assert_eq!(found[0].path, Path::new("/dev/loop7"));
        assert!(asked("xfs", "-l logdev=/dev/loop7,size=64m", "logdev=/dev/loop8").is_err());
        for name in ["ext3", "ext4"] {
            let found = asked(name, "-J device=/dev/disk/by-id/x,size=64", "").expect("declared");
            assert_eq!(found[0].rule.role, "journal");
            assert!(asked(name, "-J device=/dev/x -J device=/dev/y", "").is_err());
            assert!(asked(name, "-J device=/dev/x", "journal_path=/dev/x").is_err());
        }
    }
}
