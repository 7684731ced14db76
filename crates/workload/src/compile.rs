//! From a raw workload file and its variables to a flat program.
//! In: [`RawWorkload`], one scale's variables, a seed. Out: [`Compiled`], checked by [`crate::validate`].
//! Phases whose condition does not hold, and filesets that no phase uses, are left out.

use crate::command;
use crate::error::Problem;
use crate::facts::{Compiled, PhaseFacts, TotalFacts};
use crate::fileset;
use crate::patience;
use crate::program::{
    After, Cache, Client, DEVICE_WRITTEN, Durable, End, Figure, Fileset, Group, Need, Order, Over, OwnFigure, Phase,
    Program, Step, USABLE_SHARE, VolumeTool,
};
use crate::quantity::{Scope, Unit};
use crate::scope::{Resolved, choice, holds, number, text};
use crate::syntax::{RawAlso, RawFigure, RawFileset, RawPhase, RawTotal, RawWorkload, each};
use crate::validate;
use crate::work;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub(crate) type Outcome<T> = std::result::Result<T, Problem>;

/// Phases that one workload may have.
pub const PHASES_LIMIT: usize = 256;
/// Filesets that one workload may have.
pub const FILESETS_LIMIT: usize = 256;
/// Passes that one phase may have.
pub const PASSES_LIMIT: u64 = 10_000;
/// Longest pause, phase or time limit, in nanoseconds: a week.
pub const TIME_LIMIT_NS: u64 = 7 * 86_400_000_000_000;
/// Default limit in seconds for the phase time that the work itself sets (its time, its rate): six hours.
const TIME_LIMIT_DEFAULT: u64 = 6 * 3_600;
/// Default number of failed operations that a phase tolerates: none.
const ERROR_LIMIT_DEFAULT: u64 = 0;

/// State of the compilation; phases refer to filesets by their index in `filesets`.
pub(crate) struct Context<'a> {
    pub raw: &'a RawWorkload,
    pub scope: &'a Scope,
    pub filesets: Vec<Fileset>,
}

pub(crate) fn compile(raw: &RawWorkload, scale: &str, resolved: Resolved, seed: u64) -> Outcome<Compiled> {
    check_counts(raw)?;
    let name = raw.name.get_ref();
    identifier("workload", name).map_err(|problem| problem.at(raw.name.span()))?;
    let mut context = Context { raw, scope: &resolved.scope, filesets: Vec::new() };
    let mut phases = Vec::new();
    let mut facts = Vec::new();
    let mut beside = Vec::new();
    let mut spans = Vec::new();
    for phase in &raw.phases {
        if all_hold(phase, context.scope)? {
            let (mut compiled, fact, others) =
                one_phase(&mut context, phase).map_err(|problem| problem.at(phase.name.span()))?;
            compiled.needs = needs(raw, phase, &phases)?;
            phases.push(compiled);
            facts.push(fact);
            beside.extend(others);
            spans.push(phase.name.span());
        }
    }
    let totals = totals(raw, &facts, context.scope)?;
    let client = resolved.clients.map(|of| share_out(&mut phases, of)).transpose()?;
    let mut program = Program {
        workload: name.clone(),
        seed,
        root: PathBuf::new(),
        root_inode: None,
        device: None,
        durable: Durable::default(),
        tools: BTreeMap::new(),
        error_limit: optional(raw.error_limit.as_ref(), Unit::Plain, context.scope)?.unwrap_or(ERROR_LIMIT_DEFAULT),
        time_limit: time_limit(raw, context.scope)?,
        client,
        filesets: context.filesets,
        phases,
    };
    let mut estimate = validate::check(&program, &spans)?;
    let room = optional(raw.room.as_ref(), Unit::Bytes, context.scope)?.unwrap_or(0);
    estimate.bytes_at_most = estimate.bytes_at_most.max(room);
    estimate.bytes_at_worst = estimate.bytes_at_worst.max(room);
    estimate.programs_ns = optional(raw.takes.as_ref(), Unit::Nanoseconds, context.scope)?;
    if raw.time_limit.is_none() {
        patience::set(&mut program, &estimate);
    }
    facts.extend(beside);
    check_operations(&facts)?;
    let mut settings = resolved.settings;
    settings.retain(|_, value| !value.is_empty());
    Ok(Compiled { program, phases: facts, totals, estimate, scale: scale.to_owned(), settings })
}

/// Multiplies the workers of every group by the number of clients.
fn share_out(phases: &mut [Phase], of: u32) -> Outcome<Client> {
    for phase in phases {
        for group in &mut phase.groups {
            let can = matches!(group.over, Over::Files { .. } | Over::Blocks { .. } | Over::Directories { .. });
            if !can || group.order == Order::Follow {
                let problem = format!("phase `{}` cannot be divided among clients", phase.name);
                return Err(Problem::new(problem)
                    .help("only work over files, blocks or directories can be divided, in any order but \"follow\""));
            }
            group.workers *= of;
        }
    }
    Ok(Client { number: 0, of, shift: 1 })
}

/// Operations are identified by name and cache state wherever they are shown.
fn check_operations(facts: &[PhaseFacts]) -> Outcome<()> {
    let mut known = BTreeSet::new();
    for one in facts.iter().filter(|one| !one.preparation) {
        if !known.insert((one.named(), &one.cache_label)) {
            let problem = format!("two figures have the name `{}` ({})", one.named(), one.cache_label);
            return Err(Problem::new(problem).help("give one of them another `operation`, `label` or `variant`"));
        }
    }
    Ok(())
}

fn check_counts(raw: &RawWorkload) -> Outcome<()> {
    if raw.phases.len() > PHASES_LIMIT {
        return Err(Problem::new(format!("{} phases; the limit is {PHASES_LIMIT}", raw.phases.len())));
    }
    if raw.filesets.len() > FILESETS_LIMIT {
        return Err(Problem::new(format!("{} filesets; the limit is {FILESETS_LIMIT}", raw.filesets.len())));
    }
    Ok(())
}

/// Names are used in file names, tables and on the command line.
pub(crate) fn identifier(what: &str, name: &str) -> Outcome<()> {
    let good = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    if starts_well && name.len() <= 64 && name.chars().all(good) {
        return Ok(());
    }
    Err(Problem::new(format!("`{}` cannot be the name of a {what}", name.escape_debug()))
        .help("use up to 64 letters, digits, `-`, `_` and `.`, starting with a letter or digit"))
}

fn all_hold(phase: &RawPhase, scope: &Scope) -> Outcome<bool> {
    for condition in each(&phase.when) {
        if !holds(&condition, scope)? {
            return Ok(false);
        }
    }
    Ok(true)
}

pub(crate) fn optional(field: Option<&crate::syntax::Field>, unit: Unit, scope: &Scope) -> Outcome<Option<u64>> {
    field.map(|field| number(field, unit, scope)).transpose()
}

/// Number in a field, no larger than a limit.
pub(crate) fn limited(
    field: Option<&crate::syntax::Field>,
    (what, unit): (&str, Unit),
    (default, least, most): (u64, u64, u64),
    scope: &Scope,
) -> Outcome<u64> {
    let Some(field) = field else { return Ok(default) };
    let value = number(field, unit, scope)?;
    if (least..=most).contains(&value) {
        return Ok(value);
    }
    Err(Problem::new(format!("{what} = {value} is not between {least} and {most}")).at(field.span()))
}

fn time_limit(raw: &RawWorkload, scope: &Scope) -> Outcome<u64> {
    let default = TIME_LIMIT_DEFAULT * 1_000_000_000;
    let what = ("time-limit in nanoseconds", Unit::Nanoseconds);
    let limit = limited(raw.time_limit.as_ref(), what, (default, 1_000_000_000, TIME_LIMIT_NS), scope)?;
    Ok(limit.div_ceil(1_000_000_000))
}

/// Index of a fileset in the program; it is compiled at its first use.
pub(crate) fn fileset_index(context: &mut Context<'_>, name: &toml::Spanned<String>) -> Outcome<usize> {
    let wanted = name.get_ref();
    if let Some(index) = context.filesets.iter().position(|fileset| fileset.name == *wanted) {
        return Ok(index);
    }
    let raw = context.raw.filesets.iter().find(|fileset| fileset.name.get_ref() == wanted).ok_or_else(|| {
        let known: Vec<&str> = context.raw.filesets.iter().map(|fileset| fileset.name.get_ref().as_str()).collect();
        Problem::unknown("fileset", wanted, &known).at(name.span())
    })?;
    let compiled = match &raw.copies {
        Some(of) => copies(context, raw, of)?,
        None => fileset::fileset(raw, context.scope).map_err(|problem| problem.at(raw.name.span()))?,
    };
    context.filesets.push(compiled);
    Ok(context.filesets.len() - 1)
}

/// A fileset of clones or copies: equal to the original, but in another directory.
fn copies(context: &mut Context<'_>, raw: &RawFileset, of: &toml::Spanned<String>) -> Outcome<Fileset> {
    let another = |one: &RawFileset| one.name.get_ref() == of.get_ref() && one.copies.is_none();
    if !context.raw.filesets.iter().any(another) {
        let known: Vec<&str> = context
            .raw
            .filesets
            .iter()
            .filter(|one| one.copies.is_none())
            .map(|one| one.name.get_ref().as_str())
            .collect();
        return Err(Problem::unknown("fileset", of.get_ref(), &known).at(of.span()));
    }
    let index = fileset_index(context, of)?;
    fileset::copy(raw, &context.filesets[index], index, context.scope).map_err(|problem| problem.at(raw.name.span()))
}

const CACHES: &[(&str, Cache)] = &[("cold", Cache::Cold), ("warm", Cache::Warm), ("as-found", Cache::AsFound)];
const FIGURES: &[(&str, Figure)] =
    &[("bytes/s", Figure::BytesPerSecond), ("items/s", Figure::ItemsPerSecond), ("seconds", Figure::Seconds)];

/// The measured figure, and those that the phase's programs print.
fn figures(raw: &RawPhase, usual: Figure, scope: &Scope) -> Outcome<(Figure, Vec<OwnFigure>)> {
    let Some(figure) = &raw.figure else { return Ok((usual, Vec::new())) };
    match figure.get_ref() {
        RawFigure::Measured(word) => {
            let field = toml::Spanned::new(figure.span(), word.clone());
            choice(&field, "figure", FIGURES, scope).map(|figure| (figure, Vec::new()))
        }
        RawFigure::Printed(printed) => {
            let own = command::figures(printed).map_err(|problem| problem.at(figure.span()))?;
            Ok((usual, own))
        }
    }
}

/// Extra figures must come from a source that reports them: programs, the kernel, or a fill.
fn check_figures(groups: &[Group], own: &[OwnFigure], runs_programs: bool) -> Outcome<()> {
    let fills = groups.iter().any(|group| group.steps.iter().any(|step| matches!(step, Step::Fill(_))));
    let known = |own: &&OwnFigure| runs_programs || own.from == DEVICE_WRITTEN || fills && own.from == USABLE_SHARE;
    match own.iter().find(|own| !known(own)) {
        None => Ok(()),
        Some(_) if fills => {
            Err(Problem::new(format!("filling space reports only `{USABLE_SHARE}` and `{DEVICE_WRITTEN}`")))
        }
        Some(_) => Err(Problem::new("only programs print their own figures")
            .help(format!("use one of bytes/s, items/s and seconds, or a figure with `from = \"{DEVICE_WRITTEN}\"`"))),
    }
}

/// Passes these figures to the programs of a phase, except those that the kernel counts.
fn give(groups: &mut [Group], figures: &[OwnFigure]) {
    let figures: Vec<OwnFigure> = figures.iter().filter(|own| own.from != DEVICE_WRITTEN).cloned().collect();
    for step in groups.iter_mut().flat_map(|group| &mut group.steps) {
        match step {
            Step::Run(command) => figures.clone_into(&mut command.figures),
            Step::Volume(_, own) => figures.clone_into(own),
            _ => {}
        }
    }
}

fn one_phase(context: &mut Context<'_>, raw: &RawPhase) -> Outcome<(Phase, PhaseFacts, Vec<PhaseFacts>)> {
    let name = raw.name.get_ref().clone();
    identifier("phase", &name)?;
    let mut groups = work::groups(context, raw)?;
    let scope = context.scope;
    let cache = raw.cache.as_ref().map_or(Ok(Cache::AsFound), |field| choice(field, "cache state", CACHES, scope))?;
    // For a program only the time is known, unless it prints figures.
    let opaque = groups.iter().all(|group| group.over.is_opaque() || group.over == Over::Volume);
    let runs_programs = groups.iter().all(|group| matches!(group.over, Over::Command | Over::Volume));
    let usual = if opaque { Figure::Seconds } else { Figure::ItemsPerSecond };
    let (figure, own) = figures(raw, usual, scope)?;
    check_figures(&groups, &own, runs_programs)?;
    give(&mut groups, &own);
    let operation = raw.operation.as_ref().map_or_else(|| Ok(name.clone()), |field| text(field, scope))?;
    let title = raw.title.clone().unwrap_or_else(|| name.replace('-', " "));
    let facts = PhaseFacts {
        name: name.clone(),
        doing: raw.doing.clone().unwrap_or_else(|| title.clone()),
        title,
        operation: operation.clone(),
        cache_label: match &raw.label {
            Some(label) => text(label, scope)?,
            None => CACHES.iter().find(|(_, known)| *known == cache).map_or("", |(word, _)| word).to_owned(),
        },
        variant: raw.variant.clone(),
        figure,
        figure_group: raw.figure_group.as_ref().map(|group| group.get_ref().clone()),
        share_of: raw.share_of.as_ref().map(|field| text(field, scope)).transpose()?,
        // A duration that the work itself sets is no result.
        preparation: raw.preparation || raw.timed == Some(false),
        unranked: raw.ranked == Some(false),
        own: None,
        needs: raw.needs.iter().map(|name| name.get_ref().clone()).collect(),
    };
    if raw.timed == Some(false) && own.is_empty() {
        return Err(Problem::new("`timed = false` leaves the phase without a figure")
            .help("it is for programs that run for a fixed time and print their own figure"));
    }
    let mut beside: Vec<PhaseFacts> =
        own.into_iter().map(|own| facts_of_printed(&facts, own, raw.preparation)).collect();
    for also in &raw.also {
        beside.push(facts_of_group(&facts, also, scope)?);
    }
    let phase = Phase {
        name,
        operation,
        cache,
        figure,
        writes: groups.iter().any(work::writes),
        passes: limited(raw.passes.as_ref(), ("passes", Unit::Plain), (1, 1, PASSES_LIMIT), scope)? as u32,
        pause_ns: time(raw.pause.as_ref(), "pause", scope)?,
        end: end(raw, scope)?,
        groups,
        preparation: raw.preparation,
        after: after(raw, scope)?,
        time_limit: 0,
        needs: Vec::new(),
    };
    if phase.device_of(VolumeTool::LoseDevice).is_some() && !(phase.preparation && phase.groups.len() == 1) {
        let problem = Problem::new(
            "removing a device takes no measurable time, so its phase can neither be measured nor do other work",
        );
        return Err(problem.help("make it a separate phase with `preparation = true`"));
    }
    Ok((phase, facts, beside))
}

/// What the filesystem must support for the phases without which this one makes no sense.
fn needs(raw: &RawWorkload, phase: &RawPhase, before: &[Phase]) -> Outcome<Vec<Need>> {
    let mut needs = BTreeSet::new();
    for name in &phase.needs {
        let known: Vec<&str> = raw
            .phases
            .iter()
            .map(|one| one.name.get_ref().as_str())
            .take_while(|one| one != phase.name.get_ref())
            .collect();
        if !known.contains(&name.get_ref().as_str()) {
            return Err(Problem::unknown("earlier phase", name.get_ref(), &known).at(name.span()));
        }
        needs.extend(before.iter().filter(|one| one.name == *name.get_ref()).flat_map(Phase::all_needs));
    }
    Ok(needs.into_iter().collect())
}

/// Facts of a figure that a phase's program prints.
fn facts_of_printed(facts: &PhaseFacts, own: OwnFigure, preparation: bool) -> PhaseFacts {
    let (title, doing) = (format!("{}, {}", facts.title, own.titled()), format!("{} ({})", facts.doing, own.name));
    PhaseFacts {
        title,
        doing,
        figure: Figure::Printed,
        preparation,
        unranked: false,
        figure_group: None,
        share_of: None,
        own: Some(own),
        ..facts.clone()
    }
}

/// Facts of the figure of another group of a phase.
fn facts_of_group(facts: &PhaseFacts, also: &RawAlso, scope: &Scope) -> Outcome<PhaseFacts> {
    let title = also.title.clone().unwrap_or_else(|| format!("{}, {}", facts.title, also.group.get_ref()));
    Ok(PhaseFacts {
        doing: also.doing.clone().unwrap_or_else(|| title.clone()),
        title,
        operation: also.operation.clone(),
        figure: choice(&also.figure, "figure", FIGURES, scope)?,
        figure_group: Some(also.group.get_ref().clone()),
        share_of: None,
        ..facts.clone()
    })
}

fn time(field: Option<&crate::syntax::Field>, what: &str, scope: &Scope) -> Outcome<u64> {
    limited(field, (&format!("{what} in nanoseconds"), Unit::Nanoseconds), (0, 0, TIME_LIMIT_NS), scope)
}

fn end(raw: &RawPhase, scope: &Scope) -> Outcome<End> {
    let ramp_ns = time(raw.ramp.as_ref(), "ramp", scope)?;
    let Some(field) = &raw.time else {
        return match &raw.ramp {
            Some(ramp) => Err(Problem::new("`ramp` without `time`")
                .help("a ramp needs a phase that ends by time")
                .at(ramp.span())),
            None => Ok(End::Work),
        };
    };
    let measure_ns = time(Some(field), "time", scope)?;
    if measure_ns < 1_000_000 {
        return Err(Problem::new("`time` is shorter than 1 ms").at(field.span()));
    }
    Ok(End::Time { measure_ns, ramp_ns })
}

fn after(raw: &RawPhase, scope: &Scope) -> Outcome<After> {
    let mut after = After::default();
    for field in each(&raw.after) {
        match choice(&field, "thing to do after a phase", &[("sync", 0), ("drop-caches", 1)], scope)? {
            0 => after.sync = true,
            _ => after.drop_caches = true,
        }
    }
    Ok(after)
}

/// Totals whose phases all exist; a total is left out if a condition left out one of its phases.
fn totals(raw: &RawWorkload, phases: &[PhaseFacts], scope: &Scope) -> Outcome<Vec<TotalFacts>> {
    raw.totals.iter().filter_map(|total| one_total(total, raw, phases, scope).transpose()).collect()
}

fn one_total(total: &RawTotal, raw: &RawWorkload, phases: &[PhaseFacts], scope: &Scope) -> Outcome<Option<TotalFacts>> {
    identifier("total", &total.name)?;
    for name in &total.of {
        if !raw.phases.iter().any(|phase| phase.name.get_ref() == name.get_ref()) {
            let known: Vec<&str> = raw.phases.iter().map(|phase| phase.name.get_ref().as_str()).collect();
            return Err(Problem::unknown("phase", name.get_ref(), &known).at(name.span()));
        }
    }
    let present = |name: &toml::Spanned<String>| phases.iter().any(|phase| phase.name == *name.get_ref());
    if !total.of.iter().all(present) {
        return Ok(None);
    }
    if phases.iter().any(|phase| phase.name == total.name) {
        return Err(Problem::new(format!("a phase and a total have the name `{}`", total.name)));
    }
    Ok(Some(TotalFacts {
        name: total.name.clone(),
        title: total.title.clone(),
        doing: total.doing.clone(),
        operation: total.operation.clone(),
        cache_label: text(&total.label, scope)?,
        of: total.of.iter().map(|name| name.get_ref().clone()).collect(),
        part: total.part,
    }))
}
