//! Values for the chart code: short names, base units, only what charts show.
//! In: a view and its material. Out: [`ChartData`], which goes into the page as JSON.

use crate::number::Unit;
use crate::view::{
    self, AxisView, CellView, CoursePoint, CourseRow, Latency, Material, RowView, SeriesView, Standing, View,
    WorkloadView,
};
use serde::Serialize;

/// Everything that the charts of a report show.
#[derive(Debug, Clone, Serialize)]
pub struct ChartData {
    /// Source of the figures: a line below standalone charts.
    pub source: String,
    /// Contenders in the order of the answer.
    pub contenders: Vec<ChartContender>,
    /// One for each operation of each workload.
    pub rows: Vec<ChartRow>,
    /// What was varied.
    pub axes: Vec<AxisView>,
    /// The same operation with one number of its workload varied.
    pub scalings: Vec<ChartScaling>,
    /// Operations that change from the first value of an ordered axis to the last.
    pub courses: Vec<ChartCourse>,
}

/// One operation over an ordered axis, each value compared with the first.
#[derive(Debug, Clone, Serialize)]
pub struct ChartCourse {
    /// `workload/operation-over-axis`, as slugs: the name of its files and of its anchor in the page.
    pub id: String,
    /// Heading of the workload.
    pub workload: String,
    /// Label of the operation.
    pub title: String,
    /// Index into [`ChartData::axes`].
    pub axis: usize,
    /// Whether figures are until durable.
    pub durable: bool,
    /// What the ratios are, in words.
    pub words: String,
    /// For each group of the axis its values.
    pub lines: Vec<Vec<Option<ChartTimes>>>,
}

/// How many times worse a value is than the first of its group.
#[derive(Debug, Clone, Serialize)]
pub struct ChartTimes {
    /// The ratio.
    pub median: f64,
    /// Low and high end of its interval.
    pub interval: Option<(f64, f64)>,
    /// The ratio as text.
    pub text: String,
}

/// One operation over the values of an option of its workload.
#[derive(Debug, Clone, Serialize)]
pub struct ChartScaling {
    /// `workload/operation`, as slugs: the name of its files and of its anchor in the page.
    pub id: String,
    /// Heading of the workload.
    pub workload: String,
    /// Label of the operation.
    pub title: String,
    /// The option.
    pub setting: String,
    /// Its values, from the smallest.
    pub values: Vec<String>,
    /// Unit of the figures.
    pub unit: Unit,
    /// For each value the index into [`ChartData::rows`].
    pub rows: Vec<usize>,
}

/// A contender in a legend.
#[derive(Debug, Clone, Serialize)]
pub struct ChartContender {
    /// Name.
    pub name: String,
    /// Place in the palette.
    pub slot: usize,
    /// Durability in few words.
    pub badge: String,
}

/// One operation.
#[derive(Debug, Clone, Serialize)]
pub struct ChartRow {
    /// `workload/operation`, as slugs: the name of its files and of its anchor in the page.
    pub id: String,
    /// Heading of the workload.
    pub workload: String,
    /// Label of the operation.
    pub title: String,
    /// Unit of the figures.
    pub unit: Unit,
    /// Whether more is better.
    pub higher: bool,
    /// Whether figures are until durable.
    pub durable: bool,
    /// Whether the returned figure is shown as well.
    pub both: bool,
    /// The raw device's figure.
    pub device: Option<f64>,
    /// One for each contender that has a figure.
    pub cells: Vec<ChartCell>,
}

/// One operation of one contender; values in base units.
#[derive(Debug, Clone, Serialize)]
pub struct ChartCell {
    /// Index into [`ChartData::contenders`].
    pub c: usize,
    /// Median.
    pub median: f64,
    /// Low and high end of the 95 % interval.
    pub interval: Option<(f64, f64)>,
    /// The median as text, without unit.
    pub text: String,
    /// Its standing.
    pub standing: Standing,
    /// Times worse than the best, as text.
    pub ratio: Option<String>,
    /// Every sample that counts.
    pub samples: Vec<f64>,
    /// Every sample that was set aside.
    pub aside: Vec<f64>,
    /// Median until returned.
    pub returned: Option<f64>,
    /// The same as text.
    pub returned_text: Option<String>,
    /// CPU of the workers, percent of one core.
    pub cpu: Option<f64>,
    /// Low and high end of its interval.
    pub cpu_interval: Option<(f64, f64)>,
    /// Latency.
    pub latency: Option<Latency>,
    /// Throughput over time.
    pub series: Option<SeriesView>,
    /// Notes.
    pub notes: Vec<String>,
}

/// Collects what the charts show.
pub fn chart_data(material: &Material, view: &View) -> ChartData {
    let contenders = view
        .contenders
        .iter()
        .map(|contender| ChartContender {
            name: crate::safe::terminal(&contender.name),
            slot: contender.slot,
            badge: contender.badge.clone(),
        })
        .collect();
    let rows: Vec<ChartRow> = view
        .workloads
        .iter()
        .flat_map(|workload| workload.rows.iter().map(move |row| chart_row(material, view, workload, row)))
        .collect();
    let scalings = scalings(view, &rows);
    let courses = courses(view);
    let day = view.run.began.split('T').next().unwrap_or_default();
    let emulated: Vec<&str> = view
        .contenders
        .iter()
        .filter(|contender| contender.backend == judge::Backend::Emulation && contender.error.is_none())
        .map(|contender| contender.name.as_str())
        .collect();
    // A standalone chart must not let an emulated machine pass for a real one.
    let label = match emulated.len() {
        0 => String::new(),
        count if count == view.contenders.len() => "; all in an emulated machine".into(),
        _ => format!("; in an emulated machine: {}", crate::safe::terminal(&emulated.join(", "))),
    };
    let source = format!("Bakeoff {}, run {}, {day}{label}", view.run.version, view.run.id);
    ChartData { source, contenders, rows, axes: view.axes.clone(), scalings, courses }
}

fn courses(view: &View) -> Vec<ChartCourse> {
    let times = |point: &CoursePoint| ChartTimes {
        median: point.times,
        interval: point.interval,
        text: crate::number::ratio(point.times),
    };
    let followed = view.pivots.iter().filter_map(|pivot| Some((pivot.axis, pivot.course.as_ref()?)));
    let rows = followed.flat_map(|(axis, course)| course.rows.iter().map(move |row| (axis, row)));
    let one = |(axis, line): (usize, &CourseRow)| {
        let workload = &view.workloads[line.workload];
        let row = &workload.rows[line.row];
        ChartCourse {
            id: format!("{}/{}-over-{}", workload.slug, row.slug, view::slug(&view.axes[axis].name)),
            workload: crate::safe::terminal(&workload.title),
            title: crate::safe::terminal(&row.title),
            axis,
            durable: row.durable,
            words: format!(
                "{} the first {}",
                if view.counts_instructions() { "times the instructions of" } else { "times slower than with" },
                view.axes[axis].name
            ),
            lines: line.lines.iter().map(|line| line.iter().map(|point| point.as_ref().map(times)).collect()).collect(),
        }
    };
    rows.map(one).collect()
}

fn scalings(view: &View, rows: &[ChartRow]) -> Vec<ChartScaling> {
    let mut scalings = Vec::new();
    for (scaling, row) in view.scalings.iter().flat_map(|scaling| scaling.rows.iter().map(move |row| (scaling, row))) {
        let before = |workload: usize| view.workloads[..workload].iter().map(|other| other.rows.len()).sum::<usize>();
        let places: Vec<usize> = row.places.iter().map(|(workload, at)| before(*workload) + at).collect();
        let cells = || places.iter().flat_map(|place| &rows[*place].cells);
        let Some((workload, at)) = row.places.first() else { continue };
        let first = &view.workloads[*workload].rows[*at];
        scalings.push(ChartScaling {
            id: format!("{}/{}", scaling.slug, first.slug),
            workload: crate::safe::terminal(&scaling.title),
            title: crate::safe::terminal(&row.title),
            setting: scaling.setting.clone(),
            values: scaling.values.clone(),
            unit: Unit::for_row(first.figure, cells().map(|cell| cell.median).collect::<Vec<_>>().into_iter()),
            rows: places,
        });
    }
    scalings
}

fn chart_row(material: &Material, view: &View, workload: &WorkloadView, row: &RowView) -> ChartRow {
    let name = view::trial_name(material, workload);
    let cells = row.cells.iter().filter_map(|cell| {
        let contender = view.contenders[cell.contender].index;
        let key = (name, workload.scale.as_str());
        Some(ChartCell {
            latency: view::latency(material, row, key, contender),
            series: view::series(material, row, key, contender),
            ..chart_cell(row, cell)?
        })
    });
    ChartRow {
        id: format!("{}/{}", workload.slug, row.slug),
        workload: crate::safe::terminal(&workload.title),
        title: crate::safe::terminal(&row.title),
        unit: row.unit,
        higher: row.higher_is_better,
        durable: row.durable,
        both: row.returned_matters,
        device: row.device,
        cells: cells.collect(),
    }
}

fn chart_cell(row: &RowView, cell: &CellView) -> Option<ChartCell> {
    let figure = cell.figure.as_ref()?;
    let values = |counts: bool| {
        let samples = cell.samples.iter().filter(move |sample| sample.counts == counts);
        samples.filter_map(|sample| sample.value).collect()
    };
    Some(ChartCell {
        c: cell.contender,
        median: figure.median,
        interval: figure.interval,
        text: row.show(figure),
        standing: cell.standing,
        ratio: cell.ratio.map(crate::number::ratio),
        samples: values(true),
        aside: values(false),
        returned: cell.returned.map(|returned| returned.median),
        returned_text: cell.returned.map(|returned| row.show(&returned)),
        cpu: cell.cpu.map(|cpu| cpu.median),
        cpu_interval: cell.cpu.and_then(|cpu| cpu.interval),
        latency: None,
        series: None,
        notes: cell.notes.iter().map(|note| crate::safe::terminal(&note.text)).collect(),
    })
}
