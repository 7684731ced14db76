//! The `--json` forms of the verbs: one document on standard output, described by the type that it is written from.
//! In: what a verb answers. Out: text, and the JSON Schema of it, from which docs/reference/json.md is made.

use crate::failure::Failure;
use crate::out;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;
use serde_json::{Value, json};

/// Version of every form. It grows when a reader of the last form would be misled; a new key does not mislead.
pub const VERSION: u32 = 1;

/// What a verb answers with `--json`.
pub trait Answer: Serialize + JsonSchema {
    /// Name of the form: `bakeoff-` and the verb.
    const SCHEMA: &'static str;
}

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'static str,
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

/// The schema of a form: that of its type, with the two keys that every document begins with.
pub fn schema<T: Answer>() -> Schema {
    let mut schema = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    let name = json!({"const": T::SCHEMA, "type": "string", "description": "Which form this is."});
    let version = json!({"const": VERSION, "type": "integer", "description": "Version of the form."});
    if let Some(Value::Object(keys)) = schema.get_mut("properties") {
        keys.insert("schema".into(), name);
        keys.insert("schema_version".into(), version);
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.extend([json!("schema"), json!("schema_version")]);
    }
    schema.insert("title".into(), T::SCHEMA.into());
    schema
}

/// The schemas of all forms, by the verb that writes each.
pub fn schemas() -> Vec<(&'static str, Schema)> {
    use crate::verbs;
    vec![
        ("systems", schema::<verbs::systems::Systems>()),
        ("workloads", schema::<verbs::workloads::Workloads>()),
        ("features", schema::<crate::features::Features>()),
        ("doctor", schema::<verbs::doctor::Doctor>()),
        ("plan", schema::<crate::forecast::Forecast>()),
        ("runs", schema::<verbs::show::Runs>()),
        ("compare", schema::<verbs::compare::Answered>()),
        ("claims", schema::<verbs::claims::Held>()),
        ("clean", schema::<verbs::clean::Outcome>()),
    ]
}
