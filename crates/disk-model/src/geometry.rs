//! Positions of sectors on the platters.
//! In: a sector's number. Out: its [`Place`]: cylinder, surface, and position on the track.
//!
//! Cylinder 0 is the outermost; sector numbers go through all surfaces of a cylinder before the next one. Zones have the same number of
//! cylinders; from zone to zone inwards, tracks have fewer sectors. Each track is shifted against the previous one by its skew, so that a
//! sequential transfer reaches the next sector without losing a revolution.

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// One zone.
#[derive(Debug, Clone, PartialEq)]
struct Zone {
    first_sector: u64,
    first_cylinder: u64,
    per_track: u64,
    head_skew: u64,
    cylinder_skew: u64,
}

/// The platters.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Geometry {
    /// Nanoseconds per revolution.
    pub period: u64,
    /// Cylinders.
    pub cylinders: u64,
    heads: u64,
    zones: Vec<Zone>,
}

/// Parameters of the platters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Platters {
    /// Nanoseconds per revolution.
    pub period: u64,
    pub heads: u64,
    pub cylinders: u64,
    pub zones: u64,
    /// Sectors per track in the outermost and in the innermost zone.
    pub outer: u64,
    pub inner: u64,
    /// Nanoseconds to switch to the next surface, and to the next cylinder, in a sequential transfer.
    pub head_switch: u64,
    pub cylinder_switch: u64,
}

impl Platters {
    /// Sectors per track in a zone.
    pub fn per_track(&self, zone: u64) -> u64 {
        self.outer - (self.outer - self.inner) * zone / (self.zones - 1).max(1)
    }

    /// The number of cylinders for this many sectors, the same in each zone.
    pub fn cylinders_for(&self, sectors: u64) -> u64 {
        let of_one_each: u64 = (0..self.zones).map(|zone| self.per_track(zone) * self.heads).sum();
        sectors.div_ceil(of_one_each) * self.zones
    }
}

/// Position of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub cylinder: u64,
    pub surface: u64,
    /// Sectors of this track, and those from here to its end.
    pub per_track: u64,
    pub left: u64,
    /// Its distance from the index mark, in sectors.
    pub index: u64,
}

impl Geometry {
    pub fn new(platters: &Platters) -> Geometry {
        let cylinders_each = platters.cylinders / platters.zones;
        let mut zones = Vec::new();
        let (mut first_sector, mut first_cylinder) = (0, 0);
        for zone in 0..platters.zones {
            let per_track = platters.per_track(zone);
            // One sector more than the switch takes: times are whole nanoseconds, and missing a sector by one costs a revolution.
            let skew = |time: u64| (time * per_track).div_ceil(platters.period) + 1;
            let (head_skew, cylinder_skew) = (skew(platters.head_switch), skew(platters.cylinder_switch));
            zones.push(Zone { first_sector, first_cylinder, per_track, head_skew, cylinder_skew });
            first_sector += cylinders_each * platters.heads * per_track;
            first_cylinder += cylinders_each;
        }
        Geometry { period: platters.period, cylinders: first_cylinder, heads: platters.heads, zones }
    }

    pub fn place(&self, sector: u64) -> Place {
        let after = self.zones.partition_point(|zone| zone.first_sector <= sector);
        let zone = &self.zones[after - 1];
        let within = sector - zone.first_sector;
        let (track, from_start) = (within / zone.per_track, within % zone.per_track);
        let cylinder = track / self.heads;
        let shift = (track - cylinder) * zone.head_skew + cylinder * zone.cylinder_skew;
        Place {
            cylinder: zone.first_cylinder + cylinder,
            surface: track % self.heads,
            per_track: zone.per_track,
            left: zone.per_track - from_start,
            index: (from_start + shift) % zone.per_track,
        }
    }

    /// Number of sectors.
    pub fn sectors(&self) -> u64 {
        self.first_sector(self.cylinders)
    }

    /// The first sector of a cylinder.
    pub fn first_sector(&self, cylinder: u64) -> u64 {
        let after = self.zones.partition_point(|zone| zone.first_cylinder <= cylinder);
        let zone = &self.zones[after - 1];
        zone.first_sector + (cylinder - zone.first_cylinder) * self.heads * zone.per_track
    }

    /// Nanoseconds from the index mark to the start of the sector this many after a place.
    fn angle(&self, place: &Place, after: u64) -> u64 {
        (place.index + after) * self.period / place.per_track
    }

    /// Nanoseconds until a place is under the head, which is on its track at `time`.
    pub fn wait(&self, place: &Place, time: u64) -> u64 {
        let (at, now) = (self.angle(place, 0), time % self.period);
        if at >= now { at - now } else { at + self.period - now }
    }

    /// Nanoseconds in which this many sectors of the track pass, starting at a place.
    pub fn span(&self, place: &Place, sectors: u64) -> u64 {
        self.angle(place, sectors) - self.angle(place, 0)
    }

    /// Number of whole sectors of the track that pass in this many nanoseconds, starting at a place.
    pub fn passed(&self, place: &Place, time: u64) -> u64 {
        let sectors = (self.angle(place, 0) + time) * place.per_track / self.period;
        sectors.saturating_sub(place.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platters() -> Platters {
        let period = 60_000_000_000 / 7200;
        let (head_switch, cylinder_switch) = (1_200_000, 2_000_000);
        Platters { period, heads: 3, cylinders: 400, zones: 4, outer: 1000, inner: 500, head_switch, cylinder_switch }
    }

    #[test]
    fn numbers_run_through_surfaces_then_cylinders_then_zones() {
        let disk = Geometry::new(&platters());
        let at = |sector: u64| {
            let place = disk.place(sector);
            (place.cylinder, place.surface, place.per_track, place.left)
        };
        assert_eq!(at(0), (0, 0, 1000, 1000));
        assert_eq!(at(999), (0, 0, 1000, 1));
        assert_eq!(at(1000), (0, 1, 1000, 1000));
        assert_eq!(at(3000), (1, 0, 1000, 1000));
        assert_eq!(at(300_000), (100, 0, 834, 834));
        assert_eq!(at(300_000 + 100 * 3 * 834), (200, 0, 667, 667));
    }

    #[test]
    fn the_next_track_comes_when_the_switch_is_done_and_not_much_later() {
        let (disk, platters) = (Geometry::new(&platters()), platters());
        for (last, switch) in
            [(999, platters.head_switch), (2999, platters.cylinder_switch), (5999, platters.cylinder_switch)]
        {
            let end = disk.wait(&disk.place(last), 0) + disk.span(&disk.place(last), 1);
            let wait = disk.wait(&disk.place(last + 1), end + switch);
            assert!(wait <= 2 * platters.period / 1000, "{last}: {wait}");
        }
    }

    #[test]
    fn as_many_sectors_pass_in_the_time_of_a_span_as_it_has() {
        let disk = Geometry::new(&platters());
        for sector in [0, 17, 999, 1000, 123_456, 299_999, 400_001] {
            let place = disk.place(sector);
            for count in [0, 1, 7, place.left] {
                let passed = disk.passed(&place, disk.span(&place, count));
                assert!(passed == count || passed + 1 == count, "{sector} {count} {passed}");
            }
        }
    }
}
