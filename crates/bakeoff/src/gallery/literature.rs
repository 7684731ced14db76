//! Published sources as entries of the gallery: sources with their years and figures, and claims.
//! In: the compiled-in files. Out: lists for the page.

use crate::failure::Failure;
use crate::published::{RESULTS, SOURCES};
use literature::{Figure, Published};
use report::gallery::{Claim, Source};

/// The sources, the latest first.
///
/// # Errors
/// Never in practice: the files are compiled in, and a test reads them.
pub fn sources() -> Result<Vec<(String, Source)>, Failure> {
    let figures = literature::figures(RESULTS, "published/results.csv")?;
    let mut sources = literature::sources(SOURCES, "published/sources.csv")?;
    sources.sort_by(|a, b| b.year.cmp(&a.year).then_with(|| a.source.cmp(&b.source)));
    let one = |source: literature::Source| {
        let own = figures.iter().filter(|figure| figure.source == source.source).map(row).collect();
        (source.source, Source { title: source.title, year: source.year, hardware: source.hardware, figures: own })
    };
    Ok(sources.into_iter().map(one).collect())
}

fn row(figure: &Figure) -> [String; 4] {
    let joined = |parts: &[&str], with: &str| {
        parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join(with)
    };
    [
        figure.workload.clone(),
        joined(&[&figure.operation, &figure.cache], ", "),
        joined(&[&figure.filesystem, &figure.options, &figure.scheduler, &figure.kernel], ", "),
        joined(&[&figure.value.to_string(), &figure.unit], " "),
    ]
}

/// The claims, not yet tested.
pub fn claims(published: &[Published], sources: &[(String, Source)]) -> Vec<Claim> {
    let one = |published: &Published| Claim {
        id: published.claim.id.clone(),
        text: published.claim.statement.clone(),
        source: sources.iter().position(|(key, _)| *key == published.claim.source),
        device: published.device.clone(),
        tested: Vec::new(),
    };
    published.iter().map(one).collect()
}
