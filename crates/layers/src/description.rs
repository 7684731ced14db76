//! The description of a layer in a file of `layers/`.
//! In: TOML. Out: [`Layer`], checked: commands have known placeholders only, and usual values exist.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Most devices of a layer.
const MOST_DEVICES: u32 = 8;

/// Placeholders of commands. `{members}`, `{make}` and `{open}` become as many words as there are.
const PLACES: [&str; 9] = ["device", "members", "last", "count", "name", "key", "partition", "make", "open"];

/// Those that become several words, and are words of their own.
const WORDS: [&str; 3] = ["{members}", "{make}", "{open}"];

/// One layer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Layer {
    /// Its name, which is that of its file.
    #[serde(skip)]
    pub name: String,
    /// Name for readers.
    pub title: String,
    /// What it does, in one sentence.
    pub about: String,
    /// Devices that it is built on. With more than one it can only be the lowest layer.
    #[serde(default = "one")]
    pub devices: u32,
    /// Least size of each of its disks, in MiB.
    #[serde(default)]
    pub least_mib: u64,
    /// Modules that the kernel must have, loaded or built in.
    pub kernel: Vec<String>,
    /// First two numbers of the first kernel release that can build it; absent where every kernel with the modules can.
    #[serde(default, deserialize_with = "release")]
    pub since: Option<(u32, u32)>,
    /// Further modules to load, where the kernel has them.
    #[serde(default)]
    pub modules: Vec<String>,
    /// Whether what was flushed through it survives a power cut.
    #[serde(default = "yes")]
    pub(crate) flushes: bool,
    /// Programs that its commands need.
    pub tools: Vec<Tool>,
    /// Remark where the processor is emulated.
    pub emulated: Option<String>,
    /// Makes it on blank devices; it may be open afterwards.
    pub(crate) make: Commands,
    /// Opens it.
    pub(crate) open: Open,
    /// Closes it.
    pub(crate) close: Commands,
    /// Shows it while it is open.
    pub(crate) shown: Shown,
    /// Its options.
    #[serde(default)]
    pub options: BTreeMap<String, Choice>,
}

/// A program, and the Debian package that has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// The program.
    pub program: String,
    /// The package.
    pub package: String,
}

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Commands {
    #[serde(default)]
    pub commands: Vec<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Open {
    #[serde(default)]
    pub commands: Vec<Vec<String>>,
    /// Opens it again after it was closed, if other commands do that.
    #[serde(default)]
    pub again: Vec<Vec<String>>,
    /// Node of the device that it provides.
    pub node: String,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Shown {
    pub command: Vec<String>,
    /// Texts in its output, with any space between words.
    pub holds: Vec<String>,
}

/// An option of a layer, with the values that it takes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// What it changes, in one sentence.
    pub about: String,
    /// The value where none is asked for; absent where the layer's own tools choose.
    pub usual: Option<String>,
    /// Its values.
    pub values: BTreeMap<String, Value>,
}

/// What a value of an option changes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Words for `{make}`.
    #[serde(default)]
    pub(crate) make: Vec<String>,
    /// Words for `{open}`.
    #[serde(default)]
    pub(crate) open: Vec<String>,
    /// Commands after it is open.
    #[serde(default)]
    pub(crate) after: Vec<Vec<String>>,
    /// Text in what shows the layer.
    pub(crate) holds: Option<String>,
    /// False: with it, what was flushed may be lost in a power cut.
    #[serde(default = "yes")]
    pub(crate) flushes: bool,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// The first two numbers of a kernel release: `7.1` is 7 and 1.
fn release<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<(u32, u32)>, D::Error> {
    let text = String::deserialize(from)?;
    let numbers = text.split_once('.').and_then(|(first, second)| Some((first.parse().ok()?, second.parse().ok()?)));
    numbers.map(Some).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not a kernel release such as 7.1")))
}

impl Layer {
    /// Parses a description; `name` is the layer's name, also in errors.
    ///
    /// # Errors
    /// Not TOML, an unknown or missing key, an unknown placeholder, or a usual value that is none.
    pub fn parse(name: &str, text: &str) -> Result<Layer, String> {
        let failed = |problem: String| format!("layers/{name}.toml: {problem}");
        let mut layer: Layer = toml::from_str(text).map_err(|error| failed(error.to_string()))?;
        layer.name = name.into();
        if !(1..=MOST_DEVICES).contains(&layer.devices) {
            return Err(failed(format!("a layer is built on 1 to {MOST_DEVICES} devices, not {}", layer.devices)));
        }
        if let Some(place) = layer.words().find_map(|word| unknown_place(word)) {
            return Err(failed(format!("unknown placeholder {{{place}}}; known: {}", PLACES.join(", "))));
        }
        if let Some(word) =
            layer.words().find(|word| WORDS.iter().any(|several| word.contains(several) && word != several))
        {
            return Err(failed(format!(
                "`{word}`: {} become words of their own, so each must be one",
                WORDS.join(", ")
            )));
        }
        for (option, choice) in &layer.options {
            if let Some(usual) = choice.usual.as_ref().filter(|usual| !choice.values.contains_key(*usual)) {
                return Err(failed(format!("the usual value {usual} of {option} is none of its values")));
            }
        }
        Ok(layer)
    }

    fn words(&self) -> impl Iterator<Item = &String> {
        let values = || self.options.values().flat_map(|choice| choice.values.values());
        let lines =
            [&self.make.commands, &self.open.commands, &self.open.again, &self.close.commands].into_iter().flatten();
        let lines = lines.chain([&self.shown.command]).chain(values().flat_map(|value| &value.after));
        let more = values().flat_map(|value| value.make.iter().chain(&value.open).chain(&value.holds));
        lines.flatten().chain(more).chain(&self.shown.holds).chain([&self.open.node])
    }
}

/// A word in braces that is not a placeholder.
fn unknown_place(word: &str) -> Option<&str> {
    word.match_indices('{').find_map(|(at, _)| {
        let name = &word[at + 1..at + 1 + word[at + 1..].find('}')?];
        let is_word = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_lowercase());
        (is_word && !PLACES.contains(&name)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(from: &str, to: &str) -> Result<Layer, String> {
        let text = include_str!("../layers/luks.toml");
        assert!(text.contains(from), "{from}");
        Layer::parse("luks", &text.replace(from, to))
    }

    #[test]
    fn mistakes_in_a_file_are_errors_that_name_it() {
        for (from, to, why) in [
            ("{key}", "{keys}", "unknown placeholder {keys}"),
            ("title", "titel", "titel"),
            ("{open}", "x{open}", "must be one"),
            ("kernel = ", "devices = 9\nkernel = ", "not 9"),
            ("kernel = ", "since = \"7\"\nkernel = ", "`7` is not a kernel release"),
            ("about = \"How", "usual = \"rot13\"\nabout = \"How", "usual value rot13 of cipher"),
        ] {
            let error = with(from, to).expect_err(to);
            assert!(error.starts_with("layers/luks.toml: ") && error.contains(why), "{error}");
        }
    }
}
