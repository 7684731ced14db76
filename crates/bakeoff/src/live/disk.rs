//! Disk activity, one point per second.
//! In: the place of a plan. Out: bytes per second that its disk reads and writes, and its busy time; only while a browser watches.

use records::Place;
use report::live::{Disk, DiskPoint};
use std::collections::VecDeque;
use std::time::Instant;
use system::counters::Traffic;
use system::{BlockDevice, Sysfs as _};

/// Points that are kept.
const POINTS: usize = 150;
/// Gap in seconds after which the points are too far apart to average.
const GAP: f64 = 5.0;

/// A disk that is watched.
pub struct DiskWatch {
    /// Its name in /proc/diskstats; `None` if this machine counts no disk for the plan.
    device: Option<String>,
    words: String,
    began: Instant,
    last: Option<(f64, Traffic)>,
    points: VecDeque<DiskPoint>,
}

impl DiskWatch {
    /// The disk at the bottom of the plan's storage stack.
    pub fn of(place: &Place) -> DiskWatch {
        let (found, on) = match place {
            Place::Image { scratch, .. } => {
                (BlockDevice::under(scratch), format!("disk of the images in {}", scratch.display()))
            }
            Place::Device { path, .. } => (BlockDevice::find(path).ok(), "under test".into()),
            Place::Directories(folders) => {
                let first = folders.first();
                let on = first.map(|folder| format!("below {}", folder.display())).unwrap_or_default();
                (first.and_then(|folder| BlockDevice::under(folder)), on)
            }
        };
        let device = found.map(|device| device.name);
        let words = match &device {
            Some(name) => format!("{name}, {on}"),
            None => "There is no disk of this machine to watch: the work is in memory or on another machine".into(),
        };
        DiskWatch { device, words, began: Instant::now(), last: None, points: VecDeque::new() }
    }

    /// Takes a reading, and returns all points.
    pub fn look(&mut self) -> Disk {
        let now = self.began.elapsed().as_secs_f64();
        if let Some(traffic) = self.device.as_deref().and_then(Traffic::of) {
            self.took(now, traffic);
        }
        Disk { name: self.words.clone(), points: self.points.iter().copied().collect() }
    }

    fn took(&mut self, now: f64, traffic: Traffic) {
        let before = self.last.replace((now, traffic));
        let Some((then, before)) = before.filter(|(then, _)| now - then < GAP && now > *then) else {
            self.points.clear();
            return;
        };
        let rate = |after: u64, before: u64| (after.saturating_sub(before) as f64 / (now - then)).round();
        let busy = rate(traffic.busy_ns, before.busy_ns) / 1e9;
        self.points.push_back(DiskPoint {
            at_s: (now * 10.0).round() / 10.0,
            read: rate(traffic.read_bytes, before.read_bytes),
            written: rate(traffic.written_bytes, before.written_bytes),
            busy: (busy.min(1.0) * 100.0).round() / 100.0,
        });
        if self.points.len() > POINTS {
            self.points.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_a_rate_and_a_gap_begins_anew() {
        let (device, words) = (None, "x".to_owned());
        let mut watch = DiskWatch { device, words, began: Instant::now(), last: None, points: VecDeque::new() };
        let traffic = |bytes, busy_ns| Traffic { written_bytes: bytes, busy_ns, ..Traffic::default() };
        watch.took(1.0, traffic(1000, 0));
        watch.took(3.0, traffic(5000, 1_000_000_000));
        assert_eq!(watch.points.iter().map(|point| (point.written, point.busy)).collect::<Vec<_>>(), [(2000.0, 0.5)]);
        watch.took(60.0, traffic(9000, 0));
        assert!(watch.points.is_empty());
        for second in 61..400 {
            watch.took(f64::from(second), traffic(9000, 0));
        }
        assert_eq!(watch.points.len(), POINTS);
    }
}
