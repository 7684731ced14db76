//! Draws charts as SVG by the page's own chart code, in a small JavaScript engine without any access to the outside.
//! In: chart values. Out: SVG text.

use super::{CHARTS, ChartData, LIBRARY};
use crate::ReportError;
use rquickjs::{CatchResultExt, Context, Function, Object, Runtime};

/// Most memory that drawing may take, in bytes.
const MEMORY: usize = 512 << 20;
/// Deepest call stack of the engine, in bytes.
const STACK: usize = 1 << 20;
/// Width of a chart that stands alone, in pixels.
const WIDTH: u32 = 800;

/// Which picture of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Bars with intervals and samples.
    Figures,
    /// Latency percentiles.
    Latency,
    /// Throughput over time.
    Time,
    /// CPU of the workers.
    Cpu,
}

impl Kind {
    /// All of them, the first one first.
    pub const ALL: [Kind; 4] = [Kind::Figures, Kind::Latency, Kind::Time, Kind::Cpu];

    /// Name in the chart code and in file names.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Figures => "figures",
            Kind::Latency => "latency",
            Kind::Time => "time",
            Kind::Cpu => "cpu",
        }
    }
}

/// A drawing engine with the library loaded and the values handed over.
pub struct Artist {
    context: Context,
}

impl Artist {
    /// Loads the library and takes the values.
    ///
    /// # Errors
    /// What the engine answers.
    pub fn new(data: &ChartData) -> Result<Self, ReportError> {
        let refused = |answer: String| ReportError::Drawing { chart: "any".into(), answer };
        let runtime = Runtime::new().map_err(|error| refused(error.to_string()))?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let context = Context::full(&runtime).map_err(|error| refused(error.to_string()))?;
        let json = serde_json::to_string(data).map_err(|error| refused(error.to_string()))?;
        context.with(|ctx| {
            let load = || -> rquickjs::Result<()> {
                // The library looks for timers while it loads; nothing is animated here, so none ever has to run.
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

    /// One picture of an operation, by its place in [`ChartData::rows`]; `None` where it has nothing to show.
    ///
    /// # Errors
    /// What the engine answers.
    pub fn svg(&self, row: usize, kind: Kind) -> Result<Option<String>, ReportError> {
        self.context.with(|ctx| {
            let draw = || -> rquickjs::Result<Option<String>> {
                let charts: Object = ctx.globals().get("bakeoffCharts")?;
                let svg: Function = charts.get("svg")?;
                let data: Object = ctx.globals().get("bakeoffData")?;
                svg.call((data, row as u32, kind.name(), WIDTH))
            };
            draw().catch(&ctx).map_err(|error| ReportError::Drawing {
                chart: format!("{} of operation {row}", kind.name()),
                answer: error.to_string(),
            })
        })
    }
}
