//! Draws charts as SVG with the page's own chart code, in a small JavaScript engine without access to the outside.
//! In: chart values. Out: SVG text.

use super::{CHARTS, ChartData, LIBRARY};
use crate::ReportError;
use rquickjs::{CatchResultExt, Context, Function, Object, Runtime};

/// Most memory for drawing, in bytes.
const MEMORY: usize = 512 << 20;
/// Deepest call stack of the engine, in bytes.
const STACK: usize = 1 << 20;
/// Width of a standalone chart, in pixels.
const WIDTH: u32 = 800;

/// Kind of chart: what it shows, and which list of the chart values it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bars with intervals and samples.
    Figures,
    /// Latency percentiles.
    Latency,
    /// Throughput over time.
    Time,
    /// The longest calls over time.
    Stalls,
    /// CPU of the workers.
    Cpu,
    /// Figures over the axis of this number in [`ChartData::axes`].
    Axis(usize),
    /// One of [`ChartData::scalings`]: figures over an option of the workload.
    Scaling,
    /// One of [`ChartData::courses`]: figures over an ordered axis.
    Course,
}

impl Kind {
    /// Charts of an operation that every run may have, the first one first.
    pub const ALL: [Kind; 5] = [Kind::Figures, Kind::Latency, Kind::Time, Kind::Stalls, Kind::Cpu];

    /// All charts of an operation that a report may have.
    pub fn of(data: &ChartData) -> Vec<Kind> {
        Kind::ALL.into_iter().chain((0..data.axes.len()).map(Kind::Axis)).collect()
    }

    /// Name in the chart code.
    pub fn name(self) -> String {
        match self {
            Kind::Figures => "figures".into(),
            Kind::Latency => "latency".into(),
            Kind::Time => "time".into(),
            Kind::Stalls => "stalls".into(),
            Kind::Cpu => "cpu".into(),
            Kind::Axis(number) => format!("axis:{number}"),
            Kind::Scaling => "scaling".into(),
            Kind::Course => "course".into(),
        }
    }

    /// File name of the chart at a position of its list, without an ending: letters, digits and dashes.
    pub fn file_name(self, place: usize, data: &ChartData) -> String {
        let name = match self {
            Kind::Scaling => data.scalings[place].id.clone(),
            Kind::Course => data.courses[place].id.clone(),
            Kind::Axis(number) => format!("{}-by-{}", data.rows[place].id, crate::view::slug(&data.axes[number].name)),
            kind => format!("{}-{}", data.rows[place].id, kind.name()),
        };
        name.replace('/', "-")
    }
}

/// A drawing engine with the library loaded and the values passed in.
pub struct Artist {
    context: Context,
}

impl Artist {
    /// Loads the library and takes the values.
    ///
    /// # Errors
    /// The error of the engine.
    pub fn new(data: &ChartData) -> Result<Self, ReportError> {
        let refused = |answer: String| ReportError::Drawing { chart: "any".into(), answer };
        let runtime = Runtime::new().map_err(|error| refused(error.to_string()))?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime).map_err(|error| refused(error.to_string()))?;
        let json = serde_json::to_string(data).map_err(|error| refused(error.to_string()))?;
        context.with(|ctx| {
            let load = || -> rquickjs::Result<()> {
                // The library expects timers while it loads; nothing is animated here, so none ever has to run.
                ctx.eval::<(), _>("globalThis.setTimeout = () => 0; globalThis.clearTimeout = () => {};")?;
                ctx.eval::<(), _>(LIBRARY)?;
                ctx.eval::<(), _>(CHARTS)?;
                ctx.globals().set("bakeoffText", json.as_str())?;
                ctx.eval::<(), _>("globalThis.bakeoffData = JSON.parse(bakeoffText); delete globalThis.bakeoffText;")
            };
            load().catch(&ctx).map_err(|error| refused(error.to_string()))
        })?;
        Ok(Self { context })
    }

    /// One chart, by its position in its list; `None` where it has nothing to show.
    ///
    /// # Errors
    /// The error of the engine.
    pub fn svg(&self, place: usize, kind: Kind) -> Result<Option<String>, ReportError> {
        let kind = kind.name();
        self.context.with(|ctx| {
            let draw = || -> rquickjs::Result<Option<String>> {
                let charts: Object = ctx.globals().get("bakeoffCharts")?;
                let svg: Function = charts.get("svg")?;
                let data: Object = ctx.globals().get("bakeoffData")?;
                svg.call((data, place as u32, kind.as_str(), WIDTH))
            };
            draw().catch(&ctx).map_err(|error| ReportError::Drawing {
                chart: format!("{kind} of operation {place}"),
                answer: error.to_string(),
            })
        })
    }
}
