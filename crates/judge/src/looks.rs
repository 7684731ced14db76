//! Repeated looks: the level at each look that keeps the error rate of all looks together, however many follow.
//! In: how many blocks there are. Out: [`Looks`].
//! Nothing depends on the cap of a plan: a run that is resumed block by block without end is corrected, too.

use crate::figure::MIN_SAMPLES;
use crate::numbers::normal_quantile;
use crate::table::Table;

/// An epoch of looks ends when the number of blocks is this many times that at its start.
const EPOCH: f64 = 10.0 / 3.0;
/// Shares of a level for the first two epochs; each later epoch gets half of what is left.
const SHARES: [f64; 2] = [0.5, 0.35];
/// Growth of the probability of crossing a bound with the logarithm of the samples, in units of z squared.
const GROWTH: f64 = 0.45;

/// A look at a table of so many blocks. Every block from the third on is looked at, and the last one is not known in advance.
///
/// Looks fall into epochs that start at 3, 10, 33 ... blocks and share a level (stitching: Howard et al. 2021; open-ended spending: Lan and
/// DeMets 1983). Within an epoch a mean whose samples grow by a factor f crosses a fixed z about 1 + c z^2 ln f times as often as at one
/// look (Pocock 1977 tabulates it); c = 0.45 was fitted by simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Looks(f64);

impl Looks {
    /// The look at a table.
    pub fn of(table: &Table) -> Self {
        let samples = table.cells.iter().flat_map(|cell| &cell.samples);
        Self::at(samples.map(|sample| sample.block as usize + 1).max().unwrap_or(0))
    }

    /// The look after so many blocks.
    pub fn at(blocks: usize) -> Self {
        let grown = blocks.max(MIN_SAMPLES) as f64 / MIN_SAMPLES as f64;
        let epoch = (grown.ln() / EPOCH.ln() + 1e-9).floor() as usize;
        let rest: f64 = 1.0 - SHARES.iter().sum::<f64>();
        let late = || rest * 0.5_f64.powi((epoch - SHARES.len() + 1).min(60) as i32);
        Looks(SHARES.get(epoch).copied().unwrap_or_else(late))
    }

    /// The level of this look that keeps all looks together at `level`.
    pub fn level(self, level: f64) -> f64 {
        let level = level * self.0;
        let mut each = level / 4.0;
        for _ in 0..6 {
            let z = normal_quantile(each / 2.0);
            each = level / (1.0 + GROWTH * z * z * EPOCH.ln());
        }
        each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epochs_share_a_level_and_never_more() {
        assert_eq!(Looks::at(3), Looks::at(9));
        assert_ne!(Looks::at(9), Looks::at(10));
        let shares: f64 = (0..40).map(|epoch| Looks::at((3.0 * EPOCH.powi(epoch)).ceil() as usize).0).sum();
        assert!((shares - 1.0).abs() < 1e-3, "{shares}");
        assert!(Looks::at(3).level(0.05) < 0.01 && Looks::at(3).level(0.05) > 0.002);
    }
}
