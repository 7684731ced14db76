//! The shape of a workload file, key by key, before variables are expanded.
//! In: TOML. Out: raw tables whose values keep their position, so that later errors can name line and column.
//! Unknown keys are errors everywhere; the reference for users is `docs/workloads.md`.

use crate::program::{Reports, VolumeTool};
use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use strum::IntoStaticStr;
use toml::Spanned;

/// A value that may be, or contain, `$variables`; kept as text. Numbers and booleans may be written bare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scalar(pub String);

/// A value and its position.
pub(crate) type Field = Spanned<Scalar>;

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Visit;
        impl Visitor<'_> for Visit {
            type Value = Scalar;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string, a number, true or false")
            }
            fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.to_owned()))
            }
            fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
                Ok(Scalar(number.to_string()))
            }
            fn visit_bool<E>(self, truth: bool) -> Result<Scalar, E> {
                Ok(Scalar(truth.to_string()))
            }
        }
        input.deserialize_any(Visit)
    }
}

/// One or many: a table or an array of tables, a text or an array of texts.
#[derive(Debug, Clone)]
pub(crate) struct Many<T>(pub Vec<T>);

/// Each of several values, with the position of the whole list.
pub(crate) fn each(many: &Option<Spanned<Many<Scalar>>>) -> impl Iterator<Item = Field> + '_ {
    many.iter().flat_map(|many| many.get_ref().0.iter().map(|one| Spanned::new(many.span(), one.clone())))
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Many<T> {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Visit<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Visit<T> {
            type Value = Many<T>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string, a table, or an array of them")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Many<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| Many(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Many<T>, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(sequence)).map(Many)
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Many<T>, E> {
                T::deserialize(serde::de::value::StrDeserializer::new(text)).map(|one| Many(vec![one]))
            }
        }
        input.deserialize_any(Visit(PhantomData))
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawWorkload {
    pub name: Spanned<String>,
    pub title: String,
    pub about: String,
    pub source: Option<String>,
    #[serde(default)]
    pub needs: BTreeMap<String, String>,
    #[serde(default)]
    pub options: BTreeMap<Spanned<String>, RawOption>,
    pub scales: BTreeMap<String, BTreeMap<String, Scalar>>,
    #[serde(default)]
    pub filesets: Vec<RawFileset>,
    pub phases: Vec<RawPhase>,
    #[serde(default)]
    pub totals: Vec<RawTotal>,
    pub error_limit: Option<Field>,
    pub time_limit: Option<Field>,
    pub room: Option<Field>,
    pub takes: Option<Field>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawOption {
    pub about: String,
    pub default: Option<Scalar>,
    #[serde(default)]
    pub allowed: Vec<Scalar>,
    /// Values with which a crash may destroy data on filesystems that write in place.
    #[serde(default)]
    pub weaker_in_place: Vec<Scalar>,
    /// Values that set variables of their own; these are then the only ones allowed.
    #[serde(default)]
    pub values: BTreeMap<String, BTreeMap<String, Scalar>>,
    #[serde(default)]
    pub parts: Vec<String>,
}

/// Classes of a distribution, each a triple: weight, smallest and largest value.
pub(crate) type RawClasses = Vec<Vec<Scalar>>;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawFileset {
    pub name: Spanned<String>,
    pub directory: Option<Field>,
    pub files: Option<Field>,
    #[serde(default)]
    pub per_worker: bool,
    pub layout: Option<Spanned<RawLayout>>,
    pub names: Option<Field>,
    pub size: Option<Field>,
    pub smallest: Option<Field>,
    pub largest: Option<Field>,
    pub total: Option<Field>,
    pub sizes: Option<Spanned<RawClasses>>,
    pub name_lengths: Option<Spanned<RawClasses>>,
    pub content: Option<Field>,
    pub compressible: Option<Field>,
    pub duplicate: Option<Field>,
    /// Content and share of duplicates that the user sets for all filesets: see [`crate::data`].
    #[serde(skip)]
    pub set: Option<(Field, Field)>,
    pub copies: Option<Spanned<String>>,
    pub verify: Option<Field>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawLayout {
    Flat,
    PerDirectory(Scalar),
    Directories(Scalar),
    Hashed(Scalar, Scalar),
    /// Per level, pairs: numbers of directories, and of files in each.
    Tree(Vec<Vec<Vec<u64>>>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawPhase {
    pub name: Spanned<String>,
    pub title: Option<String>,
    pub doing: Option<String>,
    pub operation: Option<Field>,
    pub label: Option<Field>,
    pub variant: Option<String>,
    pub cache: Option<Field>,
    pub figure: Option<Spanned<RawFigure>>,
    pub figure_group: Option<Spanned<String>>,
    pub passes: Option<Field>,
    pub pause: Option<Field>,
    pub time: Option<Field>,
    pub ramp: Option<Field>,
    #[serde(default)]
    pub preparation: bool,
    pub after: Option<Spanned<Many<Scalar>>>,
    pub when: Option<Spanned<Many<Scalar>>>,
    pub share_of: Option<Field>,
    pub timed: Option<bool>,
    pub ranked: Option<bool>,
    #[serde(default)]
    pub needs: Vec<Spanned<String>>,
    #[serde(default)]
    pub also: Vec<RawAlso>,
    pub work: Many<RawWork>,
}

/// Another group of the phase whose figure is shown as well.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawAlso {
    pub group: Spanned<String>,
    pub figure: Field,
    pub operation: String,
    pub title: Option<String>,
    pub doing: Option<String>,
}

/// A word for a measured figure; or one or more that a program prints.
#[derive(Debug, Clone)]
pub(crate) enum RawFigure {
    Measured(Scalar),
    Printed(Vec<RawOwnFigure>),
}

impl<'de> Deserialize<'de> for RawFigure {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        struct Visit;
        impl<'de> Visitor<'de> for Visit {
            type Value = RawFigure;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a figure's name, or `{ from = ... }` or an array of these")
            }
            fn visit_str<E>(self, text: &str) -> Result<RawFigure, E> {
                Ok(RawFigure::Measured(Scalar(text.to_owned())))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RawFigure, A::Error> {
                RawOwnFigure::deserialize(MapAccessDeserializer::new(map)).map(|one| RawFigure::Printed(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<RawFigure, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(sequence)).map(RawFigure::Printed)
            }
        }
        input.deserialize_any(Visit)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawOwnFigure {
    pub from: String,
    pub name: Option<String>,
    pub unit: Option<String>,
    pub better: Option<Scalar>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawWork {
    pub name: Option<Spanned<String>>,
    pub files: Option<Spanned<String>>,
    pub blocks: Option<Spanned<String>>,
    pub directories: Option<Spanned<String>>,
    #[serde(default)]
    pub device: bool,
    #[serde(default)]
    pub aged: bool,
    pub command: Option<Spanned<Vec<Scalar>>>,
    pub shell: Option<Field>,
    #[serde(default)]
    pub environment: BTreeMap<String, Field>,
    pub user: Option<Field>,
    #[serde(default)]
    pub private: Vec<Spanned<String>>,
    pub unconfined: Option<Spanned<bool>>,
    pub exit_status: Option<Spanned<Vec<u8>>>,
    pub input: Option<Spanned<String>>,
    pub output: Option<Spanned<String>>,
    pub script: Option<Spanned<String>>,
    pub reports: Option<Spanned<Reports>>,
    pub trace: Option<Spanned<RawTrace>>,
    pub volume: Option<Spanned<VolumeTool>>,
    pub fill: Option<Field>,
    pub await_space: Option<Field>,
    pub block: Option<Field>,
    pub length: Option<Field>,
    pub workers: Option<Field>,
    pub processes: Option<Field>,
    pub order: Option<Field>,
    pub count: Option<Field>,
    pub first: Option<Field>,
    #[serde(default)]
    pub steps: Vec<Spanned<RawStep>>,
    pub direct: Option<Field>,
    pub sync: Option<Field>,
    pub engine: Option<Field>,
    pub depth: Option<Field>,
    #[serde(default)]
    pub create: bool,
    pub fsync_on_close: Option<Field>,
    pub sync_every: Option<Field>,
    pub sync_call: Option<Field>,
    pub stdio: Option<Field>,
    pub read_share: Option<Field>,
    pub call: Option<Field>,
    pub atomic: Option<Field>,
    pub uncached: Option<Field>,
    pub rate: Option<Field>,
    #[serde(default)]
    pub shifted: bool,
    pub arrivals: Option<Field>,
}

/// A step: a bare word, or a table with one key for those with arguments.
#[derive(Debug, Clone, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum RawStep {
    Mkdir,
    Create,
    Open,
    OpenTruncate,
    OpenReadWrite,
    Read,
    Write,
    Modify,
    Close,
    Fsync,
    Fdatasync,
    FsyncDirectory,
    Chown,
    Chmod,
    Stat,
    LookUp,
    Rename(String),
    Link(String),
    Unlink,
    OpenTmpfile,
    LinkTmpfile,
    Reflink(String),
    CopyRange(String),
    Fallocate,
    PunchHole,
    Truncate(Scalar),
    SetXattr(Scalar),
    GetXattr,
    SetAcl,
    GetAcl,
    Readahead,
    DropCached,
    List,
    Rmdir,
    Share(RawShare),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawShare {
    pub percent: Scalar,
    pub steps: Vec<RawStep>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawTotal {
    pub name: String,
    pub title: String,
    pub doing: String,
    pub operation: String,
    pub label: Field,
    pub of: Vec<Spanned<String>>,
    #[serde(default)]
    pub part: bool,
}

/// A recorded run as work.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RawTrace {
    pub file: String,
    pub step: RawTraceStep,
    #[serde(default = "yes")]
    pub think: bool,
    #[serde(default)]
    pub checksum: String,
}

/// A step of a recorded run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RawTraceStep {
    LayOut,
    Replay,
}

fn yes() -> bool {
    true
}
