//! The live page's server: the page, its script, the events, and the report at the end.
//! In: a browser's request. Out: answers; nothing is computed for them while a run measures.

use super::disk::DiskWatch;
use report::live::{Cost, News, SCRIPT, page};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use web::{Answer, Asked, Feed, Site};

/// State shared by the run's thread and the server's.
pub struct Shared {
    pub feed: Feed,
    /// Nanoseconds that the run spent on making events.
    pub prepared_ns: AtomicU64,
    /// The finished report, once there is one.
    pub report: Mutex<Option<String>>,
    pub began: Instant,
}

impl Shared {
    /// Sends an event; one that JSON cannot express is dropped.
    pub fn tell(&self, news: &News) {
        if let Ok(json) = news.json() {
            self.feed.tell(news.topic(), &json);
        }
    }
}

/// The site of a run.
pub struct LiveSite {
    pub shared: Arc<Shared>,
    pub page: String,
    pub disk: DiskWatch,
}

impl LiveSite {
    /// Of this run.
    pub fn new(shared: Arc<Shared>, title: &str, id: &str, disk: DiskWatch) -> LiveSite {
        LiveSite { shared, page: page(title, id), disk }
    }
}

impl Site for LiveSite {
    fn answer(&mut self, asked: &Asked) -> Answer {
        match asked.page.as_str() {
            "" => Answer::page(self.page.clone()),
            "live.js" => Answer::script(SCRIPT),
            "events" => Answer::news(),
            "report" => {
                let report = self.shared.report.lock().unwrap_or_else(PoisonError::into_inner);
                report.clone().map_or_else(Answer::nothing_there, |html| Answer::standing_alone(html).at_the_end())
            }
            _ => Answer::nothing_there(),
        }
    }

    fn tick(&mut self, cpu: Duration) {
        self.shared.tell(&News::Disk(self.disk.look()));
        self.shared.tell(&News::Cost(Cost {
            served_ms: (cpu.as_secs_f64() * 1e4).round() / 10.0,
            prepared_ms: (self.shared.prepared_ns.load(Ordering::Relaxed) as f64 / 1e5).round() / 10.0,
            elapsed_s: (self.shared.began.elapsed().as_secs_f64() * 10.0).round() / 10.0,
        }));
    }
}
