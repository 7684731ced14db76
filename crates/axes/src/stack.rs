//! `stack`: the layers between a filesystem and its disks: `luks`, `raid1+lvm`.
//! In: layers from the disks upward, joined by `+`. Out: the contender's value. The stage builds them, in a guest.

use crate::axis::{About, Axis};
use crate::devices::devices;
use layers::{NONE, Stack};
use records::Contender;

/// Name of the axis.
pub const STACK: &str = "stack";

pub(crate) struct Layers;

/// The layers of a contender. A value that cannot be parsed was refused with the plan.
pub fn stack(contender: &Contender) -> Stack {
    contender.axes.get(STACK).and_then(|value| Stack::parse(value).ok()).unwrap_or_default()
}

/// How many disks a contender needs: one for each device of its volume, or those of its lowest layer.
pub fn disks_of(contender: &Contender) -> u32 {
    devices(contender).max(stack(contender).devices())
}

impl Axis for Layers {
    fn about(&self) -> About {
        About { usual: NONE, ..About::named(STACK) }
    }

    fn check(&self, _: &str, value: &str) -> Result<(), String> {
        Stack::parse(value).map(drop)
    }

    fn label(&self, _: &str, value: &str) -> String {
        if value == NONE { " on bare disk".into() } else { format!(" on {value}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_has_the_disks_of_its_lowest_layer() {
        let mut contender = Contender::plain("xfs");
        assert_eq!((disks_of(&contender), stack(&contender)), (1, Stack::default()));
        crate::put(&mut contender, STACK, "raid10+luks");
        assert_eq!((disks_of(&contender), crate::label(&contender).as_str()), (4, "xfs on raid10+luks"));
        crate::put(&mut contender, STACK, NONE);
        assert_eq!((disks_of(&contender), crate::label(&contender).as_str()), (1, "xfs on bare disk"));
        assert!(Layers.check("", "lux").expect_err("unknown").contains("luks"));
    }
}
