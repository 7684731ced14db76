//! `bakeoff plan`: what would run, without changing anything.
//! In: the arguments of `run`. Out: matrix, order, time, space and wear; with --commands every command.

use crate::args::PlanArgs;
use crate::catalogue::Catalogue;
use crate::estimate::{self, ASSUMED_RATE};
use crate::failure::Failure;
use crate::forecast::{self, Forecast, Setting};
use crate::{contenders, json, mix_report, place, resolve, session, split, text};
use records::Until;
use report::view::plural;
use runner::{Place, ResolvedPlan};
use workload::quantity::show_bytes;

/// Prints the plan.
pub fn plan(args: &PlanArgs) -> Result<u8, Failure> {
    let (plan, catalogue) = resolve::plan(&args.what)?;
    session::check_against(&plan, &args.output)?;
    if let Some(asked) = &args.mix {
        mix_report::check(asked, &plan)?;
    }
    let refused = place::check_before(&plan, &catalogue.filesystems)?;
    if args.json {
        json::print(&Forecast::of(&plan, &catalogue, args.commands))?;
        return Ok(0);
    }
    println!("{}\n", plan.title);
    matrix(&plan, &catalogue);
    if let Some(refused) = refused {
        print!("{}", text::wrapped(&format!("A run is refused: {refused}"), text::width(), "", "  "));
    }
    if let Some(note) = contenders::in_guests(&plan.contenders) {
        print!("{}", text::wrapped(&note, text::width(), "", "  "));
    }
    order(&plan);
    let by_slices = place::by_slices(&plan, &catalogue.filesystems);
    match &by_slices {
        Some(Ok(())) => println!("Turns: by slices of a phase; all contenders are mounted at the same time"),
        Some(Err(why)) => println!("Turns: by whole trials: {why}"),
        None => {}
    }
    costs(&plan, by_slices == Some(Ok(())));
    if !args.commands {
        println!("\n--commands prints every command that would run.");
        return Ok(0);
    }
    commands(&plan, &catalogue);
    Ok(0)
}

fn commands(plan: &ResolvedPlan, catalogue: &Catalogue) {
    let versions = forecast::version_commands(plan, catalogue);
    if !versions.is_empty() {
        println!("\nBefore the first trial, for the versions of tools:");
        versions.iter().for_each(|line| println!("  {line}"));
    }
    let split = split::commands(plan, &catalogue.filesystems);
    let print = |lines: &[String]| lines.iter().for_each(|line| println!("  {line}"));
    match &split {
        Some(Ok(split)) => {
            println!("\nBefore the first trial, to split the device:");
            print(&split.before);
        }
        Some(Err(why)) => println!("\nThe device cannot be split: {why}"),
        None => {}
    }
    for (index, lines) in forecast::trial_commands(plan, catalogue) {
        println!("\nFor each trial of {}:", plan.contenders[index].asked.label);
        match lines {
            Ok(lines) => {
                lines.iter().for_each(|line| println!("  {line}"));
                println!("  # the commands from mounting to unmounting are repeated for each phase");
            }
            Err(why) => println!("  it cannot compete: {why}"),
        }
    }
    if let Some(Ok(split)) = &split {
        println!("\nAfter the last trial:");
        print(&split.after);
    }
    let own = forecast::own_commands(plan);
    if !own.is_empty() {
        println!("\nThe work of each trial, in the contender's folder:");
        own.iter().for_each(|line| println!("  {line}"));
    }
}

fn matrix(plan: &ResolvedPlan, catalogue: &Catalogue) {
    place_in_words(plan, catalogue);
    println!("Contenders:");
    for entry in &plan.contenders {
        let in_words = |setting: Setting| match setting.name.split_once('.') {
            Some(("mount", name)) if setting.value == "off" => format!("without mount option {name}"),
            Some((group, name)) => format!("{group} {name}={}", setting.value),
            None => format!("{} {}", setting.name, setting.value),
        };
        let mut words: Vec<String> = forecast::settings(plan, entry).into_iter().map(in_words).collect();
        if entry.twin_of.is_some() {
            words.push("control: the same contender again, to measure noise".into());
        }
        let first = format!("  {:<28} ", entry.asked.label);
        let rest = " ".repeat(31);
        print!("{}", text::wrapped(&words.join("; "), text::width(), &first, &rest));
    }
    for note in &plan.notes {
        print!("{}", text::wrapped(note, text::width(), "  ", "    "));
    }
    println!("Workloads:");
    for work in &plan.works {
        let estimate = &work.compiled.estimate;
        if resolve::runs_commands(work) {
            let first = format!("  {:<22} {:<6} ", work.name, work.compiled.scale);
            let words = format!("runs programs; their files and bytes are not known beforehand. {}", work.about);
            print!("{}", text::wrapped(&words, text::width(), &first, &" ".repeat(9)));
            continue;
        }
        println!(
            "  {:<22} {:<6} {} files and {} at most; writes {}, reads {}{}",
            work.name,
            work.compiled.scale,
            estimate.files_at_most,
            show_bytes(estimate.bytes_at_most),
            show_bytes(estimate.bytes_written),
            show_bytes(estimate.bytes_read + estimate.device_bytes_read),
            if estimate.needs_aged { ", and all aged files" } else { "" }
        );
    }
}

fn place_in_words(plan: &ResolvedPlan, catalogue: &Catalogue) {
    match &plan.place {
        Place::Image { bytes, scratch } => println!(
            "Where: a fresh sparse image of {} for each trial, in {}{}, through a loop device with direct I/O",
            show_bytes(*bytes),
            if plan.place.is_in_memory() { "memory: " } else { "" },
            scratch.display()
        ),
        Place::Device { path } if plan.only_reads_device() => {
            println!("Where: {}, which is only read; it may be in use", path.display());
        }
        Place::Device { path } => {
            let split = split::with_size(plan, &catalogue.filesystems);
            let each = if split.is_empty() { "" } else { " each" };
            println!("Where: {}{split},{each} formatted again for each trial", path.display());
        }
        Place::Directories(folders) => {
            let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
            println!("Where: {}; nothing is formatted", names.join(", "));
        }
    }
}

fn order(plan: &ResolvedPlan) {
    println!("Order: shuffled within each round by seed {}; first round:", plan.seed);
    for (work, contenders) in runner::order_of_block(plan, 0) {
        let labels: Vec<&str> = contenders.iter().map(|index| plan.contenders[*index].asked.label.as_str()).collect();
        println!("  {}: {}", plan.works[work].name, labels.join(", "));
    }
}

/// How contenders take turns, if there are several.
fn costs(plan: &ResolvedPlan, together: bool) {
    let per_block = plan.trials_per_block();
    let seconds = estimate::block_seconds(plan);
    let blocks = plan.least_blocks();
    println!("Rounds: {}", how_often(plan));
    println!("Trials: {per_block} per round, {} in {}", per_block * blocks as usize, plural(blocks as usize, "round"));
    let time = match &estimate::of_unknown_time(plan)[..] {
        [] => format!("roughly {} per round on a device of {} MB/s", judge::duration(seconds), ASSUMED_RATE / 1e6),
        works => format!("unknown before the first round: it depends on the programs of {}", works.join(", ")),
    };
    println!("Time: {time}; the estimate improves after the first round");
    if plan.contenders.iter().any(|entry| staging::is_guest(entry.asked.kernel.as_deref())) {
        println!("  an emulated guest takes several times as long");
    }
    if let Some(budget) = estimate::budget(plan) {
        print!("{}", text::wrapped(&budget, text::width(), "", "  "));
    }
    println!(
        "Wear: the workloads write about {} in {}, not counting journals and metadata",
        show_bytes(forecast::bytes_written(plan)),
        plural(blocks as usize, "round")
    );
    ageing(plan);
    if let Place::Image { bytes, .. } = &plan.place {
        let disks = plan.contenders.iter().map(|entry| axes::disks_of(&entry.asked));
        let most: u32 = if together { disks.sum() } else { disks.max().unwrap_or(1) };
        let images = if most > 1 { format!("{most} images at a time, each") } else { "one image at a time,".into() };
        println!("Space: {images} sparse, {} at most", show_bytes(*bytes));
    }
}

/// Cost of ageing beforehand, and of restoring for each trial.
fn ageing(plan: &ResolvedPlan) {
    let Some(ages) = forecast::ageing(plan) else { return };
    let (once, each) = (ages.bytes_once, ages.bytes_per_block);
    let blocks = plan.sampling.samples.unwrap_or(plan.sampling.blocks.0);
    println!(
        "Ageing: {}, once; writes {}, roughly {} at {} MB/s; images are kept in {} ({} at most)",
        plural(ages.filesystems, "filesystem"),
        show_bytes(once),
        judge::duration(once as f64 / ASSUMED_RATE),
        ASSUMED_RATE / 1e6,
        ages.folder.display(),
        show_bytes(ages.bytes_at_most)
    );
    println!(
        "  restored for each trial: writes {} in {}, less with reflinks",
        show_bytes(each.saturating_mul(u64::from(blocks))),
        plural(blocks as usize, "round")
    );
    if let Place::Device { path, .. } = &plan.place {
        println!(
            "  wear of {}: {} by ageing in place and restoring, in addition to the workloads'",
            path.display(),
            show_bytes(once.saturating_add(each.saturating_mul(u64::from(blocks))))
        );
    }
}

fn how_often(plan: &ResolvedPlan) -> String {
    let sampling = &plan.sampling;
    let until = match sampling.until {
        Until::Precision => format!("until every figure is within {:.0} %", sampling.precision * 100.0),
        Until::Winner => "until it is clear which is best".into(),
    };
    match (sampling.samples, sampling.budget_seconds) {
        (Some(samples), _) if plan.shard.is_some() => {
            let shard = plan.shard.map(|shard| shard.to_string()).unwrap_or_default();
            format!("{} of {samples}: shard {shard}", plan.least_blocks())
        }
        (Some(samples), _) => format!("{samples}"),
        (None, Some(budget)) => {
            format!("at least {}, as many as {} allow, {until}", sampling.blocks.0, judge::duration(budget))
        }
        (None, None) => format!("{} to {}, {until}", sampling.blocks.0, sampling.blocks.1),
    }
}
