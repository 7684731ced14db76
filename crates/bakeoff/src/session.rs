//! A run from its start (or the point where it was stopped) to its verdict.
//! In: a plan and a ledger. Out: trials in the ledger, the verdict on standard output, a report folder, a status.

use crate::args::{Gate, Output, ResumeArgs};
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::live::{self, Live};
use crate::place::{self, Opened};
use crate::progress::Progress;
use crate::resolve;
use crate::show;
use crate::verbs::agent;
use ledger::{Access, Ledger};
use records::feature::Probed;
use records::{Machine, NewRun, Origin, Place, RunRecord, RunStatus, TrialStatus};
use report::View;
use runner::{Ager, Ended, MachineClock, News, ResolvedPlan, Run, Sampling, Stop, Watcher};
use staging::Registry;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use web::Server;
use workload::plan::Until;

/// Exit status of a run that the user stopped.
pub const STOPPED: u8 = 3;
/// Exit status of a run or comparison without a certain answer, if `--fail-on` has `inconclusive`.
pub const INCONCLUSIVE: u8 = 5;
/// Exit status of a run in which a contender dropped out, if `--fail-on` has `dropped`.
pub const DROPPED: u8 = 6;

impl Output {
    /// Binds the address of the live page, before anything starts.
    fn listen(&self) -> Result<Option<Server>, Failure> {
        self.serve.map(live::listen).transpose()
    }

    /// Refuses a folder that cannot take the report, before the run and not hours later.
    fn check(&self) -> Result<(), Failure> {
        let folder = self.report.as_deref().filter(|_| !self.no_report);
        folder.map_or(Ok(()), |folder| Ok(report::export::check_folder(folder)?))
    }
}

/// Refuses a name that no contender has, before anything is measured.
pub fn check_against(plan: &ResolvedPlan, output: &Output) -> Result<(), Failure> {
    let Some(asked) = &output.against else { return Ok(()) };
    let own =
        plan.contenders.iter().filter(|entry| entry.twin_of.is_none() && entry.asked.filesystem != records::DEVICE);
    let known: Vec<&str> = own.map(|entry| entry.asked.label.as_str()).collect();
    if known.iter().any(|name| name.eq_ignore_ascii_case(asked)) {
        return Ok(());
    }
    let hint = workload::did_you_mean(asked, known.iter().copied());
    let known = known.join(", ");
    Err(Failure::usage(format!("--against {asked}: this run has no contender of that name{hint} (known: {known})")))
}

/// Starts a run and completes it. `features`: test results of its filesystems.
pub fn begin(
    path: &Path,
    plan: &ResolvedPlan,
    filesystems: &Registry,
    features: &[Probed],
    output: &Output,
) -> Result<u8, Failure> {
    output.check()?;
    check_against(plan, output)?;
    clean_before(plan)?;
    let mut plan = plan.clone();
    plan.terms.promised = place::check(&plan, filesystems)?;
    let plan = &plan;
    let mut ledger = Ledger::open(path, Access::Write)?;
    let server = output.listen()?;
    let new = NewRun {
        title: plan.title.clone(),
        plan: Some(plan.clone()),
        seed: plan.seed,
        machine: Some(Machine { features: features.to_vec(), ..place::machine(plan, filesystems) }),
        merged: None,
        version: env!("CARGO_PKG_VERSION").into(),
        command_line: output.words.clone().unwrap_or_else(crate::clients::command_line),
        origin: Origin::Measured,
        works: plan.work_records(),
    };
    let id = ledger.begin_run(&new, &plan.contender_records())?;
    carry_on(&mut ledger, &id, plan, filesystems, (output, server))
}

/// Resumes a run where its ledger ends. The ledger decides what is formatted and run, so it must be trusted.
pub fn resume(path: &Path, asked: &ResumeArgs) -> Result<u8, Failure> {
    if !path.exists() {
        return Err(Failure::new(format!(
            "resuming: the ledger {} does not exist; name it with --ledger",
            path.display()
        )));
    }
    let mut ledger = Ledger::open_trusted(path)?;
    let run = ledger.run(asked.run.as_deref())?;
    if run.new.origin != Origin::Measured {
        return Err(Failure::new(format!(
            "resuming run {}: it is an imported run, which only its own machine can resume",
            run.id
        )));
    }
    if run.status == RunStatus::Finished && asked.samples.is_none() {
        let why = run.ending.unwrap_or_default();
        let ways = "see `bakeoff show`, or ask for more rounds with --samples";
        return Err(Failure::new(format!("resuming run {}: it is finished ({why}); {ways}", run.id)));
    }
    let id = run.id.clone();
    let no_plan = || Failure::new(format!("resuming run {}: the ledger has no plan for it", run.id));
    let mut plan = run.new.plan.clone().ok_or_else(no_plan)?;
    trusted(&id, &plan, path)?;
    let filesystems = Catalogue::of_run(&plan.filesystems, &asked.filesystems)?;
    promised(&id, &plan, &asked.erase)?;
    if let Some(samples) = asked.samples {
        more_blocks(&mut ledger, run, &mut plan, samples)?;
    }
    let server = asked.output.listen()?;
    // For this call only: the run's record keeps its original options.
    plan.terms.erase.extend_from_slice(&asked.erase);
    clean_before(&plan)?;
    carry_on(&mut ledger, &id, &plan, &filesystems, (&asked.output, server))
}

/// Removes leftovers of interrupted runs and reports them. Comes first, since a leftover mount would make the device unusable.
fn clean_before(plan: &ResolvedPlan) -> Result<(), Failure> {
    for note in place::clean_before(plan)? {
        eprintln!("{note}");
    }
    Ok(())
}

/// Refuses programs, or a replay, from a ledger that the user who called sudo could have written: they run as root.
fn trusted(id: &str, plan: &ResolvedPlan, ledger: &Path) -> Result<(), Failure> {
    if !plan.works.iter().any(resolve::runs_commands) {
        return Ok(());
    }
    system::owned_path(ledger).map_err(|untrusted| {
        let why = "it runs programs that the ledger names, or replays its traces, so only you and root may own and write the ledger";
        Failure::new(format!("resuming run {id}: {why}: {untrusted}; begin the run again"))
    })
}

/// Refuses a run of an earlier version without a record of its device, if neither its options nor those of `resume` name it. The options
/// are matched with devices when the device is opened.
fn promised(id: &str, plan: &ResolvedPlan, words: &[String]) -> Result<(), Failure> {
    let Place::Device { path } = &plan.place else { return Ok(()) };
    let known = plan.terms.promised.iter().any(|promise| promise.named == *path);
    if known || !plan.terms.erase.is_empty() || !words.is_empty() {
        return Ok(());
    }
    Err(Failure::new(format!(
        "resuming run {id}: an earlier version began it and did not record which device {} was; if it is still the same device, \
         confirm it by its stable name: bakeoff resume {id} --erase NAME",
        path.display()
    )))
}

/// Extends the plan of a run to so many blocks, as the only end condition.
fn more_blocks(ledger: &mut Ledger, run: RunRecord, plan: &mut ResolvedPlan, samples: u32) -> Result<(), Failure> {
    let id = run.id;
    let there = ledger.trials(&id)?.iter().map(|trial| trial.block + 1).max().unwrap_or(0);
    if samples < there {
        let text = format!("resuming run {id} with --samples {samples}: it has {there} rounds already");
        return Err(Failure::usage(text));
    }
    if plan.shard.is_some() {
        let text =
            format!("resuming run {id} with --samples: it is a shard of a plan, whose number of rounds is fixed");
        return Err(Failure::usage(text));
    }
    plan.sampling = Sampling { samples: Some(samples), budget_seconds: None, until: Until::Precision, ..plan.sampling };
    let mut new = run.new;
    new.plan = Some(plan.clone());
    new.command_line = with_samples(&new.command_line, samples);
    ledger.reopen(&id, &new)?;
    Ok(())
}

/// The command line that would have requested so many blocks at first, without other end conditions.
fn with_samples(words: &[String], samples: u32) -> Vec<String> {
    const ENDINGS: [&str; 4] = ["--samples", "--budget", "--precision", "--until"];
    let mut kept = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if ENDINGS.contains(&word.as_str()) {
            // Its value is the next word.
            rest.next();
        } else if !ENDINGS.iter().any(|ending| word.strip_prefix(ending).is_some_and(|value| value.starts_with('='))) {
            kept.push(word.clone());
        }
    }
    kept.extend(["--samples".into(), samples.to_string()]);
    kept
}

/// Observers of a run: the terminal, and a browser on request.
struct Watchers {
    progress: Progress,
    live: Option<Live>,
}

impl Watcher for Watchers {
    fn news(&mut self, news: News) {
        if let Some(live) = &mut self.live {
            live.news(&news);
        }
        self.progress.news(news);
    }
}

fn carry_on(
    ledger: &mut Ledger,
    id: &str,
    plan: &ResolvedPlan,
    filesystems: &Registry,
    (output, server): (&Output, Option<Server>),
) -> Result<u8, Failure> {
    output.check()?;
    let stop = stop_on_signals()?;
    let ager = Ager { agent: agent::command()?, stop: Arc::clone(&stop) };
    let Opened { mut venue, one_by_one } = place::venue(plan, filesystems, ager)?;
    let live = server.map(|server| Live::start(server, plan, id)).transpose()?;
    let mut watchers = Watchers { progress: Progress::new(output.plain, ledger.path(), plan), live };
    if let Some(why) = one_by_one {
        watchers.news(News::Remark(&format!("contenders take turns by whole trials: {why}")));
    }
    system::process::stay_in_memory();
    let clock = MachineClock::default();
    let ended = Run {
        plan,
        id,
        ledger,
        venue: &mut *venue,
        watcher: &mut watchers,
        agent: agent::command()?,
        stop,
        clock: &clock,
    }
    .carry_on();
    let Watchers { progress, live } = watchers;
    drop(progress);
    drop(venue);
    if let Some(live) = &live {
        live.concluding();
    }
    let value = ended.map_err(Failure::from).and_then(|ended| conclude(ledger, id, &ended, output));
    if let Some(live) = live {
        live.end(&last_words(id, &value), show::page(ledger, id).ok());
    }
    value
}

/// How a run ended, for the live page.
fn last_words(id: &str, value: &Result<u8, Failure>) -> String {
    match value {
        Ok(STOPPED) => format!("The run was stopped. Completed trials are kept; `bakeoff resume {id}` continues it."),
        Ok(_) => "The run has ended; its report follows.".into(),
        Err(failure) => format!("The run ended: {}", failure.text),
    }
}

/// Prints the outcome of a run, and writes its report.
fn conclude(ledger: &Ledger, id: &str, ended: &Ended, output: &Output) -> Result<u8, Failure> {
    let name = ledger.path().display().to_string();
    let resume = if name == "bakeoff.db" { String::new() } else { format!("--ledger {name} ") };
    match ended {
        Ended::Stopped if output.quiet => return Ok(STOPPED),
        Ended::Stopped => {
            eprintln!("Stopped. Completed trials are kept; continue with: bakeoff {resume}resume {id}");
            return Ok(STOPPED);
        }
        Ended::GroundLost(why) => {
            return Err(Failure::new(format!(
                "run {id} stopped: {why}. Completed trials are kept. Fix this, then run: bakeoff {resume}resume {id}"
            )));
        }
        Ended::Finished(_) => {}
    }
    if output.quiet {
        return Ok(0);
    }
    let mut shown = show::Shown::read(ledger, Some(id))?;
    // If that contender dropped out, the rest is reported all the same.
    if let Some(Err(error)) = output.against.as_deref().map(|name| shown.view.hold_against(name)) {
        eprintln!("{error}");
    }
    show::verdict(&shown.view);
    if !output.no_report {
        let folder = show::report_folder(output.report.as_deref(), id)?;
        let page = show::report(&mut shown, &folder, &[], true)?;
        println!("\nReport: {}", page.display());
    }
    if let Some(time) = samples::Time::of(&shown.material.trials) {
        println!("\n{:.0} % of {} was measured work.", time.share() * 100.0, judge::duration(time.all));
    }
    if shown.material.trials.iter().all(|trial| trial.status == TrialStatus::Failed) {
        return Err(Failure::new(format!("run {id}: nothing could be measured; see the reasons above")));
    }
    Ok(gate(&shown.view, &output.fail_on))
}

/// The exit status of a finished run, according to `--fail-on`.
fn gate(view: &View, fail_on: &[Gate]) -> u8 {
    let dropped = view.contenders.iter().any(|contender| contender.error.is_some());
    let is_open = view.answer.take.is_none() && view.answer.comparisons.1 > 0;
    match () {
        () if dropped && fail_on.contains(&Gate::Dropped) => DROPPED,
        () if is_open && fail_on.contains(&Gate::Inconclusive) => INCONCLUSIVE,
        () => 0,
    }
}

/// Ctrl-C and SIGTERM request an orderly stop; the third Ctrl-C exits at once. Every call gives the same request.
pub fn stop_on_signals() -> Result<Stop, Failure> {
    static ASKED: OnceLock<Arc<AtomicUsize>> = OnceLock::new();
    let stop = |asked: Arc<AtomicUsize>| -> Stop { Arc::new(move || asked.load(Ordering::SeqCst) > 0) };
    if let Some(asked) = ASKED.get() {
        return Ok(stop(Arc::clone(asked)));
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let mut signals = signal_hook::iterator::Signals::new(heeded())
        .map_err(|error| Failure::new(format!("listening for Ctrl-C: {error}")))?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            match counted.fetch_add(1, Ordering::SeqCst) {
                0 => eprintln!("\nStopping: unmounting and detaching; this takes a moment."),
                1 => eprintln!(
                    "Still stopping; a third Ctrl-C exits at once, and `bakeoff clean` then removes the leftovers."
                ),
                _ => std::process::exit(i32::from(STOPPED)),
            }
        }
    });
    Ok(stop(Arc::clone(ASKED.get_or_init(|| asked))))
}

/// Signals that request a stop. A signal that is ignored from the start stays ignored, for nohup(1).
fn heeded() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // A hexadecimal mask with signal 1 in the lowest bit (proc_pid_status(5)).
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0).collect()
}
