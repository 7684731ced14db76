//! All values to show of a run, in one place: the terminal, the page and every export read them.
//! In: records of the ledger and the judge's table of them. Out: a [`View`], in base units, nothing rounded.
//! Twins are hidden, trials that were set aside are counted, failed contenders are listed with their reason.

mod against;
mod answer;
mod axes;
mod build;
mod cells;
mod clients;
mod costs;
mod course;
mod device;
mod known;
mod late_disk;
mod machines;
mod material;
mod options;
mod pairs;
mod pivot;
mod question;
mod run;
mod scaling;
mod score;
mod sessions;
mod spread;
mod story;
mod variants;
mod why;

pub use against::{AgainstRow, AgainstView};
pub use answer::{AnswerView, WorkloadLine};
pub use axes::{AxisGroup, AxisView};
pub use clients::{ClientRow, ClientsRow, ClientsView};
pub use costs::{CostView, CostsView, HEADINGS, LEGEND};
pub use course::{CoursePoint, CourseRow, CourseView};
pub(crate) use known::{slug, trial_name};
pub(crate) use machines::span_words;
pub use machines::{MachineView, MachinesView, PooledView};
pub use material::Material;
pub use options::in_words;
pub use pivot::{CHOSEN, PivotBest, PivotCell, PivotRow, PivotView};
pub use run::RunView;
pub use scaling::{ScalingRow, ScalingView};
pub use score::ScoreView;
pub use sessions::{SessionView, machine_between};
pub(crate) use spread::read_histogram;
pub use spread::{Latency, SeriesView, latency, series};
pub use story::plural;
pub use variants::{LevelRow, VariantsView};
pub use why::{Point, Why, why};

use crate::number::Unit;
use judge::{Backend, Durability, NoteKind, Table};
use records::OptionFound;
use records::program::Figure;
use serde::Serialize;
use strum::IntoStaticStr;

/// A durable figure is shown next to the returned one if they differ by more than this share.
pub const WORTH_SHOWING: f64 = 0.20;

/// All content of a report of one run.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// The run itself.
    pub run: RunView,
    /// Which to take.
    pub answer: AnswerView,
    /// The contenders, in the order of the answer, without twins.
    pub contenders: Vec<ContenderView>,
    /// One section each, in the order of the plan. Files have their own format for them.
    #[serde(skip)]
    pub workloads: Vec<WorkloadView>,
    /// What was varied, and which contenders differ in that alone.
    pub axes: Vec<AxisView>,
    /// Each axis judged: its best value for each group, then the groups with their best values.
    pub pivots: Vec<PivotView>,
    /// Variants of the work, compared within each contender.
    pub variants: Vec<VariantsView>,
    /// The same work with one number varied.
    pub scalings: Vec<ScalingView>,
    /// Results of several parallel clients, one for each workload and contender that had several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientsView>,
    /// Scores as IO500 computes them, if its work was done; no verdict uses them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<ScoreView>,
    /// Costs other than speed, one for each workload.
    pub costs: Vec<CostsView>,
    /// The machines, if shards of several were merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<MachinesView>,
    /// The raw device below the filesystems, where it was measured.
    pub device: Vec<DeviceRow>,
    /// Warnings about the verdict as a whole.
    pub warnings: Vec<String>,
    /// Trials that failed.
    pub failures: Vec<FailureView>,
    /// How many trials there are, by outcome.
    pub counts: Counts,
    /// Noise of the machine by the twin, a share; absent without a twin.
    pub noise_floor: Option<f64>,
    /// Smallest difference that counts, a share.
    pub smallest_effect: f64,
    /// Contenders compared with the one in use now, where one was named ([`View::hold_against`]).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstView>,
    /// Figures that others published, shown next to the measured ones and not part of any statistics. Empty unless added.
    pub published: Vec<PublishedView>,
    /// The complete table of the judge.
    #[serde(skip)]
    pub table: Table,
    /// The judgement of that table.
    #[serde(skip)]
    pub judgement: judge::Judgement,
}

/// A contender.
#[derive(Debug, Clone, Serialize)]
pub struct ContenderView {
    /// Index in the ledger and in the judge's table.
    pub index: usize,
    /// Place of its colour and mark: the same in every picture.
    pub slot: usize,
    /// Name in tables.
    pub name: String,
    /// Why it dropped out or cannot take part.
    pub error: Option<String>,
    /// How it differs from the published option set that it represents; absent where it represents only itself.
    pub nearest: Option<records::Nearest>,
    /// Its durability, in words; absent where not known.
    pub safety: Option<String>,
    /// Results of power cuts for it, or for one of the same class, in words; absent where nothing is known.
    pub measured: Option<String>,
    /// The same, short enough to fit below a name; empty where all contenders are equal.
    pub badge: String,
    /// The backend of its kernel.
    pub backend: Backend,
    /// The same as flags.
    #[serde(skip)]
    pub durability: Durability,
    /// The state after ageing, before the work, in words: layout, fill, free space; absent where it was fresh.
    pub age: Option<String>,
    /// The requested options, flattened.
    pub asked: Vec<(String, String)>,
    /// Options as requested and as read back.
    pub options: Vec<OptionFound>,
    /// Other properties read back after mounting, flattened.
    pub found: Vec<(String, String)>,
    /// Properties read back after unmounting, flattened, of the last trial.
    pub closing: Vec<(String, String)>,
    /// Its value on each axis of the plan.
    pub axes: Vec<(String, String)>,
}

/// One workload at one scale.
#[derive(Debug, Clone)]
pub struct WorkloadView {
    /// Its name in the judge's table.
    pub name: String,
    /// Part of file names and of links: lower case letters, digits and dashes; unique.
    pub slug: String,
    /// Heading.
    pub title: String,
    /// Its description, in words.
    pub about: String,
    /// Scale.
    pub scale: String,
    /// Every option with its value.
    pub settings: Vec<(String, String)>,
    /// One for each operation, the sum of all steps first.
    pub rows: Vec<RowView>,
    /// The verdict.
    pub sentences: Vec<SentenceView>,
    /// Notes that apply to every figure of the workload, so that no cell repeats them.
    pub notes: Vec<NoteView>,
}

/// A sentence of the verdict with its evidence.
#[derive(Debug, Clone, Serialize)]
pub struct SentenceView {
    /// The sentence.
    pub text: String,
    /// Not the answer, but a cost or a lost safety: a later sentence about the same operation.
    pub aside: bool,
    /// Cells that support it, as `workload/operation/contender`, for `show --why`.
    pub cells: Vec<String>,
}

/// One operation over all contenders.
#[derive(Debug, Clone)]
pub struct RowView {
    /// Index of the headline figure in the judge's table.
    pub operation: usize,
    /// Part of file names and links, unique within the workload.
    pub slug: String,
    /// Name for `show --why`: `operation` or `operation:cache`.
    pub key: String,
    /// Short label.
    pub title: String,
    /// Cache state, as claims name it.
    pub cache: String,
    /// Names of the phases it is computed from.
    pub phases: Vec<String>,
    /// The group of workers whose figure it is; None: all of them.
    pub group: Option<String>,
    /// Kind of the figure.
    pub figure: Figure,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// Unit of the shown figures.
    pub unit: Unit,
    /// Unit of the values in files.
    pub base_unit: String,
    /// Whether the figures are until durable, and a returned figure exists, too.
    pub durable: bool,
    /// Whether the two differ by more than [`WORTH_SHOWING`] for a contender.
    pub returned_matters: bool,
    /// The raw device's figure for the same work, in base units.
    pub device: Option<f64>,
    /// One for each contender of [`View::contenders`], in the same order.
    pub cells: Vec<CellView>,
}

impl RowView {
    /// Description of its figures: title, unit, until when, and whether less is better.
    pub(crate) fn named(&self) -> String {
        let until = if self.durable { ", until durable" } else { "" };
        let less = if self.higher_is_better { "" } else { ", less is better" };
        format!("{} ({}{until}{less})", self.title, self.unit.sign)
    }

    /// A figure in its unit, with no more digits than the interval allows.
    pub(crate) fn show(&self, figure: &FigureView) -> String {
        self.unit.show(figure.median, figure.half_width())
    }
}

/// One operation of one contender.
#[derive(Debug, Clone, Serialize)]
pub struct CellView {
    /// Index into [`View::contenders`].
    pub contender: usize,
    /// The judged figure: until durable where the phase wrote.
    pub figure: Option<FigureView>,
    /// Until the last call returned, if that figure differs.
    pub returned: Option<FigureView>,
    /// CPU of the workers, in percent of one core.
    pub cpu: Option<FigureView>,
    /// Its standing.
    pub standing: Standing,
    /// How many times worse than the best.
    pub ratio: Option<f64>,
    /// 95 % interval of that.
    pub ratio_interval: Option<(f64, f64)>,
    /// Share of the raw device's figure.
    pub of_device: Option<f64>,
    /// Why there is no figure.
    pub missing: Option<String>,
    /// Notes on the figure.
    pub notes: Vec<NoteView>,
    /// Every pass of every trial, in the order of time, those set aside included.
    pub samples: Vec<SampleView>,
}

/// A figure with its interval, in base units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FigureView {
    /// Median over trials.
    pub median: f64,
    /// 95 % interval, low and high; absent below two samples.
    pub interval: Option<(f64, f64)>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Trials that it is based on.
    pub trials: usize,
    /// Relative standard deviation, a share.
    pub rsd: Option<f64>,
    /// Above 5 %: min to max is shown.
    pub unstable: bool,
}

impl FigureView {
    /// Half the width of the interval.
    pub fn half_width(&self) -> Option<f64> {
        self.interval.map(|(low, high)| (high - low) / 2.0)
    }
}

/// Standing of a contender in one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Standing {
    /// Shown to be better than every other.
    Best,
    /// The best estimate, or no difference to it shown: they share the place.
    Tie,
    /// The best estimate, but not shown to win.
    Leading,
    /// Not separated from the best.
    Unresolved,
    /// Likely worse than the best.
    Likely,
    /// Worse than the best.
    Worse,
    /// No figure, or nothing to compare with.
    Alone,
}

impl Standing {
    /// The word for it in files.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The mark before a figure.
    pub fn mark(self) -> &'static str {
        match self {
            Standing::Best => "▲ ",
            Standing::Tie => "= ",
            Standing::Leading | Standing::Unresolved => "? ",
            Standing::Likely => "~ ",
            Standing::Worse | Standing::Alone => "",
        }
    }
}

/// A note on a figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NoteView {
    /// Which kind.
    pub kind: NoteKind,
    /// In few words.
    pub text: String,
}

/// One pass of one trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleView {
    /// Number of the trial within the run, from 0.
    pub trial: usize,
    /// Block, from 0.
    pub block: u32,
    /// Pass, from 0.
    pub pass: u32,
    /// The judged figure; absent where nothing was measured.
    pub value: Option<f64>,
    /// Until the last call returned.
    pub returned: Option<f64>,
    /// Until durable.
    pub durable: Option<f64>,
    /// CPU of the workers, in percent of one core.
    pub cpu: Option<f64>,
    /// Number of slices, between which other contenders had their turns; absent for a pass in one piece and for a sum over phases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<usize>,
    /// Whether it counts in the figure; one that does not was set aside.
    pub counts: bool,
    /// What disturbed it.
    pub disturbed: Option<String>,
}

/// The raw device's figure for one kind of work.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceRow {
    /// Phase, as `workload/phase`.
    pub phase: String,
    /// Short label.
    pub title: String,
    /// Kind of the figure.
    pub figure: Figure,
    /// Unit.
    pub unit: Unit,
    /// Median over all trials.
    pub median: f64,
    /// Smallest and largest.
    pub range: (f64, f64),
    /// How many samples.
    pub samples: usize,
    /// Remarks on them, in few words each.
    pub remarks: Vec<String>,
}

/// A trial that failed.
#[derive(Debug, Clone, Serialize)]
pub struct FailureView {
    /// Contender.
    pub contender: String,
    /// Workload.
    pub workload: String,
    /// Block, from 0.
    pub block: u32,
    /// Why.
    pub reason: String,
}

/// A published figure of an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PublishedView {
    /// Name of the workload, as [`WorkloadView::name`].
    pub workload: String,
    /// Name of the operation, as [`RowView::key`].
    pub operation: String,
    /// What was published, for which contender, with its unit.
    pub text: String,
    /// Where and when.
    pub source: String,
}

/// Number of trials by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Blocks begun.
    pub blocks: u32,
    /// Trials that gave samples.
    pub done: usize,
    /// Trials that failed.
    pub failed: usize,
    /// Trials that were disturbed and repeated.
    pub set_aside: usize,
    /// Share of the run's time that was measured work, 0 to 1; absent for results of others.
    pub measured_share: Option<f64>,
}

impl WorkloadView {
    /// A row by its key, slug or title, or by its operation alone if that is unique.
    pub fn row(&self, asked: &str) -> Option<&RowView> {
        let exact = |row: &&RowView| row.key == asked || row.slug == asked || row.title == asked;
        let by_operation = |row: &&RowView| row.key.split(':').next() == Some(asked);
        let alone = || {
            let mut named = self.rows.iter().filter(by_operation);
            named.next().filter(|_| named.next().is_none())
        };
        self.rows.iter().find(exact).or_else(alone)
    }
}

impl View {
    /// Whether the figures are instruction counts instead of times.
    pub fn counts_instructions(&self) -> bool {
        self.table.operations.iter().any(|operation| operation.unit == records::facts::PER_OPERATION)
    }

    /// Whether a contender, by its index into [`View::contenders`], has any figure.
    pub fn has_figures(&self, place: usize) -> bool {
        self.workloads.iter().flat_map(|workload| &workload.rows).any(|row| row.cells[place].figure.is_some())
    }

    /// Whether a row is the sum of a workload's steps.
    pub fn is_sum(&self, row: &RowView) -> bool {
        self.table.operations[row.operation].summary
    }

    /// Whether any row has figures of two contenders.
    pub(crate) fn compares(&self) -> bool {
        let several = |row: &RowView| row.cells.iter().filter(|cell| cell.figure.is_some()).count() > 1;
        self.workloads.iter().flat_map(|workload| &workload.rows).any(several)
    }

    /// The row that a line of a pivot is about.
    pub(crate) fn row(&self, line: &PivotRow) -> &RowView {
        &self.workloads[line.workload].rows[line.row]
    }

    /// The words after "1.3x" for something worse.
    pub fn slower(&self) -> &'static str {
        if self.counts_instructions() { "the instructions" } else { "slower" }
    }

    /// The words after "1.3x" for something better.
    pub fn faster(&self) -> &'static str {
        if self.counts_instructions() { "fewer instructions" } else { "faster" }
    }

    /// The pivot on the axis of this name.
    pub fn pivot(&self, axis: &str) -> Option<(&AxisView, &PivotView)> {
        let pivot = self.pivots.iter().find(|pivot| self.axes[pivot.axis].name.eq_ignore_ascii_case(axis))?;
        Some((&self.axes[pivot.axis], pivot))
    }

    /// The cell of a workload, a row (see [`WorkloadView::row`]) and a contender, by their names.
    pub fn find(&self, workload: &str, row: &str, contender: &str) -> Option<(&WorkloadView, &RowView, &CellView)> {
        let workload = self
            .workloads
            .iter()
            .find(|found| [&found.slug, &found.name, &found.title].contains(&&workload.to_owned()))?;
        let row = workload.row(row)?;
        let place = self.contenders.iter().position(|found| found.name == contender)?;
        Some((workload, row, row.cells.get(place)?))
    }
}
