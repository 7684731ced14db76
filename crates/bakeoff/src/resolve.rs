//! From a command line to a resolved plan: every name resolved, every default filled in.
//! In: a [`What`] from the command line, and the catalogues. Out: a [`ResolvedPlan`], or one clear error before anything is changed.

use crate::args::{self, What};
use crate::catalogue::Catalogue;
use crate::claims::{self, Chosen};
use crate::clients;
use crate::combinations;
use crate::contenders;
use crate::failure::{Failure, given};
use crate::fio_jobs;
use crate::image_size;
use crate::own_work;
use crate::programs;
use crate::split;
use crate::traces;
use runner::{
    Ages, DEVICE, LEAST_BLOCKS, MOST_BLOCKS, Place, PlannedContender, ResolvedPlan, Sampling, Shard, TWIN, Work,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use system::Sysfs as _;
use system::input::{TEXT_LIMIT, text_file};
use workload::plan::{self, Plan, PlannedWork};
use workload::program::Over;
use workload::quantity::{parse_bytes, parse_duration, parse_share, show_bytes};

/// The plan that runs if none is named.
const DEFAULT_PLAN: &str = "quick";
/// Default scale.
const SCALE: &str = "quick";
/// Default scale in guests, of workloads that have it.
const GUEST_SCALE: &str = "guest";
/// Folder of aged images within the scratch folder.
pub const AGED_FOLDER: &str = "bakeoff-aged";
/// Default limit of the cache of aged images.
const AGED_CACHE: u64 = 64 << 30;
/// Default number of blocks: docs/method.md, three to screen.
const DEFAULT_SAMPLES: u32 = 3;
/// Default budget in seconds until an answer.
const SOON: f64 = 300.0;
/// Default minimum size of an image.
const LEAST_IMAGE: u64 = 2 << 30;
/// The same for a user's own programs: how much they write is unknown.
const COMMANDS_IMAGE: u64 = 8 << 30;
/// Default precision: docs/method.md.
const DEFAULT_PRECISION: f64 = 0.05;

/// The resolved plan of a command line.
pub fn plan(what: &What) -> Result<(ResolvedPlan, Catalogue), Failure> {
    let files: Vec<PathBuf> = what.names.iter().filter(|name| is_file(name)).map(PathBuf::from).collect();
    let folders: Vec<PathBuf> = files.iter().filter_map(|file| file.parent().map(|parent| parent.join("."))).collect();
    let mut catalogue = Catalogue::with(&folders, &what.filesystems)?;
    let chosen = what.claims.as_deref().map(|file| claimed(file, what, &catalogue)).transpose()?;
    let plan = match &chosen {
        Some(chosen) => chosen.plan.clone(),
        None => named_plan(what, &mut catalogue)?,
    };
    let sampling = sampling(what, &plan)?;
    what.memory.as_deref().map_or(Ok(()), check_memory)?;
    let mounted = mounted_folders(what, &plan);
    let (mut entries, mut notes) = contenders::entries(what, &plan, &catalogue, mounted.as_deref())?;
    let in_guests = entries.iter().all(|entry| staging::is_guest(entry.asked.kernel.as_deref()));
    let mut works = works(what, &plan, &catalogue, in_guests)?;
    let mut place = place(what, &plan, mounted, &works)?;
    notes.extend(image_size::settle(&mut place, chooses_image(what, &plan), &entries, &works, &catalogue.filesystems)?);
    if let Some(bytes) = size_of(&place) {
        works.iter_mut().for_each(|work| work.compiled.fit_device(bytes));
    }
    if let Some(chosen) = &chosen {
        if matches!(place, Place::Directories(_)) {
            let text = "--claims compares filesystems, which are formatted: run it as root with --image or --on";
            return Err(Failure::usage(text));
        }
        chosen.keep_to(&mut entries, &mut works, &sampling).iter().for_each(|note| eprintln!("{note}"));
    }
    check_commands(&works, &entries)?;
    let counted = entries.iter().any(|entry| contenders::is_counted(&entry.asked));
    if counted {
        works.iter_mut().for_each(|work| work.compiled.count_instructions());
    }
    let reads_device = works.iter().any(|work| work.compiled.estimate.needs_device);
    let disks: BTreeSet<Option<String>> = entries.iter().map(|entry| axes::value(&entry.asked, "disk")).collect();
    if reads_device && !counted && !matches!(place, Place::Directories(_)) {
        let raw = contenders::raw_device(&disks);
        // If all work is on the raw device, no filesystem takes part.
        if raw.is_some() && works.iter().all(|work| !work.compiled.estimate.needs_files) {
            entries.clear();
        }
        entries.extend(raw);
    }
    add_twin(&mut entries, what.no_twin, sampling);
    let ages = ages(what, &entries, &catalogue, &place)?;
    let names: Vec<&str> = entries.iter().map(|entry| entry.asked.filesystem.as_str()).collect();
    let (filesystems, origins): (Vec<_>, Vec<_>) = catalogue.origins(&names).into_iter().unzip();
    notes.extend(origins);
    let split = split_asked(what, &plan, &place)?;
    let seed = what.seed.or(plan.seed).unwrap_or_else(fresh_seed);
    let shard = shard(what, &plan, &sampling)?;
    let terms = terms(what, &place)?;
    let cold = what.cold.map(args::Cold::way).or(plan.cold).unwrap_or_default();
    let turns = what.turns.map(args::Turns::kept).or(plan.turns).unwrap_or(records::Turns::Slice);
    let mut resolved = ResolvedPlan {
        title: String::new(),
        place,
        terms,
        contenders: entries,
        works,
        sampling,
        cold,
        turns,
        split,
        seed,
        shard,
        ages,
        filesystems,
        notes,
    };
    split::settle(&mut resolved, &catalogue.filesystems)?;
    resolved.title = title(&plan, &resolved, &catalogue.filesystems);
    if resolved.trials_per_block() == 0 {
        return Err(Failure::usage(nothing_to_do(&resolved, &disks)));
    }
    if !sets_how_often(what, &plan) && shard.is_none() {
        answer_soon(&mut resolved);
    }
    Ok((resolved, catalogue))
}

/// Checks the size of `--memory`.
///
/// # Errors
/// It is no size, or too little.
pub fn check_memory(size: &str) -> Result<(), Failure> {
    given("--memory", size, parse_bytes)?;
    let checked = axes::find("limit.memory").map_or(Ok(()), |named| named.axis.check("", size));
    checked.map_err(|problem| Failure::usage(format!("--memory {size}: {problem}")))
}

/// Why no contender can run any workload, and what to do.
fn nothing_to_do(plan: &ResolvedPlan, disks: &BTreeSet<Option<String>>) -> String {
    let why = |work: &Work| {
        let estimate = &work.compiled.estimate;
        let reads_device = estimate.needs_device && !estimate.needs_files;
        match plan.place {
            _ if !reads_device && estimate.needs_aged => "it reads aged files, and no contender is aged (--age)",
            _ if !reads_device => "no contender of this run can do it",
            Place::Directories(_) => "it reads the raw device, which a directory does not have (use --image or --on)",
            _ if disks.len() > 1 => "it reads the raw device of one disk, and --disk names several (name one)",
            _ => "it reads the raw device, and these contenders run in a virtual machine that counts instructions",
        }
    };
    let works: Vec<String> = plan.works.iter().map(|work| format!("{}: {}", work.name, why(work))).collect();
    format!("nothing can be measured: {}", works.join("; "))
}

/// Refuses commands in virtual machines: guests lack this machine's programs and libraries.
fn check_commands(works: &[Work], entries: &[PlannedContender]) -> Result<(), Failure> {
    let Some(work) = works.iter().find(|work| runs_commands(work)) else { return Ok(()) };
    let guest = entries.iter().find(|entry| staging::is_guest(entry.asked.kernel.as_deref()));
    guest.map_or(Ok(()), |guest| {
        let groups = || work.compiled.program.phases.iter().flat_map(|phase| &phase.groups);
        let needs = if groups().any(|group| group.over == Over::Trace) { "reads files" } else { "runs programs" };
        let (name, kernel) = (&guest.asked.label, guest.asked.kernel.as_deref().unwrap_or_default());
        Err(Failure::usage(format!(
            "{} {needs} of this machine, but {name} runs on {kernel}, in a virtual machine that lacks them: leave {name} out",
            work.name
        )))
    })
}

/// Whether work consists of a user's own programs.
pub fn runs_commands(work: &Work) -> bool {
    work.compiled.program.phases.iter().any(|phase| phase.is_opaque())
}

/// Whether the user or the plan sets how often the work is done, or when to stop.
fn sets_how_often(what: &What, plan: &Plan) -> bool {
    let plan::Sampling { samples, budget, precision, most, .. } = &plan.sampling;
    let by_plan = samples.is_some() || budget.is_some() || precision.is_some() || most.is_some();
    by_plan || what.samples.is_some() || what.budget.is_some() || what.precision.is_some() || what.until.is_some()
}

/// Stops at a clear winner, within minutes; if the least number of blocks takes longer, within about twice their time.
fn answer_soon(plan: &mut ResolvedPlan) {
    let screen = f64::from(plan.sampling.blocks.0) * crate::estimate::block_seconds(plan);
    plan.sampling = Sampling {
        samples: None,
        until: plan::Until::Winner,
        budget_seconds: Some(SOON.max(2.0 * screen)),
        ..plan.sampling
    };
}

/// The requested part of the plan. All parts must have the same work, so rounds and seed must be fixed.
fn shard(what: &What, plan: &Plan, sampling: &Sampling) -> Result<Option<Shard>, Failure> {
    let Some(shard) = what.shard else { return Ok(None) };
    let Some(samples) = sampling.samples else {
        let text =
            format!("--shard {shard}: the shards of a plan need a fixed total of rounds; give it with --samples");
        return Err(Failure::usage(text));
    };
    if what.seed.or(plan.seed).is_none() {
        let text = format!("--shard {shard}: all shards need the same seed; give each the same --seed");
        return Err(Failure::usage(text));
    }
    if samples < shard.of {
        let text = format!("--shard {shard}: {samples} rounds are too few for {} shards; raise --samples", shard.of);
        return Err(Failure::usage(text));
    }
    Ok(Some(shard))
}

/// The plan that tests published claims, or those of a file.
fn claimed(file: &Path, what: &What, catalogue: &Catalogue) -> Result<Chosen, Failure> {
    let systems = staging::systems(&catalogue.filesystems, &system::Journal::new());
    claims::choose(&claims::read(claims::own(file))?, what, catalogue, &systems)
}

fn is_file(name: &str) -> bool {
    name.ends_with(".toml") || name.contains('/') || fio_jobs::is_job_file(name) || trace::is_trace_file(name)
}

/// One plan for all names: a named plan unchanged, or the named workloads with defaults for everything else.
fn named_plan(what: &What, catalogue: &mut Catalogue) -> Result<Plan, Failure> {
    own_work::check_use(&what.own, what.names.as_slice())?;
    let mut chosen: Option<Plan> = None;
    let mut works = Vec::new();
    for name in &what.names {
        let name = match is_file(name) {
            true if fio_jobs::is_job_file(name) => {
                add_made(name, &fio_jobs::workload(Path::new(name), &what.own)?, catalogue)?
            }
            true if trace::is_trace_file(name) => {
                add_made(name, &traces::workload(Path::new(name), &what.own)?, catalogue)?
            }
            true => add_file(name, catalogue)?,
            false => name.clone(),
        };
        if let Some(plan) = catalogue.work.plans.get(&name) {
            if let Some(other) = &chosen {
                let text =
                    format!("the command line names two plans, {} and {name}; run one after the other", other.name);
                return Err(Failure::usage(text));
            }
            chosen = Some(plan.clone());
        } else if catalogue.work.workloads.contains_key(&name) {
            works.push(PlannedWork { name, scale: None, settings: BTreeMap::new() });
        } else {
            return Err(unknown(&name, catalogue));
        }
    }
    if let Some(text) = own_work::workload(&what.own)? {
        let name = catalogue.work.add_workload(Path::new("--command"), &text)?;
        works.push(PlannedWork { name, scale: None, settings: BTreeMap::new() });
    }
    let mut plan = match chosen {
        Some(plan) => plan,
        None if works.is_empty() => catalogue.work.plan(DEFAULT_PLAN)?.clone(),
        None => Plan::default(),
    };
    plan.workloads.extend(works);
    Ok(plan)
}

fn unknown(name: &str, catalogue: &Catalogue) -> Failure {
    // A broken file of the user has its own, better error.
    if let Some((path, problem)) =
        catalogue.work.problems.iter().find(|(path, _)| path.file_stem().is_some_and(|stem| stem == name))
    {
        return Failure::usage(format!("{}: {problem}", path.display()));
    }
    let known: Vec<&str> =
        catalogue.work.plans.keys().chain(catalogue.work.workloads.keys()).map(String::as_str).collect();
    let hint = workload::did_you_mean(name, known.iter().copied());
    Failure::usage(
        format!("there is no plan or workload `{name}`{hint} Known: {}", known.join(", ")).replace("  ", " "),
    )
}

/// Reads a plan or a workload from a file; its content decides which.
fn add_file(name: &str, catalogue: &mut Catalogue) -> Result<String, Failure> {
    let path = PathBuf::from(name);
    let text = text_file(&path, TEXT_LIMIT)
        .map_err(|why| Failure::usage(format!("reading the plan or workload {name}: {why}")))?;
    let has_phases = text.lines().any(|line| line.trim_start().starts_with("[[phases"));
    let added =
        if has_phases { catalogue.work.add_workload(&path, &text) } else { catalogue.work.add_plan(&path, &text) };
    added.map_err(Failure::usage)
}

/// Adds a workload that was generated from another kind of file.
fn add_made(name: &str, file: &workload::written::File, catalogue: &mut Catalogue) -> Result<String, Failure> {
    let text = file.text().map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    catalogue.work.add_workload(Path::new(name), &text).map_err(Failure::usage)
}

/// The work, at the scale asked for. By default that of guests where all contenders run in guests: emulated processors
/// take ten times as long.
fn works(what: &What, plan: &Plan, catalogue: &Catalogue, in_guests: bool) -> Result<Vec<Work>, Failure> {
    let mut given = settings(&what.set)?;
    given.extend(own_work::parameters(&what.own)?.into_iter().map(|(key, values)| Setting {
        workload: Some(own_work::NAME.into()),
        key,
        value: values.join(","),
        taken: false,
    }));
    let mut works = Vec::new();
    for planned in &plan.workloads {
        let workload = catalogue.work.workload(&planned.name)?;
        programs::check(workload)?;
        let known = |key: &str| workload.options.iter().any(|option| option.name == key);
        let mut mine: Vec<(String, Vec<String>)> = Vec::new();
        for setting in &mut given {
            let meant = match &setting.workload {
                Some(name) => *name == planned.name,
                None => known(&setting.key),
            };
            if meant {
                mine.retain(|(key, _)| *key != setting.key);
                mine.push((
                    setting.key.clone(),
                    setting.value.split(',').map(|value| value.trim().to_owned()).collect(),
                ));
                setting.taken = true;
            }
        }
        mine.extend(clients::asked(workload, &what.clients)?);
        let usual =
            if in_guests && workload.scales.iter().any(|scale| scale == GUEST_SCALE) { GUEST_SCALE } else { SCALE };
        let scale = what.scale.map(Into::into).or(planned.scale.as_deref()).unwrap_or(usual);
        for settings in combinations::combinations(&planned.settings, &mine).map_err(Failure::usage)? {
            let compiled = workload.compile(scale, &settings, 0)?;
            works.push(Work {
                name: planned.name.clone(),
                title: workload.title.clone(),
                about: workload.about.clone(),
                weaker_in_place: workload.weaker_in_place(&compiled.settings),
                compiled,
            });
        }
    }
    combinations::tell_apart(&mut works).map_err(Failure::usage)?;
    if works.is_empty() {
        return Err(Failure::usage(format!("the plan {} has no workload", plan.name)));
    }
    if let Some(lost) = given.iter().find(|setting| !setting.taken) {
        let names: Vec<&str> = works.iter().map(|work| work.name.as_str()).collect();
        let workloads = plan.workloads.iter().filter_map(|planned| catalogue.work.workload(&planned.name).ok());
        let known = workloads.flat_map(|workload| &workload.options).map(|option| option.name.as_str());
        return Err(Failure::usage(format!(
            "--set {}: no workload of this run ({}) has this option{} (`bakeoff workloads NAME` lists them)",
            lost.key,
            names.join(", "),
            workload::did_you_mean(&lost.key, known),
        )));
    }
    Ok(works)
}

struct Setting {
    workload: Option<String>,
    key: String,
    value: String,
    taken: bool,
}

fn settings(given: &[String]) -> Result<Vec<Setting>, Failure> {
    given
        .iter()
        .map(|text| {
            let (key, value) = text
                .split_once('=')
                .ok_or_else(|| Failure::usage(format!("--set {text}: write KEY=VALUE or WORKLOAD.KEY=VALUE")))?;
            let (workload, key) = match key.split_once('.') {
                Some((workload, key)) => (Some(workload.to_owned()), key),
                None => (None, key),
            };
            Ok(Setting { workload, key: key.into(), value: value.into(), taken: false })
        })
        .collect()
}

/// The folders of a run that formats nothing.
fn mounted_folders(what: &What, plan: &Plan) -> Option<Vec<PathBuf>> {
    if !what.dir.is_empty() {
        return Some(what.dir.clone());
    }
    if what.on.is_some() || what.image.is_some() {
        return None;
    }
    if let Some(plan::Place::Directory(path)) = &plan.place {
        return Some(vec![path.clone()]);
    }
    if system::process::is_root() {
        return None;
    }
    eprintln!(
        "Not root: measuring the current directory on its mounted filesystem. As root, bakeoff formats and compares \
         filesystems on images, drops caches for cold starts, and verifies what the device delivered."
    );
    Some(vec![PathBuf::from(".")])
}

fn place(what: &What, plan: &Plan, folders: Option<Vec<PathBuf>>, works: &[Work]) -> Result<Place, Failure> {
    if let Some(folders) = folders {
        return Ok(Place::Directories(folders));
    }
    let scratch = crate::scratch::folder(what.scratch.as_deref())?;
    let image = |bytes| Place::Image { bytes, scratch: scratch.clone() };
    if let Some(path) = &what.on {
        return Ok(Place::Device { path: path.clone() });
    }
    if let Some(size) = &what.image {
        return Ok(image(given("--image", size, parse_bytes)?));
    }
    Ok(match &plan.place {
        Some(plan::Place::Image(bytes)) => image(*bytes),
        Some(plan::Place::Device(path)) => Place::Device { path: path.clone() },
        _ => image(fitting_image(works)),
    })
}

/// The options that allow erasing devices; which devices they match is found when the devices are opened.
fn terms(what: &What, place: &Place) -> Result<records::custody::Terms, Failure> {
    if let (Place::Directories(_), Some(word)) = (place, what.erase.first()) {
        let text = format!("--erase {word}: a run on directories erases nothing; leave it out");
        return Err(Failure::usage(text));
    }
    Ok(records::custody::Terms { erase: what.erase.clone(), promised: Vec::new() })
}

/// Bytes for a contender, if known beforehand.
pub fn size_of(place: &Place) -> Option<u64> {
    match place {
        Place::Image { bytes, .. } => Some(*bytes),
        Place::Device { path, .. } => system::BlockDevice::find(path).ok().map(|device| device.size_bytes),
        Place::Directories(_) => None,
    }
}

/// Whether Bakeoff chooses the size of images.
fn chooses_image(what: &What, plan: &Plan) -> bool {
    what.image.is_none() && plan.place.is_none()
}

/// Twice the data of the largest workload, rounded up to whole GiB; more if a contender needs it ([`image_size`]).
fn fitting_image(works: &[Work]) -> u64 {
    let most = works.iter().map(|work| work.compiled.estimate.bytes_to_hold()).max().unwrap_or(0);
    let least = if works.iter().any(runs_commands) { COMMANDS_IMAGE } else { LEAST_IMAGE };
    most.saturating_mul(2).max(least).div_ceil(1 << 30) << 30
}

/// What ageing the contenders needs; None if all are fresh.
fn ages(
    what: &What,
    entries: &[PlannedContender],
    catalogue: &Catalogue,
    place: &Place,
) -> Result<Option<Ages>, Failure> {
    let mut profiles = BTreeMap::new();
    for entry in entries {
        let Some((name, _)) = entry.asked.ageing() else { continue };
        profiles.insert(name.to_owned(), catalogue.work.age(name)?.clone());
    }
    if profiles.is_empty() {
        return Ok(None);
    }
    let scratch = match place {
        // The images are kept for later runs, which is too expensive in memory.
        Place::Image { .. } if place.is_in_memory() => crate::scratch::DEFAULT.into(),
        Place::Image { scratch, .. } => scratch.clone(),
        Place::Device { .. } => crate::scratch::folder(what.scratch.as_deref())?,
        Place::Directories(_) => return Err(Failure::usage("a directory is not formatted, so it cannot be aged")),
    };
    let limit = match &what.aged_cache {
        Some(size) => given("--aged-cache", size, parse_bytes)?,
        None => AGED_CACHE,
    };
    // Absolute, so that a resumed run finds its images from any folder.
    let scratch = std::path::absolute(&scratch).unwrap_or(scratch);
    Ok(Some(Ages { profiles, folder: scratch.join(AGED_FOLDER), limit }))
}

fn sampling(what: &What, plan: &Plan) -> Result<Sampling, Failure> {
    let asked = &plan.sampling;
    let budget = match &what.budget {
        Some(text) => Some(given("--budget", text, parse_duration)?),
        // A number of rounds or a precision on the command line replaces the plan's budget.
        None => asked.budget.filter(|_| what.samples.is_none() && what.precision.is_none()),
    };
    let precision = match &what.precision {
        Some(text) => Some(given("--precision", text, parse_share)?),
        None => asked.precision,
    };
    let until = match what.until {
        Some(args::Until::Winner) => plan::Until::Winner,
        Some(args::Until::Precision) => plan::Until::Precision,
        None if what.samples.is_some() => plan::Until::Precision,
        // Figures to a given precision must be requested; a budget alone asks for a choice.
        None if budget.is_some() && precision.is_none() => plan::Until::Winner,
        None => asked.until,
    };
    let open_ended = budget.is_some() || what.precision.is_some() || what.until.is_some();
    let samples = what.samples.or(if open_ended { None } else { asked.samples });
    let rule_given = open_ended || asked.precision.is_some() || asked.most.is_some();
    Ok(Sampling {
        samples: samples.or((!rule_given).then_some(DEFAULT_SAMPLES)),
        precision: precision.unwrap_or(DEFAULT_PRECISION),
        budget_seconds: budget.map(|budget| budget.as_secs_f64()),
        screen_first: what.budget.is_none(),
        until,
        blocks: (asked.least.unwrap_or(LEAST_BLOCKS), asked.most.unwrap_or(MOST_BLOCKS)),
        repeat_disturbed: true,
        steady: what.steady || asked.steady,
    })
}

/// Adds one contender a second time, hidden from the user's table, to measure the noise of this machine.
///
/// Not added with a single sample each, which shows no noise, or with a lone contender, which is compared with nothing.
fn add_twin(entries: &mut Vec<PlannedContender>, unwanted: bool, sampling: Sampling) {
    let real = |entry: &PlannedContender| entry.asked.filesystem != DEVICE;
    if unwanted || sampling.samples == Some(1) || entries.iter().filter(|entry| real(entry)).count() < 2 {
        return;
    }
    // The contender with most workloads, so that the noise floor is measured wherever it runs.
    let reach = |entry: &PlannedContender| if entry.works.is_empty() { usize::MAX } else { entry.works.len() };
    let real_ones = entries.iter().enumerate().rev().filter(|(_, entry)| real(entry));
    let Some((of, _)) = real_ones.max_by_key(|(_, entry)| reach(entry)) else { return };
    let mut twin = entries[of].clone();
    twin.asked.label.push_str(TWIN);
    twin.twin_of = Some(of);
    entries.push(twin);
}

fn title(plan: &Plan, resolved: &ResolvedPlan, filesystems: &staging::Registry) -> String {
    let split = split::in_words(resolved, filesystems);
    let ResolvedPlan { contenders, works, place, .. } = resolved;
    if !plan.title.is_empty() {
        // On parts of a device it is a different experiment, and its heading shows this.
        let on = if split.is_empty() { String::new() } else { format!(" (on {}{split})", on(place)) };
        return format!("{}{on}", plan.title);
    }
    let names: Vec<&str> = contenders
        .iter()
        .filter(|entry| entry.twin_of.is_none() && entry.asked.filesystem != DEVICE)
        .map(|entry| entry.asked.label.as_str())
        .collect();
    let mut works: Vec<&str> = works.iter().map(|work| work.name.as_str()).collect();
    works.dedup();
    let on = on(place) + &split;
    match names.as_slice() {
        [] => format!("{} of {on}", works.join(", ")),
        [one] => format!("{one}, {} on {on}", works.join(", ")),
        several => format!("{} compared by {} on {on}", several.join(", "), works.join(", ")),
    }
}

fn on(place: &Place) -> String {
    match place {
        Place::Image { bytes, .. } => format!("images of {}", show_bytes(*bytes)),
        Place::Device { path, .. } => path.display().to_string(),
        Place::Directories(_) => "directories".into(),
    }
}

/// Whether a device is split. A plan that requests it means its own device, not one given in its place.
fn split_asked(what: &What, plan: &Plan, place: &Place) -> Result<bool, Failure> {
    let on_device = matches!(place, Place::Device { .. });
    if what.split && !on_device {
        return Err(Failure::usage("--split gives each contender a part of a device; name the device with --on"));
    }
    Ok(on_device && (what.split || plan.split))
}

/// A seed from the clock and the process id: any value will do, since it is recorded.
pub fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every JSON reader gets it back exactly.
    (now.as_nanos() as u64 ^ u64::from(std::process::id()).rotate_left(32)) & ((1 << 53) - 1)
}
