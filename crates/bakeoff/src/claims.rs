//! Published claims: read from the file that is compiled in, or from a user's own of the same form.
//! In: CSV with the columns of `published/claims.csv`. Out: [`Published`] claims, or an error that names the line.

mod aged;
mod held;
mod planned;

pub use held::{Ground, held};
pub use planned::{Chosen, choose, obstacle};

use crate::failure::Failure;
use judge::{Claim, ClaimRelation};
use serde::Deserialize;
use std::path::Path;

const PUBLISHED: &str = include_str!("../../../published/claims.csv");
/// Largest claims file, in bytes, and most claims in it.
const FILE_LIMIT: u64 = 4 << 20;
const CLAIMS_LIMIT: usize = 10_000;
/// Sources whose method stopped the clock when the last call returned; `docs/methods.md` says how each worked.
const STOPPED_AT_RETURN: [&str; 3] = ["harddisk-benchmarks", "small-files-hdd", "xfs-vs-ext4-sequential"];
/// The source that used Bonnie++ 1.03, which syncs no file on close, as 2.00 does.
const BONNIE_1_03: &str = "btrfs-0.13-and-xfs";

/// A claim, with what the judge does not need.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What is claimed.
    pub claim: Claim,
    /// Kind of device that it was said of: `hdd`, `raid10-hdd`, `ssd`, `nvme`, `any`.
    pub device: String,
    /// When its method stopped the clock.
    pub clock: Clock,
}

impl Published {
    /// Whether its source measured with Bonnie++ 1.03.
    fn is_of_old_bonnie(&self) -> bool {
        self.claim.source == BONNIE_1_03 && self.claim.workload == "bonnie"
    }
}

/// When a method stopped the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// When the last call had returned.
    Returned,
    /// When all was on the device, or no matter: nothing was written.
    Durable,
}

/// One line of a claims file; the columns of `published/claims.csv`, and one that a user's file may have beside them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    id: String,
    source: String,
    device: String,
    workload: String,
    operation: String,
    cache: String,
    left: String,
    relation: String,
    right: String,
    factor: Option<f64>,
    statement: String,
    clock: Option<Clock>,
}

/// The file that `--claims=FILE` names; `None` for `published`, or nothing, which is the published ones.
pub fn own(file: &Path) -> Option<&Path> {
    (file != Path::new("published")).then_some(file)
}

/// The published claims, or those of a user's file.
pub fn read(file: Option<&Path>) -> Result<Vec<Published>, Failure> {
    let Some(path) = file else { return parse(PUBLISHED, "published/claims.csv") };
    let text = host::input::text_file(path, FILE_LIMIT)
        .map_err(|why| Failure::new(format!("reading the claims {}: {why}", path.display())))?;
    parse(&text, &path.display().to_string())
}

fn parse(text: &str, file: &str) -> Result<Vec<Published>, Failure> {
    let mut claims = Vec::new();
    for (number, line) in csv::Reader::from_reader(text.as_bytes()).into_deserialize::<Line>().enumerate() {
        let fail = |why: String| Failure::new(format!("{file}, claim {}: {why}", number + 1));
        if number >= CLAIMS_LIMIT {
            return Err(fail(format!("more than {CLAIMS_LIMIT} claims")));
        }
        let line = line.map_err(|error| fail(error.to_string()))?;
        let relation = match line.relation.as_str() {
            "faster" => ClaimRelation::Faster,
            "equal" => ClaimRelation::Equal,
            "less" => ClaimRelation::Less,
            other => return Err(fail(format!("the relation `{other}` is none of faster, equal, less"))),
        };
        let returned = STOPPED_AT_RETURN.contains(&line.source.as_str())
            || (line.source == BONNIE_1_03 && line.workload == "bonnie");
        claims.push(Published {
            device: line.device,
            clock: line.clock.unwrap_or(if returned { Clock::Returned } else { Clock::Durable }),
            claim: Claim {
                id: line.id,
                source: line.source,
                workload: line.workload,
                operation: line.operation,
                cache: line.cache,
                left: line.left,
                relation,
                right: line.right,
                factor: line.factor,
                statement: line.statement,
            },
        });
    }
    if claims.is_empty() {
        return Err(Failure::new(format!("{file} holds no claim; see published/claims.csv for its form")));
    }
    Ok(claims)
}

/// `xfs-flat` against `xfs-hashed` are one contender in two variants of an operation: (`xfs`, `flat`, `hashed`).
pub(crate) fn variants(claim: &Claim) -> Option<(&str, &str, &str)> {
    let (base, left) = claim.left.rsplit_once('-')?;
    let (other, right) = claim.right.rsplit_once('-')?;
    (base == other).then_some((base, left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_claims_are_all_understood() {
        let claims = parse(PUBLISHED, "published/claims.csv").expect("they parse");
        assert!(claims.len() >= 40, "{}", claims.len());
        assert!(claims.iter().any(|claim| claim.claim.factor.is_none()), "a missing factor stays missing");
        let clock = |id: &str| claims.iter().find(|claim| claim.claim.id == id).expect("a claim").clock;
        assert_eq!(clock("smallfiles-create-ext4-xfs"), Clock::Returned);
        assert_eq!(clock("ssd-seqcreate-ext4-btrfs"), Clock::Durable, "Bonnie++ 2.00 syncs on close");
        assert_eq!(clock("bonnie-seqcreate-btrfs-xfs"), Clock::Returned, "Bonnie++ 1.03 does not");
        assert_eq!(clock("mail-xfs-btrfs"), Clock::Durable, "a theory has no clock");
    }

    #[test]
    fn a_line_with_an_unknown_relation_is_named() {
        let text = PUBLISHED.replacen(",faster,", ",quicker,", 1);
        let error = parse(&text, "mine.csv").expect_err("refused").text;
        assert!(error.contains("claim 1") && error.contains("quicker"), "{error}");
    }

    #[test]
    fn claims_with_parts_changed_are_read_or_refused() {
        let samples = [PUBLISHED.as_bytes().to_vec()];
        crate::mutate::fuzz("claims", &samples, 400, &std::env::temp_dir(), |bytes| {
            let text = String::from_utf8_lossy(bytes);
            if let Ok(claims) = parse(&text, "changed.csv") {
                assert!(
                    claims
                        .iter()
                        .all(|claim| variants(&claim.claim)
                            .is_none_or(|(base, _, _)| claim.claim.left.starts_with(base)))
                );
            }
        });
    }

    #[test]
    fn the_two_forms_of_a_directory_are_variants_of_one_contender() {
        let claims = parse(PUBLISHED, "published/claims.csv").expect("they parse");
        let of = |id: &str| {
            claims.iter().find(|claim| claim.claim.id == id).and_then(|claim| variants(&claim.claim)).map(|v| v.0)
        };
        assert_eq!(of("flat-vs-hashed-directories"), Some("xfs"));
        assert_eq!(of("reread-xfs-ext4"), None);
    }
}
