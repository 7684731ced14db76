//! Charts: their content, and their drawing by the same code in the page, as SVG and as PNG.
//! In: a [`crate::View`] with its material. Out: values for the chart code, SVG text, PNG bytes.

mod data;
mod draw;
mod palette;
mod raster;

pub use data::{ChartCell, ChartContender, ChartCourse, ChartData, ChartRow, ChartScaling, ChartTimes, chart_data};
pub use draw::{Artist, Kind};
pub use palette::slots;
pub use raster::png;

/// The chart library, Apache ECharts, trimmed to what is used here.
pub(crate) const LIBRARY: &str = include_str!("../assets/echarts/echarts.min.js");
/// Converts values to the library's options; runs in the page and here.
pub(crate) const CHARTS: &str = include_str!("../assets/charts.js");

/// A place in a drawing, rounded to a tenth of a pixel.
pub(crate) fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}
