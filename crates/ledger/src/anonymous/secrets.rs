//! Words that no published text may hold, and their replacements.
//! In: words from the records and from the owner's machine. Out: texts without them.
//! Common words (`root`, `data`, the name of a compared filesystem) identify no one, and stay.

use super::{LEFT_OUT, LeftOut, Owner, PATH, Rule};
use crate::import::Imported;
use std::collections::BTreeSet;

/// Shorter words are matched only as whole texts.
const SHORTEST: usize = 3;
/// Words of at least this length are also matched within others.
const LONG: usize = 6;
/// Words that identify no one and no machine.
const GENERIC: &str = "left out path root user users admin guest nobody test host localhost localdomain local \
    linux debian ubuntu fedora arch suse data disk disks file files image images bench work home mnt srv tmp var opt media \
    scratch memory none default bakeoff server system kernel";

/// One word.
struct Secret {
    word: String,
    /// In lower case.
    lower: String,
    instead: String,
    rule: Rule,
}

/// All secrets.
pub(super) struct Secrets {
    all: Vec<Secret>,
    known: BTreeSet<String>,
    /// Words of the run itself that stay, in lower case.
    stay: BTreeSet<String>,
}

impl Secrets {
    /// The owner's names, and the run's own words that stay.
    pub fn of(imported: &Imported, owner: &Owner) -> Self {
        let mut stay: BTreeSet<String> =
            GENERIC.split_whitespace().chain([LEFT_OUT, PATH]).map(str::to_owned).collect();
        for asked in imported.contenders.iter().filter_map(|contender| contender.asked.as_ref()) {
            stay.insert(asked.filesystem.to_lowercase());
            let is_file = |value: &&String| value.contains('/') || value.ends_with(".toml");
            let values = asked.scheduler.iter().chain(asked.axes.values().filter(|value| !is_file(value)));
            stay.extend(values.map(|value| value.to_lowercase()));
        }
        for work in &imported.run.new.works {
            stay.extend([work.name.to_lowercase(), work.scale.to_lowercase()]);
            stay.extend(
                work.phases.iter().flat_map(|phase| [phase.name.to_lowercase(), phase.operation.to_lowercase()]),
            );
        }
        let mut secrets = Secrets { all: Vec::new(), known: BTreeSet::new(), stay };
        owner.hosts.iter().for_each(|host| secrets.host(host));
        owner.users.iter().for_each(|user| secrets.add(user, Rule::User));
        secrets
    }

    /// The name of a host, and its first part.
    pub fn host(&mut self, name: &str) {
        self.add(name, Rule::Host);
        if let Some((first, _)) = name.split_once('.') {
            self.add(first, Rule::Host);
        }
    }

    /// A serial number, or a name under /dev/disk/by-id, whose last part is one.
    pub fn serial(&mut self, name: &str) {
        self.add(name, Rule::Serial);
        let last = name.rsplit(['_', '.']).next().filter(|last| *last != name && last.len() >= LONG);
        let plain = ["dm-name-", "dm-uuid-", "wwn-", "md-name-"].iter().find_map(|kind| name.strip_prefix(kind));
        last.into_iter().chain(plain).for_each(|part| self.add(part, Rule::Serial));
    }

    /// A path, and the user whose home it leads through.
    pub fn path(&mut self, path: &str) {
        if path.len() > 1 && path != "/dev/shm" {
            self.insert(path, PATH, Rule::Path);
        }
        self.path_of_home(path);
    }

    fn path_of_home(&mut self, path: &str) {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        while let Some(part) = parts.next() {
            if matches!(part, "home" | "Users") {
                parts.next().into_iter().for_each(|user| self.add(user, Rule::User));
            }
        }
    }

    /// A directory's path, which becomes the name of its contender.
    pub fn renamed(&mut self, path: &str, name: &str) {
        self.path_of_home(path);
        self.insert(path, name, Rule::Path);
    }

    /// A word that is left out.
    pub fn add(&mut self, word: &str, rule: Rule) {
        self.insert(word, LEFT_OUT, rule);
    }

    /// A word and its replacement.
    pub fn insert(&mut self, word: &str, instead: &str, rule: Rule) {
        let word = word.trim();
        let lower = word.to_ascii_lowercase();
        if word.is_empty() || word == instead || self.stay.contains(&lower) || !self.known.insert(word.to_owned()) {
            return;
        }
        self.all.push(Secret { word: word.to_owned(), lower, instead: instead.to_owned(), rule });
    }

    /// Sorts by length, so that a word that contains another is replaced first.
    pub fn longest_first(&mut self) {
        self.all.sort_by_key(|secret| std::cmp::Reverse(secret.word.len()));
    }

    /// A text with all secrets replaced.
    pub fn replaced(&self, text: &str, left_out: &mut LeftOut) -> String {
        let mut text = text.to_owned();
        let mut lower = text.to_ascii_lowercase();
        for secret in self.all.iter() {
            if lower.contains(&secret.lower) {
                text = secret.taken_from(text, &lower, left_out);
                lower = text.to_ascii_lowercase();
            }
        }
        text
    }
}

impl Secret {
    /// Device numbers and long words may be part of other words; a short word counts only by itself.
    fn anywhere(&self) -> bool {
        let numbered = self.rule == Rule::Serial && self.word.len() > SHORTEST;
        numbered || self.word.len() >= LONG || self.word.contains('/')
    }

    fn taken_from(&self, text: String, lower: &str, left_out: &mut LeftOut) -> String {
        if self.word.len() < SHORTEST {
            if text == self.word {
                left_out.note(self.rule);
                return self.instead.clone();
            }
            return text;
        }
        let mut out = String::new();
        let mut from = 0;
        for (at, found) in lower.match_indices(self.lower.as_str()) {
            let end = at + found.len();
            let beside = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            let within = beside(text[..at].chars().next_back()) || beside(text[end..].chars().next());
            if at < from || (within && !self.anywhere()) {
                continue;
            }
            left_out.note(self.rule);
            out.push_str(&text[from..at]);
            out.push_str(&self.instead);
            // The rest of the path is removed too.
            let below = |letter: &char| !letter.is_whitespace() && !"\"',;:()<>|".contains(*letter);
            let rest = text[end..].chars().take_while(|letter| self.rule == Rule::Path && below(letter));
            from = end + rest.map(char::len_utf8).sum::<usize>();
        }
        if from == 0 {
            return text;
        }
        out.push_str(&text[from..]);
        out
    }
}
