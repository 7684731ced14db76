//! `device.NAME`: a setting of the device's queue, such as `read_ahead` or `write_cache`.
//! In: its value. Out: a setting of the contender, which staging writes to sysfs, reads back and restores.

use crate::axis::{Axis, DEFAULT};
use records::Contender;

pub(crate) struct Device;

impl Axis for Device {
    fn name(&self) -> &'static str {
        "device."
    }

    fn put(&self, contender: &mut Contender, setting: &str, value: &str) {
        if value != DEFAULT {
            contender.device.insert(setting.to_owned(), value.to_owned());
        }
    }

    fn clear(&self, contender: &mut Contender, setting: &str) {
        contender.device.remove(setting);
    }

    fn asked(&self, contender: &Contender, setting: &str) -> Option<String> {
        contender.device.get(setting).cloned()
    }
}
