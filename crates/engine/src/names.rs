//! Directory and name of a file of a fileset, computed from its index; and the index computed from the name.
//! In: a fileset, an owner, an index. Out: a directory number, a name, a size; never stored, so ten million files take no memory.
//! The rules are those of `Layout`, `Names` and `Size`.

use crate::distribution::Distribution;
use crate::hash::{below, mix, mix_all, mix_bytes};
use crate::tree::Tree;
use std::ffi::CStr;
use workload::program::{Fileset, Layout, Names, Size};

/// Longest name that the engine creates or reads from a directory, in bytes.
pub const NAME_LIMIT: usize = 255;

/// A file or directory name in place, with the NUL for system calls.
#[derive(Clone)]
pub struct Name {
    bytes: [u8; NAME_LIMIT + 1],
    length: usize,
}

impl Name {
    /// The empty name.
    pub fn new() -> Name {
        Name { bytes: [0; NAME_LIMIT + 1], length: 0 }
    }

    /// A name of these bytes, truncated to the limit.
    pub fn from(text: &[u8]) -> Name {
        let mut name = Name::new();
        name.push(text);
        name
    }

    /// Clears the name.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
        self.bytes[0] = 0;
    }

    /// Appends bytes.
    #[inline]
    pub fn push(&mut self, text: &[u8]) {
        let n = text.len().min(NAME_LIMIT - self.length);
        self.bytes[self.length..self.length + n].copy_from_slice(&text[..n]);
        self.length += n;
        self.bytes[self.length] = 0;
    }

    /// Appends a decimal number of at least `digits` digits.
    #[inline]
    pub fn push_number(&mut self, mut n: u64, digits: usize) {
        let mut text = [b'0'; 20];
        let mut at = text.len();
        loop {
            at -= 1;
            text[at] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                break;
            }
        }
        at = at.min(text.len() - digits);
        self.push(&text[at..]);
    }

    fn push_hex(&mut self, n: u64) {
        self.push(format!("{n:02x}").as_bytes());
    }

    /// The bytes without the NUL.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// For a system call.
    #[inline]
    pub fn c(&self) -> &CStr {
        // A name never contains a NUL: it comes from digits and letters or from readdir.
        CStr::from_bytes_until_nul(&self.bytes[..=self.length]).unwrap_or_default()
    }

    /// For messages.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// One owner's files of a fileset.
#[derive(Debug, Clone)]
pub struct Files {
    /// Index of the fileset within the program.
    pub fileset: usize,
    /// Owner, from 0.
    pub owner: u64,
    /// Number of files.
    pub count: u64,
    /// Directory below the root, without a trailing slash; empty for the root.
    pub base: String,
    layout: Layout,
    names: Names,
    size: Size,
    tree: Option<Tree>,
    sizes: Option<Distribution>,
    lengths: Option<Distribution>,
    key: u64,
    own_key: u64,
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Files {
    /// The files of `owner` out of `owners`.
    pub fn new(seed: u64, index: usize, fileset: &Fileset, owner: u32, owners: u32) -> Files {
        let own = fileset.per_worker && owners > 1;
        let base = match (own, fileset.directory.as_str()) {
            (false, directory) => directory.to_owned(),
            (true, "") => owner.to_string(),
            (true, directory) => format!("{directory}/{owner}"),
        };
        let owner = if own { u64::from(owner) } else { 0 };
        // Clones have the names and sizes of their source.
        let [key, own_key] = [fileset.copies.unwrap_or(index), index].map(|of| mix_all(&[seed, of as u64, owner]));
        let count = match &fileset.size {
            Size::Total { bytes, largest } => bytes.div_ceil(*largest.max(&1)),
            Size::Uniform(..) | Size::Classes(_) => fileset.files,
        };
        let tree = if let Layout::Tree(levels) = &fileset.layout { Some(Tree::new(levels)) } else { None };
        let sizes = if let Size::Classes(classes) = &fileset.size { Some(classes) } else { None };
        let lengths = if let Names::Lengths(classes) = &fileset.names { Some(classes) } else { None };
        let [sizes, lengths] = [sizes, lengths].map(|of| of.map(|classes| Distribution::new(classes, count, mix(key))));
        Files {
            fileset: index,
            owner,
            count,
            base,
            layout: fileset.layout.clone(),
            names: fileset.names.clone(),
            size: fileset.size.clone(),
            tree,
            sizes,
            lengths,
            key,
            own_key,
        }
    }

    /// Unique identity of a file.
    #[inline]
    pub fn identity(&self, index: u64) -> u64 {
        mix(self.key ^ mix(index))
    }

    /// Identity in content written to the file: its own, also for clones and copies, whose original content carries the source's.
    #[inline]
    pub fn writer(&self, index: u64) -> u64 {
        mix(self.own_key ^ mix(index))
    }

    /// Identities that its content may carry: its own, and that of a clone's source.
    pub fn contents(&self, index: u64) -> [u64; 2] {
        [self.writer(index), self.identity(index)]
    }

    /// Writes the name of a file.
    #[inline]
    pub fn name(&self, index: u64, name: &mut Name) {
        name.clear();
        match self.names {
            Names::Decimal => name.push_number(index, 1),
            Names::NumberThenRandom => {
                name.push_number(index, 7);
                self.push_random(index, name);
            }
            Names::RandomThenNumber => {
                self.push_random(index, name);
                name.push_number(index, 7);
            }
            Names::Maildir => {
                name.push_number(1_700_000_000 + index / 1_000_000, 10);
                name.push(b".M");
                name.push_number(index % 1_000_000, 6);
                name.push(b"P");
                name.push_number(self.owner, 1);
                name.push(b".bakeoff");
            }
            Names::Lengths(_) => {
                name.push_number(index, 1);
                let length = self.lengths.as_ref().map_or(0, |lengths| lengths.value(index));
                self.push_letters(self.identity(index), length, name);
            }
        }
    }

    /// Appends letters up to a length in bytes.
    fn push_letters(&self, mut random: u64, length: u64, name: &mut Name) {
        while (name.bytes().len() as u64) < length {
            random = mix(random);
            let letters: [u8; 8] =
                std::array::from_fn(|at| LETTERS[below(random.rotate_left(8 * at as u32), 52) as usize]);
            let missing = (length as usize - name.bytes().len()).min(letters.len());
            name.push(&letters[..missing]);
        }
    }

    fn push_random(&self, index: u64, name: &mut Name) {
        let mut random = mix(self.identity(index));
        for _ in 0..below(mix(random), 13) {
            name.push(&[LETTERS[(random % 62) as usize]]);
            random /= 62;
            if random < 62 {
                random = mix(random ^ self.key);
            }
        }
    }

    /// The index for a name; None if it is no file of this fileset.
    pub fn index_of(&self, name: &[u8]) -> Option<u64> {
        let digits = match &self.names {
            Names::Decimal => name,
            Names::Lengths(_) => name.get(..digits_at_start(name))?,
            Names::NumberThenRandom => name.get(..digits_at_start(name).max(7).min(name.len()))?,
            Names::RandomThenNumber => name.get(name.len().checked_sub(7)?..)?,
            Names::Maildir => {
                let text = std::str::from_utf8(name).ok()?;
                let (seconds, rest) = text.split_once(".M")?;
                let (micro, _) = rest.split_once('P')?;
                let index = seconds.parse::<u64>().ok()?.checked_sub(1_700_000_000)?;
                return self.checked(index * 1_000_000 + micro.parse::<u64>().ok()?, name);
            }
        };
        // Random digits may follow the number, so the shortest prefix that generates this name is the right one.
        let shortest = if self.names == Names::NumberThenRandom { 7 } else { digits.len() };
        (shortest..=digits.len()).find_map(|n| {
            let index = std::str::from_utf8(digits.get(..n)?).ok()?.parse().ok()?;
            self.checked(index, name)
        })
    }

    fn checked(&self, index: u64, name: &[u8]) -> Option<u64> {
        let mut expected = Name::new();
        self.name(index, &mut expected);
        (index < self.count && expected.bytes() == name).then_some(index)
    }

    /// Size of a file in bytes, in its `generation`: 0 when created, another each time it is truncated and rewritten.
    #[inline]
    pub fn size(&self, index: u64, generation: u64) -> u64 {
        match &self.size {
            Size::Uniform(least, most) if least == most => *least,
            Size::Uniform(least, most) => {
                least + below(mix(self.identity(index) ^ mix(generation ^ 0x512e)), most - least + 1)
            }
            Size::Total { bytes, largest } => (bytes - (index * largest).min(*bytes)).min(*largest),
            Size::Classes(_) => {
                // Another generation takes the rank of any file.
                let random = mix(self.identity(index) ^ mix(generation ^ 0x512e));
                let number = if generation == 0 { index } else { below(random, self.count.max(1)) };
                self.sizes.as_ref().map_or(0, |sizes| sizes.value(number))
            }
        }
    }

    /// Largest possible file in bytes.
    pub fn largest(&self) -> u64 {
        match &self.size {
            Size::Uniform(_, most) => *most,
            Size::Total { bytes, largest } => *bytes.min(largest),
            Size::Classes(_) => self.sizes.as_ref().map_or(0, Distribution::largest),
        }
    }

    /// The size of every file except perhaps the last, if there is one.
    pub fn common_size(&self) -> Option<u64> {
        match self.size {
            Size::Uniform(least, most) => (least == most).then_some(least),
            Size::Total { largest, .. } => Some(largest),
            Size::Classes(_) => None,
        }
    }

    /// Number of directories that hold files.
    pub fn directories(&self) -> u64 {
        match self.layout {
            Layout::Flat => 1,
            Layout::PerDirectory(n) => self.count.div_ceil(n.max(1)).max(1),
            Layout::Directories(n) => n.max(1),
            Layout::Hashed(a, b) => a.max(1) * b.max(1),
            Layout::Tree(_) => self.tree.as_ref().map_or(1, Tree::directories),
        }
    }

    /// Whether the base is the first of the directories that hold files.
    pub fn base_holds_files(&self) -> bool {
        matches!(self.layout, Layout::Flat | Layout::Tree(_))
    }

    /// Levels between the base and a directory; 0 is the base.
    pub fn level_of(&self, directory: u64) -> usize {
        match (&self.tree, &self.layout) {
            (Some(tree), _) => tree.level_of(directory),
            (None, Layout::Flat) => 0,
            (None, Layout::Hashed(..)) => 2,
            (None, _) => 1,
        }
    }

    /// Number of directories between the base and those that hold files.
    pub fn middle_directories(&self) -> u64 {
        match self.layout {
            Layout::Hashed(a, _) => a.max(1),
            _ => 0,
        }
    }

    /// Number of the directory that holds a file.
    #[inline]
    pub fn directory_of(&self, index: u64, name: &Name) -> u64 {
        match self.layout {
            Layout::Flat => 0,
            Layout::PerDirectory(n) => index / n.max(1),
            Layout::Directories(n) => (u128::from(index) * u128::from(n.max(1)) / u128::from(self.count.max(1))) as u64,
            Layout::Hashed(a, b) => mix_bytes(name.bytes()) % (a.max(1) * b.max(1)),
            Layout::Tree(_) => self.tree.as_ref().map_or(0, |tree| tree.directory_of(index)),
        }
    }

    /// For each directory whether it has any files: hashed names may leave some directories empty, and a directory that is created on
    /// demand is then never created. Iterates over all names.
    pub fn directories_in_use(&self) -> Vec<bool> {
        let mut used = vec![false; self.directories() as usize];
        let mut name = Name::new();
        for index in 0..self.count {
            self.name(index, &mut name);
            used[self.directory_of(index, &name) as usize] = true;
        }
        used
    }

    /// Whether each directory is filled before the next.
    pub fn is_by_directory(&self) -> bool {
        matches!(self.layout, Layout::PerDirectory(_))
    }

    /// Writes the path of a directory below the base; empty for the base itself.
    pub fn directory_name(&self, directory: u64, name: &mut Name) {
        name.clear();
        match self.layout {
            Layout::Flat => {}
            Layout::PerDirectory(_) | Layout::Directories(_) => name.push_number(directory, 5),
            Layout::Hashed(_, b) => {
                name.push_hex(directory / b.max(1));
                name.push(b"/");
                name.push_hex(directory % b.max(1));
            }
            Layout::Tree(_) => self.tree.iter().for_each(|tree| tree.path(directory, name)),
        }
    }

    /// Writes the path of a middle directory below the base.
    pub fn middle_name(&self, directory: u64, name: &mut Name) {
        name.clear();
        name.push_hex(directory);
    }

    /// The directory next to the base into which `Rename` moves files, below the root.
    pub fn sibling(&self, directory: &str) -> String {
        match self.base.rsplit_once('/') {
            Some((parent, _)) => format!("{parent}/{directory}"),
            None => directory.to_owned(),
        }
    }

    /// Path of a file below the root, for messages.
    pub fn path(&self, index: u64) -> String {
        let (mut name, mut directory) = (Name::new(), Name::new());
        self.name(index, &mut name);
        self.directory_name(self.directory_of(index, &name), &mut directory);
        [self.base.as_str(), &directory.text(), &name.text()]
            .iter()
            .filter(|p| !p.is_empty())
            .copied()
            .collect::<Vec<_>>()
            .join("/")
    }
}

fn digits_at_start(name: &[u8]) -> usize {
    name.iter().take_while(|b| b.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::program::Content;

    fn fileset(names: Names, layout: Layout, size: Size) -> Fileset {
        let content = Content::default();
        Fileset {
            name: "f".into(),
            directory: "d".into(),
            files: 5_000,
            per_worker: false,
            layout,
            names,
            size,
            content,
            copies: None,
        }
    }

    fn files(names: Names, layout: Layout) -> Files {
        Files::new(1, 0, &fileset(names, layout, Size::Uniform(512, 1536)), 0, 1)
    }

    #[test]
    fn every_name_leads_back_to_its_index() {
        for names in [Names::Decimal, Names::NumberThenRandom, Names::RandomThenNumber, Names::Maildir] {
            let files = files(names, Layout::Flat);
            let mut name = Name::new();
            for index in 0..5_000 {
                files.name(index, &mut name);
                assert_eq!(files.index_of(name.bytes()), Some(index), "{}", name.text());
            }
        }
    }

    #[test]
    fn foreign_names_belong_to_no_file() {
        let files = files(Names::Decimal, Layout::Flat);
        for name in ["lost+found", "007", "5000", "12.link", ""] {
            assert_eq!(files.index_of(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn bonnie_names_have_seven_digits_and_up_to_twelve_letters() {
        let files = files(Names::NumberThenRandom, Layout::Flat);
        let mut name = Name::new();
        let mut lengths = std::collections::BTreeSet::new();
        for index in 0..5_000 {
            files.name(index, &mut name);
            lengths.insert(name.bytes().len());
        }
        assert_eq!(lengths, (7..=19).collect());
    }

    #[test]
    fn the_layout_spreads_files_over_directories() {
        let mut name = Name::new();
        let mut directory_of = |layout, index| {
            let files = files(Names::Decimal, layout);
            files.name(index, &mut name);
            files.directory_of(index, &name)
        };
        assert_eq!(directory_of(Layout::PerDirectory(200), 399), 1);
        assert_eq!(directory_of(Layout::Directories(16), 4_999), 15);
        assert_eq!(directory_of(Layout::Directories(16), 0), 0);
        assert_eq!(files(Names::Decimal, Layout::Hashed(256, 256)).path(3).matches('/').count(), 3);
    }

    #[test]
    fn sizes_stay_in_their_range_and_change_with_the_generation() {
        let files = files(Names::Decimal, Layout::Flat);
        let sizes: Vec<u64> = (0..5_000).map(|i| files.size(i, 0)).collect();
        assert!(sizes.iter().all(|s| (512..=1536).contains(s)));
        assert!(sizes.contains(&512) && sizes.contains(&1536));
        assert!((0..5_000).filter(|i| files.size(*i, 1) == sizes[*i as usize]).count() < 50);
    }

    #[test]
    fn a_total_is_cut_into_full_files_and_a_rest() {
        let set = fileset(Names::Decimal, Layout::Flat, Size::Total { bytes: 2_500, largest: 1_000 });
        let files = Files::new(1, 0, &set, 0, 1);
        assert_eq!((0..files.count).map(|i| files.size(i, 0)).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    }

    #[test]
    fn owners_have_directories_of_their_own() {
        let mut set = fileset(Names::Decimal, Layout::Flat, Size::Uniform(0, 1));
        set.per_worker = true;
        assert_eq!(Files::new(1, 0, &set, 1, 2).path(7), "d/1/7");
        assert_eq!(Files::new(1, 0, &set, 0, 1).path(7), "d/7");
        assert_eq!(Files::new(1, 0, &set, 1, 2).sibling("new"), "d/new");
    }
}
