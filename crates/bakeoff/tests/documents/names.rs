//! Identifiers in crates/ contain no words that name a speaker instead of a thing.
//! In: all Rust files. Out: every identifier with such a word, except those that others depend on.

use super::top;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Words that no identifier contains: the subject of a name is a thing, and the verb is what the thing does.
const FORBIDDEN: [&str; 6] = ["told", "untold", "nobody", "whoever", "somebody", "said"];
/// Identifiers that have such a word all the same, with the folder in crates/ where they may.
const ALLOWED: [(&str, &str); 13] = [
    // Fields in ledgers and JSON.
    ("told", "bakeoff/tests"),
    ("told", "engine/src"),
    ("told", "ranks/src"),
    ("told", "records/src"),
    ("told", "samples/src"),
    ("told_by", "records/src"),
    ("told_by", "system/src"),
    // Variants of serialized messages.
    ("Told", "engine/src"),
    ("Said", "ranks/src"),
    // The Unix user.
    ("nobody", "bakeoff/tests"),
    ("as_nobody", "bakeoff/tests"),
    ("as_nobody", "runner/tests"),
    ("NOBODY", "runner/tests"),
];

/// All Rust files below a folder.
fn code_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(code_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// The identifiers in code, without comments and literals.
fn identifiers(code: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut found, mut rest) = (BTreeSet::new(), code);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => 1 + after(&rest[1..], '"'),
            '\'' if rest[1..].starts_with('\\') || rest.chars().nth(2) == Some('\'') => 1 + after(&rest[1..], '\''),
            first if is_part(first) => {
                let word = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
                found.insert(word);
                word.len() + if ["r", "br", "cr"].contains(&word) { raw_length(&rest[word.len()..]) } else { 0 }
            }
            first => first.len_utf8(),
        };
        rest = &rest[length..];
    }
    found
}

/// The place after the first mark without a backslash before it.
fn after(text: &str, mark: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().find(|(_, c)| {
        let ends = *c == mark && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Length of a raw literal after its letters; 0 if there is none.
fn raw_length(code: &str) -> usize {
    let marks = code.len() - code.trim_start_matches('#').len();
    let Some(text) = code[marks..].strip_prefix('"') else { return 0 };
    let end = format!("\"{}", "#".repeat(marks));
    marks + 1 + text.find(&end).map_or(text.len(), |at| at + end.len())
}

fn is_forbidden(identifier: &str) -> bool {
    let mut words = String::new();
    for c in identifier.chars() {
        if c.is_uppercase() && words.ends_with(char::is_lowercase) {
            words.push('_');
        }
        words.push(c);
    }
    words.to_lowercase().split('_').any(|word| FORBIDDEN.contains(&word))
}

#[test]
fn no_identifier_contains_a_forbidden_word() {
    let crates = top().join("crates");
    let files = code_files(&crates);
    assert!(files.len() > 500, "{} files", files.len());
    let (mut wrong, mut met) = (Vec::new(), BTreeSet::new());
    for path in &files {
        let code = std::fs::read_to_string(path).expect("code is text");
        let file = path.strip_prefix(&crates).expect("a file in crates/");
        for name in identifiers(&code).into_iter().filter(|name| is_forbidden(name)) {
            match ALLOWED.iter().find(|(known, folder)| *known == name && file.starts_with(folder)) {
                Some(allowed) => met.extend([*allowed]),
                None => wrong.push(format!("{}: {name}", file.display())),
            }
        }
    }
    assert!(wrong.is_empty(), "these contain one of {FORBIDDEN:?}:\n{}", wrong.join("\n"));
    let unused: Vec<_> = ALLOWED.iter().filter(|one| !met.contains(*one)).collect();
    assert!(unused.is_empty(), "these are no longer there, and need no exception: {unused:?}");
}
