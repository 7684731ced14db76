//! Ratios between contenders over many published runs: over all of them, and by disk and kernel for the page's filters.
//! In: the runs' pairs, by numbers of the gallery. Out: a [`Pool`] each.
//! Never absolute figures: the rate of one machine says nothing about another.

use judge::{Pooled, Study, pooled};
use report::gallery::{Gallery, Pool};
use std::collections::{BTreeMap, BTreeSet};

/// Most ratios of one page.
pub const MOST: usize = 30_000;

/// The result of one run for two contenders of a line.
#[derive(Debug, Clone)]
pub struct Word {
    /// Index of the run's disk.
    pub disk: usize,
    /// Whether no real disk took part: it was modelled, or images were in memory. Such runs are pooled separately.
    pub apart: bool,
    /// Indices of its kernels.
    pub kernels: Vec<usize>,
    /// Index of the line.
    pub line: usize,
    /// Indices of the contenders, the lower one first.
    pub contenders: [usize; 2],
    /// What it measured.
    pub study: Study,
}

/// Runs that are pooled together: index of the disk and of the kernel, `None` for all.
type Kind = (Option<usize>, Option<usize>);

/// Pools results over all runs on real disks, over each disk, over each kernel, and over each disk with each kernel, in this order, up to
/// the page's limit. Also returns whether all of them fit.
pub fn pools(words: &[Word]) -> (Vec<Pool>, bool) {
    let disks: BTreeSet<usize> = words.iter().map(|word| word.disk).collect();
    let kernels: BTreeSet<usize> = words.iter().flat_map(|word| word.kernels.iter().copied()).collect();
    let mut kinds: Vec<Kind> = vec![(None, None)];
    kinds.extend(disks.iter().map(|disk| (Some(*disk), None)));
    kinds.extend(kernels.iter().map(|kernel| (None, Some(*kernel))));
    kinds.extend(disks.iter().flat_map(|disk| kernels.iter().map(|kernel| (Some(*disk), Some(*kernel)))));
    let (mut all, mut whole) = (Vec::new(), true);
    for kind in kinds {
        let mut own = of_kind(words, kind);
        // A kind is included whole or not at all, except the first one: of that the lines with most runs are included.
        if all.len() + own.len() > MOST {
            whole = false;
            match kind {
                (None, None) => own.truncate(MOST),
                _ => continue,
            }
        }
        all.extend(own);
    }
    (all, whole)
}

fn of_kind(words: &[Word], (disk, kernel): Kind) -> Vec<Pool> {
    let fits = |word: &&Word| {
        disk.map_or(!word.apart, |disk| word.disk == disk) && kernel.is_none_or(|kernel| word.kernels.contains(&kernel))
    };
    let mut together: BTreeMap<(usize, [usize; 2]), Vec<Study>> = BTreeMap::new();
    for word in words.iter().filter(fits) {
        together.entry((word.line, word.contenders)).or_default().push(word.study);
    }
    let number = |index: Option<usize>| index.map_or(-1, |index| index as i32);
    let one = |((line, [first, second]), studies): ((usize, [usize; 2]), Vec<Study>)| {
        let found = pooled(&studies)?;
        Some(Pool(number(disk), number(kernel), line, first, second, numbers(&found), found.runs, found.machines))
    };
    let mut pools: Vec<Pool> = together.into_iter().filter_map(one).collect();
    pools.sort_by_key(|pool| std::cmp::Reverse(pool.6));
    pools
}

/// Ratio, interval and prediction in the form of the page.
fn numbers(found: &Pooled) -> Vec<f64> {
    let spans = std::iter::once(found.interval).chain(found.prediction);
    let ends = spans.flat_map(|span| [span.low, span.high]);
    std::iter::once(found.ratio).chain(ends).map(|value| Gallery::rounded(value.clamp(1e-6, 1e6))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_on_modelled_disks_are_pooled_by_themselves() {
        let word = |disk: usize, apart: bool, log: f64| Word {
            disk,
            apart,
            kernels: vec![0],
            line: 0,
            contenders: [0, 1],
            study: Study { machine: disk, log, error: 0.01, df: 4.0 },
        };
        let (pools, whole) = pools(&[word(0, false, 2.0_f64.ln()), word(1, true, 8.0_f64.ln())]);
        let ratios: Vec<(i32, i32, f64)> = pools.iter().map(|pool| (pool.0, pool.1, pool.5[0])).collect();
        let wanted = [(-1, -1, 2.0), (0, -1, 2.0), (1, -1, 8.0), (-1, 0, 2.0), (0, 0, 2.0), (1, 0, 8.0)];
        assert_eq!((ratios.as_slice(), whole), (&wanted[..], true));
    }
}
