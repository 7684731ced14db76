//! A hard disk computed from its description in floating point, without code of the crate.
//! In: the numbers of the file. Out: times and rates that the device must match.
#![allow(dead_code, reason = "each check uses a part of it")]

use super::Numbers;

/// One hard disk; times in seconds, cylinders from the outside.
pub struct Disk {
    pub turn: f64,
    pub heads: u64,
    pub zones: u64,
    pub cylinders_each: u64,
    pub tracks: Vec<u64>,
    pub switch: f64,
    pub settle: f64,
    pub overhead: f64,
    pub rate: f64,
    pub age_limit: f64,
    pub cache_age_limit: f64,
    single: f64,
    full: f64,
    boundary: f64,
    /// Time at the boundary.
    middle: f64,
}

impl Disk {
    pub fn of(numbers: &Numbers) -> Disk {
        let zones = numbers.disk("platters", "zones") as u64;
        let heads = numbers.disk("platters", "heads") as u64;
        let (outer, inner) = (numbers.disk("platters", "outer_sectors"), numbers.disk("platters", "inner_sectors"));
        let tracks: Vec<u64> =
            (0..zones).map(|zone| outer as u64 - ((outer - inner) as u64 * zone) / (zones - 1)).collect();
        let sectors = numbers.capacity() / 512;
        let cylinders_each = sectors.div_ceil(tracks.iter().sum::<u64>() * heads);
        let ms = |key| numbers.disk("seek", key) / 1e3;
        let mut disk = Disk {
            turn: 60.0 / numbers.disk("platters", "rpm"),
            heads,
            zones,
            cylinders_each,
            tracks,
            switch: ms("head_switch_ms"),
            settle: ms("write_settle_ms"),
            overhead: numbers.disk("interface", "command_us") / 1e6,
            rate: numbers.disk("interface", "rate_mb_s") * 1e6,
            age_limit: numbers.disk("interface", "age_limit_ms") / 1e3,
            cache_age_limit: numbers.disk("write_cache", "age_limit_ms") / 1e3,
            single: ms("single_ms"),
            full: ms("full_ms"),
            boundary: numbers.disk("seek", "boundary"),
            middle: 0.0,
        };
        disk.fit(ms("average_ms"));
        disk
    }

    /// Bisects the time at the boundary until the mean over all pairs of cylinders is the published one.
    fn fit(&mut self, average: f64) {
        let (mut low, mut high) = (self.single, self.full);
        for _ in 0..60 {
            self.middle = (low + high) / 2.0;
            if self.mean_over_cylinders() < average { low = self.middle } else { high = self.middle }
        }
    }

    fn mean_over_cylinders(&self) -> f64 {
        let steps = 4000;
        let share = |at: usize| (at as f64 + 0.5) / steps as f64;
        let weighted = |x: f64| 2.0 * (1.0 - x) * self.seek(x * self.cylinders());
        (0..steps).map(|at| weighted(share(at))).sum::<f64>() / steps as f64
    }

    pub fn cylinders(&self) -> f64 {
        (self.cylinders_each * self.zones) as f64
    }

    /// Seconds for a seek over this many cylinders.
    pub fn seek(&self, cylinders: f64) -> f64 {
        if cylinders < 0.5 {
            return 0.0;
        }
        let x = cylinders / self.cylinders();
        if x < self.boundary {
            self.single + (self.middle - self.single) * (x / self.boundary).sqrt()
        } else {
            self.middle + (self.full - self.middle) * (x - self.boundary) / (1.0 - self.boundary)
        }
    }

    /// The mean seek between two random sectors: outer cylinders have more of them.
    pub fn mean_seek(&self) -> f64 {
        let steps = 600;
        let all: u64 = self.tracks.iter().sum();
        let weight = |at: usize| {
            self.tracks[at * self.zones as usize / steps] as f64 / all as f64 * self.zones as f64 / steps as f64
        };
        let mut mean = 0.0;
        for one in 0..steps {
            for other in 0..steps {
                // Within one step the mean distance is a third of it.
                let apart = if one == other { 1.0 / 3.0 } else { one.abs_diff(other) as f64 };
                mean += weight(one) * weight(other) * self.seek(apart / steps as f64 * self.cylinders());
            }
        }
        mean
    }

    /// Seconds in which this many sectors pass, for the mean sector of the disk.
    pub fn mean_pass(&self, sectors: f64) -> f64 {
        let all: u64 = self.tracks.iter().sum();
        // A sector in a zone with n per track takes turn / n, and a share n / all of the sectors is there.
        self.tracks.iter().map(|n| sectors * self.turn / *n as f64 * *n as f64 / all as f64).sum()
    }

    /// Bytes a second of a long sequential transfer in a zone.
    pub fn sustained(&self, zone: usize) -> f64 {
        let heads = self.heads as f64;
        let to_next_cylinder = self.switch.max(self.single + self.settle);
        let time = heads * self.turn + (heads - 1.0) * self.switch + to_next_cylinder;
        heads * self.tracks[zone] as f64 * 512.0 / time
    }

    /// The first byte of a zone.
    pub fn zone_start(&self, zone: usize) -> u64 {
        self.tracks[..zone].iter().sum::<u64>() * self.cylinders_each * self.heads * 512
    }

    /// Cylinder, surface, angle (a share of a turn) and sectors of the track.
    pub fn locate(&self, mut sector: u64) -> (f64, u64, f64, f64) {
        let mut zone = 0;
        while sector >= self.tracks[zone] * self.cylinders_each * self.heads {
            sector -= self.tracks[zone] * self.cylinders_each * self.heads;
            zone += 1;
        }
        let track = sector / self.tracks[zone];
        let cylinder = track / self.heads;
        // The skew of each track, in shares of a turn.
        let n = self.tracks[zone] as f64;
        let skew = |time: f64| ((time / self.turn * n).ceil() + 1.0) / n;
        let next_cylinder = skew(self.switch.max(self.single + self.settle));
        let shift = (track - cylinder) as f64 * skew(self.switch) + cylinder as f64 * next_cylinder;
        let angle = ((sector % self.tracks[zone]) as f64 / n + shift).fract();
        ((zone as u64 * self.cylinders_each + cylinder) as f64, track % self.heads, angle, n)
    }
}
