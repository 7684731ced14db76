//! The page of a running run: it updates itself, and becomes the run's report at the end.
//! In: news of the run. Out: HTML, a script, and the JSON that the script reads.
//! The page shows what was judged: ratios, intervals and words are those of the report.

use crate::ReportError;
use crate::page_head::page_head;
use maud::{DOCTYPE, Markup, html};
use serde::Serialize;
use strum::IntoStaticStr;

const STYLE: &str = include_str!("../assets/page.css");
const OWN_STYLE: &str = include_str!("../assets/live.css");

/// The script of the page.
pub const SCRIPT: &str = include_str!("../assets/live.js");

/// One piece of news; a page shows the newest of each kind.
#[derive(Debug, Clone, PartialEq, Serialize, IntoStaticStr)]
#[serde(untagged)]
#[strum(serialize_all = "kebab-case")]
pub enum News {
    /// The position of the run.
    Place(Place),
    /// The current step of a trial.
    Step(Step),
    /// The progress of a phase.
    Progress(Progress),
    /// The current ranking.
    Standings(Standings),
    /// Latency of the current phase.
    Latency(Latency),
    /// Disk activity.
    Disk(Disk),
    /// The last lines of the log, the oldest first.
    Log(Vec<Line>),
    /// Warnings that may make figures doubtful, the latest first.
    Warnings(Vec<String>),
    /// What serving this page costs.
    Cost(Cost),
    /// The run has ended.
    Ended(Ended),
}

/// The position of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Place {
    /// Trials in the ledger.
    pub done: usize,
    /// Trials planned at most.
    pub of: usize,
    /// Block, from 1; 0 before the first.
    pub block: u32,
    /// The current contender.
    pub contender: String,
    /// The current workload.
    pub workload: String,
    /// Seconds that the rest will take: at most, where there is a budget; else estimated from the trials so far, absent where none has ended.
    pub left_s: Option<f64>,
}

/// The current step of a trial.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Step {
    /// Making, mounting, or the title of a phase.
    pub text: String,
    /// Whether it is a phase, whose progress follows.
    pub phase: bool,
}

/// The progress of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Progress {
    /// Files, entries or blocks done.
    pub items: u64,
    /// Their total, where it is known.
    pub of: Option<u64>,
    /// Bytes moved.
    pub bytes: u64,
}

/// The ranking after a block.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Standings {
    /// Blocks that it is based on.
    pub block: u32,
    /// In a line.
    pub line: String,
    /// The decision of the stopping rule.
    pub decision: String,
    /// Operations, in the order of the plan.
    pub operations: Vec<Operation>,
    /// Number of operations that are left out to keep the list short.
    pub more: usize,
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Operation {
    /// Its name.
    pub title: String,
    /// Contenders, the best estimate first.
    pub members: Vec<Member>,
}

/// One contender in one operation.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// `best` (the best estimate), `won`, `tie`, `open`, `likely` or `worse`.
    pub stands: &'static str,
    /// The figure of the best, with its unit; empty for the others.
    pub figure: String,
    /// How many times slower than the best.
    pub ratio: f64,
    /// Interval of that after each block, the oldest first; `None`: too few samples.
    pub intervals: Vec<Option<(f64, f64)>>,
}

/// Latency of one phase, of all trials so far: a row for each contender.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Latency {
    /// Workload and phase.
    pub title: String,
    /// Nanoseconds at which the columns begin; the last has no end.
    pub from_ns: Vec<u64>,
    /// The contenders.
    pub rows: Vec<LatencyRow>,
}

/// Latency of one contender.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LatencyRow {
    /// Its name.
    pub name: String,
    /// Operations counted.
    pub count: u64,
    /// Share of them in each column.
    pub shares: Vec<f64>,
    /// Median of the latest trial, with its unit.
    pub median: String,
    /// 99th percentile of the latest trial.
    pub p99: String,
}

/// Disk activity, a point for each second.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Disk {
    /// What is observed, in words.
    pub name: String,
    /// The last minutes, the oldest first.
    pub points: Vec<DiskPoint>,
}

/// The disk in one second.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct DiskPoint {
    /// Seconds since the program began or resumed the run.
    pub at_s: f64,
    /// Bytes read a second.
    pub read: f64,
    /// Bytes written a second.
    pub written: f64,
    /// Share of the time in which it was busy.
    pub busy: f64,
}

/// A line of the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Line {
    /// Date and time, UTC, formatted for readers.
    pub time: String,
    /// What.
    pub text: String,
}

/// What the page costs the measuring machine.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Cost {
    /// CPU time of the thread that serves the page, milliseconds.
    pub served_ms: f64,
    /// Time that the run spent on preparing news, milliseconds.
    pub prepared_ms: f64,
    /// Seconds since the program began or resumed the run.
    pub elapsed_s: f64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Ended {
    /// In a sentence.
    pub text: String,
    /// Whether there is a report to show.
    pub report: bool,
}

impl News {
    /// The kind, as the page identifies it.
    pub fn topic(&self) -> &'static str {
        self.into()
    }

    /// As one line of JSON.
    ///
    /// # Errors
    /// Values that JSON cannot carry.
    pub fn json(&self) -> Result<String, ReportError> {
        serde_json::to_string(self)
            .map_err(|error| ReportError::Drawing { chart: "the live page".into(), answer: error.to_string() })
    }
}

/// The page, before the first news.
pub fn page(title: &str, id: &str) -> String {
    let program = html! { script src="live.js" defer {} };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            (page_head(&format!("In progress: {title}"), env!("CARGO_PKG_VERSION"), None, &[STYLE, OWN_STYLE], &program))
            body.live {
                header.top {
                    p.quiet.asked { (title) }
                    h1 id="ahead" { "Nothing is measured yet" }
                    progress id="trials" value="0" max="1" aria-label="Trials done" {}
                    p.quiet id="times" { "Waiting for news." }
                }
                main {
                    noscript { p.warn { "This page needs its script to update itself; the report at the end needs none." } }
                    section.now aria-labelledby="now-title" {
                        h2 id="now-title" { "Now" }
                        p.what id="now" aria-live="polite" { "–" }
                        p.step id="step" { "–" }
                        progress id="phase" value="0" max="1" aria-label="Progress of the current phase" hidden {}
                    }
                    (disk_and_latency())
                    (standings())
                    section id="warned" hidden aria-labelledby="warned-title" {
                        h2 id="warned-title" { "Warnings" }
                        ul.warn id="warnings" {}
                    }
                    section aria-labelledby="log-title" {
                        h2 id="log-title" { "Log" }
                        ol.log id="log" tabindex="0" aria-label="Log, newest first" {}
                    }
                }
                footer {
                    p id="cost" { "The cost of this page is not known yet." }
                    p { "Run " span.mono { (id) } ", read only. " span id="link" role="status" { "Connecting." } }
                }
            }
        }
    };
    page.into_string()
}

fn disk_and_latency() -> Markup {
    html! {
        div.beside {
            section aria-labelledby="disk-title" {
                h2 id="disk-title" { "The disk" }
                p.quiet.small id="disk-name" { "Not measured yet." }
                svg.disk id="disk" viewBox="0 0 640 160" role="img" aria-label="Disk throughput: bytes read and written per second" hidden {}
            }
            section id="latency" hidden aria-labelledby="latency-title" {
                h2 id="latency-title" { "Latency of the current phase" }
                p.quiet.small id="latency-of" {}
                div.heat id="heat" {}
            }
        }
    }
}

fn standings() -> Markup {
    html! {
        section id="standings" hidden aria-labelledby="standings-title" {
            h2 id="standings-title" { "Who is ahead" }
            p.quiet id="decision" {}
            p.quiet.small { "How many times slower than the best estimate of each operation, with its 95 % interval; fainter, above it: the intervals after earlier rounds. Filled: slower or likely slower (orange: proven). Hollow: can't tell yet. Blue: as good as the best." }
            div.cards id="operations" {}
            p.quiet.small id="more" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_news_has_its_place_in_the_script() {
        let all = [
            News::Place(Place::default()),
            News::Step(Step::default()),
            News::Progress(Progress::default()),
            News::Standings(Standings::default()),
            News::Latency(Latency::default()),
            News::Disk(Disk::default()),
            News::Log(Vec::new()),
            News::Warnings(Vec::new()),
            News::Cost(Cost::default()),
            News::Ended(Ended::default()),
        ];
        for news in all {
            assert!(SCRIPT.contains(&format!("on('{}'", news.topic())), "{}", news.topic());
            assert!(news.json().is_ok_and(|json| !json.contains('\n')));
        }
    }

    #[test]
    fn every_place_that_the_script_fills_is_in_the_page() {
        let page = page("<b>x</b>", "1");
        assert!(page.contains("&lt;b&gt;x"), "{page}");
        let asked = SCRIPT.split("at('").skip(1).filter_map(|rest| rest.split_once('\'')).map(|(name, _)| name);
        let missing: Vec<&str> = asked.filter(|name| !page.contains(&format!("id=\"{name}\""))).collect();
        assert_eq!(missing, Vec::<&str>::new());
    }
}
