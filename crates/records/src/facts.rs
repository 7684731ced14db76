//! What a compiled workload says about itself: to the runner, to the judge and to whoever reads the report.
//! In: filled in by `workload::Workload::compile`. Out: plain values that can be kept in the ledger.
//! Nothing here changes what the engine does.

use crate::program::{
    ALL_INSTRUCTIONS, DEVICE_WRITTEN, Figure, INSTRUCTIONS, Order, Over, OwnFigure, PEAK_MEMORY, Program, USABLE_SHARE,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The unit of instructions that are counted.
pub const PER_OPERATION: &str = "instructions/op";

/// A workload at one scale with all its settings in place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Compiled {
    /// What the engine performs. Its root, device and durable parts are empty: the runner fills them in.
    pub program: Program,
    /// One for each phase of the program, in the same order; behind them one for each figure that programs print of themselves.
    pub phases: Vec<PhaseFacts>,
    /// Sums over several phases that tables show as one operation.
    pub totals: Vec<TotalFacts>,
    /// What it will take.
    pub estimate: Estimate,
    /// Name of the scale.
    pub scale: String,
    /// Every option with the value that was used, asked for or not.
    pub settings: BTreeMap<String, String>,
}

impl Compiled {
    /// Has instructions for each item be the figures of every phase, its workers' own and all of the machine's, and no time: where a clock goes by them, nothing that was taken with it is a
    /// time that passed. What programs tell of themselves stays where it is no time either.
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

    /// Whether it is judged by instructions, which no other work on the machine changes.
    pub fn counts_instructions(&self) -> bool {
        let counted = |own: &OwnFigure| [INSTRUCTIONS, ALL_INSTRUCTIONS].contains(&own.from.as_str());
        self.phases.iter().filter_map(|facts| facts.own.as_ref()).any(counted)
    }

    /// Fits phases over the raw device to one of so many bytes, which may be smaller than what they would read.
    ///
    /// Whole blocks only. A count that no longer fits in order is cut; random draws keep theirs.
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

/// What is to be known of a phase beside what the engine needs.
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
    /// The cache column of claims and published figures: `cold`, `warm`, `as-found`, `cached`, `direct`.
    /// What the runner really brings about is [`crate::program::Phase::cache`].
    pub cache_label: String,
    /// Which form of an operation, where a workload has it in several (`flat`, `hashed`).
    pub variant: Option<String>,
    /// The figure that tables show first.
    pub figure: Figure,
    /// The group whose items and bytes make that figure; None: all groups together.
    pub figure_group: Option<String>,
    /// `workload/phase` that this is shown as a share of, such as `device/read-sequential`.
    pub share_of: Option<String>,
    /// Laid out for later phases, not shown as a result.
    pub preparation: bool,
    /// The figure that is meant is one that the phase's program prints: facts of it stand behind those of all phases, under the phase's
    /// name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnFigure>,
    /// Names of earlier phases without which this one makes no sense: where nothing got done in one of them, it has no figure.
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
        // What is counted stands as the unit beside it.
        let whose = if of == INSTRUCTIONS { "own" } else { "all" };
        let (title, doing) = (format!("{}, {whose}", self.title), format!("{} ({words})", self.doing));
        let (figure, own) = (Figure::Printed, Some(own));
        PhaseFacts { title, doing, figure, own, figure_group: None, share_of: None, ..self.clone() }
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
    /// It is one operation among others, and does not stand for the whole workload.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub part: bool,
}

/// What a workload takes, computed from its counts and sizes; random sizes count with their mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Most files that exist at once.
    pub files_at_most: u64,
    /// Directories that files lie in, all filesets together.
    pub directories: u64,
    /// Most bytes that exist in files at once.
    pub bytes_at_most: u64,
    /// Most bytes that may exist at once if every random size came out largest.
    pub bytes_at_worst: u64,
    /// Bytes written in all phases and passes.
    pub bytes_written: u64,
    /// Bytes read in all phases and passes, from the device or from a cache.
    pub bytes_read: u64,
    /// Bytes read from the raw device.
    pub device_bytes_read: u64,
    /// Whether any phase opens files or the device with O_DIRECT.
    pub needs_direct: bool,
    /// Whether any phase reads the raw device beneath.
    pub needs_device: bool,
    /// Whether any phase reads what ageing left.
    pub needs_aged: bool,
    /// Whether any phase needs files at all; false for a workload that only reads the raw device.
    pub needs_files: bool,
    /// Whether any phase starts with dropped caches, which needs root.
    pub needs_cold: bool,
    /// Most workers that run at once.
    pub workers_at_most: u64,
    /// Nanoseconds that its programs take on an SSD, as the workload declares (`takes`); `None` where that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub programs_ns: Option<u64>,
    /// Part of each phase, in order.
    pub phases: Vec<PhaseEstimate>,
}

impl Estimate {
    /// Bytes that exist in files at once but for bad luck: the mean of random sizes, and four times their largest standard deviation.
    ///
    /// Sizes are drawn one by one, so the sum of many comes close to its mean: its deviation falls with the root of their number.
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

/// What one phase takes, all its passes together. A phase that ends by time counts its work once.
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
    /// Nanoseconds that it lasts whatever the device does: pauses, and phases that end by time.
    pub fixed_ns: u64,
    /// Files that exist after it.
    pub present_files: u64,
    /// Bytes in files that exist after it.
    pub present_bytes: u64,
}
