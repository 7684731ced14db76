//! The plan that tests as many claims as this machine can: its contenders and workloads.
//! In: claims, the catalogues, the filesystems that can compete here, the command line's restrictions. Out: a [`Chosen`] plan.
//! A contender runs only the workloads in which a claim names it; no time is spent on anything else.

use super::{Published, variants};
use crate::args::What;
use crate::catalogue::Catalogue;
use crate::estimate;
use crate::failure::Failure;
use runner::{LEAST_BLOCKS, PlannedContender, Sampling, Work};
use staging::System;
use std::collections::{BTreeMap, BTreeSet};
use workload::plan::{Plan, PlannedWork};

/// A plan for claims.
#[derive(Debug, Clone)]
pub struct Chosen {
    /// Contenders and workloads.
    pub plan: Plan,
    /// Claims of each workload that can be tested here.
    claims: BTreeMap<String, u32>,
    /// Workloads of each contender.
    works: BTreeMap<String, BTreeSet<String>>,
    /// Claims in all.
    of: usize,
}

/// Chooses what to run for these claims.
///
/// # Errors
/// None of them can be tested here; the error gives the reasons.
pub fn choose(claims: &[Published], what: &What, catalogue: &Catalogue, systems: &[System]) -> Result<Chosen, Failure> {
    let mut chosen =
        Chosen { plan: Plan::default(), claims: BTreeMap::new(), works: BTreeMap::new(), of: claims.len() };
    let mut obstacles: Vec<String> = Vec::new();
    for published in claims {
        let claim = &published.claim;
        if !what.names.is_empty() && !what.names.contains(&claim.workload) {
            continue;
        }
        match contenders_of(published, what, catalogue, systems) {
            Ok(names) => {
                *chosen.claims.entry(claim.workload.clone()).or_default() += 1;
                for name in names {
                    chosen.works.entry(name).or_default().insert(claim.workload.clone());
                }
            }
            Err(why) if obstacles.contains(&why) => {}
            Err(why) => obstacles.push(why),
        }
    }
    if chosen.claims.is_empty() {
        let why = if obstacles.is_empty() { "no claim is about that workload".into() } else { obstacles.join("; ") };
        return Err(Failure::new(format!("none of {} claims can be tested here: {why}", claims.len())));
    }
    let old: Vec<&Published> = claims.iter().filter(|published| published.is_of_old_bonnie()).collect();
    chosen.plan = Plan {
        name: "claims".into(),
        title: "Published claims, tested here".into(),
        compete: chosen.works.keys().cloned().collect(),
        workloads: chosen
            .claims
            .keys()
            .map(|name| PlannedWork { name: name.clone(), scale: None, settings: settings(name, &old) })
            .collect(),
        ..Plan::default()
    };
    Ok(chosen)
}

/// Options of Bonnie++ as in the source: the claims about 2.00 are about used filesystems, so the others are about 1.03.
fn settings(workload: &str, of_old_bonnie: &[&Published]) -> BTreeMap<String, String> {
    let old = of_old_bonnie.iter().any(|published| published.claim.workload == workload);
    if old { BTreeMap::from([("form".into(), "1.03".into())]) } else { BTreeMap::new() }
}

/// The contenders that a claim needs, by their names in a run.
fn contenders_of(
    published: &Published,
    what: &What,
    catalogue: &Catalogue,
    systems: &[System],
) -> Result<Vec<String>, String> {
    let claim = &published.claim;
    if claim.cache == "used" {
        return Err("this run uses fresh filesystems, and the claim is about used ones".into());
    }
    let workload = catalogue.work.workloads.get(&claim.workload);
    let workload = workload.ok_or_else(|| format!("there is no workload {}", claim.workload))?;
    let named = |name: &str| obstacle(name, catalogue, systems);
    let names = match variants(claim) {
        Some((base, left, right)) if named(&claim.left).is_err() => {
            let of_workload = workload.compile("quick", &BTreeMap::new(), 0).map_err(|error| error.to_string())?;
            let has = |variant: &str| of_workload.phases.iter().any(|phase| phase.variant.as_deref() == Some(variant));
            if !has(left) || !has(right) {
                return Err(format!("{} is neither a contender nor a variant of {}", claim.left, claim.workload));
            }
            vec![named(base)?]
        }
        _ => vec![named(&claim.left)?, named(&claim.right)?],
    };
    match names.iter().find(|name| !what.fs.is_empty() && !what.fs.contains(name)) {
        Some(name) => Err(format!("{name} is not among --fs")),
        None => Ok(names),
    }
}

/// The label of a contender that can compete here, or why it cannot.
pub fn obstacle(name: &str, catalogue: &Catalogue, systems: &[System]) -> Result<String, String> {
    let base = name.split_once('+').map_or(name, |(base, _)| base);
    let filesystem = catalogue.work.contenders.get(base).map_or(base, |set| set.filesystem.as_str());
    let Some(system) = systems.iter().find(|system| system.name == filesystem) else {
        // The kernel's list has a tab before each name and lacks modules that are not loaded.
        let kernel = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
        let known = kernel.lines().any(|line| line.split('\t').next_back() == Some(filesystem));
        let kernel = if known { "although this kernel supports it" } else { "and this kernel does not list it" };
        return Err(format!("{filesystem} cannot compete here: it has no description (filesystems/*.toml), {kernel}"));
    };
    if !system.can_compete {
        return Err(format!("{filesystem} cannot compete here: {}", system.obstacles.join(", ")));
    }
    Ok(match name.split_once('+') {
        Some((base, scheduler)) => {
            let today = catalogue.work.aliases.get(scheduler).map_or(scheduler, String::as_str);
            format!("{base}+{today}")
        }
        None => name.to_owned(),
    })
}

impl Chosen {
    /// Restricts contenders to the workloads in which claims name them, and drops workloads that exceed the budget: first those with the
    /// fewest claims for their time. Returns what is left out, in words.
    pub fn keep_to(
        &self,
        entries: &mut Vec<PlannedContender>,
        works: &mut Vec<Work>,
        sampling: &Sampling,
    ) -> Vec<String> {
        entries.retain_mut(|entry| match self.works.get(&super::called(&entry.asked)) {
            Some(works) => {
                entry.works = works.iter().cloned().collect();
                true
            }
            None => false,
        });
        let mut text = vec![format!(
            "Claims: {} of {} can be tested here: {}",
            self.claims.values().sum::<u32>(),
            self.of,
            self.claims.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        )];
        let Some(budget) = sampling.budget_seconds else { return text };
        let blocks = sampling.samples.unwrap_or(sampling.blocks.0).max(LEAST_BLOCKS);
        loop {
            let costs: Vec<f64> = works.iter().map(|work| cost(work, entries) * f64::from(blocks)).collect();
            if works.len() < 2 || costs.iter().sum::<f64>() <= budget {
                return text;
            }
            let worth =
                |at: usize| f64::from(self.claims.get(&works[at].name).copied().unwrap_or(0)) / costs[at].max(1.0);
            let Some(least) = (0..works.len()).min_by(|&a, &b| worth(a).total_cmp(&worth(b))) else { return text };
            let gone = works.remove(least);
            text.push(format!(
                "Left out to stay within the budget: {}; {blocks} rounds of it would take about {}",
                gone.name,
                judge::duration(costs[least])
            ));
            entries.iter_mut().for_each(|entry| entry.works.retain(|name| *name != gone.name));
            entries.retain(|entry| !entry.works.is_empty());
        }
    }
}

/// Estimated seconds for one block of a workload.
fn cost(work: &Work, entries: &[PlannedContender]) -> f64 {
    let field = entries.iter().filter(|entry| entry.works.contains(&work.name)).count();
    estimate::trial_seconds(&work.compiled) * field as f64
}
