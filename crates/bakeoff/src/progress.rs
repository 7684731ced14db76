//! Progress of a run: a display on a terminal, plain lines elsewhere.
//! In: events of the run. Out: text on standard error, so that standard output stays free for results.

use crate::leaderboard::leaderboard;
use crate::log::Log;
use crate::pace::Pace;
use crate::text;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use records::{ResolvedPlan, TrialRecord, TrialStatus};
use runner::{News, Watcher};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// Shows a run on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    pace: Pace,
    now: String,
    step: String,
    block: u32,
    /// The standings after the last block; empty before.
    leaderboard: String,
    /// Reasons of failures that were printed.
    reasons: HashSet<String>,
    log: Log,
}

impl Progress {
    /// A display on a terminal; plain lines without a terminal or on request. Opens the log beside the ledger.
    pub fn new(plain: bool, ledger: &Path, plan: &ResolvedPlan) -> Self {
        let terminal =
            std::io::stderr().is_terminal() && !plain && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let bar = terminal.then(|| {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(4));
            let style = ProgressStyle::with_template("{prefix}\n{bar:32} {pos}/{len} trials  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("##."));
            bar
        });
        let now = String::new();
        let (step, leaderboard, log) = (now.clone(), now.clone(), Log::beside(ledger));
        Self { bar, pace: Pace::new(plan), step, now, block: 0, leaderboard, reasons: HashSet::new(), log }
    }

    fn line(&mut self, text: &str) {
        self.log.say(text);
        self.show(text);
    }

    fn show(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    fn redraw(&self, detail: &str) {
        let Some(bar) = &self.bar else { return };
        let step = if detail.is_empty() { self.step.clone() } else { format!("{} {detail}", self.step) };
        let shown: String = self.leaderboard.chars().take(text::width().saturating_sub(1)).collect();
        let leaderboard = if shown.is_empty() { shown } else { format!("{shown}\n") };
        bar.set_prefix(text::harmless(&format!("{leaderboard}round {} | {} | {step}", self.block + 1, self.now)));
        bar.set_message(self.times(bar.position(), bar.length().unwrap_or(0)));
    }

    fn times(&self, done: u64, of: u64) -> String {
        let gone = clock(self.pace.gone());
        match (self.pace.budget(), self.pace.left(done as usize, of as usize)) {
            (Some(budget), _) => format!("{gone} of {}", clock(budget)),
            (None, Some(left)) => format!("{gone} elapsed, about {} left", clock(left)),
            (None, None) => format!("{gone} elapsed"),
        }
    }

    fn trial_ended(&mut self, contender: &str, trial: &TrialRecord, done: (usize, usize)) {
        self.pace.ended(trial);
        let value = outcome(contender, trial, done);
        self.log.say(&value);
        self.log.say(&figures(trial));
        if let Some(bar) = &self.bar {
            bar.set_length(done.1 as u64);
            bar.set_position(done.0 as u64);
        } else {
            eprintln!("{value}  ({})", self.times(done.0 as u64, done.1 as u64));
        }
        if trial.status == TrialStatus::Failed {
            let reason = trial.reason.as_deref().unwrap_or("failed for an unknown reason");
            self.reasons.insert(reason.into());
            self.line(&format!("  {contender}, {}: {reason}", trial.workload));
        }
    }
}

impl Watcher for Progress {
    fn news(&mut self, news: News) {
        match news {
            News::Began { run, trials, spent } => {
                self.pace.resumed(spent);
                self.line(&format!("run {run}: {} planned at first", report::view::plural(trials.1, "trial")));
                if let Some(path) = self.log.path() {
                    self.show(&format!("log: {}", path.display()));
                }
                if let Some(bar) = &self.bar {
                    bar.set_length(trials.1 as u64);
                    bar.set_position(trials.0 as u64);
                    bar.enable_steady_tick(Duration::from_millis(500));
                }
            }
            News::Remark(text) => self.line(text),
            News::ContenderOut { label, why } if self.reasons.contains(why) => self.line(&format!("{label} drops out")),
            News::ContenderOut { label, why } => self.line(&format!("{label} drops out: {why}")),
            News::TrialBegan { block, contender, workload } => {
                self.block = block;
                self.now = format!("{workload} on {contender}");
                self.log.say(&format!("round {}: {} begins", block + 1, self.now));
                self.step.clear();
                self.redraw("");
            }
            News::Turn { contender, workload } => {
                self.now = format!("{workload} on {contender}");
                self.log.say(&format!("  {contender}:"));
            }
            News::Step(step) => {
                self.step = step.to_owned();
                self.log.say(&format!("  {step}"));
                self.redraw("");
            }
            News::Progress(items, Some(of), _) if of > 0 => {
                self.redraw(&format!("{:.0} %", 100.0 * items as f64 / of as f64));
            }
            News::Progress(items, _, _) => self.redraw(&format!("{items}")),
            News::TrialEnded { contender, trial, done } => self.trial_ended(contender, trial, done),
            News::BlockEnded { block, decision, table } => {
                self.line(&format!("round {}: {decision}", block + 1));
                if let Some(leaderboard) = leaderboard(table) {
                    self.log.say(&leaderboard.whole.join("\n"));
                    self.leaderboard = format!("round {}: {}", block + 1, leaderboard.line);
                    self.log.say(&self.leaderboard);
                    if self.bar.is_none() {
                        eprintln!("{}", self.leaderboard);
                    }
                }
            }
        }
    }
}

/// Outcome of a trial, in a line.
pub fn outcome(contender: &str, trial: &TrialRecord, done: (usize, usize)) -> String {
    let outcome = match trial.status {
        TrialStatus::Done => "done",
        TrialStatus::Disturbed => "disturbed",
        TrialStatus::Failed => "failed",
    };
    let place = format!("[{}/{}] round {}", done.0, done.1, trial.block + 1);
    format!("{place}  {:<14} {contender:<14} {outcome} in {:.1} s", trial.workload, trial.took())
}

/// The measurements, one line per phase.
fn figures(trial: &TrialRecord) -> String {
    let seconds = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
    let lines = trial.phases.iter().map(|phase| {
        let outcome = &phase.outcome;
        let durable = outcome.durable_ns.map(|ns| format!(", durable after {}", seconds(ns))).unwrap_or_default();
        let disturbed = match phase.evidence.disturbed.is_empty() {
            true => String::new(),
            false => format!("; disturbed: {}", phase.evidence.disturbed.join(", ")),
        };
        format!("    {}: {} items in {}{durable}{disturbed}", phase.name, outcome.items, seconds(outcome.returned_ns))
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        _ => format!("{}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60),
    }
}
