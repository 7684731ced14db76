//! The packages that a kernel consists of: since 6.19 its modules and the kernel itself are packages of their own.
//! In: output of `apt-cache depends` about kernels. Out: for each kernel its parts, and the one that is missing.
//! Debian's backports keep kernels whose modules were removed; such a kernel is unavailable.

const START: &str = "linux-image-";
const FLAVOUR: &str = "-amd64";
/// How the names of packages of unsigned kernels end.
pub(super) const UNSIGNED: &str = "-amd64-unsigned";

/// The query to apt, without what a kernel recommends or excludes.
pub(super) const QUESTION: [&str; 8] = [
    "apt-cache",
    "depends",
    "--no-recommends",
    "--no-suggests",
    "--no-breaks",
    "--no-conflicts",
    "--no-replaces",
    "--no-enhances",
];

/// The release in the name of a plain kernel's package, signed or not: `6.12.117+deb13` or `7.3`; None for other packages.
pub(super) fn release_of(package: &str) -> Option<&str> {
    let rest = package.strip_prefix(START)?;
    let release = rest.strip_suffix(UNSIGNED).or_else(|| rest.strip_suffix(FLAVOUR))?;
    let begins = release.chars().next().is_some_and(|first| first.is_ascii_digit());
    let plain = !["cloud", "rt"].iter().any(|kind| release.split('-').any(|part| part == *kind));
    (begins && plain).then_some(release)
}

/// A kernel's package and its parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub package: String,
    /// Packages of the same release that it depends on and that exist.
    pub there: Vec<String>,
    /// A part without which it does not run; None if all exist.
    pub missing: Option<String>,
}

/// Parses apt's output: a package's name at the beginning of a line, then its dependencies, indented; `<NAME>` is one that no suite has.
pub(super) fn read(answer: &str) -> Vec<Parts> {
    let mut all: Vec<Parts> = Vec::new();
    for line in answer.lines() {
        if !line.starts_with([' ', '|']) {
            all.push(Parts { package: line.trim().into(), there: Vec::new(), missing: None });
        } else if let (Some(kernel), Some((_, name))) = (all.last_mut(), line.split_once("Depends: ")) {
            add(kernel, name.trim());
        }
    }
    all
}

fn add(kernel: &mut Parts, name: &str) {
    let is_missing = name.starts_with('<');
    let name = name.trim_matches(['<', '>']);
    let ours = release_of(&kernel.package).is_some_and(|release| name.ends_with(&format!("-{release}-amd64")));
    if !ours {
        return;
    }
    if !is_missing {
        kernel.there.push(name.into());
    } else if !name.starts_with("linux-base-") {
        // The base package holds lists that are not used here.
        kernel.missing = Some(name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "\
linux-image-6.1.0-56-amd64
  Depends: kmod
  Depends: linux-base
 |Depends: initramfs-tools
  Depends: <linux-initramfs-tool>
    dracut
    initramfs-tools
linux-image-6.18.15+deb13-amd64
  PreDepends: linux-base
  Depends: kmod
  Depends: <linux-base-6.18.15+deb13-amd64>
linux-image-7.0.13+deb13-amd64
  PreDepends: linux-base
 |Depends: dracut
  Depends: <linux-initramfs-tool>
    dracut
  Depends: <linux-base-7.0.13+deb13-amd64>
  Depends: linux-binary-7.0.13+deb13-amd64
  Depends: <linux-modules-7.0.13+deb13-amd64>
linux-image-7.3.4+deb13-amd64
  Depends: linux-base-7.3.4+deb13-amd64
  Depends: linux-binary-7.3.4+deb13-amd64
  Depends: linux-modules-7.3.4+deb13-amd64
";

    #[test]
    fn a_kernel_brings_its_parts_and_nothing_that_would_be_installed() {
        let found = read(ANSWER);
        let names: Vec<&str> = found.iter().map(|kernel| kernel.package.trim_end_matches("-amd64")).collect();
        let releases = ["6.1.0-56", "6.18.15+deb13", "7.0.13+deb13", "7.3.4+deb13"];
        assert_eq!(names, releases.map(|release| format!("linux-image-{release}")));
        assert!(found[0].there.is_empty() && found[0].missing.is_none());
        assert!(found[1].there.is_empty() && found[1].missing.is_none(), "its base can be missing");
        assert_eq!(found[2].missing.as_deref(), Some("linux-modules-7.0.13+deb13-amd64"));
        let parts = ["base", "binary", "modules"].map(|part| format!("linux-{part}-7.3.4+deb13-amd64"));
        assert_eq!((found[3].there.as_slice(), &found[3].missing), (&parts[..], &None));
    }
}
