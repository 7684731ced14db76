//! Ageing profiles: `ages/*.toml`, like workloads, and how a contender's age and fill are parsed.
//! In: TOML, with its sources named. Out: [`Profile`], and the [`History`] that it defines for a volume.
//! Sizes are steps of a table and not a formula, so that every machine draws the same.

use crate::ageing::{Churn, FILES_LIMIT, History, LARGEST, Mix};
use crate::contender::Contender;
use crate::error::{Problem, Result, from_toml, limit_length};
use crate::quantity::{parse_bytes, parse_share};
use crate::syntax::Scalar;
use crate::workload::FILE_LIMIT;
use records::FRESH;
pub use records::ageing::{Git, Profile, ProfileChurn};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Largest share of a volume that can be filled.
const MOST_FILL: f64 = 0.99;

/// A fill level as users write it: a share from 0 to `MOST_FILL`.
///
/// # Errors
/// It is not a share, or above the maximum.
pub fn parse_fill(text: &str) -> std::result::Result<f64, String> {
    let read = parse_share(text).ok().filter(|share| *share <= MOST_FILL);
    read.ok_or_else(|| format!("`{text}` is not a valid fill: 0 to 99%, such as `80%`"))
}

/// Most commits to check out.
const CHECKOUTS_LIMIT: u32 = 100_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Raw {
    #[serde(default)]
    about: String,
    #[serde(default)]
    sources: Vec<String>,
    #[serde(default = "default_fill")]
    fill: Scalar,
    #[serde(default = "one")]
    seed: u64,
    sizes: Vec<(Scalar, Scalar)>,
    #[serde(default = "default_largest")]
    largest: Scalar,
    #[serde(default = "ten")]
    files_per_directory: u32,
    #[serde(default = "default_sync")]
    sync: Scalar,
    churn: Option<RawChurn>,
    #[serde(default)]
    rewritten: bool,
    git: Option<PathBuf>,
    #[serde(default = "hundred")]
    checkouts: u32,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawChurn {
    written: f64,
    #[serde(default)]
    until_converged: bool,
    mix: Mix,
    short_lived: Scalar,
    short_life: u32,
}

fn default_fill() -> Scalar {
    Scalar("80%".into())
}

fn default_largest() -> Scalar {
    Scalar("2%".into())
}

fn default_sync() -> Scalar {
    Scalar("64 MiB".into())
}

fn one() -> u64 {
    1
}

fn ten() -> u32 {
    10
}

fn hundred() -> u32 {
    100
}

type Outcome<T> = std::result::Result<T, Problem>;

/// Reads a profile; `file` is named in errors.
pub fn parse_profile(name: &str, text: &str, file: &str) -> Result<Profile> {
    limit_length(text, file, FILE_LIMIT)?;
    let raw: Raw = toml::from_str(text).map_err(|error| from_toml(&error, text, file))?;
    profile(name, raw).map_err(|problem| problem.within(text, file))
}

/// The history of a profile for a volume of this many bytes, filled to a share of it.
pub fn history(profile: &Profile, volume: u64, fill: f64) -> std::result::Result<History, String> {
    let filled = (volume as f64 * fill) as u64 / 4096 * 4096;
    let largest = ((filled as f64 * profile.largest) as u64).clamp(1 << 20, LARGEST);
    let history = History {
        seed: profile.seed,
        volume,
        filled,
        sizes: profile.sizes.clone(),
        largest,
        files_per_directory: profile.files_per_directory,
        churn: profile.churn.as_ref().map(|churn| Churn {
            bytes: (volume as f64 * churn.written) as u64,
            until_converged: churn.until_converged,
            mix: churn.mix,
            short_lived_percent: churn.short_lived_percent,
            short_life: churn.short_life,
        }),
        rewritten: profile.rewritten,
    };
    match history.expected_files() {
        files if files > FILES_LIMIT => Err(format!(
            "age `{}` creates about {files} files on this volume; the limit is {FILES_LIMIT}: fill less of it, or \
             write a profile with larger files",
            profile.name
        )),
        _ => Ok(history),
    }
}

/// Bytes that a profile's history writes, roughly: filling and churn.
pub fn writes(profile: &Profile, volume: u64, fill: f64) -> u64 {
    let churned = profile.churn.as_ref().filter(|_| !profile.rewritten).map_or(0.0, |churn| churn.written);
    (volume as f64 * (fill + churned)) as u64
}

impl History {
    /// Mean size of a file in bytes, rounded up to 4 KiB, by the table.
    pub fn mean_size(&self) -> u64 {
        let (mut sum, mut from, mut below) = (0u128, 0u64, 0u32);
        for (to, share) in &self.sizes {
            let middle = (from / 2 + to / 2).min(self.largest) + 2048;
            sum += u128::from(middle) * u128::from(share - below);
            (from, below) = (*to, *share);
        }
        ((sum / 1_000_000) as u64).max(4096)
    }

    /// Files on the filled volume, roughly.
    pub fn expected_files(&self) -> u64 {
        self.filled / self.mean_size()
    }
}

fn profile(name: &str, raw: Raw) -> Outcome<Profile> {
    let share = |scalar: &Scalar, what: &str| {
        parse_share(&scalar.0).map_err(|problem| Problem::new(format!("{what}: {problem}")))
    };
    let fill = share(&raw.fill, "fill")?;
    if !(fill > 0.0 && fill <= MOST_FILL) {
        return Err(Problem::new(format!("fill is {}; the range is above 0 to 99%", raw.fill.0)));
    }
    let largest = share(&raw.largest, "largest")?;
    if raw.files_per_directory == 0 {
        return Err(Problem::new("files-per-directory is 0; the minimum is 1"));
    }
    if raw.checkouts == 0 || raw.checkouts > CHECKOUTS_LIMIT {
        return Err(Problem::new(format!("checkouts is {}; the range is 1 to {CHECKOUTS_LIMIT}", raw.checkouts)));
    }
    let sync_bytes = parse_bytes(&raw.sync.0).map_err(|problem| Problem::new(format!("sync: {problem}")))?;
    if sync_bytes < 1 << 20 {
        return Err(Problem::new(
            "`sync` is below 1 MiB: ageing would be mostly syncing and would hardly age the filesystem",
        ));
    }
    Ok(Profile {
        name: name.into(),
        about: raw.about.trim().into(),
        sources: raw.sources,
        fill,
        seed: raw.seed,
        sizes: sizes(&raw.sizes)?,
        largest,
        files_per_directory: raw.files_per_directory,
        sync_bytes,
        churn: raw.churn.map(churn).transpose()?,
        rewritten: raw.rewritten,
        git: raw.git.map(|path| Git { path, checkouts: raw.checkouts }),
    })
}

fn sizes(raw: &[(Scalar, Scalar)]) -> Outcome<Vec<(u64, u32)>> {
    let mut sizes: Vec<(u64, u32)> = Vec::new();
    for (size, share) in raw {
        let bytes = parse_bytes(&size.0).map_err(|problem| Problem::new(format!("sizes: {problem}")))?;
        let share = parse_share(&share.0).map_err(|problem| Problem::new(format!("sizes: {problem}")))?;
        let millionths = (share * 1e6).round() as u32;
        if sizes.last().is_some_and(|(size, below)| *size >= bytes || *below > millionths) || bytes == 0 {
            let help = "each step needs a larger size than the one before, and the share of all files up to this size";
            return Err(Problem::new(format!("sizes: the step at {} does not ascend", size.0)).help(help));
        }
        sizes.push((bytes, millionths));
    }
    match sizes.last() {
        Some((_, 1_000_000)) if sizes.len() <= 64 => Ok(sizes),
        _ => Err(Problem::new("sizes: 1 to 64 steps, the last with 100% of the files")),
    }
}

fn churn(raw: RawChurn) -> Outcome<ProfileChurn> {
    if !(raw.written > 0.0 && raw.written <= 1000.0) {
        return Err(Problem::new(format!("written is {}; the range is above 0 to 1000 volumes", raw.written)));
    }
    let mix = raw.mix;
    let weights = [mix.create, mix.append, mix.overwrite, mix.truncate, mix.rename, mix.delete];
    if weights.iter().any(|weight| *weight > 1_000_000) || mix.create + mix.append + mix.overwrite == 0 {
        return Err(Problem::new("mix: the maximum weight is 1,000,000, and at least one operation must write"));
    }
    let share = parse_share(&raw.short_lived.0).map_err(|problem| Problem::new(format!("short-lived: {problem}")))?;
    if share > 1.0 || raw.short_life == 0 {
        return Err(Problem::new("short-lived: the maximum share is 100%, and the minimum life is one operation"));
    }
    Ok(ProfileChurn {
        written: raw.written,
        until_converged: raw.until_converged,
        mix,
        short_lived_percent: (share * 100.0).round() as u32,
        short_life: raw.short_life,
    })
}

/// Removes repeats from multiplying age and fill: a fresh filesystem is empty, and an empty one is fresh, so of
/// contenders that differ in nothing else one stays.
pub fn without_repeats(contenders: Vec<Contender>) -> Vec<Contender> {
    let mut kept: Vec<Contender> = Vec::new();
    // The fresh ones, without age and fill.
    let mut bare: Vec<Contender> = Vec::new();
    for mut contender in contenders {
        if contender.ageing().is_some() {
            kept.push(contender);
            continue;
        }
        contender.fill = None;
        if contender.age.is_none() && !contender.axes.contains_key("fill") {
            kept.push(contender);
            continue;
        }
        let emptied = contender.axes.remove("fill").is_some() && contender.age.as_deref() != Some(FRESH);
        contender.age = Some(FRESH.into());
        if emptied || contender.axes.contains_key("age") {
            contender.axes.insert("age".into(), FRESH.into());
        }
        contender.label = axes::label(&contender);
        let one = without_place(&contender);
        if !bare.contains(&one) {
            bare.push(one);
            kept.push(contender);
        }
    }
    kept
}

fn without_place(contender: &Contender) -> Contender {
    let bare = contender.clone();
    Contender { label: String::new(), axes: BTreeMap::new(), ..bare }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::Axes;

    #[test]
    fn axes_of_age_and_fill_make_no_fresh_filesystem_twice() {
        let mut axes = Axes::default();
        axes.give("age", &["fresh", "used", "old"]).expect("ages");
        axes.give("fill", &["0", "40%", "80%"]).expect("shares");
        let all = without_repeats(
            axes.product(vec![Contender::plain("ext4")], &BTreeMap::new()).expect("they multiply").contenders,
        );
        let labels: Vec<&str> = all.iter().map(|contender| contender.label.as_str()).collect();
        assert_eq!(labels, ["ext4 fresh", "ext4 used 40%", "ext4 used 80%", "ext4 old 40%", "ext4 old 80%"]);
    }

    #[test]
    fn sizes_that_do_not_ascend_are_refused() {
        let text = "sizes = [[\"4 KiB\", \"50%\"], [\"1 KiB\", \"100%\"]]\n";
        let error = parse_profile("odd", text, "odd.toml").expect_err("it does not ascend");
        assert!(error.to_string().contains("does not ascend"), "{error}");
    }
}
