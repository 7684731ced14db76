//! Every chart as a file, drawn on as many threads as there are processors.
//! In: chart values. Out: file names with their bytes.

use crate::ReportError;
use crate::chart::{Artist, ChartData, Kind, png};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most threads that draw at once; each holds a drawing engine of some ten megabytes.
const MOST_THREADS: usize = 8;

/// A file's name and bytes.
pub(super) type File = (String, Vec<u8>);

/// Draws every picture that has something to show.
///
/// # Errors
/// The first chart that could not be drawn.
pub(super) fn draw_all(charts: &ChartData, svg: bool, raster: bool) -> Result<Vec<File>, ReportError> {
    let kinds = Kind::of(charts);
    let rows = (0..charts.rows.len()).flat_map(|row| kinds.iter().map(move |kind| (row, *kind)));
    let scalings = (0..charts.scalings.len()).map(|place| (place, Kind::Scaling));
    let courses = (0..charts.courses.len()).map(|place| (place, Kind::Course));
    let work: Vec<(usize, Kind)> = rows.chain(scalings).chain(courses).collect();
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = processors.min(MOST_THREADS).min(work.len()).max(1);
    let next = AtomicUsize::new(0);
    let draw = || -> Result<Vec<File>, ReportError> {
        let artist = Artist::new(charts)?;
        let mut files = Vec::new();
        while let Some(picture) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            files.extend(draw_one(&artist, charts, *picture, (svg, raster))?);
        }
        Ok(files)
    };
    let mut files = std::thread::scope(|scope| -> Result<Vec<File>, ReportError> {
        let hands: Vec<_> = (0..threads).map(|_| scope.spawn(draw)).collect();
        let mut files = Vec::new();
        for hand in hands {
            let made = hand.join().map_err(|_| ReportError::Drawing {
                chart: "the charts".into(),
                answer: "a drawing thread broke off".into(),
            })?;
            files.extend(made?);
        }
        Ok(files)
    })?;
    files.sort();
    Ok(files)
}

fn draw_one(
    artist: &Artist,
    charts: &ChartData,
    (place, kind): (usize, Kind),
    (svg, raster): (bool, bool),
) -> Result<Vec<File>, ReportError> {
    let Some(text) = artist.svg(place, kind)? else {
        return Ok(Vec::new());
    };
    let name = kind.file_name(place, charts);
    let mut files = Vec::new();
    if raster {
        files.push((format!("{name}.png"), png(&text)?));
    }
    if svg {
        files.push((format!("{name}.svg"), text.into_bytes()));
    }
    Ok(files)
}
