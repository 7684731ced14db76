//! The description of a disk in a file of `disks/`.
//! In: TOML, in which each number has its source: `rpm = [7200, "data sheet"]`. Out: [`Parts`], checked and in units of the simulation.
//! An unknown key, a number out of range and a number without a source are errors.

use crate::error::ModelError;
use crate::flash::Flash;
use crate::geometry::{Geometry, Platters, SECTOR};
use crate::hard_disk::HardDisk;
use crate::seek::{Published, SeekCurve};
use serde::Deserialize;

/// A value and its source.
#[derive(Debug, Clone, Deserialize)]
struct Sourced<T>(T, String);

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    capacity_bytes: Sourced<u64>,
    #[serde(rename = "hard-disk")]
    hard_disk: Option<RawHardDisk>,
    flash: Option<RawFlash>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawHardDisk {
    platters: RawPlatters,
    seek: RawSeek,
    interface: RawSata,
    read_buffer: RawReadBuffer,
    write_cache: RawWriteCache,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlatters {
    rpm: Sourced<f64>,
    heads: Sourced<f64>,
    zones: Sourced<f64>,
    outer_sectors: Sourced<f64>,
    inner_sectors: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSeek {
    single_ms: Sourced<f64>,
    average_ms: Sourced<f64>,
    full_ms: Sourced<f64>,
    boundary: Sourced<f64>,
    write_settle_ms: Sourced<f64>,
    head_switch_ms: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSata {
    rate_mb_s: Sourced<f64>,
    command_us: Sourced<f64>,
    queue: Sourced<f64>,
    age_limit_ms: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawReadBuffer {
    segments: Sourced<f64>,
    segment_kib: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWriteCache {
    size_kib: Sourced<f64>,
    pieces: Sourced<f64>,
    window: Sourced<f64>,
    idle_ms: Sourced<f64>,
    reads_in_row: Sourced<f64>,
    age_limit_ms: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFlash {
    chips: RawChips,
    interface: RawInterface,
    write_buffer: RawWriteBuffer,
    slc: RawSlc,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawChips {
    channels: Sourced<f64>,
    dies_per_channel: Sourced<f64>,
    bus_mb_s: Sourced<f64>,
    page_kib: Sourced<f64>,
    read_us: Sourced<f64>,
    program_kib: Sourced<f64>,
    program_us: Sourced<f64>,
    write_amplification: Sourced<f64>,
    suspend_us: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawInterface {
    rate_mb_s: Sourced<f64>,
    full_duplex: Sourced<bool>,
    command_us: Sourced<f64>,
    read_us: Sourced<f64>,
    write_us: Sourced<f64>,
    discard_us: Sourced<f64>,
    queue: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWriteBuffer {
    size_kib: Sourced<f64>,
    power_loss_protection: Sourced<bool>,
    flush_us: Sourced<f64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSlc {
    size_mib: Sourced<f64>,
    program_us: Sourced<f64>,
    fold_mb_s: Sourced<f64>,
    idle_ms: Sourced<f64>,
}

/// The checked content of a description.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Parts {
    pub title: String,
    pub capacity: u64,
    pub machine: Machine,
}

/// Kind of disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Machine {
    HardDisk(HardDisk),
    Flash(Flash),
}

/// The checks of one file: each error names the file, and the key with its table.
struct Check<'a> {
    file: &'a str,
    /// Prefix of the keys: `hard-disk.`.
    table: &'static str,
}

const MS: f64 = 1e6;
const US: f64 = 1e3;
/// Decimal, as data sheets count rates.
const MB: f64 = 1e6;
const KIB: f64 = 1024.0;

impl Check<'_> {
    fn key(&self, key: &str) -> String {
        format!("{}{key}", self.table)
    }

    fn contradiction(&self, key: &str, problem: impl Into<String>) -> ModelError {
        let key = self.key(key);
        ModelError::Contradiction { file: self.file.into(), key, problem: problem.into() }
    }

    fn source<T>(&self, key: &str, number: &Sourced<T>) -> Result<(), ModelError> {
        if number.1.trim().is_empty() {
            return Err(self.contradiction(key, "it has no source; give the source, or \"assumed: why\""));
        }
        Ok(())
    }

    /// The number times its unit, if it has a source and is in range.
    fn number(&self, key: &str, number: &Sourced<f64>, range: (f64, f64), unit: f64) -> Result<f64, ModelError> {
        self.source(key, number)?;
        let (value, (lowest, highest)) = (number.0, range);
        if !(lowest..=highest).contains(&value) {
            return Err(ModelError::Range { file: self.file.into(), key: self.key(key), value, lowest, highest });
        }
        Ok(value * unit)
    }

    /// The same, rounded to a whole number.
    fn whole(&self, key: &str, number: &Sourced<f64>, range: (f64, f64), unit: f64) -> Result<u64, ModelError> {
        self.number(key, number, range, unit).map(|value| value.round() as u64)
    }

    /// A number that must be whole.
    fn count(&self, key: &str, number: &Sourced<f64>, range: (f64, f64)) -> Result<u64, ModelError> {
        let count = self.number(key, number, range, 1.0)?;
        if count.fract() != 0.0 {
            return Err(self.contradiction(key, format!("{count} is not a whole number")));
        }
        Ok(count as u64)
    }

    fn switch(&self, key: &str, value: &Sourced<bool>) -> Result<bool, ModelError> {
        self.source(key, value).map(|()| value.0)
    }

    fn hard_disk(&self, raw: &RawHardDisk, capacity: u64) -> Result<HardDisk, ModelError> {
        let platters = self.platters(&raw.platters, &raw.seek, capacity)?;
        let seek = self.seek(&raw.seek, platters.cylinders)?;
        let (interface, buffer, cache) = (&raw.interface, &raw.read_buffer, &raw.write_cache);
        let settle = self.whole("seek.write_settle_ms", &raw.seek.write_settle_ms, (0.0, 10.0), MS)?;
        let cylinder_switch = platters.head_switch.max(seek.time(1) + settle);
        let sectors = KIB / SECTOR as f64;
        let minutes = (1.0, 600_000.0);
        Ok(HardDisk {
            geometry: Geometry::new(&Platters { cylinder_switch, ..platters }),
            seek,
            settle,
            head_switch: platters.head_switch,
            rate: self.number("interface.rate_mb_s", &interface.rate_mb_s, (1.0, 10_000.0), MB)?,
            overhead: self.whole("interface.command_us", &interface.command_us, (0.0, 10_000.0), US)?,
            queue: self.count("interface.queue", &interface.queue, (1.0, 256.0))? as usize,
            age_limit: self.whole("interface.age_limit_ms", &interface.age_limit_ms, minutes, MS)?,
            cache_age_limit: self.whole("write_cache.age_limit_ms", &cache.age_limit_ms, minutes, MS)?,
            segments: self.count("read_buffer.segments", &buffer.segments, (1.0, 64.0))? as usize,
            segment: self.whole("read_buffer.segment_kib", &buffer.segment_kib, (4.0, 262_144.0), sectors)?,
            cache: self.whole("write_cache.size_kib", &cache.size_kib, (0.0, 1_048_576.0), sectors)?,
            pieces: self.count("write_cache.pieces", &cache.pieces, (1.0, 65_536.0))? as usize,
            window: self.count("write_cache.window", &cache.window, (2.0, 64.0))? as usize,
            idle: self.whole("write_cache.idle_ms", &cache.idle_ms, (0.0, 10_000.0), MS)?,
            reads_in_row: self.count("write_cache.reads_in_row", &cache.reads_in_row, (1.0, 1000.0))?,
        })
    }

    fn platters(&self, raw: &RawPlatters, seek: &RawSeek, capacity: u64) -> Result<Platters, ModelError> {
        let rpm = self.number("platters.rpm", &raw.rpm, (1_000.0, 30_000.0), 1.0)?;
        let (outer, inner) = (
            self.count("platters.outer_sectors", &raw.outer_sectors, (16.0, 65_536.0))?,
            self.count("platters.inner_sectors", &raw.inner_sectors, (16.0, 65_536.0))?,
        );
        if inner > outer {
            return Err(
                self.contradiction("platters.inner_sectors", "inner tracks cannot have more sectors than outer ones")
            );
        }
        let mut platters = Platters {
            period: (60e9 / rpm).round() as u64,
            heads: self.count("platters.heads", &raw.heads, (1.0, 64.0))?,
            cylinders: 0,
            zones: self.count("platters.zones", &raw.zones, (1.0, 256.0))?,
            outer,
            inner,
            head_switch: self.whole("seek.head_switch_ms", &seek.head_switch_ms, (0.0, 10.0), MS)?,
            cylinder_switch: 0,
        };
        platters.cylinders = platters.cylinders_for(capacity / SECTOR);
        if platters.cylinders < 100 {
            return Err(
                self.contradiction("platters", "capacity_bytes is less than a hundred cylinders of such tracks")
            );
        }
        Ok(platters)
    }

    fn seek(&self, raw: &RawSeek, cylinders: u64) -> Result<SeekCurve, ModelError> {
        let published = Published {
            single: self.number("seek.single_ms", &raw.single_ms, (0.01, 100.0), MS)?,
            average: self.number("seek.average_ms", &raw.average_ms, (0.01, 500.0), MS)?,
            full: self.number("seek.full_ms", &raw.full_ms, (0.01, 1000.0), MS)?,
            boundary: self.number("seek.boundary", &raw.boundary, (0.05, 0.9), 1.0)?,
        };
        SeekCurve::through(published, cylinders).ok_or_else(|| {
            self.contradiction("seek.average_ms", "no rising curve goes from single_ms to full_ms with this average")
        })
    }

    fn flash(&self, raw: &RawFlash) -> Result<Flash, ModelError> {
        let (chips, interface, buffer, slc) = (&raw.chips, &raw.interface, &raw.write_buffer, &raw.slc);
        let time = (0.0, 1_000_000.0);
        let kib = |key: &str, number, highest| self.whole(key, number, (4.0, highest), KIB);
        let flash = Flash {
            channels: self.count("chips.channels", &chips.channels, (1.0, 32.0))? as usize,
            dies_per_channel: self.count("chips.dies_per_channel", &chips.dies_per_channel, (1.0, 32.0))? as usize,
            bus: self.number("chips.bus_mb_s", &chips.bus_mb_s, (1.0, 10_000.0), MB)?,
            page: kib("chips.page_kib", &chips.page_kib, 1024.0)?,
            read: self.whole("chips.read_us", &chips.read_us, time, US)?,
            unit: kib("chips.program_kib", &chips.program_kib, 4096.0)?,
            program: self.whole("chips.program_us", &chips.program_us, (1.0, 1_000_000.0), US)?,
            amplification: self.number("chips.write_amplification", &chips.write_amplification, (1.0, 100.0), 1.0)?,
            suspend: self.whole("chips.suspend_us", &chips.suspend_us, time, US)?,
            rate: self.number("interface.rate_mb_s", &interface.rate_mb_s, (1.0, 100_000.0), MB)?,
            full_duplex: self.switch("interface.full_duplex", &interface.full_duplex)?,
            command: self.whole("interface.command_us", &interface.command_us, time, US)?,
            read_latency: self.whole("interface.read_us", &interface.read_us, time, US)?,
            write_latency: self.whole("interface.write_us", &interface.write_us, time, US)?,
            discard: self.whole("interface.discard_us", &interface.discard_us, time, US)?,
            queue: self.count("interface.queue", &interface.queue, (1.0, 65_536.0))? as usize,
            buffer: kib("write_buffer.size_kib", &buffer.size_kib, 4_194_304.0)?,
            protected: self.switch("write_buffer.power_loss_protection", &buffer.power_loss_protection)?,
            flush: self.whole("write_buffer.flush_us", &buffer.flush_us, time, US)?,
            slc: self.whole("slc.size_mib", &slc.size_mib, (0.0, 16_777_216.0), KIB * KIB)?,
            slc_program: self.whole("slc.program_us", &slc.program_us, (1.0, 1_000_000.0), US)?,
            fold: self.number("slc.fold_mb_s", &slc.fold_mb_s, (0.0, 100_000.0), MB)?,
            idle: self.whole("slc.idle_ms", &slc.idle_ms, (0.0, 3_600_000.0), MS)?,
        };
        // A smaller buffer could fill up without a whole unit in it.
        if flash.buffer < 2 * flash.unit {
            return Err(self.contradiction("write_buffer.size_kib", "it is smaller than two chips.program_kib"));
        }
        Ok(flash)
    }
}

/// Parses and checks the text of a file.
pub(crate) fn read(file: &str, text: &str) -> Result<Parts, ModelError> {
    let syntax =
        |error: toml::de::Error| ModelError::Syntax { file: file.into(), problem: error.to_string().trim().into() };
    let raw: File = toml::from_str(text).map_err(syntax)?;
    let check = Check { file, table: "" };
    check.source("capacity_bytes", &raw.capacity_bytes)?;
    let capacity = raw.capacity_bytes.0;
    let (lowest, highest) = (1 << 20, 1 << 50);
    if !(lowest..=highest).contains(&capacity) {
        let [value, lowest, highest] = [capacity, lowest, highest].map(|bytes| bytes as f64);
        return Err(ModelError::Range { file: file.into(), key: "capacity_bytes".into(), value, lowest, highest });
    }
    if raw.title.trim().is_empty() || raw.title.lines().count() > 1 {
        return Err(check.contradiction("title", "it must be one line of printable characters"));
    }
    let machine = match (&raw.hard_disk, &raw.flash) {
        (Some(disk), None) => Machine::HardDisk(Check { file, table: "hard-disk." }.hard_disk(disk, capacity)?),
        (None, Some(flash)) => Machine::Flash(Check { file, table: "flash." }.flash(flash)?),
        _ => return Err(check.contradiction("hard-disk", "a disk has either [hard-disk.…] tables or [flash.…] tables")),
    };
    Ok(Parts { title: raw.title, capacity: capacity / SECTOR * SECTOR, machine })
}
