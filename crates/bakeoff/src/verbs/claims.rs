//! `bakeoff claims`: published claims, tested with the measurements here.
//! In: a run, and a claims file (the published one, or a user's of the same form). Out: a verdict for each claim.

use crate::args::ClaimsArgs;
use crate::catalogue::Catalogue;
use crate::claims::{self, Clock, Ground, Published};
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::text;
use indexmap::IndexMap;
use judge::{ClaimOutcome, ClaimRelation, ClaimVerdict, Interval};
use ledger::{Access, Ledger};
use records::BlockDevice;
use report::{Material, View};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// `bakeoff claims --json`.
#[derive(Serialize, JsonSchema)]
pub struct Held {
    /// The run's id.
    run: String,
    /// The device that its trials were on, in words.
    device: String,
    /// Every claim, in the order of the claims file.
    claims: Vec<HeldClaim>,
}

/// A claim and its result.
#[derive(Serialize, JsonSchema)]
struct HeldClaim {
    /// Its id in the claims file.
    id: String,
    /// Where it was published: a key of `published/sources.csv`.
    source: String,
    /// In words.
    statement: String,
    /// Kind of device that the claim is about.
    device: String,
    /// When its method stopped the clock.
    clock: Clock,
    /// Workload.
    workload: String,
    /// Operation.
    operation: String,
    /// Cache state.
    cache: String,
    /// Left contender.
    left: String,
    /// The claimed relation.
    relation: ClaimRelation,
    /// Right contender.
    right: String,
    /// Published factor, if there is one.
    published: Option<f64>,
    /// The result.
    outcome: Outcome,
    /// Why it cannot be tested in this run; null where it can.
    obstacle: Option<String>,
    /// How many times worse right is than left, as measured.
    measured: Option<f64>,
    /// 95 % interval of that.
    interval: Option<Interval>,
    /// Whether the interval contains the published factor, if both exist.
    factor_agrees: Option<bool>,
    /// Contenders of it that ran in the nearest supported form of a published option set; none for most claims.
    nearest: Vec<NearestForm>,
    /// The verdict in a sentence.
    text: String,
}

/// A contender of a claim that could not run as it was published.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct NearestForm {
    /// Name of the option set, as the claim has it.
    of: String,
    /// Name of the contender in the run.
    contender: String,
    /// What differs, and why.
    differs: Vec<Difference>,
}

/// An option of a published set that the kernel does not take.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
struct Difference {
    /// What differs: `with device.flushes=off instead of nobarrier`.
    what: String,
    /// What became of the option, and which of its effects are unavailable.
    why: String,
}

/// Result of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    /// As claimed.
    Holds,
    /// The opposite holds; for a claim of equality: they differ.
    Reversed,
    /// The samples show no difference; for a claim of equality: undecided.
    NoDifferenceShown,
    /// It cannot be tested in this run.
    NotTestable,
}

impl Answer for Held {
    const SCHEMA: &'static str = "bakeoff-claims";
}

impl HeldClaim {
    fn of(published: &Published, verdict: &ClaimVerdict, nearest: Vec<NearestForm>) -> HeldClaim {
        let claim = published.claim.clone();
        let (outcome, obstacle) = match &verdict.outcome {
            ClaimOutcome::Holds => (Outcome::Holds, None),
            ClaimOutcome::Reversed => (Outcome::Reversed, None),
            ClaimOutcome::NoDifferenceShown => (Outcome::NoDifferenceShown, None),
            ClaimOutcome::NotTestable(why) => (Outcome::NotTestable, Some(why.clone())),
        };
        HeldClaim {
            id: claim.id,
            source: claim.source,
            statement: claim.statement,
            device: published.device.clone(),
            clock: published.clock,
            workload: claim.workload,
            operation: claim.operation,
            cache: claim.cache,
            left: claim.left,
            relation: claim.relation,
            right: claim.right,
            published: claim.factor,
            outcome,
            obstacle,
            measured: verdict.measured,
            interval: verdict.interval,
            factor_agrees: verdict.factor_agrees,
            nearest,
            text: verdict.text.clone(),
        }
    }
}

/// Indentation of a claim's text.
const INDENT: &str = "           ";

/// Prints the result of each claim, testable ones first.
pub fn claims(path: &Path, args: &ClaimsArgs) -> Result<u8, Failure> {
    let claims = claims::read(args.file.as_deref())?;
    let ledger = Ledger::open(path, Access::Read)?;
    let material = Material::read(&ledger, args.run.as_deref())?;
    let view = View::of(&material)?;
    let catalogue = Catalogue::open()?;
    let systems = staging::systems(&catalogue.filesystems, &system::Journal::new());
    let absent = |name: &str| match claims::obstacle(name, &catalogue, &systems) {
        Ok(_) => format!("{name} is not in this run"),
        Err(why) => format!("{name} is not in this run, and {why}"),
    };
    let ground = Ground { ages: claims::ages(&material), called: claims::other_names(&material), absent: &absent };
    let verdicts = claims::held(&claims, &view.table, &ground);
    if args.json {
        let one = |(claim, verdict)| HeldClaim::of(claim, verdict, nearest(&material, claim));
        let held = claims.iter().zip(&verdicts).map(one).collect();
        json::print(&Held { run: material.run.id.clone(), device: device(&material), claims: held })?;
        return Ok(0);
    }
    print!("{}", rendered(&material, &claims, &verdicts));
    Ok(0)
}

/// Contenders of the run that represent an option set of the claim in its nearest form.
fn nearest(material: &Material, published: &Published) -> Vec<NearestForm> {
    let claim = &published.claim;
    let speaks_of = |set: &str| {
        [&claim.left, &claim.right].into_iter().any(|name| name.split('+').next().is_some_and(|name| name == set))
    };
    let forms = material.contenders.iter().filter(|contender| contender.twin_of.is_none()).filter_map(|contender| {
        let form = contender.asked.as_ref()?.nearest.as_ref().filter(|form| speaks_of(&form.of))?;
        let differs = form.differs.iter().map(|one| Difference { what: one.what.clone(), why: one.why.clone() });
        Some(NearestForm { of: form.of.clone(), contender: contender.label.clone(), differs: differs.collect() })
    });
    forms.collect()
}

fn rendered(material: &Material, claims: &[Published], verdicts: &[ClaimVerdict]) -> String {
    let width = text::width();
    let mut shown = format!("Claims tested with run {}\n", material.run.id);
    let scales: Vec<String> =
        material.run.new.works.iter().map(|work| format!("{} {}", work.name, work.scale)).collect();
    shown.push_str(&text::wrapped(&format!("Workloads: {}", scales.join(", ")), width, "", "  "));
    shown.push_str(&text::wrapped(&format!("Device: {}", device(material)), width, "", "  "));
    shown.push('\n');
    let pairs = || claims.iter().zip(verdicts);
    for (claim, verdict) in pairs().filter(|(_, verdict)| !matches!(verdict.outcome, ClaimOutcome::NotTestable(_))) {
        shown.push_str(&one(claim, verdict, &nearest(material, claim), width));
    }
    let count = |wanted: ClaimOutcome| verdicts.iter().filter(|verdict| verdict.outcome == wanted).count();
    let (holds, reversed) = (count(ClaimOutcome::Holds), count(ClaimOutcome::Reversed));
    let open = count(ClaimOutcome::NoDifferenceShown);
    let tested = holds + reversed + open;
    let (all, hold) = (claims.len(), if holds == 1 { "holds" } else { "hold" });
    let sum = format!(
        "{tested} of {all} claims tested: {holds} {hold}, {reversed} reversed, {open} with no difference shown."
    );
    shown.push_str(&text::wrapped(&sum, width, "", "  "));
    let mut reasons: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for (claim, verdict) in pairs() {
        let ClaimOutcome::NotTestable(why) = &verdict.outcome else { continue };
        reasons.entry(why).or_default().push(&claim.claim.id);
    }
    if tested < claims.len() {
        shown.push_str(&format!("\nNot testable in this run: {} of {}\n", claims.len() - tested, claims.len()));
    }
    for (why, ids) in reasons {
        shown.push_str(&text::wrapped(&format!("{why}:"), width, "  ", "  "));
        shown.push_str(&text::wrapped(&ids.join(", "), width, "      ", "      "));
    }
    shown
}

fn one(published: &Published, verdict: &ClaimVerdict, nearest: &[NearestForm], width: usize) -> String {
    let claim = &published.claim;
    let outcome = match verdict.outcome {
        ClaimOutcome::Holds => "HOLDS",
        ClaimOutcome::Reversed => "REVERSED",
        ClaimOutcome::NoDifferenceShown => "OPEN",
        ClaimOutcome::NotTestable(_) => "UNTESTED",
    };
    let mut shown = text::wrapped(&claim.statement, width, &format!("{outcome:<11}"), INDENT);
    shown.push_str(&text::wrapped(&verdict.text, width, INDENT, INDENT));
    for form in nearest {
        let differs: Vec<String> = form.differs.iter().map(|one| format!("{} ({})", one.what, one.why)).collect();
        let printed = format!("Tested in its nearest supported form: {} {}.", form.of, differs.join(", "));
        shown.push_str(&text::wrapped(&text::harmless(&printed), width, INDENT, INDENT));
    }
    let agrees = match verdict.factor_agrees {
        Some(true) => "; the interval contains the published factor",
        Some(false) => "; the interval excludes the published factor",
        None => "",
    };
    let clock = match published.clock {
        Clock::Returned => ", timed until the calls returned",
        Clock::Durable => "",
    };
    let source = format!("[{}] {}, of {}{clock}{agrees}", claim.id, claim.source, published.device);
    shown.push_str(&text::wrapped(&source, width, INDENT, INDENT));
    shown.push('\n');
    shown
}

/// The device of a run's trials in words, with its lower layers.
fn device(material: &Material) -> String {
    let mut found = material.trials.iter().filter_map(|trial| trial.found.as_ref());
    let Some((found, device)) = found.find_map(|found| Some((found, found.device.as_ref()?))) else {
        return "unknown (directories, or nothing measured)".into();
    };
    let word = |device: &BlockDevice| {
        let name = device.name.as_str();
        let kind = match device.rotational {
            _ if name.starts_with("zram") || name.starts_with("ram") => "memory",
            _ if name.starts_with("nvme") => "nvme",
            true => "hdd",
            false => "ssd, or a disk that does not report rotation",
        };
        format!("{name} ({kind})")
    };
    let below: Vec<String> = found.below.iter().map(word).collect();
    let mut text = match device.backing_file {
        Some(_) => format!("an image through {}", device.name),
        None => word(device),
    };
    if !below.is_empty() {
        text.push_str(&format!(" on {}", below.join(", ")));
    }
    match material.run.new.machine.as_ref().and_then(|machine| machine.guest()) {
        Some(kind) => format!("{text}, in a virtual machine ({kind})"),
        None => text,
    }
}
