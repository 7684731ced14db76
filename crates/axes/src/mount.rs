//! `mount.NAME`: a mount option; `on` is the bare word, `off` its absence.
//! In: its value. Out: a word among the contender's mount options.
//! The order of the other options does not change.

use crate::axis::{About, Axis, DEFAULT};
use records::Contender;

pub(crate) struct Mount;

impl Axis for Mount {
    fn about(&self) -> About {
        About::named("mount.")
    }

    fn put(&self, contender: &mut Contender, setting: &str, value: &str) {
        let word = match value {
            "on" => setting.to_owned(),
            "off" | DEFAULT => return,
            value => format!("{setting}={value}"),
        };
        let comma = if contender.mount.is_empty() { "" } else { "," };
        contender.mount = format!("{}{comma}{word}", contender.mount);
    }

    fn clear(&self, contender: &mut Contender, setting: &str) {
        let others = contender.mount.split(',').filter(|word| word.split('=').next() != Some(setting));
        contender.mount = others.collect::<Vec<_>>().join(",");
    }

    fn asked(&self, contender: &Contender, setting: &str) -> Option<String> {
        // If an option is repeated, the kernel uses the last.
        let words = contender.mount_options().into_iter().rev();
        words.into_iter().find_map(|word| match word.split_once('=') {
            Some((name, value)) => (name == setting).then(|| value.to_owned()),
            None => (word == setting).then(|| "on".to_owned()),
        })
    }
}
