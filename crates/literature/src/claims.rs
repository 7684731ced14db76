//! Published claims, or a user's own in the same format.
//! In: CSV with the columns of `published/claims.csv`. Out: [`Published`] claims, or an error that names the line.

use crate::{LiteratureError, lines, wrong};
use judge::{Claim, ClaimRelation};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most claims that one text may hold.
pub const CLAIMS_LIMIT: usize = 10_000;
/// Sources whose method stopped the clock when the last call returned; `docs/methods.md` explains how each worked.
const STOPPED_AT_RETURN: [&str; 3] = ["harddisk-benchmarks", "small-files-hdd", "xfs-vs-ext4-sequential"];
/// The source that used Bonnie++ 1.03, which syncs no file on close, as 2.00 does.
const BONNIE_1_03: &str = "btrfs-0.13-and-xfs";

/// A claim, with the fields that the judge does not need.
#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    /// What is claimed.
    pub claim: Claim,
    /// Kind of device that it is about: `hdd`, `raid10-hdd`, `ssd`, `nvme`, `any`.
    pub device: String,
    /// When the method of its source stopped the clock.
    pub clock: Clock,
}

impl Published {
    /// Whether its source measured with Bonnie++ 1.03.
    pub fn is_of_old_bonnie(&self) -> bool {
        self.claim.source == BONNIE_1_03 && self.claim.workload == "bonnie"
    }
}

/// When a method stopped the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// When the last call had returned.
    Returned,
    /// When all data was on the device; also if nothing was written.
    Durable,
}

/// One line of a claims file; the columns of `published/claims.csv`, and one more that a user's file may have.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Line {
    /// Name of the claim in output; unique.
    id: String,
    /// Where it was published: a key of `published/sources.csv`, or any word of yours.
    source: String,
    /// Kind of device that the claim is about: `hdd`, `raid10-hdd`, `ssd`, `nvme` or `any`; shown, never compared.
    device: String,
    /// Workload by its name.
    workload: String,
    /// Operation of the workload, as `bakeoff show --json` names it without the cache; with ` cpu` behind it, its CPU time.
    operation: String,
    /// Cache state of the operation: `cold`, `warm`, `as-found` ...; `used` for a claim about aged filesystems; empty: the only one.
    cache: String,
    /// Contender that the claim is about: a filesystem, or an option set of `contenders.toml`.
    left: String,
    /// The claimed relation: `faster`, `equal` or `less` (needs less).
    relation: String,
    /// Contender that it is compared with.
    right: String,
    /// How many times, above 0; empty if unknown. It is shown next to the measured ratio and enters no statistics.
    factor: Option<f64>,
    /// The claim in words.
    statement: String,
    /// When the clock of its method stopped; `durable` if not given, except for a few published sources.
    clock: Option<Clock>,
}

/// The columns of a claims file, for its documentation.
pub fn claims_schema() -> schemars::Schema {
    schemars::schema_for!(Line)
}

/// Every claim of a text; `file` names it in errors.
///
/// # Errors
/// A text that is too long, has too many claims or none, or a line in another format.
pub fn claims(text: &str, file: &str) -> Result<Vec<Published>, LiteratureError> {
    let lines: Vec<Line> = lines(text, file, "claim")?;
    match lines.len() {
        0 => Err(LiteratureError::Empty { file: file.into() }),
        1..=CLAIMS_LIMIT => {
            let claims = lines.into_iter().enumerate();
            claims.map(|(at, line)| published(line).map_err(|why| wrong(file, "claim", at, &why))).collect()
        }
        _ => Err(wrong(file, "claim", CLAIMS_LIMIT, &format!("more than {CLAIMS_LIMIT} claims"))),
    }
}

fn published(line: Line) -> Result<Published, String> {
    let relation = match line.relation.as_str() {
        "faster" => ClaimRelation::Faster,
        "equal" => ClaimRelation::Equal,
        "less" => ClaimRelation::Less,
        other => return Err(format!("the relation `{other}` is not one of faster, equal, less")),
    };
    if let Some(factor) = line.factor.filter(|factor| !(factor.is_finite() && *factor > 0.0)) {
        return Err(format!("the factor {factor} is not a number above 0"));
    }
    let returned =
        STOPPED_AT_RETURN.contains(&line.source.as_str()) || (line.source == BONNIE_1_03 && line.workload == "bonnie");
    Ok(Published {
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
    })
}
