//! Relative paths in place of a job file's absolute ones.
//! In: pairs such as `/mnt/test=.`. Out: lines with these paths, which are then checked as any other.

use crate::lines::Line;
use crate::{names, options};

/// Most pairs.
const PAIRS_LIMIT: usize = 64;

/// Absolute paths, and what replaces them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Map(Vec<(String, String)>);

impl Map {
    /// Pairs as a user writes them.
    ///
    /// # Errors
    /// One is not ABSOLUTE=RELATIVE, leads out of the contender's folder, or occurs twice; with the pair, in a clause.
    pub fn of(pairs: &[String]) -> Result<Map, String> {
        let mut map = Map::default();
        if pairs.len() > PAIRS_LIMIT {
            return Err(format!("is given {} times; the limit is {PAIRS_LIMIT}", pairs.len()));
        }
        for text in pairs {
            let pair = text.split_once('=').filter(|(from, to)| from.starts_with('/') && !to.is_empty());
            let (from, to) = pair.ok_or_else(|| format!("{text}: write ABSOLUTE=RELATIVE, such as /mnt/test=."))?;
            let from = from.trim_end_matches('/');
            let to = if to == "." || to == "./" {
                String::new()
            } else {
                names::paths(to, "path").map_err(|why| format!("{text}: {to} {why}"))?
            };
            if to.contains(':') || from.contains(':') {
                return Err(format!("{text}: a pair is of two paths, without `:`"));
            }
            if map.0.iter().any(|(known, _)| known == from) {
                return Err(format!("{text}: the path is given twice"));
            }
            map.0.push((from.to_owned(), to));
        }
        // The longest path that leads to a file replaces its beginning.
        map.0.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Ok(map)
    }

    /// Replaces the paths of a line that names files or folders.
    pub(crate) fn apply(&self, line: &mut Line) {
        let names_paths = ["directory", "filename"].contains(&options::canonical(&line.key));
        let Some(value) = line.value.as_mut().filter(|_| names_paths && !self.0.is_empty()) else { return };
        *value = value.split(':').map(|path| self.mapped(path.trim())).collect::<Vec<_>>().join(":");
    }

    fn mapped(&self, path: &str) -> String {
        let rest = |from: &str| path.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with('/'));
        let found = self.0.iter().find_map(|(from, to)| Some((to, rest(from)?)));
        match found {
            Some((to, rest)) if to.is_empty() && rest.trim_matches('/').is_empty() => ".".into(),
            Some((to, rest)) => format!("{to}{rest}").trim_start_matches('/').to_owned(),
            None => path.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::JobFile;

    fn map(pairs: &[&str]) -> Map {
        Map::of(&pairs.iter().map(|pair| (*pair).to_owned()).collect::<Vec<_>>()).expect("good pairs")
    }

    #[test]
    fn the_longest_path_is_replaced_in_whole_names_only() {
        let map = map(&["/mnt/test=.", "/mnt/test/log=journal", "/dev/sdb=disk.bin"]);
        for (path, expected) in [
            ("/mnt/test", "."),
            ("/mnt/test/", "."),
            ("/mnt/test/a/b", "a/b"),
            ("/mnt/test/log/x", "journal/x"),
            ("/mnt/testing/a", "/mnt/testing/a"),
            ("/dev/sdb", "disk.bin"),
            ("/dev/sdb1", "/dev/sdb1"),
            ("a", "a"),
        ] {
            assert_eq!(map.mapped(path), expected);
        }
    }

    #[test]
    fn a_mapped_file_is_checked_as_any_other() {
        let map = map(&["/mnt/test=.", "/dev/sdb=disk.bin"]);
        let read = |text: &str| JobFile::read_mapped(text, &|_| None, &map);
        let file = read("[global]\ndirectory=/srv\n[a]\nrw=read\n");
        assert!(file.expect_err("it is not mapped").to_string().contains("a path outside"));
        let text = "[global]\ndirectory=/mnt/test/\nsize=4k\n[a]\nfilename=x:/mnt/test/y\n[b]\nfilename=/dev/sdb\n";
        let jobs = read(text).expect("mapped").jobs;
        assert_eq!((jobs[0].text("directory"), jobs[0].text("filename")), (None, Some("x:y")));
        assert_eq!(jobs[1].text("filename"), Some("disk.bin"));
        let file = read("[a]\nfilename=/mnt/test/../../etc/passwd\n");
        assert!(file.expect_err("it leads out").to_string().contains("leads out"));
    }

    #[test]
    fn a_folder_of_a_section_ends_where_another_names_the_contenders_own() {
        let text = "[global]\ndirectory=sub\n[a]\nsize=4k\n[b]\ndirectory=.\nsize=4k\n";
        let jobs = JobFile::read(text, &|_| None).expect("read").jobs;
        assert_eq!((jobs[0].text("directory"), jobs[1].text("directory")), (Some("sub"), None));
    }

    #[test]
    fn pairs_lead_from_absolute_to_relative_paths() {
        for pair in ["/a", "a=b", "/a=", "/a=/b", "/a=../b", "/a=b:c", "/a=-x"] {
            Map::of(&[pair.to_owned()]).expect_err(pair);
        }
        Map::of(&["/a=x".to_owned(), "/a/=y".to_owned()]).expect_err("twice");
    }
}
