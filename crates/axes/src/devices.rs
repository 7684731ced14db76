//! `devices`: how many devices a volume spans, each block on two of them.
//! In: `1` to `8`. Out: the contender's value. The stage creates as many devices; the filesystem's file defines how the volume uses them.

use crate::axis::{About, Axis};
use records::Contender;

/// Name of the axis.
pub const DEVICES: &str = "devices";
/// Most devices of one volume.
pub const MOST_DEVICES: u32 = 8;

pub(crate) struct Devices;

/// How many devices a contender's volume spans.
pub fn devices(contender: &Contender) -> u32 {
    contender.axes.get(DEVICES).and_then(|count| count.parse().ok()).unwrap_or(1)
}

impl Axis for Devices {
    fn about(&self) -> About {
        About { usual: "1", is_ordered: true, ..About::named(DEVICES) }
    }

    fn check(&self, _: &str, value: &str) -> Result<(), String> {
        match value.parse::<u32>() {
            Ok(count) if (1..=MOST_DEVICES).contains(&count) => Ok(()),
            _ => Err(format!("a volume has 1 to {MOST_DEVICES} devices, not `{value}`")),
        }
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" {value} device{}", if value == "1" { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_that_was_asked_for_nothing_has_one_device() {
        let mut contender = Contender::plain("btrfs");
        assert_eq!(devices(&contender), 1);
        crate::put(&mut contender, DEVICES, "2");
        assert_eq!((devices(&contender), crate::label(&contender).as_str()), (2, "btrfs 2 devices"));
        assert_eq!(devices(&crate::without(&contender, DEVICES)), 1);
    }

    #[test]
    fn a_number_of_devices_outside_one_to_eight_is_refused() {
        for value in ["0", "9", "two", "-1", "1.5"] {
            assert!(Devices.check("", value).is_err(), "{value}");
        }
        assert_eq!(Devices.check("", "8"), Ok(()));
    }
}
