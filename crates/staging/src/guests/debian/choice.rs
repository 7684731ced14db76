//! Which kernel of Debian's suites a series means, or `newest`.
//! In: the names and the table that apt-cache prints. Out: [`Offer`]s, one for each series.
//! Only plain kernels for amd64 count: none for clouds or real time, no debugging symbols; an unsigned one only if a series has no other.

use super::parts::{Parts, UNSIGNED, release_of};
use super::version;
use serde::{Deserialize, Serialize};

/// An available kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Offer {
    /// `6.12`.
    pub series: String,
    /// `linux-image-6.12.117+deb13-amd64`.
    pub package: String,
    /// The package's version: `6.12.117-1`.
    pub version: String,
    /// The suite that has it: `trixie`.
    pub suite: String,
    /// Packages of the same version with its parts; empty if it is a single package.
    pub parts: Vec<String>,
}

/// A series of which the suites have no complete kernel, and a package that is missing.
pub(crate) type Incomplete = (String, String);

impl Offer {
    /// Not released yet: a release candidate.
    pub fn is_candidate(&self) -> bool {
        self.version.contains("~rc")
    }

    fn is_unsigned(&self) -> bool {
        self.package.ends_with(UNSIGNED)
    }
}

/// The series of a release: its first two numbers.
fn series_of(release: &str) -> Option<String> {
    let mut numbers = release.split('.');
    let (first, rest) = (numbers.next()?, numbers.next()?);
    let second: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    (is_number(first) && is_number(&second)).then(|| format!("{first}.{second}"))
}

/// The newest complete kernel of each series, and the series that have none. `table`: output of `apt-cache madison`, one version of one
/// suite a line: `package | version | address suite/component amd64 Packages`.
pub(super) fn newest_of_each(table: &str, parts: &[Parts]) -> (Vec<Offer>, Vec<Incomplete>) {
    let (mut chosen, mut incomplete): (Vec<Offer>, Vec<Incomplete>) = Default::default();
    for mut offer in table.lines().filter_map(offer) {
        let of_it = parts.iter().find(|parts| parts.package == offer.package);
        if let Some(missing) = of_it.and_then(|parts| parts.missing.clone()) {
            incomplete.push((offer.series, missing));
            continue;
        }
        offer.parts = of_it.map(|parts| parts.there.clone()).unwrap_or_default();
        match chosen.iter_mut().find(|known| known.series == offer.series) {
            Some(known) if is_better(&offer, known) => *known = offer,
            Some(_) => {}
            None => chosen.push(offer),
        }
    }
    chosen.sort_by(|one, other| version::compare(&one.series, &other.series));
    incomplete.sort();
    incomplete.dedup_by(|one, other| one.0 == other.0);
    incomplete.retain(|(series, _)| chosen.iter().all(|offer| offer.series != *series));
    (chosen, incomplete)
}

fn offer(line: &str) -> Option<Offer> {
    let mut columns = line.split('|').map(str::trim);
    let (package, version, place) = (columns.next()?, columns.next()?, columns.next()?);
    let release = release_of(package)?;
    let (suite, _) = place.split_whitespace().nth(1)?.split_once('/')?;
    let found = Offer {
        series: series_of(release)?,
        package: package.into(),
        version: version.into(),
        suite: suite.into(),
        parts: Vec::new(),
    };
    // `linux-image-6.12-amd64` is not a kernel, it only depends on one; a candidate's kernel has no third number.
    let numbered = release.split('.').count() > 2;
    (numbered || found.is_candidate()).then_some(found)
}

/// Released before candidates, signed before unsigned, then the newer one; the first of two equal ones stays.
fn is_better(offer: &Offer, known: &Offer) -> bool {
    let rank = |offer: &Offer| (!offer.is_candidate(), !offer.is_unsigned());
    rank(offer).cmp(&rank(known)).then_with(|| version::compare(&offer.version, &known.version)).is_gt()
}

/// The newest of all released ones.
pub(super) fn newest(offers: &[Offer]) -> Option<&Offer> {
    let released = offers.iter().filter(|offer| !offer.is_candidate());
    released.max_by(|one, other| version::compare(&one.series, &other.series))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Output of apt-cache, shortened.
    pub const TABLE: &str = "\
linux-image-6.1.0-9-amd64 |   6.1.27-1 | http://deb.debian.org/debian bookworm/main amd64 Packages
linux-image-6.1.0-50-amd64 |  6.1.176-1 | http://deb.debian.org/debian bookworm/main amd64 Packages
linux-image-6.1.0-56-amd64 |  6.1.192-2 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
linux-image-6.1.0-56-amd64-unsigned |  6.1.192-2 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
linux-image-6.12-amd64 | 6.12.117-1~deb12u1 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
linux-image-6.12.117+deb12-amd64 | 6.12.117-1~deb12u1 | http://deb.debian.org/debian-security bookworm-security/main amd64 Packages
linux-image-6.12.117+deb13-amd64 | 6.12.117-1 | http://deb.debian.org/debian trixie/main amd64 Packages
linux-image-6.12.117+deb13-amd64 | 6.12.117-1 | http://deb.debian.org/debian-security trixie-security/main amd64 Packages
linux-image-6.12.118+deb13-cloud-amd64 | 6.12.118-1 | http://deb.debian.org/debian trixie/main amd64 Packages
linux-image-6.12.118+deb13-amd64-unsigned | 6.12.118-1 | http://deb.debian.org/debian trixie/main amd64 Packages
linux-image-6.16.3+deb13-amd64 | 6.16.3-1~bpo13+1 | http://deb.debian.org/debian trixie-backports/main amd64 Packages
linux-image-6.16.12+deb14-amd64 | 6.16.12-2 | http://deb.debian.org/debian sid/main amd64 Packages
linux-image-7.2.13+deb14-amd64 |   7.2.13-1 | http://deb.debian.org/debian sid/main amd64 Packages
linux-image-7.2.13+deb14-rt-amd64 |   7.2.14-1 | http://deb.debian.org/debian sid/main amd64 Packages
linux-image-7.2.14+deb14-amd64-dbg |   7.2.14-1 | http://deb.debian.org/debian sid/main amd64 Packages
linux-image-7.3-amd64 | 7.3~rc7-1~exp1 | http://deb.debian.org/debian experimental/main amd64 Packages
linux-image-7.3.4+deb13-amd64 | 7.3.4-1~bpo13+1 | http://deb.debian.org/debian trixie-backports/main amd64 Packages
linux-image-7.4-amd64 | 7.4~rc1-1~exp1 | http://deb.debian.org/debian experimental/main amd64 Packages
linux-image-amd64 |   7.2.13-1 | http://deb.debian.org/debian sid/main amd64 Packages
linux-image-amd64-signed-template | 6.12.117-1 | http://deb.debian.org/debian trixie/main amd64 Packages
an unexpected line
";

    fn chosen(table: &str) -> Vec<(String, String, String)> {
        newest_of_each(table, &[]).0.into_iter().map(|offer| (offer.series, offer.package, offer.suite)).collect()
    }

    #[test]
    fn the_newest_plain_kernel_of_each_series_is_chosen_whichever_suite_has_it() {
        let expected = [
            ("6.1", "linux-image-6.1.0-56-amd64", "bookworm-security"),
            ("6.12", "linux-image-6.12.117+deb13-amd64", "trixie"),
            ("6.16", "linux-image-6.16.12+deb14-amd64", "sid"),
            ("7.2", "linux-image-7.2.13+deb14-amd64", "sid"),
            ("7.3", "linux-image-7.3.4+deb13-amd64", "trixie-backports"),
            ("7.4", "linux-image-7.4-amd64", "experimental"),
        ];
        assert_eq!(chosen(TABLE), expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())));
    }

    #[test]
    fn an_unsigned_kernel_is_taken_where_its_series_has_no_other() {
        let only =
            "linux-image-6.17.1+deb14-amd64-unsigned | 6.17.1-1 | http://deb.debian.org/debian sid/main amd64 Packages";
        assert_eq!(chosen(only)[0].1, "linux-image-6.17.1+deb14-amd64-unsigned");
    }

    #[test]
    fn a_kernel_without_a_part_gives_way_to_an_older_one_or_its_series_is_incomplete() {
        let of = |package: &str, missing: Option<&str>| Parts {
            package: package.into(),
            there: vec![package.replace("image", "modules")],
            missing: missing.map(Into::into),
        };
        let parts = [
            of("linux-image-6.16.12+deb14-amd64", Some("linux-modules-6.16.12+deb14-amd64")),
            of("linux-image-7.2.13+deb14-amd64", Some("linux-modules-7.2.13+deb14-amd64")),
            of("linux-image-7.3.4+deb13-amd64", None),
        ];
        let (chosen, incomplete) = newest_of_each(TABLE, &parts);
        let of_series = |series: &str| chosen.iter().find(|offer| offer.series == series);
        assert_eq!(of_series("6.16").map(|offer| offer.package.as_str()), Some("linux-image-6.16.3+deb13-amd64"));
        assert!(of_series("7.2").is_none());
        assert_eq!(incomplete, [("7.2".to_owned(), "linux-modules-7.2.13+deb14-amd64".to_owned())]);
        assert_eq!(
            of_series("7.3").map(|offer| offer.parts.as_slice()),
            Some(&["linux-modules-7.3.4+deb13-amd64".to_owned()][..])
        );
    }

    #[test]
    fn the_newest_is_one_that_was_released() {
        let (all, _) = newest_of_each(TABLE, &[]);
        assert_eq!(newest(&all).map(|offer| offer.series.as_str()), Some("7.3"));
        assert!(newest(&[]).is_none());
    }

    #[test]
    fn series_are_ordered_by_their_numbers() {
        let line =
            |release: &str| format!("linux-image-{release}-amd64 | {release}-1 | http://m/debian sid/main amd64 P\n");
        let table = ["6.9.1", "6.10.1", "10.0.1", "7.1.1"].map(line).concat();
        let (all, _) = newest_of_each(&table, &[]);
        let series: Vec<&str> = all.iter().map(|offer| offer.series.as_str()).collect();
        assert_eq!(series, ["6.9", "6.10", "7.1", "10.0"]);
        assert_eq!(newest(&all).map(|offer| offer.series.as_str()), Some("10.0"));
    }
}
