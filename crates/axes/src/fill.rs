//! `fill`: the share of a volume that is filled before the work.
//! In: `0%` to `99%`. Out: the contender's fill, to which the runner has its image aged.

use crate::axis::{Axis, Takes};
use records::Contender;

pub(crate) struct Fill;

/// `40%`; shares are binary fractions, and 0.55 times 100 is not quite 55.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

impl Axis for Fill {
    fn name(&self) -> &'static str {
        "fill"
    }

    fn takes(&self) -> Takes {
        Takes::Fills
    }

    fn usual(&self) -> &'static str {
        "0%"
    }

    fn put(&self, contender: &mut Contender, _: &str, value: &str) {
        contender.fill = self.rank(value).map(|percent| percent / 100.0);
    }

    fn clear(&self, contender: &mut Contender, _: &str) {
        contender.fill = None;
    }

    fn asked(&self, contender: &Contender, _: &str) -> Option<String> {
        contender.fill.map(percent)
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" {value}")
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn is_scale(&self) -> bool {
        true
    }
}
