//! Reading back: whether what was asked is what is there.
//! In: the contender's options, and what kernel and tools show. Out: the first option that did not take, or remarks on what
//! cannot be read back. An option that was ignored is an error of its contender, never a silent run.

use crate::contender::Contender;
use crate::filesystem::{Filesystem, Form, ReadBack};
use std::collections::BTreeMap;

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

/// The first mount option that is not in force, in words; None where all are.
pub(crate) fn ignored_mount_option(filesystem: &Filesystem, asked: &[String], shown: &[String]) -> Option<String> {
    asked.iter().find(|option| !in_force(filesystem, option, shown)).map(|option| {
        let key = key_of(option);
        let instead = shown.iter().find(|one| key_of(one) == key || **one == format!("no{key}"));
        match instead {
            Some(instead) => format!("mount option {option} did not take: the kernel shows {instead}"),
            None => format!("mount option {option} did not take: the kernel shows {}", shown.join(",")),
        }
    })
}

fn in_force(filesystem: &Filesystem, option: &str, shown: &[String]) -> bool {
    let has = |word: &str| shown.iter().any(|one| one == word);
    if has(option) || option.starts_with("x-") {
        return true;
    }
    if let Some(opposites) = filesystem.mount.silent.get(option) {
        return !opposites.iter().any(|opposite| has(opposite));
    }
    if let Some((_, opposites)) = SILENT.iter().find(|(name, _)| *name == option) {
        return !opposites.iter().any(|opposite| has(opposite));
    }
    match option.split_once('=') {
        Some((key, "1")) if has(key) => true,
        Some((key, "0")) if has(&format!("no{key}")) => true,
        Some((key, value)) => shown.iter().filter_map(|one| one.split_once('=')).any(|(name, found)| {
            // btrfs adds the level to the kind of compression.
            name == key && (equal(value, found) || found.starts_with(&format!("{value}:")))
        }),
        None => shown
            .iter()
            .filter_map(|one| one.split_once('='))
            .any(|(name, found)| name == option && !["0", "off", "no", "none"].contains(&found)),
    }
}

fn key_of(option: &str) -> &str {
    option.split('=').next().unwrap_or(option)
}

/// Equal as text, or as sizes: 256k, 256K, 262144.
pub(crate) fn equal(asked: &str, found: &str) -> bool {
    asked.eq_ignore_ascii_case(found) || size(asked).is_some_and(|bytes| size(found) == Some(bytes))
}

/// A number with an optional unit of 1,024.
fn size(text: &str) -> Option<u64> {
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

/// One mkfs option as it stands on the command line.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    flag: String,
    value: String,
}

/// Splits mkfs words into flags with their values: `-O x`, `-Ox`, `--csum x`, `--csum=x`, `-K`.
fn given(words: &[String]) -> Vec<Given> {
    let mut found: Vec<Given> = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let word = &words[at];
        at += 1;
        if let Some((flag, value)) = word.strip_prefix("--").and_then(|long| long.split_once('=')) {
            found.push(Given { flag: format!("--{flag}"), value: value.into() });
        } else if word.starts_with('-') && !word.starts_with("--") && word.len() > 2 {
            found.push(Given { flag: word[..2].into(), value: word[2..].into() });
        } else if word.starts_with('-') {
            let value = words.get(at).filter(|next| !next.starts_with('-')).cloned();
            at += usize::from(value.is_some());
            found.push(Given { flag: word.clone(), value: value.unwrap_or_default() });
        }
    }
    found
}

/// Compares mkfs options with what the filesystem's tools show. Ok: remarks on what cannot be read back.
pub(crate) fn mkfs_options(
    filesystem: &Filesystem,
    contender: &Contender,
    inspected: &BTreeMap<String, String>,
) -> Result<Vec<String>, String> {
    let mut remarks = Vec::new();
    for one in given(&contender.mkfs) {
        let rules: Vec<&ReadBack> = filesystem.readback.iter().filter(|rule| rule.flag == one.flag).collect();
        let features = rules.iter().find(|rule| rule.form == Form::Features);
        if let Some(rule) = features {
            check_features(&one, rule, inspected.get(&rule.by).map_or("", String::as_str))?;
            continue;
        }
        for item in one.value.split(',') {
            let (key, value) = item.split_once('=').map_or((None, item), |(key, value)| (Some(key), value));
            let exact = rules.iter().find(|rule| rule.key.is_some() && rule.key.as_deref() == key.or(Some(item)));
            let Some(rule) = exact.or_else(|| rules.iter().find(|rule| rule.key.is_none())) else {
                remarks.push(format!(
                    "mkfs option {} {item} is not read back: {} does not say how",
                    one.flag, filesystem.name
                ));
                continue;
            };
            let text = inspected.get(&rule.by).map_or("", String::as_str);
            remarks.extend(check_item(&one.flag, item, key, value, rule, text)?);
        }
    }
    Ok(remarks)
}

fn check_item(
    flag: &str,
    item: &str,
    key: Option<&str>,
    value: &str,
    rule: &ReadBack,
    text: &str,
) -> Result<Option<String>, String> {
    let shown = match rule.form {
        Form::Hidden => return Ok(Some(format!("mkfs option {flag} {item} is not read back: {}", rule.line))),
        Form::Pair => key.and_then(|key| pair(text, key)),
        Form::Property => key.and_then(|key| property(text, key)),
        Form::Line => after(text, &rule.line).and_then(|rest| {
            let found = rest.split([' ', '\t', ',']).find(|word| !word.is_empty())?.to_string();
            Some(found.strip_suffix(rule.suffix.as_str()).unwrap_or(&found).to_string())
        }),
        Form::Word => line_words(text, &rule.line, value),
        Form::Features => None,
    };
    match shown {
        Some(found) if equal(value, found.trim_end_matches([',', ';'])) => Ok(None),
        Some(found) => Err(format!("mkfs option {flag} {item} did not take: {} shows {found}", rule.by)),
        None => Ok(Some(format!("mkfs option {flag} {item} is not read back: {} does not show it", rule.by))),
    }
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

/// The value where it is a word of the line, else the words of that line.
fn line_words(text: &str, start: &str, value: &str) -> Option<String> {
    let rest = after(text, start)?;
    let words: Vec<&str> = rest.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // Tools name a checksum by its full name: xxhash64 for xxhash.
    let same = |word: &&&str| word.to_ascii_lowercase().starts_with(&value.to_ascii_lowercase());
    Some(if words.iter().any(|word| same(&word)) { value.to_string() } else { words.join(" ") })
}

/// A list of features: a later item overrides an earlier one; `none` clears the list.
fn check_features(one: &Given, rule: &ReadBack, text: &str) -> Result<(), String> {
    let line = after(text, &rule.line).unwrap_or_default();
    // Some features have other names in dumpe2fs than in mke2fs.
    let named = |feature: &str| match feature {
        "extents" => "extent".to_string(),
        "uninit_groups" => "uninit_bg".to_string(),
        other => other.to_string(),
    };
    let mut wanted: BTreeMap<String, bool> = BTreeMap::new();
    for item in one.value.split(',').filter(|item| !item.is_empty() && *item != "none") {
        let (feature, on) = item.strip_prefix('^').map_or((item, true), |off| (off, false));
        wanted.insert(named(feature), on);
    }
    for (feature, on) in wanted {
        let there = line.split_whitespace().any(|word| word == feature);
        if there != on {
            let asked = if on { "" } else { "^" };
            let state = if there { "is there" } else { "is not there" };
            return Err(format!(
                "mkfs option {} {asked}{feature} did not take: {} shows that it {state}",
                one.flag, rule.by
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::Registry;

    fn filesystem(name: &str) -> Filesystem {
        Registry::embedded().expect("good").get(name).expect("known").clone()
    }

    fn words(text: &str) -> Vec<String> {
        text.split([',', ' ']).map(str::to_string).collect()
    }

    fn ignored(name: &str, asked: &str, shown: &str) -> Option<String> {
        ignored_mount_option(&filesystem(name), &words(asked), &words(shown))
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

    fn mkfs(name: &str, options: &str, tool: &str, shown: &str) -> Result<Vec<String>, String> {
        let mut contender = Contender::plain(name);
        contender.mkfs = options.split(' ').map(str::to_string).collect();
        mkfs_options(&filesystem(name), &contender, &BTreeMap::from([(tool.to_string(), shown.to_string())]))
    }

    #[test]
    fn features_are_compared_in_the_order_in_which_they_override_each_other() {
        let shown =
            "Filesystem features:      has_journal extent bigalloc\nCluster size: 2097152\nClusters per group: 256\n";
        assert_eq!(
            mkfs("ext4", "-C 2097152 -g 256 -O none,extents,bigalloc,sparse_super2,^sparse_super2", "dumpe2fs", shown),
            Ok(vec![])
        );
        let error = mkfs("ext4", "-O ^has_journal", "dumpe2fs", shown).expect_err("it is there");
        assert!(error.contains("^has_journal"), "{error}");
        let error = mkfs("ext4", "-Oencrypt", "dumpe2fs", shown).expect_err("it is not there");
        assert!(error.contains("encrypt"), "{error}");
    }

    #[test]
    fn pairs_are_compared_and_what_is_not_shown_is_a_remark() {
        let shown = "meta-data=/dev/loop0 isize=512 agcount=4, agsize=1 blks\n = crc=1 rmapbt=0\n";
        assert_eq!(mkfs("xfs", "-m rmapbt=0 -d agcount=4 -i size=512", "xfs_info", shown), Ok(vec![]));
        let error = mkfs("xfs", "-m rmapbt=1,crc=1", "xfs_info", shown).expect_err("rmapbt is off");
        assert!(error.contains("rmapbt=1"), "{error}");
        let remarks = mkfs("xfs", "-m uuid=1 -r extsize=4k", "xfs_info", shown).expect("not wrong");
        assert_eq!(remarks.len(), 2, "{remarks:?}");
    }

    #[test]
    fn words_of_a_line_are_compared_without_their_punctuation() {
        let shown = "csum_type\t\t1 (xxhash64)\nnodesize\t\t16384\n";
        assert_eq!(mkfs("btrfs", "--csum xxhash -n 16k", "dump-super", shown), Ok(vec![]));
        assert!(mkfs("btrfs", "--csum sha256", "dump-super", shown).is_err());
    }
}
