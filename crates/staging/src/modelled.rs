//! A contender's image on a disk that this machine does not have: served from memory, at the speed of a described disk.
//! In: the disk's name or description file. Out: a folder for the image, how late the disk answered, and remarks for every figure.

use crate::error::StagingError;
use crate::served::{ServedFolder, Serving};
use crate::stage::target::Where;
use disk::{KernelTimes, Lateness, PathCost};
use disk_model::{Device, Kind, Model, Request};
use records::{Contender, DiskLateness, show_bytes};
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::{BlockDevice, Evidence, Journal, input};

mod ceiling;

pub use ceiling::Ceiling;

/// Room beyond the image in the served folder.
const SPARE: u64 = 64 << 20;

/// A modelled disk that is being served.
#[derive(Debug)]
pub(crate) struct Modelled {
    folder: ServedFolder,
    model: Model,
    ceiling: Ceiling,
    /// Its lateness counters at the beginning of the pass.
    before: Lateness,
}

/// Size of the request whose service time is compared with its round trip.
const SMALL: u64 = 4096;

/// Service time of one small request on an idle disk.
fn takes_alone(model: &Model, kind: Kind) -> Option<Duration> {
    let mut device = Device::new(model, 1);
    device.submit(Duration::ZERO, Request { kind, offset: 0, length: SMALL });
    while let Some(next) = device.next() {
        if let Some((_, done)) = device.advance(next).first() {
            return Some(*done);
        }
    }
    None
}

/// A remark if the service time of a single small request is shorter than its round trip through the server.
fn too_fast(model: &Model, path: &PathCost) -> Option<String> {
    let late = [("read", Kind::Read), ("write", Kind::Write)].into_iter().filter_map(|(word, kind)| {
        let (takes, way) = (takes_alone(model, kind)?, path.of(kind, SMALL));
        let of = |time: Duration| time.as_micros();
        (way > takes).then(|| format!("a {word} of 4 KiB takes {} us here instead of {} us", of(way), of(takes)))
    });
    let late = late.collect::<Vec<_>>().join(", ");
    let name = model.name();
    (!late.is_empty()).then(|| {
        format!("{name} is too fast for this machine with one request at a time: {late}; figures of such work reflect this machine, not the disk")
    })
}

fn described(disk: &str) -> Result<Model, StagingError> {
    let read = |path: &Path| input::text_file(path, input::TEXT_LIMIT).map_err(|why| why.to_string());
    axes::described(disk, read)
        .map_err(|problem| StagingError::contender(disk, problem, "docs/disks.md describes the format"))
}

/// Whether the modelled disk that a contender requests, if any, has a description.
///
/// # Errors
/// No disk has this name, or its description cannot be read or parsed.
pub fn check_disk(contender: &Contender) -> Result<(), StagingError> {
    axes::value(contender, "disk").map_or(Ok(()), |disk| described(&disk).map(drop))
}

/// Whether a contender can use the modelled disk that it requests, if any.
///
/// # Errors
/// The target is not an image, the contender is aged or filled, the disk has no description, or there is too little memory.
pub(crate) fn check(contender: &Contender, place: &Where) -> Result<(), StagingError> {
    let Some(disk) = axes::value(contender, "disk") else { return Ok(()) };
    let refused = |problem: &str, way: &str| Err(StagingError::contender(&contender.label, problem, way));
    described(&disk)?;
    let Where::Image { bytes, .. } = place else {
        return refused(
            "a modelled disk is simulated in memory, and --on names a real device",
            "leave out --on or --disk",
        );
    };
    if contender.age.as_deref().is_some_and(|age| age != records::FRESH) || contender.fill.is_some() {
        return refused(
            "aged images are on the scratch folder's disk, not on a modelled one",
            "leave out the age or --disk",
        );
    }
    let free = system::in_memory::available();
    if *bytes > free {
        let problem = format!(
            "a modelled disk is kept in memory and needs {}; {} are free",
            show_bytes(*bytes),
            show_bytes(free)
        );
        return refused(&problem, "name a smaller --image");
    }
    Ok(())
}

impl Modelled {
    /// Starts serving a disk that holds `bytes`.
    ///
    /// # Errors
    /// The disk has no description, or cannot be served.
    pub fn open(disk: &str, bytes: u64, journal: &Journal) -> Result<Modelled, StagingError> {
        let model = described(disk)?;
        let ceiling = Ceiling::here(journal)?;
        let folder = ServedFolder::open(bytes + SPARE, Serving::Modelled(disk, ceiling.path), journal)?;
        Ok(Modelled { folder, model, ceiling, before: Lateness::default() })
    }

    /// Marks the beginning of a pass.
    ///
    /// # Errors
    /// The process that serves the disk is gone.
    pub fn look(&mut self) -> Result<(), StagingError> {
        self.before = self.folder.lateness()?;
        Ok(())
    }

    /// How late the disk was since then, with the kernel's counters of that time; None if it had next to nothing to do.
    ///
    /// # Errors
    /// The process that serves the disk is gone.
    pub fn late_since(&mut self, seen: &Evidence) -> Result<Option<DiskLateness>, StagingError> {
        let traffic = seen.device.unwrap_or_default();
        let kernel = KernelTimes {
            span_ns: seen.elapsed_ns,
            reads_ns: traffic.read_ns,
            writes_ns: traffic.write_ns,
            flushes_ns: traffic.flush_ns,
        };
        let summary = self.folder.lateness()?.since(&self.before).summary(&kernel);
        Ok(summary.map(|summary| DiskLateness {
            requests: summary.requests,
            share: summary.share,
            unreachable: summary.unreachable,
            avoidable: summary.avoidable,
            median_ns: summary.median_ns,
            p99_ns: summary.p99_ns,
        }))
    }

    /// The folder for its image.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Remarks for every figure: how the disk is served, and whether this machine is too slow for it.
    pub fn remarks(&self) -> Vec<String> {
        let (name, ceiling) = (self.model.name(), self.ceiling.in_words());
        let served =
            format!("{name} is served by Bakeoff itself: {ceiling}; the round trip is subtracted from the disk's time");
        std::iter::once(served).chain(too_fast(&self.model, &self.ceiling.path)).collect()
    }

    /// The disk, as shown below the image.
    pub fn device(&self) -> BlockDevice {
        BlockDevice {
            path: PathBuf::from(self.model.name()),
            name: format!("{} (modelled)", self.model.name()),
            size_bytes: self.model.capacity(),
            model: Some(self.model.title().into()),
            rotational: self.model.is_rotational(),
            logical_sector: 512,
            physical_sector: 512,
            layout: Some("modelled disk, served from memory".into()),
            ..BlockDevice::default()
        }
    }

    /// Stops serving; the image must already be removed.
    ///
    /// # Errors
    /// Something on it is still in use.
    pub fn close(self) -> Result<(), StagingError> {
        self.folder.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disk::ByLength;

    #[test]
    fn a_disk_that_is_faster_than_its_way_is_marked_with_both_times() {
        let path = |us: u64| {
            let way = ByLength { base_ns: us * 1000, per_mib_ns: 0 };
            PathCost { read: way, write: way, flush_ns: 0 }
        };
        let marked = |disk: &str, us| too_fast(disk_model::named(disk).expect("shipped"), &path(us));
        assert_eq!(marked("hdd-7200", 70), None);
        assert_eq!(marked("nvme-tlc", 10), None);
        let both = marked("nvme-tlc", 70).expect("marked");
        assert!(
            both.contains("a read of 4 KiB takes 70 us here instead of 5")
                && both.contains("a write of 4 KiB takes 70"),
            "{both}"
        );
        let writes = marked("ssd-sata", 70).expect("marked");
        assert!(
            !writes.contains("a read") && writes.contains("a write of 4 KiB takes 70 us here instead of 2"),
            "{writes}"
        );
    }
}
