//! The `--json` forms of the verbs: one document on standard output, described by the type that serializes it.
//! In: the answer of a verb. Out: text, and its JSON Schema, from which docs/reference/json.md is made.

use crate::failure::Failure;
use crate::out;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

/// Version of every form. It increases when a reader of the last form would misread the new one; new keys do not count.
pub const VERSION: u32 = 1;

/// The answer of a verb with `--json`.
pub trait Answer: Serialize + JsonSchema {
    /// Name of the form: `bakeoff-` and the verb.
    const SCHEMA: &'static str;
}

// An answer with the two keys of every document; without a doc comment, which would replace the answer's own.
#[derive(Serialize, JsonSchema)]
#[schemars(title = T::SCHEMA, bound = "T: Answer")]
struct Document<'a, T: Answer> {
    /// Which form this is.
    #[schemars(extend("const" = T::SCHEMA))]
    schema: &'static str,
    /// Version of the form.
    #[schemars(with = "i64", extend("const" = VERSION))]
    schema_version: u32,
    #[serde(flatten)]
    answer: &'a T,
}

/// The document of an answer.
///
/// # Errors
/// Never in practice: all of it is text and numbers.
pub fn text<T: Answer>(answer: &T) -> Result<String, Failure> {
    let document = Document { schema: T::SCHEMA, schema_version: VERSION, answer };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

/// Writes it to standard output.
///
/// # Errors
/// As [`text`].
pub fn print<T: Answer>(answer: &T) -> Result<(), Failure> {
    out::data(&text(answer)?);
    Ok(())
}

/// The schema of a form.
pub fn schema<T: Answer>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Document<T>>()
}

/// The schemas of all forms, by the verb that writes each.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    use crate::verbs;
    vec![
        ("systems", schema::<verbs::systems::Systems>()),
        ("kernels", schema::<verbs::kernels::Kernels>()),
        ("workloads", schema::<verbs::workloads::Workloads>()),
        ("features", schema::<crate::features::Features>()),
        ("doctor", schema::<verbs::doctor::Doctor>()),
        ("plan", schema::<crate::forecast::Forecast>()),
        ("runs", schema::<verbs::show::Runs>()),
        ("compare", schema::<verbs::compare::Answered>()),
        ("claims", schema::<verbs::claims::Held>()),
        ("collect", schema::<verbs::collect::Progress>()),
        ("publish", schema::<verbs::publish::Published>()),
        ("gallery", schema::<verbs::gallery::Made>()),
        ("tune", schema::<crate::tuning::Tuned>()),
        ("powercut", schema::<crate::power_cuts::PowerCuts>()),
        ("faults", schema::<crate::fault_table::AllFaults>()),
        ("clean", schema::<verbs::clean::Outcome>()),
        ("profile", schema::<crate::tree_profile::TreeProfile>()),
    ]
}
