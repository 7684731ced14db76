//! Code contains no words that name a speaker instead of a thing.
//! In: all Rust files in crates/ and all scripts. Out: every such word, in names, texts and comments, except those that others depend on.

use super::top;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Words that are not used: the subject of a name or sentence is a thing, and the verb is what the thing does.
const FORBIDDEN: [&str; 6] = ["told", "untold", "nobody", "whoever", "somebody", "said"];
/// Places where such a word is used all the same.
const ALLOWED: [(&str, &str); 14] = [
    // Fields in ledgers and JSON.
    ("told", "crates/bakeoff/tests"),
    ("told", "crates/engine/src"),
    ("told", "crates/ranks/src"),
    ("told", "crates/records/src"),
    ("told", "crates/samples/src"),
    ("told", "crates/system/src"),
    // A variant of a serialized message.
    ("said", "crates/ranks/src"),
    // The Unix user.
    ("nobody", "crates/bakeoff/tests"),
    ("nobody", "crates/engine/src"),
    ("nobody", "crates/engine/tests"),
    ("nobody", "crates/ledger/src"),
    ("nobody", "crates/runner/tests"),
    ("nobody", "crates/system/src"),
    ("nobody", "scripts/torture_lib"),
];

/// The code below a folder: Rust, declarations, and scripts, which begin with `#!` or end in `.py`. Path and text.
fn code_files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        let ending = path.extension().unwrap_or_default();
        if path.is_dir() {
            found.extend(code_files(&path));
        } else if ending.is_empty() || ["rs", "py", "toml"].iter().any(|read| ending == *read) {
            let text = String::from_utf8_lossy(&std::fs::read(&path).expect("it can be read")).into_owned();
            found.extend((!ending.is_empty() || text.starts_with("#!")).then_some((path, text)));
        }
    }
    found
}

/// The words of a text, in small letters; a name has those between its capitals and underscores.
fn words(text: &str) -> BTreeSet<String> {
    let mut separated = String::new();
    for c in text.chars() {
        if c.is_uppercase() && separated.ends_with(char::is_lowercase) {
            separated.push(' ');
        }
        separated.push(c);
    }
    separated.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase).collect()
}

#[test]
fn a_forbidden_word_is_found_in_names_texts_and_comments() {
    assert!(["it_was_told", "ItsTold", "\"nobody's\"", "// Whoever"].iter().all(|text| !is_allowed_everywhere(text)));
    assert!(["stolde", "a saidoo"].iter().all(|text| is_allowed_everywhere(text)));
}

fn is_allowed_everywhere(text: &str) -> bool {
    words(text).iter().all(|word| !FORBIDDEN.contains(&word.as_str()))
}

#[test]
fn no_code_contains_a_forbidden_word() {
    let top = top();
    let folders = ["crates", "scripts", "filesystems", "layers", "workloads", "plans", "disks", "shared"];
    let files: Vec<(PathBuf, String)> = folders.iter().flat_map(|folder| code_files(&top.join(folder))).collect();
    assert!(files.len() > 500, "{} files", files.len());
    let (mut wrong, mut met) = (Vec::new(), BTreeSet::new());
    for (path, code) in files.iter().filter(|(path, _)| !path.ends_with("documents/names.rs")) {
        let file = path.strip_prefix(&top).expect("below the top");
        for (number, line) in code.lines().enumerate().filter(|(_, line)| !is_allowed_everywhere(line)) {
            for word in words(line).iter().filter(|word| FORBIDDEN.contains(&word.as_str())) {
                match ALLOWED.iter().find(|(known, folder)| known == word && file.starts_with(folder)) {
                    Some(allowed) => met.extend([*allowed]),
                    None => wrong.push(format!("{}:{}: {word}", file.display(), number + 1)),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "these contain one of {FORBIDDEN:?}:\n{}", wrong.join("\n"));
    let unused: Vec<_> = ALLOWED.iter().filter(|one| !met.contains(*one)).collect();
    assert!(unused.is_empty(), "these are no longer there, and need no exception: {unused:?}");
}
