//! Reading back: whether the requested options are in force.
//! In: the contender's options, and what kernel and tools show. Out: what is shown for each option, or the first that had no effect.
//! An ignored option is an error of its contender, never a silent run.

use crate::filesystems::description::{Filesystem, Form, ReadBack};
use crate::filesystems::options::given;
use records::OptionFound;
use std::collections::BTreeMap;
use std::path::Path;
use system::Target;

/// Options of the mount layer that are not shown because they are the default, or that only mount(8) reads:
/// each holds unless one of the others is shown.
const SILENT: [(&str, &[&str]); 19] = [
    ("defaults", &[]),
    ("async", &["sync"]),
    ("suid", &["nosuid"]),
    ("dev", &["nodev"]),
    ("exec", &["noexec"]),
    ("atime", &["noatime"]),
    ("strictatime", &["noatime", "relatime"]),
    ("diratime", &["nodiratime"]),
    ("nolazytime", &["lazytime"]),
    ("nomand", &["mand"]),
    ("norelatime", &["relatime"]),
    ("auto", &[]),
    ("noauto", &[]),
    ("nofail", &[]),
    ("nouser", &[]),
    ("user", &[]),
    ("_netdev", &[]),
    ("silent", &[]),
    ("loud", &[]),
];

/// Options of the mount layer that are shown when they are in force.
const SHOWN: [&str; 12] = [
    "noatime",
    "nodiratime",
    "relatime",
    "lazytime",
    "nodev",
    "noexec",
    "nosuid",
    "sync",
    "dirsync",
    "mand",
    "ro",
    "rw",
];

/// Every option of the mount layer, which any filesystem accepts.
pub(crate) fn general_options() -> impl Iterator<Item = &'static str> {
    SHOWN.into_iter().chain(SILENT.iter().map(|(name, _)| *name))
}

/// What is shown for every requested mount option.
///
/// # Errors
/// The first one that is not in force, in words.
pub(crate) fn mount_options(
    filesystem: &Filesystem,
    asked: &[String],
    shown: &[Shown],
) -> Result<Vec<OptionFound>, String> {
    let words = |shown: &[Shown]| shown.iter().flat_map(|one| one.options.clone()).collect::<Vec<_>>();
    asked
        .iter()
        // `defaults` only means no options.
        .filter(|option| *option != "defaults")
        .map(|option| {
            let text = |found: String, by: &str| OptionFound {
                asked: format!("mount {option}"),
                found: Some(found),
                by: by.to_string(),
            };
            let exact = shown.iter().find_map(|one| Some((in_force(option, &one.options)?, one.by.as_str())));
            if let Some((found, by)) = exact {
                return Ok(text(found, by));
            }
            let all = words(shown);
            match held_in_silence(filesystem, option, &all) {
                Some(true) => Ok(text("default: the kernel shows nothing that contradicts it".into(), "mountinfo")),
                _ => Err(not_in_force(option, &all)),
            }
        })
        .collect()
}

/// Options as one source shows them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    /// The source: `mountinfo`, a file, a tool.
    pub by: String,
    /// The options.
    pub options: Vec<String>,
}

fn not_in_force(option: &str, shown: &[String]) -> String {
    let key = key_of(option);
    let instead = shown.iter().find(|one| key_of(one) == key || **one == format!("no{key}"));
    match instead {
        Some(instead) => format!("mount option {option} did not take effect: the kernel shows {instead}"),
        None => format!("mount option {option} did not take effect: the kernel shows {}", shown.join(",")),
    }
}

/// Whether an option that the kernel accepts without showing it holds; None if it is not one of those.
fn held_in_silence(filesystem: &Filesystem, option: &str, shown: &[String]) -> Option<bool> {
    let has = |word: &str| shown.iter().any(|one| one == word);
    if option.starts_with("x-") {
        return Some(true);
    }
    if let Some(opposites) = filesystem.mount.silent.get(option) {
        return Some(!opposites.iter().any(|opposite| has(opposite)));
    }
    let (_, opposites) = SILENT.iter().find(|(name, _)| *name == option)?;
    Some(!opposites.iter().any(|opposite| has(opposite)))
}

/// The option as it is shown, if it is.
fn in_force(option: &str, shown: &[String]) -> Option<String> {
    let find = |word: &str| shown.iter().find(|one| *one == word).cloned();
    if let Some(found) = find(option) {
        return Some(found);
    }
    match option.split_once('=') {
        Some((key, "1")) if find(key).is_some() => find(key),
        Some((key, "0")) if find(&format!("no{key}")).is_some() => find(&format!("no{key}")),
        Some((key, value)) => {
            // btrfs adds the level to the kind of compression.
            let same = |found: &str| equal(value, found) || found.starts_with(&format!("{value}:"));
            shown
                .iter()
                .find(|one| one.split_once('=').is_some_and(|(name, found)| name == key && same(found)))
                .cloned()
        }
        None => shown
            .iter()
            .find(|one| one.split_once('=').is_some_and(|(name, found)| name == option && !is_off(found)))
            .cloned(),
    }
}

fn is_off(value: &str) -> bool {
    ["0", "off", "no", "none", "-"].contains(&value)
}

fn key_of(option: &str) -> &str {
    option.split('=').next().unwrap_or(option)
}

/// Equal as text, or as sizes: 256k, 256K, 262144.
pub(crate) fn equal(asked: &str, found: &str) -> bool {
    asked.eq_ignore_ascii_case(found) || size(asked).is_some_and(|bytes| size(found) == Some(bytes))
}

/// A number with an optional unit of 1,024.
pub(crate) fn size(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number: u64 = text[..digits].parse().ok()?;
    let shift = match text[digits..].to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return None,
    };
    number.checked_mul(1 << shift)
}

/// Compares the requested mkfs words with what the filesystem's tools show.
///
/// # Errors
/// The first one that had no effect, in words.
pub(crate) fn mkfs_options(
    filesystem: &Filesystem,
    words: &[String],
    inspected: &BTreeMap<String, String>,
) -> Result<Vec<OptionFound>, String> {
    let mut found = Vec::new();
    for one in given(filesystem, words)? {
        let rules: Vec<&ReadBack> = filesystem.readback.iter().filter(|rule| rule.flag == one.flag).collect();
        let features = rules.iter().find(|rule| rule.form == Form::Features);
        if let Some(rule) = features {
            found.extend(check_features(&one, rule, inspected.get(&rule.by).map_or("", String::as_str))?);
            continue;
        }
        for item in one.value.split(',') {
            let (key, value) = item.split_once('=').map_or((None, item), |(key, value)| (Some(key), value));
            let exact = rules.iter().find(|rule| rule.key.is_some() && rule.key.as_deref() == key.or(Some(item)));
            let Some(rule) = exact.or_else(|| rules.iter().find(|rule| rule.key.is_none())) else {
                let by = format!("{} has no readback rule for it", filesystem.name);
                found.push(OptionFound { asked: format!("mkfs {} {item}", one.flag), found: None, by });
                continue;
            };
            let text = inspected.get(&rule.by).map_or("", String::as_str);
            found.push(check_item(&one.flag, item, key, value, rule, text)?);
        }
    }
    Ok(found)
}

fn check_item(
    flag: &str,
    item: &str,
    key: Option<&str>,
    value: &str,
    rule: &ReadBack,
    text: &str,
) -> Result<OptionFound, String> {
    let printed = |found: Option<String>, by: String| OptionFound {
        asked: format!("mkfs {flag} {item}").trim_end().into(),
        found,
        by,
    };
    if let Some(other) = rule.hidden_with.as_deref().filter(|other| text.contains(other)) {
        return Ok(printed(None, format!("{} shows it together with {}", rule.by, other.trim())));
    }
    let shown = match rule.form {
        Form::Hidden => return Ok(printed(None, rule.line.clone())),
        Form::Present if text.contains(&rule.line) => {
            return Ok(printed(Some(rule.line.trim_matches(',').into()), rule.by.clone()));
        }
        Form::Present => {
            return Err(format!("mkfs option {flag} did not take effect: {} does not show {}", rule.by, rule.line));
        }
        Form::Pair => key.and_then(|key| pair(text, key)),
        Form::Property => key.and_then(|key| property(text, key)),
        Form::Line | Form::Device => after(text, &rule.line).and_then(|rest| {
            let found = rest.split([' ', '\t', ',']).find(|word| !word.is_empty())?.to_string();
            Some(found.strip_suffix(rule.suffix.as_str()).unwrap_or(&found).to_string())
        }),
        Form::Word => line_words(text, &rule.line, value),
        Form::Features => None,
    };
    let named = |found: &str| match rule.form {
        Form::Pair | Form::Property => format!("{}={found}", key.unwrap_or_default()),
        _ => format!("{} {found}{}", rule_name(rule, text), rule.suffix),
    };
    // OpenZFS shows the cipher of `encryption=on`.
    let is_chosen = |found: &str| rule.form == Form::Property && value == "on" && !is_off(found);
    match shown {
        Some(found) if rule.form == Form::Device && is_device(&found, value) => {
            Ok(printed(Some(named(&found)), rule.by.clone()))
        }
        Some(found) if is_chosen(&found) || equal(value, found.trim_end_matches([',', ';'])) => {
            let found = found.trim_end_matches([',', ';']);
            Ok(printed(Some(named(found)), rule.by.clone()))
        }
        Some(found) => Err(format!("mkfs option {flag} {item} did not take effect: {} shows {found}", rule.by)),
        None => Ok(printed(None, format!("{} does not show it", rule.by))),
    }
}

/// Whether a device that is shown by its path or its number is the one at this path.
fn is_device(shown: &str, path: &str) -> bool {
    let Some(Target::Block(asked)) = Target::of(Path::new(path)) else { return false };
    let hexadecimal = shown.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match hexadecimal {
        // Tools show the kernel's old short form, as long as both numbers fit into it.
        Some(raw) => system::block::number_from_raw(raw) == asked,
        None => Target::of(Path::new(shown)) == Some(Target::Block(asked)),
    }
}

/// The tool's own name for the value that a rule looks for: `Block size`, `bsize`.
fn rule_name(rule: &ReadBack, text: &str) -> String {
    let start = rule.line.split('|').find(|start| text.contains(*start)).unwrap_or_default();
    let last = if start.contains("  ") { start.rsplit(' ').next().unwrap_or_default() } else { start };
    last.trim_end_matches([':', '=', ',']).trim().to_string()
}

/// `key=value` as a word.
fn pair(text: &str, key: &str) -> Option<String> {
    text.split([' ', '\t', '\n', ','])
        .filter_map(|word| word.split_once('='))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value.to_string())
}

/// A line `key value`, or `pool key value source`.
fn property(text: &str, key: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let at = words.iter().take(2).position(|word| *word == key)?;
        words.get(at + 1).map(|value| value.to_string())
    })
}

fn after<'a>(text: &'a str, starts: &str) -> Option<&'a str> {
    starts
        .split('|')
        .find_map(|start| text.lines().find_map(|line| line.find(start).map(|at| &line[at + start.len()..])))
}

/// The value if it is a word of the line, else the words of that line.
fn line_words(text: &str, start: &str, value: &str) -> Option<String> {
    let rest = after(text, start)?;
    let words: Vec<&str> = rest.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // Tools show a checksum by its full name: xxhash64 for xxhash.
    let same = |word: &&&str| word.to_ascii_lowercase().starts_with(&value.to_ascii_lowercase());
    Some(if words.iter().any(|word| same(&word)) { value.to_string() } else { words.join(" ") })
}

/// A list of features: a later item overrides an earlier one; `none` clears the list.
fn check_features(
    one: &crate::filesystems::options::Given,
    rule: &ReadBack,
    text: &str,
) -> Result<Vec<OptionFound>, String> {
    let line = if rule.line.is_empty() { text } else { after(text, &rule.line).unwrap_or_default() };
    // Some features have other names in the tool that shows them than in mkfs.
    let named = |feature: &str| match feature {
        "extents" => "extent".to_string(),
        "uninit_groups" => "uninit_bg".to_string(),
        other => rule.names.get(other).cloned().unwrap_or_else(|| other.to_string()),
    };
    let mut wanted: BTreeMap<String, (bool, String)> = BTreeMap::new();
    for item in one.value.split(',').filter(|item| !item.is_empty() && *item != "none") {
        let (feature, on) = item.strip_prefix('^').map_or((item, true), |off| (off, false));
        wanted.insert(named(feature), (on, item.to_string()));
    }
    let mut found = Vec::new();
    for (feature, (on, item)) in wanted {
        let there = line.split_whitespace().any(|word| word == feature);
        if there != on {
            let asked = if on { "" } else { "^" };
            let state = if there { "is set" } else { "is not set" };
            return Err(format!(
                "mkfs option {} {asked}{feature} did not take effect: {} shows that it {state}",
                one.flag, rule.by
            ));
        }
        let shown = if there { feature } else { format!("no {feature}") };
        found.push(OptionFound { asked: format!("mkfs {} {item}", one.flag), found: Some(shown), by: rule.by.clone() });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filesystems::registry::Registry;

    fn filesystem(name: &str) -> Filesystem {
        Registry::embedded().expect("good").get(name).expect("known").clone()
    }

    fn words(text: &str) -> Vec<String> {
        text.split([',', ' ']).map(str::to_string).collect()
    }

    fn ignored(name: &str, asked: &str, shown: &str) -> Option<String> {
        let shown = Shown { by: "mountinfo".into(), options: words(shown) };
        mount_options(&filesystem(name), &words(asked), &[shown]).err()
    }

    #[test]
    fn options_are_found_in_the_forms_in_which_kernels_show_them() {
        assert_eq!(
            ignored(
                "xfs",
                "logbufs=8,logbsize=262144,noquota,noatime",
                "rw,noatime,inode64,logbufs=8,logbsize=256k,noquota"
            ),
            None
        );
        assert_eq!(ignored("btrfs", "compress=zstd,discard,commit=30", "rw,compress=zstd:3,discard=async"), None);
        assert_eq!(ignored("ext4", "barrier=1,nodiscard,defaults", "rw,barrier,nodiscard"), None);
        assert_eq!(ignored("xfs", "nodiscard,x-systemd.automount", "rw,noquota"), None);
    }

    #[test]
    fn an_option_that_the_kernel_ignored_is_named_with_what_it_shows() {
        let error = ignored("ext4", "data=journal", "rw,data=ordered").expect("ignored");
        assert!(error.contains("data=journal") && error.contains("data=ordered"), "{error}");
        let error = ignored("ext4", "barrier=0", "rw,barrier").expect("ignored");
        assert!(error.contains("barrier=0"), "{error}");
        let error = ignored("btrfs", "nossd", "rw,ssd,space_cache=v2").expect("ignored");
        assert!(error.contains("nossd"), "{error}");
        assert!(ignored("ext4", "strictatime", "rw,relatime").is_some());
    }

    /// What is shown for each option, empty if nothing is.
    fn mkfs(name: &str, options: &str, tool: &str, shown: &str) -> Result<Vec<String>, String> {
        let words: Vec<String> = options.split(' ').map(str::to_string).collect();
        let found = mkfs_options(&filesystem(name), &words, &BTreeMap::from([(tool.to_string(), shown.to_string())]))?;
        Ok(found.into_iter().map(|one| one.found.unwrap_or_default()).collect())
    }

    #[test]
    fn features_are_compared_in_the_order_in_which_they_override_each_other() {
        let shown =
            "Filesystem features:      has_journal extent bigalloc\nCluster size: 2097152\nClusters per group: 256\n";
        assert_eq!(
            mkfs("ext4", "-C 2097152 -g 256 -O none,extents,bigalloc,sparse_super2,^sparse_super2", "dumpe2fs", shown),
            Ok(["Cluster size 2097152", "Clusters per group 256", "bigalloc", "extent", "no sparse_super2"]
                .map(String::from)
                .into())
        );
        let error = mkfs("ext4", "-O ^has_journal", "dumpe2fs", shown).expect_err("it is there");
        assert!(error.contains("^has_journal"), "{error}");
        let error = mkfs("ext4", "-Oencrypt", "dumpe2fs", shown).expect_err("it is not there");
        assert!(error.contains("encrypt"), "{error}");
    }

    #[test]
    fn pairs_are_compared_and_what_is_not_shown_is_a_remark() {
        let shown = "meta-data=/dev/loop0 isize=512 agcount=4, agsize=1 blks\n = crc=1 rmapbt=0\n";
        assert_eq!(
            mkfs("xfs", "-m rmapbt=0 -d agcount=4 -i size=512", "xfs_info", shown),
            Ok(["rmapbt=0", "agcount=4", "isize 512"].map(String::from).into())
        );
        let error = mkfs("xfs", "-m rmapbt=1,crc=1", "xfs_info", shown).expect_err("rmapbt is off");
        assert!(error.contains("rmapbt=1"), "{error}");
        let hidden = mkfs("xfs", "-m uuid=1 -r extsize=4k", "xfs_info", shown).expect("not wrong");
        assert_eq!(hidden, ["", ""]);
        let ext4 = |features: &str, size: &str| {
            mkfs(
                "ext4",
                "-J size=256",
                "dumpe2fs",
                &format!("Filesystem features:      {features}\nTotal journal size:       {size}\n"),
            )
        };
        assert_eq!(ext4("dir_index fast_commit filetype", "257M"), Ok(vec![String::new()]), "their blocks come on top");
        assert!(ext4("dir_index filetype", "257M").is_err_and(|error| error.contains("dumpe2fs shows 257")));
    }

    #[test]
    fn features_are_known_by_the_names_that_the_tool_shows() {
        let shown = "incompat_flags\t\t0x341\n\t\t\t( MIXED_BACKREF |\n\t\t\t  EXTENDED_IREF |\n\t\t\t  NO_HOLES )\n";
        let found = mkfs("btrfs", "-O no-holes,^mixed-bg", "dump-super", shown);
        assert_eq!(found, Ok(["no MIXED_GROUPS", "NO_HOLES"].map(String::from).into()));
        assert!(mkfs("btrfs", "-O ^extref", "dump-super", shown).is_err());
    }

    #[test]
    fn encryption_is_found_by_the_cipher_or_by_its_key() {
        let found = mkfs("openzfs", "-O encryption=on", "properties", "encryption\taes-256-gcm\n");
        assert_eq!(found, Ok(vec!["encryption=aes-256-gcm".to_string()]));
        assert!(mkfs("openzfs", "-O encryption=on", "properties", "encryption\toff\n").is_err());
        assert!(mkfs("openzfs", "-O encryption=off", "properties", "encryption\taes-256-gcm\n").is_err());
        let super_block = |sections: &str| format!("Sections:   members_v1,{sections}replicas_v0\n");
        let found = |shown: &str| mkfs("bcachefs", "--encrypted --no_passphrase", "super", shown);
        assert_eq!(found(&super_block("crypt,")), Ok(vec!["crypt".to_string(), String::new()]));
        assert!(found(&super_block("")).is_err_and(|error| error.contains("--encrypted did not take effect")));
    }

    #[test]
    fn options_read_back_are_listed_with_their_source() {
        let shown = [
            Shown { by: "mountinfo".into(), options: words("rw,noatime") },
            Shown { by: "/proc/fs/ext4/loop0/options".into(), options: words("commit=5,nodelalloc") },
        ];
        let found = mount_options(&filesystem("ext4"), &words("commit=5,noatime,async"), &shown).expect("all hold");
        let lines: Vec<(&str, &str)> = found.iter().map(|one| (one.asked.as_str(), one.by.as_str())).collect();
        assert_eq!(
            lines,
            [
                ("mount commit=5", "/proc/fs/ext4/loop0/options"),
                ("mount noatime", "mountinfo"),
                ("mount async", "mountinfo")
            ]
        );
    }

    #[test]
    fn words_of_a_line_are_compared_without_their_punctuation() {
        let shown = "csum_type\t\t1 (xxhash64)\nnodesize\t\t16384\n";
        assert_eq!(
            mkfs("btrfs", "--csum xxhash -n 16k", "dump-super", shown),
            Ok(["csum_type xxhash", "nodesize 16384"].map(String::from).into())
        );
        assert!(mkfs("btrfs", "--csum sha256", "dump-super", shown).is_err());
    }
}
