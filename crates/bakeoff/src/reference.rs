//! The reference, generated from declarations: options from the parser's, forms of files and of `--json` from their types.
//! In: nothing. Out: Markdown and JSON Schemas by file name, the content of docs/reference.

use crate::failure::Failure;
use crate::json;
use clap::{Arg, Command};
use schemars::{Schema, schema_for};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Marks every file of the reference.
pub const SIGN: &str = "Written by `bakeoff manual --reference`";

/// Advice for editors, in every file.
const WAYS: &str = "do not edit: change the declaration, then run `make reference`.";

/// Every file of the reference.
///
/// # Errors
/// Never in practice: schemas are text.
pub fn files() -> Result<Vec<(String, String)>, Failure> {
    let mut files = vec![
        ("commands.md".to_owned(), commands()),
        ("json.md".to_owned(), forms()?),
        ("filesystems.md".to_owned(), filesystems()?),
        ("claims.md".to_owned(), claims()?),
        ("layers.md".to_owned(), layers()),
    ];
    let mut published = schema_for!(crate::gallery::Stated);
    published.insert("$comment".into(), SIGN.into());
    files.push(("published.schema.json".to_owned(), serde_json::to_string_pretty(&published)? + "\n"));
    for (verb, mut schema) in json::schemas() {
        schema.insert("$comment".into(), SIGN.into());
        files.push((format!("{verb}.schema.json"), serde_json::to_string_pretty(&schema)? + "\n"));
    }
    Ok(files)
}

fn page(title: &str, about: &str) -> String {
    format!("# {title}\n\n<!-- {SIGN}; {WAYS} -->\n\n{about}\n")
}

/// Every verb with its options.
fn commands() -> String {
    let mut command = crate::help::declared();
    command.build();
    let mut text = page("Commands", "Every verb and option, as `bakeoff help VERB all` shows them.");
    text.push_str(&section(&command, "bakeoff"));
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        text.push_str(&section(verb, &format!("bakeoff {}", verb.get_name())));
    }
    text
}

fn section(command: &Command, name: &str) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("\n## {name}\n\n{}\n\n| | meaning | default |\n|---|---|---|\n", plain(&about));
    let of_all = |arg: &&Arg| arg.is_global_set() && name != "bakeoff";
    let shown = |arg: &&Arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str());
    for arg in command.get_arguments().filter(shown).filter(|arg| !of_all(arg)) {
        text.push_str(&format!("| `{}` | {} | {} |\n", spelled(arg), meaning(arg), default(arg)));
    }
    text
}

/// `-o, --output FOLDER`, `[RUN]`.
fn spelled(arg: &Arg) -> String {
    let value = arg.get_value_names().unwrap_or_default().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let value = value.replace('|', "\\|");
    let Some(long) = arg.get_long() else {
        return if arg.is_required_set() { value } else { format!("[{value}]") };
    };
    let short = arg.get_short().map(|short| format!("-{short}, ")).unwrap_or_default();
    let takes = arg.get_action().takes_values();
    let optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    match (takes, optional) {
        (false, _) => format!("{short}--{long}"),
        (true, true) => format!("{short}--{long}[={value}]"),
        (true, false) => format!("{short}--{long} {value}"),
    }
}

fn meaning(arg: &Arg) -> String {
    let mut text = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let values = arg.get_possible_values();
    if !values.is_empty() && arg.get_action().takes_values() {
        let one = |value: &clap::builder::PossibleValue| match value.get_help() {
            Some(help) => format!("`{}` ({help})", value.get_name()),
            None => format!("`{}`", value.get_name()),
        };
        text.push_str(&format!(". Values: {}", values.iter().map(one).collect::<Vec<_>>().join(", ")));
    }
    plain(&text).replace('|', "\\|")
}

fn default(arg: &Arg) -> String {
    let values: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if values.is_empty() || !arg.get_action().takes_values() {
        String::new()
    } else {
        format!("`{}`", values.join(" "))
    }
}

/// Every shipped layer below a filesystem.
fn layers() -> String {
    let mut text = page(
        "Layers below a filesystem",
        "The layers of `--axis stack=...`, from [layers/](../../layers); [layers.md](../layers.md) explains them.",
    );
    text.push_str("\n| name | layer | disks | least size of each | kernel |\n|---|---|---|---|---|\n");
    for layer in layers::shipped() {
        let least = if layer.least_mib > 0 { records::show_bytes(layer.least_mib << 20) } else { String::new() };
        let kernel = layer.since.map_or("any".into(), |(first, second)| format!("{first}.{second} or newer"));
        let (name, disks) = (&layer.name, layer.devices);
        text.push_str(&format!("| `{name}` | {}: {} | {disks} | {least} | {kernel} |\n", layer.title, layer.about));
    }
    text.push_str("\n## Options\n\n| layer | option | meaning | values | default |\n|---|---|---|---|---|\n");
    for layer in layers::shipped() {
        for (name, option) in &layer.options {
            let values: Vec<&str> = option.values.keys().map(String::as_str).collect();
            let usual = option.usual.as_deref().unwrap_or("the tool's");
            let (layer, about) = (&layer.name, option.about.replace('|', "\\|"));
            text.push_str(&format!("| `{layer}` | `{name}` | {about} | {} | {usual} |\n", values.join(", ")));
        }
    }
    let option = layers::ONE_DISK;
    text.push_str(&format!("| those on several disks | `{option}` | Their disks are parts of one. | on | off |\n"));
    text
}

/// The forms of `--json`.
fn forms() -> Result<String, Failure> {
    let about = "What the verbs write to standard output with `--json`: one document; errors go to standard error. Values are in \
                 base units (bytes, seconds; shares of 1). A key without a value is `null`, never omitted. New keys may \
                 be added without a new `schema_version`. `VERB.schema.json` in this folder is the JSON Schema of each. `show \
                 --json` and `results.json` are described in [results-schema.md](../results-schema.md).";
    let mut text = page("Forms of `--json`", about);
    for (verb, schema) in json::schemas() {
        let verb = match verb {
            "runs" => "show --runs",
            "kernels" => "systems --kernels",
            verb => verb,
        };
        text.push_str(&format!("\n## bakeoff {verb} --json\n"));
        text.push_str(&types(schema)?);
    }
    Ok(text)
}

/// The language of `filesystems/*.toml`.
fn filesystems() -> Result<String, Failure> {
    let places = staging::PLACES.map(|(place, meaning)| format!("- `{{{place}}}`: {meaning}\n")).concat();
    let about = format!(
        "A filesystem is one TOML file, `NAME.toml`: compiled in from [filesystems/](../../filesystems) and, where servers share it \
         over a network ([shared.md](../shared.md)), from [shared/](../../shared); or yours, in `filesystems/` or `shared/` below the configuration folder (`$XDG_CONFIG_HOME/bakeoff`, else `~/.config/bakeoff`), in \
         the same folders next to a plan file, or named with `--filesystems`. An unknown key is an error. Commands are lists of \
         words, run without a shell. Keys marked \\* are required. Commands may contain\n\n{places}\nand under `[features]` also \
         `{{second}}` (another device), `{{folder}}` and `{{mib}}` (MiB)."
    );
    Ok(page("Files that describe filesystems", &about) + &types(schema_for!(staging::Filesystem))?)
}

/// The columns of a claims file.
fn claims() -> Result<String, Failure> {
    let about = "A claims file is CSV with a header line, like [published/claims.csv](../../published/claims.csv); `bakeoff claims \
                 --file FILE` tests its claims with the results of a run; `bakeoff run --claims=FILE` starts a run that tests them. At \
                 most 10,000 claims. Columns marked \\* are required; the others may be omitted or empty.";
    Ok(page("Claims files", about) + &types(literature::claims_schema())?)
}

/// A node of our JSON Schemas: a type, a key of one, or a case of one.
#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Shape {
    description: String,
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "$defs")]
    definitions: BTreeMap<String, Shape>,
    #[serde(rename = "type")]
    kinds: Kinds,
    #[serde(rename = "const")]
    constant: Option<Word>,
    #[serde(rename = "enum")]
    words: Vec<Word>,
    properties: BTreeMap<String, Shape>,
    required: Vec<String>,
    one_of: Vec<Shape>,
    any_of: Vec<Shape>,
    items: Option<Box<Shape>>,
    prefix_items: Vec<Shape>,
    additional_properties: Option<Additional>,
}

/// Names of types: a single one, or several alternatives.
#[derive(Deserialize)]
#[serde(untagged)]
enum Kinds {
    One(String),
    Several(Vec<String>),
}

impl Default for Kinds {
    fn default() -> Self {
        Kinds::Several(Vec::new())
    }
}

/// A constant in a schema.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Number(i64),
    Nothing(()),
}

impl std::fmt::Display for Word {
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Word::Text(text) => to.write_str(text),
            Word::Number(number) => write!(to, "{number}"),
            Word::Nothing(()) => to.write_str("null"),
        }
    }
}

/// The schema of additional keys: a type, or `true` or `false`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Additional {
    Of(Box<Shape>),
    Any(serde::de::IgnoredAny),
}

/// The root of a schema and all types that it refers to, one table each.
fn types(schema: Schema) -> Result<String, Failure> {
    let root: Shape = serde_json::from_str(&serde_json::to_string(&schema)?)?;
    Ok(one_type("", &root) + &root.definitions.iter().map(|(name, of)| one_type(name, of)).collect::<String>())
}

fn one_type(name: &str, of: &Shape) -> String {
    let heading = if name.is_empty() { String::new() } else { format!("\n### {name}\n") };
    let mut text = format!("{heading}\n{}\n", described(of));
    if !of.properties.is_empty() {
        text.push_str(&table(of));
    }
    if !of.one_of.is_empty() || !of.any_of.is_empty() {
        text.push('\n');
    }
    text.extend(of.one_of.iter().chain(&of.any_of).map(one_case));
    if !of.words.is_empty() {
        let words: Vec<String> = of.words.iter().map(|word| format!("`{word}`")).collect();
        text.push_str(&format!("\nOne of {}.\n", words.join(", ")));
    }
    text
}

/// A variant: a word with its meaning, or a table.
fn one_case(case: &Shape) -> String {
    match &case.constant {
        Some(word) => format!("- `{word}`: {}\n", described(case)),
        None if !case.properties.is_empty() => format!("\n{}\n{}", described(case), table(case)),
        None => case.words.iter().map(|word| format!("- `{word}`\n")).collect(),
    }
}

fn table(of: &Shape) -> String {
    // Output of a verb has every key; the mark is useful only if some keys may be left out.
    let some_optional = of.properties.keys().any(|key| !of.required.contains(key));
    let mut text = String::from("\n| key | type | meaning |\n|---|---|---|\n");
    for (key, value) in &of.properties {
        let mark = if some_optional && of.required.contains(key) { " \\*" } else { "" };
        text.push_str(&format!("| `{key}`{mark} | {} | {} |\n", kind(value), described(value)));
    }
    text
}

/// A type in words.
fn kind(of: &Shape) -> String {
    if let Some(word) = &of.constant {
        return match word {
            Word::Text(text) => format!("`\"{text}\"`"),
            other => format!("`{other}`"),
        };
    }
    if let Some(name) = of.reference.as_ref().and_then(|path| path.rsplit('/').next()) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if !of.any_of.is_empty() {
        return of.any_of.iter().map(kind).collect::<Vec<_>>().join(" or ");
    }
    match &of.kinds {
        Kinds::One(name) => named(name, of),
        Kinds::Several(names) if names.is_empty() => "any".into(),
        Kinds::Several(names) => names.iter().map(|name| named(name, of)).collect::<Vec<_>>().join(" or "),
    }
}

fn named(name: &str, of: &Shape) -> String {
    match name {
        "array" if !of.prefix_items.is_empty() => {
            format!("[{}]", of.prefix_items.iter().map(kind).collect::<Vec<_>>().join(", "))
        }
        "array" => format!("list of {}", of.items.as_deref().map_or_else(|| "anything".into(), kind)),
        "object" => match &of.additional_properties {
            Some(Additional::Of(values)) => format!("table of {}", kind(values)),
            Some(Additional::Any(_)) | None => "table".into(),
        },
        other => other.into(),
    }
}

/// The text of a doc comment, with links as plain names.
fn described(of: &Shape) -> String {
    plain(&of.description).replace("[`", "`").replace("`]", "`").replace("crate::", "").replace('|', "\\|")
}

/// A text on one line.
fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
