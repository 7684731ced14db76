//! `bakeoff plan`: what would run, without touching anything.
//! In: what `run` takes. Out: matrix, order, time, space and wear; with --commands every command.

use crate::args::PlanArgs;
use crate::contenders;
use crate::estimate::{self, ASSUMED_RATE};
use crate::failure::Failure;
use crate::resolve;
use crate::text;
use runner::{Place, ResolvedPlan, places};
use workload::quantity::show_bytes;

/// Prints the plan.
pub fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    let (plan, catalogue) = resolve::plan(&args.what)?;
    println!("{}\n", plan.title);
    matrix(&plan);
    if let Some(said) = contenders::in_guests(&plan.contenders) {
        print!("{}", text::wrapped(&said, text::width(), "", "  "));
    }
    order(&plan);
    costs(&plan);
    if !args.commands {
        println!("\n--commands prints every command that would be run.");
        return Ok(0);
    }
    let ground = places(&plan.place);
    let names: Vec<&str> = plan.contenders.iter().map(|entry| entry.asked.filesystem.as_str()).collect();
    let versions = staging::version_commands(&catalogue.filesystems, &names);
    if !versions.is_empty() && !matches!(plan.place, Place::Directories(_)) {
        println!("\nBefore the first trial, for the versions of tools:");
        versions.iter().for_each(|line| println!("  {line}"));
    }
    for (index, entry) in plan.contenders.iter().enumerate().filter(|(_, entry)| entry.twin_of.is_none()) {
        println!("\nFor each trial of {}:", entry.asked.label);
        let place = if ground.len() > 1 { &ground[index] } else { &ground[0] };
        aged_commands(&plan, entry);
        match staging::commands_for(&catalogue.filesystems, &entry.asked, place, plan.cold) {
            Ok(lines) => {
                lines.iter().for_each(|line| println!("  {line}"));
                println!("  # what stands between mounting and unmounting is done again for each phase");
            }
            Err(error) => println!("  it cannot compete: {error}"),
        }
    }
    Ok(0)
}

fn matrix(plan: &ResolvedPlan) {
    match &plan.place {
        Place::Image { bytes, scratch } => println!(
            "Where: a fresh sparse image of {} for each trial, in {}, through a loop device with direct I/O",
            show_bytes(*bytes),
            scratch.display()
        ),
        Place::Device { path, .. } => println!("Where: {}, formatted anew for each trial", path.display()),
        Place::Directories(folders) => {
            let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            println!("Where: {}; nothing is formatted", names.join(", "));
        }
    }
    println!("Contenders:");
    for entry in &plan.contenders {
        let asked = &entry.asked;
        let mut words = Vec::new();
        if !asked.mkfs.is_empty() {
            words.push(format!("mkfs {}", asked.mkfs.join(" ")));
        }
        words.extend(asked.mkfs_settings.iter().map(|(name, value)| format!("mkfs {name}={value}")));
        if !asked.mount.is_empty() {
            words.push(format!("mount {}", asked.mount));
        }
        if let Some(scheduler) = &asked.scheduler {
            words.push(format!("scheduler {scheduler}"));
        }
        if let Some(kernel) = &asked.kernel {
            words.push(format!("kernel {kernel}"));
        }
        if let Some((profile, fill)) = plan.ages.as_ref().and_then(|ages| ages.of(asked)) {
            words.push(format!("age {}, {} full", profile.name, runner::percent(fill)));
        }
        words.extend(asked.device.iter().map(|(name, value)| format!("device {name}={value}")));
        if entry.twin_of.is_some() {
            words.push("hidden second entry, for the noise floor".into());
        }
        let first = format!("  {:<28} ", asked.label);
        let rest = " ".repeat(31);
        print!("{}", text::wrapped(&words.join("; "), text::width(), &first, &rest));
    }
    for note in &plan.notes {
        print!("{}", text::wrapped(note, text::width(), "  ", "    "));
    }
    println!("Workloads:");
    for work in &plan.works {
        let estimate = &work.compiled.estimate;
        println!(
            "  {:<22} {:<6} {} files and {} at most; writes {}, reads {}{}",
            work.name,
            work.compiled.scale,
            estimate.files_at_most,
            show_bytes(estimate.bytes_at_most),
            show_bytes(estimate.bytes_written),
            show_bytes(estimate.bytes_read + estimate.device_bytes_read),
            if estimate.needs_aged { ", and all that ageing left" } else { "" }
        );
    }
}

fn order(plan: &ResolvedPlan) {
    println!("Order: shuffled within each block by seed {}; the first block is", plan.seed);
    for (work, contenders) in runner::order_of_block(plan, 0) {
        let labels: Vec<&str> = contenders.iter().map(|index| plan.contenders[*index].asked.label.as_str()).collect();
        println!("  {}: {}", plan.works[work].name, labels.join(", "));
    }
}

fn costs(plan: &ResolvedPlan) {
    let per_block = plan.trials_per_block();
    let seconds = estimate::block_seconds(plan);
    let of_work = |(index, work): (usize, &runner::Work)| {
        work.compiled.estimate.bytes_written.saturating_mul(plan.contenders_of(index).len() as u64)
    };
    let written: u64 = plan.works.iter().enumerate().map(of_work).fold(0, u64::saturating_add);
    let blocks = plan.least_blocks();
    println!("Blocks: {}", how_often(plan));
    println!("Trials: {per_block} a block, {} in {blocks} blocks", per_block * blocks as usize);
    println!(
        "Time: roughly {} a block on a device of {} MB/s; the run itself says better after its first block",
        minutes(seconds),
        ASSUMED_RATE / 1e6
    );
    if plan.contenders.iter().any(|entry| staging::is_guest(entry.asked.kernel.as_deref())) {
        println!("  a guest that has to be emulated takes several times as long as this");
    }
    if let Some(budget) = estimate::budget(plan) {
        print!("{}", text::wrapped(&budget, text::width(), "", "  "));
    }
    println!(
        "Wear: about {} written by the workloads in {blocks} blocks, journals and metadata beside",
        show_bytes(written.saturating_mul(u64::from(blocks)))
    );
    ageing(plan);
    if let Place::Image { bytes, .. } = &plan.place {
        println!("Space: one image at a time, sparse, {} at most", show_bytes(*bytes));
    }
}

/// How an aged contender is put up: made and aged once, restored for each trial.
fn aged_commands(plan: &ResolvedPlan, entry: &runner::PlannedContender) {
    let Some((ages, (profile, fill))) = plan.ages.as_ref().and_then(|ages| Some((ages, ages.of(&entry.asked)?))) else {
        return;
    };
    let image = ages.folder.join("KEY.img");
    println!("  # made once, aged as {} to {}, and kept as {};", profile.name, runner::percent(fill), image.display());
    println!("  # each trial begins with these instead of making it:");
    match &plan.place {
        Place::Device { path, .. } => {
            println!("  blkdiscard --zeroout {}", path.display());
            println!("  dd if={} of={} bs=1M conv=sparse,nocreat,fsync", image.display(), path.display());
        }
        _ => {
            println!("  cp --reflink=auto --sparse=auto {} IMAGE", image.display());
            println!("  sync --data IMAGE");
        }
    }
}

/// What ageing takes beforehand, and what restoring takes for each trial.
fn ageing(plan: &ResolvedPlan) {
    let Some(ages) = &plan.ages else { return };
    let Some(volume) = resolve::size_of(&plan.place) else { return };
    let mut made = std::collections::BTreeSet::new();
    let (mut once, mut each) = (0u64, 0u64);
    for (index, entry) in plan.contenders.iter().enumerate() {
        let Some((profile, fill)) = ages.of(&entry.asked) else { continue };
        let works = (0..plan.works.len()).filter(|work| plan.meets(index, *work)).count();
        each += (volume as f64 * fill) as u64 * works as u64;
        // Schedulers share an image: what differs only in them is aged once.
        let asked = &entry.asked;
        let settings = format!("{:?}", (&asked.mkfs, &asked.mkfs_settings, &asked.mount));
        if made.insert((asked.filesystem.clone(), settings, profile.name.clone(), runner::percent(fill))) {
            once += workload::age_profiles::writes(profile, volume, fill);
        }
    }
    if made.is_empty() {
        return;
    }
    let blocks = plan.sampling.samples.unwrap_or(plan.sampling.blocks.0);
    println!(
        "Ageing: {} {}, once; {} written, roughly {} at {} MB/s; kept in {} ({} at most)",
        made.len(),
        if made.len() == 1 { "filesystem" } else { "filesystems" },
        show_bytes(once),
        minutes(once as f64 / ASSUMED_RATE),
        ASSUMED_RATE / 1e6,
        ages.folder.display(),
        show_bytes(ages.limit)
    );
    println!(
        "  restored for each trial: {} written in {blocks} blocks, less where the disk copies by reference",
        show_bytes(each.saturating_mul(u64::from(blocks)))
    );
    if let Place::Device { path, .. } = &plan.place {
        println!(
            "  wear of {}: {} by ageing in place and restoring, beside the workloads'",
            path.display(),
            show_bytes(once.saturating_add(each.saturating_mul(u64::from(blocks))))
        );
    }
}

fn how_often(plan: &ResolvedPlan) -> String {
    let sampling = &plan.sampling;
    match (sampling.samples, sampling.budget_seconds) {
        (Some(samples), _) if plan.shard.is_some() => {
            let shard = plan.shard.map(|shard| shard.to_string()).unwrap_or_default();
            format!("{} of {samples}: shard {shard}", plan.least_blocks())
        }
        (Some(samples), _) => format!("{samples}"),
        (None, Some(budget)) => format!(
            "at least {}, as many as {} allow, until every figure is within {:.0} %",
            sampling.blocks.0,
            minutes(budget),
            sampling.precision * 100.0
        ),
        (None, None) => format!(
            "{} to {}, until every figure is within {:.0} %",
            sampling.blocks.0,
            sampling.blocks.1,
            sampling.precision * 100.0
        ),
    }
}

fn minutes(seconds: f64) -> String {
    if seconds < 90.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}
