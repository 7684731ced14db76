//! `fill`: the share of a volume that is filled before the work.
//! In: `0%` to `99%`. Out: the contender's fill, to which the runner ages its image.

use crate::axis::{About, Axis, Takes};
use records::Contender;

pub(crate) struct Fill;

/// `40%`. Shares are binary fractions: 0.55 times 100 is not exactly 55.
fn percent(share: f64) -> String {
    format!("{}%", (share * 1e6).round() / 1e4)
}

impl Axis for Fill {
    fn about(&self) -> About {
        About { takes: Takes::Fills, usual: "0%", is_ordered: true, is_scale: true, ..About::named("fill") }
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
}
