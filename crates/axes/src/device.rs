//! `device.NAME`: a setting of the device's queue, such as `read_ahead`, `requests` or `write_cache`, or any other by its name in sysfs.
//! In: its value. Out: the setting in sysfs, read back.

use crate::axis::{About, Applied, Axis, DEFAULT, Ground, Moment, Seen};
use crate::queue::Setting;
use records::{Contender, OptionFound};

pub(crate) struct Device;

impl Axis for Device {
    fn about(&self) -> About {
        About { moment: Moment::Queue, ..About::named("device.") }
    }

    fn check(&self, setting: &str, value: &str) -> Result<(), String> {
        if value == DEFAULT { Ok(()) } else { Setting::of(setting, value).map(|_| ()) }
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

    fn applies(&self, contender: &Contender) -> Vec<(String, String)> {
        contender.device.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    fn apply(&self, setting: &str, value: &str, ground: &mut dyn Ground) -> Result<Applied, String> {
        Setting::of(setting, value)?.apply(ground)
    }

    fn read_back(&self, seen: &Seen) -> Result<Vec<OptionFound>, String> {
        Setting::of(seen.setting, seen.value)?.read_back(seen)
    }
}
