//! `kernel`: the kernel that a contender runs on; all but `host` run in a virtual machine.
//! In: its name. Out: the contender's kernel, which staging boots.

use crate::axis::{About, Axis};
use records::Contender;

pub(crate) struct Kernel;

impl Axis for Kernel {
    fn about(&self) -> About {
        About { usual: "host", is_ordered: true, ..About::named("kernel") }
    }

    fn put(&self, contender: &mut Contender, _: &str, value: &str) {
        contender.kernel = Some(value.to_owned());
    }

    fn clear(&self, contender: &mut Contender, _: &str) {
        contender.kernel = None;
    }

    fn asked(&self, contender: &Contender, _: &str) -> Option<String> {
        contender.kernel.clone()
    }

    fn label(&self, _: &str, value: &str) -> String {
        format!(" on {value}")
    }

    /// By version: 6.6, 6.12, 7.2. A name without a version has no rank; callers that know its release pass that instead.
    fn rank(&self, value: &str) -> Option<f64> {
        let release = value.strip_prefix("debian:").unwrap_or(value);
        let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(|part| part.parse::<u16>().ok());
        let (major, minor) = (numbers.next()??, numbers.next()??);
        let patch = numbers.next().flatten().unwrap_or(0);
        Some(f64::from(major) * 1e10 + f64::from(minor) * 1e5 + f64::from(patch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_ordered_by_version_and_not_by_text() {
        let rank = |name: &str| Kernel.rank(name).expect("it tells a version");
        assert!(rank("debian:6.6") < rank("debian:6.12") && rank("debian:6.12") < rank("debian:7.2"));
        assert!(rank("6.12.9-amd64") < rank("6.12.117+deb13-amd64") && rank("6.12.117+deb13-amd64") < rank("6.18.0"));
        for name in ["host", "/boot/vmlinuz-6.1.0", "debian:newest", ""] {
            assert_eq!(Kernel.rank(name), None, "{name}");
        }
    }
}
