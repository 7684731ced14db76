//! Facts about a compiled workload, for the runner, the judge and the report.
//! In: filled in by `workload::Workload::compile`. Out: plain values that can be kept in the ledger.
//! The engine does not depend on them.

use crate::program::{
    ALL_INSTRUCTIONS, DEVICE_WRITTEN, Figure, INSTRUCTIONS, Order, Over, OwnFigure, PEAK_MEMORY, Program, USABLE_SHARE,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The unit of counted instructions.
pub const PER_OPERATION: &str = "instructions/op";

/// A workload at one scale with all its settings applied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compiled {
    /// The engine's program. Root, device and durable parts are empty: the runner fills them in.
    pub program: Program,
    /// One per phase of the program, in the same order; then one per figure that programs print.
    pub phases: Vec<PhaseFacts>,
    /// Sums over several phases that tables show as one operation.
    pub totals: Vec<TotalFacts>,
    /// Expected resources.
    pub estimate: Estimate,
    /// Name of the scale.
    pub scale: String,
    /// Every option with its value, requested or default.
    pub settings: BTreeMap<String, String>,
}

impl Compiled {
    /// Replaces the figures of every phase by instructions per item, of its workers alone and of the whole machine: where the clock advances
    /// with instructions, no measured time is real. Figures that programs print stay if they are not times.
    pub fn count_instructions(&mut self) {
        let of_program = self.phases.iter().take(self.program.phases.len());
        let both = |facts: &PhaseFacts| [INSTRUCTIONS, ALL_INSTRUCTIONS].map(|of| facts.counted(of));
        let counted: Vec<PhaseFacts> = of_program.filter(|facts| !facts.preparation).flat_map(both).collect();
        let timeless = |own: &OwnFigure| [DEVICE_WRITTEN, PEAK_MEMORY, USABLE_SHARE].contains(&own.from.as_str());
        for facts in &mut self.phases {
            facts.preparation |= !facts.own.as_ref().is_some_and(timeless);
        }
        self.phases.extend(counted);
        self.totals.clear();
    }

    /// Whether it is judged by instructions, which other work on the machine does not change.
    pub fn counts_instructions(&self) -> bool {
        let counted = |own: &OwnFigure| [INSTRUCTIONS, ALL_INSTRUCTIONS].contains(&own.from.as_str());
        self.phases.iter().filter_map(|facts| facts.own.as_ref()).any(counted)
    }

    /// Limits phases over the raw device to its size, which may be smaller than what they would read.
    ///
    /// Whole blocks only. In-order counts that no longer fit are reduced; random counts are kept.
    pub fn fit_device(&mut self, bytes: u64) {
        for group in self.program.phases.iter_mut().flat_map(|phase| &mut phase.groups) {
            let Over::Device { block, length } = &mut group.over else { continue };
            let blocks = bytes.min(*length) / *block;
            *length = blocks * *block;
            if group.order != Order::Random {
                group.count = group.count.map(|count| count.min(blocks.saturating_sub(group.first)));
            }
        }
    }
}

/// Facts about a phase that the engine does not need.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseFacts {
    /// Same as [`crate::program::Phase::name`].
    pub name: String,
    /// Short label for tables and charts.
    pub title: String,
    /// Gerund for the verdict: "creating many small files" in "For creating many small files on this device: ...".
    pub doing: String,
    /// The operation as claims and published figures name it; same as [`crate::program::Phase::operation`].
    pub operation: String,
    /// The cache column of claims and published figures: `cold`, `warm`, `as-found`, `cached`, `direct`. The state that the runner really
    /// prepares is [`crate::program::Phase::cache`].
    pub cache_label: String,
    /// Form of the operation, where a workload has several (`flat`, `hashed`).
    pub variant: Option<String>,
    /// The figure that tables show first.
    pub figure: Figure,
    /// The group whose items and bytes make that figure; None: all groups together.
    pub figure_group: Option<String>,
    /// `workload/phase` of which this is shown as a share, such as `device/read-sequential`.
    pub share_of: Option<String>,
    /// Prepares later phases, not shown as a result.
    pub preparation: bool,
    /// Shown without a rank: it does too little to be timed well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unranked: bool,
    /// Set if the figure is one that the phase's program prints; such facts follow those of all phases, under the phase's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnFigure>,
    /// Names of earlier phases that this one depends on: if one of them did no work, this one has no figure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

impl PhaseFacts {
    /// The operation with its form, as tables, claims and the judge name it: `readdir hashed`.
    pub fn named(&self) -> String {
        let own = self.own.as_ref().map(|own| &own.name);
        [Some(&self.operation), self.variant.as_ref(), own].into_iter().flatten().cloned().collect::<Vec<_>>().join(" ")
    }

    /// The same phase, judged by instructions: its workers' own, or all.
    fn counted(&self, of: &str) -> PhaseFacts {
        let (unit, words) = (PER_OPERATION.into(), of.replace('-', " "));
        let own = OwnFigure { name: of.into(), from: of.into(), unit, more_is_better: false };
        // The unit next to the title names what is counted.
        let whose = if of == INSTRUCTIONS { "own" } else { "all" };
        let (title, doing) = (format!("{}, {whose}", self.title), format!("{} ({words})", self.doing));
        let (figure, own) = (Figure::Printed, Some(own));
        PhaseFacts { title, doing, figure, own, unranked: false, figure_group: None, share_of: None, ..self.clone() }
    }

    /// The unit of the figure's values in files.
    pub fn unit(&self) -> &str {
        self.own.as_ref().map_or(self.figure.base_unit(), |own| &own.unit)
    }
}

/// The sum of several phases' seconds, as published figures state it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TotalFacts {
    /// Unique among phases and totals.
    pub name: String,
    /// Short label for tables and charts.
    pub title: String,
    /// Gerund for the verdict.
    pub doing: String,
    /// The operation as claims name it.
    pub operation: String,
    /// The cache column of claims.
    pub cache_label: String,
    /// Names of the phases whose elapsed seconds are added up.
    pub of: Vec<String>,
    /// It is one operation among others, and does not represent the whole workload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
}

/// Expected resources of a workload, computed from its counts and sizes; random sizes count with their mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Most files that exist at once.
    pub files_at_most: u64,
    /// Directories that hold files, all filesets together.
    pub directories: u64,
    /// Most bytes that exist in files at once.
    pub bytes_at_most: u64,
    /// Most bytes that may exist at once if every random size were the largest.
    pub bytes_at_worst: u64,
    /// Bytes written in all phases and passes.
    pub bytes_written: u64,
    /// Bytes read in all phases and passes, from the device or from a cache.
    pub bytes_read: u64,
    /// Bytes read from the raw device.
    pub device_bytes_read: u64,
    /// Whether any phase opens files or the device with O_DIRECT.
    pub needs_direct: bool,
    /// Whether any phase reads the raw device below the filesystem.
    pub needs_device: bool,
    /// Whether any phase reads files left by ageing.
    pub needs_aged: bool,
    /// Whether any phase needs files at all; false for a workload that only reads the raw device.
    pub needs_files: bool,
    /// Whether any phase starts with dropped caches, which needs root.
    pub needs_cold: bool,
    /// Most workers that run at once.
    pub workers_at_most: u64,
    /// Nanoseconds that its programs take on an SSD, as declared by the workload (`takes`); `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_ns: Option<u64>,
    /// Part of each phase, in order.
    pub phases: Vec<PhaseEstimate>,
}

impl Estimate {
    /// Bytes that exist in files at once except for very unlikely sizes: the mean of random sizes, and four times their largest standard deviation.
    ///
    /// Sizes are drawn independently, so the sum of many is close to its mean: its relative deviation falls with the square root of their number.
    pub fn bytes_to_hold(&self) -> u64 {
        let beyond_mean = self.bytes_at_worst.saturating_sub(self.bytes_at_most) as f64;
        let share = (4.0 / (self.files_at_most.max(1) as f64).sqrt()).min(1.0);
        self.bytes_at_most.saturating_add((beyond_mean * share) as u64)
    }

    /// Inodes that the filesystem must offer: files, directories and the root.
    pub fn inodes_at_most(&self) -> u64 {
        self.files_at_most.saturating_add(self.directories).saturating_add(1)
    }
}

/// Expected resources of one phase, all its passes together. A phase that ends by time counts its work once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PhaseEstimate {
    /// Name of the phase.
    pub name: String,
    /// Items: files, directories or blocks.
    pub items: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Nanoseconds that it takes on any device: pauses, and phases that end by time.
    pub fixed_ns: u64,
    /// Files that exist after it.
    pub present_files: u64,
    /// Bytes in files that exist after it.
    pub present_bytes: u64,
}
