//! Aged contenders: their list, and how their images are made if the cache has none.
//! In: a plan's ages, staging's target, the engine. Out: keys of images in the cache, with their measured state.
//! Every contender gets the same history; only the filesystem's response differs.

use crate::agent::Agent;
use crate::trial::Stop;
use crate::venue::VenueError;
use crate::watch::{News, Watcher};
use records::{AgedState, Ages, Contender};
use serde_json::json;
use staging::{AgedCache, Kept, Stage, Target};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use workload::age_profiles::{Profile, history};
use workload::ageing::{Aged, Ageing, FOLDER, Layout, Survey};
use workload::program::Durable;
use workload::quantity::show_bytes;

/// Most files whose extents are read.
const SAMPLE: u64 = 100_000;
/// Time limit of a history, in seconds.
const TIME_LIMIT: u64 = 14 * 24 * 3600;
/// Longest silence of the ager: one writeback of everything, on a slow disk.
const SILENCE: Duration = Duration::from_secs(3600);

/// The cache of aged images.
pub fn cache(ages: &Ages) -> AgedCache {
    AgedCache::new(ages.folder.clone(), ages.limit)
}

/// What ageing needs besides staging.
#[derive(Clone)]
pub struct Ager {
    /// The command that starts the engine.
    pub agent: Vec<String>,
    /// Whether the user asked to stop.
    pub stop: Stop,
}

/// One contender's age, computed for a volume.
pub(crate) struct Wanted {
    /// "ext4 old 80%".
    title: String,
    profile: Profile,
    fill: f64,
    ageing: Ageing,
    commits: Vec<String>,
}

impl Wanted {
    /// The age of a contender on this target; None if it is fresh.
    pub fn of(ages: &Ages, contender: &Contender, volume: u64) -> Result<Option<Self>, VenueError> {
        let Some((profile, fill)) = ages.of(contender) else {
            return match contender.ageing() {
                Some((name, _)) => {
                    Err(VenueError::lasting(format!("{}: there is no ageing profile `{name}`", contender.label)))
                }
                None => Ok(None),
            };
        };
        let history = history(profile, volume, fill).map_err(VenueError::lasting)?;
        let commits = match &profile.git {
            Some(git) => staging::commits(&git.path, git.checkouts)?,
            None => Vec::new(),
        };
        let ageing = Ageing {
            root: PathBuf::new(),
            history,
            sync_bytes: profile.sync_bytes,
            durable: Durable::default(),
            time_limit: TIME_LIMIT,
        };
        let title = format!("{} {} {}", contender.filesystem, profile.name, percent(fill));
        Ok(Some(Self { title, profile: profile.clone(), fill, ageing, commits }))
    }

    /// Everything that determines the image besides the filesystem.
    pub fn recipe(&self) -> String {
        json!({ "history": self.ageing.history, "sync": self.ageing.sync_bytes, "commits": self.commits }).to_string()
    }

    /// Makes the image.
    pub fn make(
        &self,
        target: &mut Target,
        contender: &Contender,
        (cache, key): (&AgedCache, &str),
        ager: &Ager,
        watcher: &mut dyn Watcher,
    ) -> Result<(), VenueError> {
        watcher.news(News::Remark(&format!("ageing {}, once; the image is kept", self.title)));
        watcher.news(News::Step(&format!("ageing {}", self.title)));
        let stage = target.stage_to_age(contender, cache, key)?;
        let volume = self.ageing.history.volume;
        let (aged, layout) = self.live(&stage, ager, watcher)?;
        if (ager.stop)() {
            return Err(VenueError::Stopped);
        }
        watcher.news(News::Step("saving the aged image"));
        let mut state = |kept: Kept| self.state(volume, &aged, &layout, kept);
        let image = stage.keep(cache, key, &self.title, &mut state)?;
        watcher.news(News::Remark(&format!("aged {}: {}", self.title, image.state.summary)));
        Ok(())
    }

    /// Runs the history and the git history, and surveys the result.
    fn live(&self, stage: &Stage<'_>, ager: &Ager, watcher: &mut dyn Watcher) -> Result<(Aged, Layout), VenueError> {
        let ageing = Ageing { root: stage.top().into(), durable: stage.durable().clone(), ..self.ageing.clone() };
        let mut agent = Agent::start(stage.enter(), &ager.agent, Arc::clone(&ager.stop))?;
        let mut progress = |items, of, bytes| watcher.news(News::Progress(items, of, bytes));
        let aged = agent.age(&ageing, SILENCE, &mut progress)?;
        if let Some(git) = &self.profile.git {
            for (number, commit) in self.commits.iter().enumerate() {
                if (ager.stop)() {
                    return Err(VenueError::Stopped);
                }
                watcher.news(News::Progress(number as u64, Some(self.commits.len() as u64), 0));
                stage.check_out(&git.path, commit)?;
            }
        }
        let root = stage.top().join(FOLDER);
        let survey = Survey { root, sample: SAMPLE, expected: aged.files, content: false };
        let layout = agent.survey(&survey, SILENCE)?;
        agent.quit();
        Ok((aged, layout))
    }

    fn state(&self, volume: u64, aged: &Aged, layout: &Layout, kept: Kept) -> AgedState {
        AgedState {
            age: self.profile.name.clone(),
            fill: self.fill,
            seed: self.profile.seed,
            sources: self.profile.sources.clone(),
            volume,
            history: aged.clone(),
            commits: self.commits.len() as u64,
            layout: layout.clone(),
            used: kept.used,
            summary: summary(self, volume, aged, layout, &kept),
            free_space: kept.free_space,
            no_free_space: kept.no_free_space,
        }
    }
}

/// The state in one sentence.
fn summary(wanted: &Wanted, volume: u64, aged: &Aged, layout: &Layout, kept: &Kept) -> String {
    let used = kept.used;
    let mut parts = vec![format!(
        "{} files of {} in {} directories; {:.0} % of {} in use",
        layout.files,
        show_bytes(layout.bytes),
        layout.directories,
        100.0 * used.used_bytes as f64 / used.total_bytes.max(1) as f64,
        show_bytes(used.total_bytes.min(volume))
    )];
    if let (Some(all), Some(free)) = (used.inodes, used.inodes_free) {
        parts.push(format!("{:.1} % of its inodes", 100.0 * all.saturating_sub(free) as f64 / all.max(1) as f64));
    }
    match (layout.layout_score, layout.extents_per_file, layout.in_one_piece) {
        (Some(score), Some(extents), Some(whole)) => {
            let sample = if layout.one_of > 1 {
                format!(" (sample of {} files, one in {})", layout.sampled, layout.one_of)
            } else {
                String::new()
            };
            parts.push(format!(
                "layout score {score:.3}, {extents:.2} extents a file, {:.0} % of files in one piece{sample}",
                whole * 100.0
            ));
        }
        _ => parts.extend(layout.no_extents.clone()),
    }
    match &kept.free_space {
        Some(free) if free.extents.is_some() => parts.push(format!(
            "free space in {} pieces of {} on average",
            free.extents.unwrap_or_default(),
            show_bytes(free.mean_bytes.unwrap_or_default())
        )),
        _ => parts.extend(kept.no_free_space.clone()),
    }
    parts.push(format!("{} written in {:.0} s", show_bytes(aged.written), aged.elapsed_ns as f64 / 1e9));
    if !wanted.commits.is_empty() {
        parts.push(format!("then {} commits checked out", wanted.commits.len()));
    }
    if let (Some(before), Some(last)) = (aged.extents.iter().rev().nth(1), aged.extents.last()) {
        let change = 100.0 * (last - before) / before;
        let word = if aged.converged_after.is_some() { "no longer changing" } else { "still changing" };
        parts.push(format!("its layout is {word} ({change:+.0} % in the last eighth)"));
    }
    if aged.no_space > 0 {
        let at = aged.no_space_at.unwrap_or_default() as f64 / volume.max(1) as f64;
        parts.push(format!(
            "{} operations failed for lack of space, the first at a fill of {:.0} %, and {} more needed files that \
             could not be created",
            aged.no_space,
            at * 100.0,
            aged.skipped
        ));
    }
    parts.join("; ")
}

/// "80%".
pub fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}
