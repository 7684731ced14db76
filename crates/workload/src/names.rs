//! Names in plans and on command lines, resolved against those known on this machine.
//! In: a [`Plan`] or a word, and lists of known filesystems, schedulers and ages. Out: contenders, or the nearest
//! known name. A name is a filesystem or an option set, optionally followed by `+scheduler`.

use crate::age_profiles::without_repeats;
use crate::contender::Contender;
use crate::error::{LanguageError, Problem, Result};
use crate::plan::Plan;
use crate::product::{AxisFacts, AxisProduct};
use records::FRESH;
use std::collections::BTreeMap;

/// The known names.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// Filesystems.
    pub filesystems: &'a [&'a str],
    /// Schedulers of current kernels.
    pub schedulers: &'a [&'a str],
    /// Old scheduler names and their replacements.
    pub aliases: &'a BTreeMap<String, String>,
    /// Ageing profiles.
    pub ages: &'a [&'a str],
    /// Option sets in addition to the plan's own.
    pub sets: &'a BTreeMap<String, Contender>,
    /// Settings for axes, as defined in the filesystems' files; a filesystem that is not listed accepts every setting.
    pub axes: &'a BTreeMap<String, AxisFacts>,
}

impl Plan {
    /// The contenders of this plan, multiplied by its axes, every name checked and old scheduler names replaced.
    ///
    /// Empty if the plan leaves the choice to the user.
    pub fn contenders(&self, known: &Known<'_>) -> Result<Vec<Contender>> {
        let named = self.named_contenders(known)?;
        if named.is_empty() {
            return Ok(named);
        }
        Ok(self.multiplied(named, known)?.contenders)
    }

    /// The contenders that this plan names, before its axes multiply them; empty if it names none.
    pub fn named_contenders(&self, known: &Known<'_>) -> Result<Vec<Contender>> {
        if self.compete.is_empty() {
            return Ok(self.contenders.values().cloned().collect());
        }
        let named = self.compete.iter().map(|name| self.named(name, known));
        named.collect::<std::result::Result<_, _>>().map_err(|problem| self.wrong(problem))
    }

    /// Contenders multiplied by this plan's axes, every name checked and old scheduler names replaced.
    pub fn multiplied(&self, contenders: Vec<Contender>, known: &Known<'_>) -> Result<AxisProduct> {
        let multiplied = self.axes.product(contenders, known.axes);
        let mut field = multiplied.map_err(|problem| self.wrong(Problem::new(problem)))?;
        field.contenders = without_repeats(field.contenders);
        for contender in &mut field.contenders {
            check_contender(contender, known).map_err(|problem| self.wrong(problem))?;
        }
        for (index, contender) in field.contenders.iter().enumerate() {
            if field.contenders[..index].iter().any(|earlier| earlier.label == contender.label) {
                let problem = Problem::new(format!("two contenders have the name `{}`", contender.label));
                return Err(
                    self.wrong(problem.help("list each once; bakeoff itself adds a control for the noise floor"))
                );
            }
        }
        Ok(field)
    }

    fn wrong(&self, problem: Problem) -> LanguageError {
        let name = if self.name.is_empty() { "command line".to_owned() } else { format!("plan {}", self.name) };
        problem.within("", &name)
    }

    fn named(&self, name: &str, known: &Known<'_>) -> std::result::Result<Contender, Problem> {
        by_name(name, known, Some(&self.contenders))
    }
}

/// A contender by its name on a command line: `xfs`, `xfs-tuned`, `ext4+bfq`.
pub fn resolve(name: &str, known: &Known<'_>) -> Result<Contender> {
    let fail = |problem: Problem| problem.within("", "command line");
    let mut contender = by_name(name, known, None).map_err(fail)?;
    check_contender(&mut contender, known).map_err(fail)?;
    Ok(contender)
}

fn by_name(
    name: &str,
    known: &Known<'_>,
    own: Option<&BTreeMap<String, Contender>>,
) -> std::result::Result<Contender, Problem> {
    let (base, scheduler) = match name.split_once('+') {
        Some((base, scheduler)) => (base, Some(scheduler)),
        None => (name, None),
    };
    let set = own.and_then(|own| own.get(base)).or_else(|| known.sets.get(base));
    let mut contender = match set {
        Some(set) => set.clone(),
        None if known.filesystems.contains(&base) => Contender::plain(base),
        None => {
            let sets = own.into_iter().flat_map(BTreeMap::keys).chain(known.sets.keys());
            let names: Vec<&str> = known.filesystems.iter().copied().chain(sets.map(String::as_str)).collect();
            return Err(Problem::unknown("filesystem or option set", base, &names));
        }
    };
    if let Some(scheduler) = scheduler {
        let scheduler = current_scheduler(scheduler, known)?;
        axes::put(&mut contender, "scheduler", &scheduler);
        contender.label = axes::label(&contender);
    }
    Ok(contender)
}

/// The current name of a scheduler.
fn current_scheduler(name: &str, known: &Known<'_>) -> std::result::Result<String, Problem> {
    let current = known.aliases.get(name).map_or(name, String::as_str);
    if known.schedulers.contains(&current) {
        return Ok(current.to_owned());
    }
    let names: Vec<&str> = known.schedulers.iter().copied().chain(known.aliases.keys().map(String::as_str)).collect();
    Err(Problem::unknown("scheduler", name, &names))
}

fn check_contender(contender: &mut Contender, known: &Known<'_>) -> std::result::Result<(), Problem> {
    if !known.filesystems.contains(&contender.filesystem.as_str()) {
        let problem = Problem::unknown("filesystem", &contender.filesystem, known.filesystems);
        return Err(Problem { problem: format!("contender `{}`: {}", contender.label, problem.problem), ..problem });
    }
    if let Some(scheduler) = &contender.scheduler {
        let current = current_scheduler(scheduler, known)?;
        if let Some(at) = contender.axes.get_mut("scheduler") {
            at.clone_from(&current);
            contender.label = axes::label(contender);
        }
        contender.scheduler = Some(current);
    }
    if let Some(age) = &contender.age
        && age != FRESH
        && !known.ages.contains(&age.as_str())
    {
        let names: Vec<&str> = [FRESH].into_iter().chain(known.ages.iter().copied()).collect();
        return Err(Problem::unknown("age", age, &names));
    }
    Ok(())
}
