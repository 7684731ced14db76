//! A git history checked out commit by commit, which ages a filesystem as a developer's work does.
//! In: a repository of the user's, and where to check out. Out: the filesystem after the last commit.
//! The repository is only read: the index is elsewhere, and HEAD does not change.

use crate::error::StagingError;
use crate::stage::Stage;
use std::path::Path;
use std::time::Duration;
use system::{Command, Journal, journal::typed};

/// How long one checkout may take.
const CHECKOUT_LIMIT: Duration = Duration::from_secs(1800);

/// Commits along a repository's first parents, the oldest first: at most this many, evenly spread, including the last one.
pub fn commits(repository: &Path, most: u32) -> Result<Vec<String>, StagingError> {
    let words = git(repository, &["rev-list", "--first-parent", "--reverse", "HEAD"]);
    let answer = Command::new(words)
        .limit(CHECKOUT_LIMIT)
        .hint("the key `git` of an ageing profile must name a repository with commits; `apt-get install git` installs git")
        .run(&Journal::new())
        .map_err(StagingError::command(format!("reading the git history of {}", repository.display())))?;
    let all: Vec<&str> = answer.stdout.lines().collect();
    let (count, most) = (all.len(), (most as usize).clamp(1, all.len().max(1)));
    Ok((1..=most).filter_map(|nth| all.get(nth * count / most - 1)).map(|commit| (*commit).to_string()).collect())
}

fn git(repository: &Path, words: &[&str]) -> Vec<String> {
    let own = ["git", "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-C"].map(String::from);
    own.into_iter().chain([repository.display().to_string()]).chain(words.iter().map(|word| (*word).into())).collect()
}

impl Stage<'_> {
    /// Checks out one commit below the top of the mounted filesystem, and writes it back.
    pub fn check_out(&self, repository: &Path, commit: &str) -> Result<(), StagingError> {
        let tree = self.top().join("aged").join("git");
        let index = self.top().join("aged").join("git-index");
        let seen = self.state.seen(&tree);
        std::fs::create_dir_all(&seen).map_err(|error| StagingError::file("make", &seen, error))?;
        let work_tree = format!("--work-tree={}", tree.display());
        let mut words = git(repository, &[]);
        words.extend([work_tree, "read-tree".into(), "--reset".into(), "-u".into(), commit.into()]);
        let line = format!("GIT_INDEX_FILE={} {}", typed(&[index.display().to_string()]), typed(&words));
        Command::shell(line)
            .prefixed(self.enter())
            .limit(CHECKOUT_LIMIT)
            .run(&self.target.journal)
            .map_err(StagingError::command(format!("checking out {commit} of {}", repository.display())))?;
        self.sync()
    }
}
