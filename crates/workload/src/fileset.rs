//! Filesets of a workload file, compiled.
//! In: [`RawFileset`] and variables. Out: [`Fileset`] with every number within its limits.
//! Also the arithmetic on sizes, files and directories for checks and estimates.

use crate::compile::{Outcome, identifier, optional};
use crate::data;
use crate::error::Problem;
use crate::program::{
    Class, Content, Directories, Fileset, Layout, Names, Size, files_of_levels, level_counts, tree_problem,
    values_in_classes,
};
use crate::quantity::{QUANTITY_LIMIT, Scope, Unit, evaluate};
use crate::scope::{choice, number, text, truth};
use crate::syntax::{Field, RawClasses, RawFileset, RawLayout, Scalar};
use crate::tree;
use toml::Spanned;

/// Files that one fileset may have, for each owner.
pub const FILES_LIMIT: u64 = 1 << 40;
/// Directories on one level.
pub const DIRECTORIES_LIMIT: u64 = 1 << 24;
/// Classes of one distribution.
pub const CLASSES_LIMIT: usize = 1024;
/// Sum of the weights of one distribution: far below the overflow of 64 bits.
const WEIGHTS_LIMIT: u64 = 1 << 50;
/// Longest name of a file, in bytes.
const NAME_LIMIT: u64 = 255;

const NAMES: &[(&str, Names)] = &[
    ("decimal", Names::Decimal),
    ("number-then-random", Names::NumberThenRandom),
    ("random-then-number", Names::RandomThenNumber),
    ("maildir", Names::Maildir),
];

pub(crate) fn fileset(raw: &RawFileset, scope: &Scope) -> Outcome<Fileset> {
    let name = raw.name.get_ref().clone();
    identifier("fileset", &name)?;
    let (files, size) = files_and_size(raw, scope)?;
    let fileset = Fileset {
        directory: directory(raw, scope)?,
        files,
        per_worker: raw.per_worker,
        layout: layout(raw, files, scope)?,
        names: names(raw, scope)?,
        size,
        content: content(raw, scope)?,
        copies: None,
        name,
    };
    let most = u128::from(most_bytes(&fileset, files));
    if leaf_directories(&fileset) > DIRECTORIES_LIMIT {
        return Err(Problem::new(format!("fileset `{}` spreads over more than 2^24 directories", fileset.name))
            .help("put more files into each"));
    }
    if !matches!(fileset.size, Size::Total { .. }) && most > u128::from(QUANTITY_LIMIT) {
        return Err(Problem::new(format!("fileset `{}` may hold more than 2^60 bytes", fileset.name)));
    }
    Ok(fileset)
}

fn names(raw: &RawFileset, scope: &Scope) -> Outcome<Names> {
    match (&raw.names, &raw.name_lengths) {
        (None, None) => Ok(Names::Decimal),
        (Some(field), None) => choice(field, "way of naming", NAMES, scope),
        (None, Some(lengths)) => Ok(Names::Lengths(classes(lengths, Unit::Plain, NAME_LIMIT, scope)?)),
        (Some(field), Some(_)) => Err(Problem::new("`names` and `name-lengths` exclude each other").at(field.span())),
    }
}

/// The classes of a distribution: in ascending order, with at least one value.
fn classes(raw: &Spanned<RawClasses>, unit: Unit, most: u64, scope: &Scope) -> Outcome<Vec<Class>> {
    let refused = |why: String| Problem::new(why).at(raw.span());
    let value = |scalar: &Scalar| evaluate(&scalar.0, unit, scope).map_err(|problem| problem.at(raw.span()));
    let mut classes: Vec<Class> = Vec::new();
    for class in raw.get_ref() {
        let [weight, least, most] = class.as_slice() else {
            return Err(refused(format!(
                "a class has {} numbers instead of 3: weight, smallest, largest",
                class.len()
            )));
        };
        let weight = evaluate(&weight.0, Unit::Plain, scope).map_err(|problem| problem.at(raw.span()))?;
        classes.push(Class { weight, least: value(least)?, most: value(most)? });
    }
    if classes.is_empty() || classes.len() > CLASSES_LIMIT {
        return Err(refused(format!("{} classes; there must be 1 to {CLASSES_LIMIT}", classes.len())));
    }
    if let Some(class) = classes.iter().find(|class| class.least > class.most || class.most > most) {
        let range = format!("{} to {}", class.least, class.most);
        return Err(refused(format!("a class from {range} is not between 0 and {most}, smallest value first")));
    }
    if classes.windows(2).any(|pair| pair[0].most >= pair[1].least) {
        return Err(refused("classes overlap or are not in ascending order".into()));
    }
    let weights = classes.iter().fold(0u64, |sum, class| sum.saturating_add(class.weight));
    if weights > WEIGHTS_LIMIT || classes.iter().any(|class| class.weight == 0) {
        return Err(refused("each class needs a weight of at least 1; all together at most 2^50".into()));
    }
    Ok(classes)
}

/// Clones or copies of another fileset's files, in a directory next to it.
pub(crate) fn copy(raw: &RawFileset, of: &Fileset, index: usize, scope: &Scope) -> Outcome<Fileset> {
    let RawFileset { files, layout, names, size, smallest, largest, total, content, compressible, duplicate, .. } = raw;
    let RawFileset { sizes, name_lengths, .. } = raw;
    let fields = [files, names, size, smallest, largest, total, content, compressible, duplicate];
    let classes = [sizes, name_lengths].into_iter().flatten().map(Spanned::span);
    if let Some(stray) = fields.into_iter().flatten().map(Spanned::span).chain(classes).next() {
        return Err(Problem::new("clones and copies have the content of their source files")
            .help("leave this out")
            .at(stray));
    }
    if let Some(stray) = layout {
        return Err(Problem::new("clones and copies have the layout of their source files")
            .help("leave this out")
            .at(stray.span()));
    }
    let name = raw.name.get_ref().clone();
    identifier("fileset", &name)?;
    Ok(Fileset { name, directory: directory(raw, scope)?, copies: Some(index), ..of.clone() })
}

/// Relative, and below the root.
fn directory(raw: &RawFileset, scope: &Scope) -> Outcome<String> {
    let Some(field) = &raw.directory else { return Ok(String::new()) };
    let path = text(field, scope)?;
    for part in path.split('/') {
        one_name(part).map_err(|problem| {
            Problem::new(format!("`{}` cannot be the directory of a fileset", path.escape_debug()))
                .help(format!("{}; it must be below the workload's own directory", problem.problem))
                .at(field.span())
        })?;
    }
    Ok(path)
}

/// A single name of a file or directory.
pub(crate) fn one_name(name: &str) -> Outcome<()> {
    let bad = name.is_empty() || name == "." || name == ".." || name.len() > 64;
    if bad || name.contains(['/', '\\']) || name.chars().any(|character| character.is_control()) {
        return Err(Problem::new(format!("`{}` is not a plain name", name.escape_debug())));
    }
    Ok(())
}

fn layout(raw: &RawFileset, files: u64, scope: &Scope) -> Outcome<Layout> {
    let Some(layout) = &raw.layout else { return Ok(Layout::Flat) };
    let count = |value: &Scalar, most: u64| -> Outcome<u64> {
        let number = evaluate(&value.0, Unit::Plain, scope).map_err(|problem| problem.at(layout.span()))?;
        if (1..=most).contains(&number) {
            return Ok(number);
        }
        Err(Problem::new(format!("{number} in `layout` is not between 1 and {most}")).at(layout.span()))
    };
    Ok(match layout.get_ref() {
        RawLayout::Flat => Layout::Flat,
        RawLayout::PerDirectory(value) => Layout::PerDirectory(count(value, FILES_LIMIT)?),
        RawLayout::Directories(value) => match count(value, DIRECTORIES_LIMIT.min(files))? {
            1 => Layout::Flat,
            directories => Layout::Directories(directories),
        },
        RawLayout::Tree(levels) => {
            let levels = levels.iter().map(|level| directories_of(level)).collect::<Outcome<Vec<_>>>();
            let in_tree = |problem: Problem| {
                Problem::new(format!("fileset `{}`: {}", raw.name.get_ref(), problem.problem)).at(layout.span())
            };
            let levels = levels.map_err(in_tree)?;
            let held = files_of_levels(&levels);
            let none = (held == 0).then(|| "its tree holds no files".to_owned());
            if let Some(problem) = none.or_else(|| tree_problem(&levels, held)) {
                return Err(in_tree(Problem::new(problem)));
            }
            let scaled = tree::scaled(&levels, files);
            if let Some(problem) = tree_problem(&scaled, files) {
                return Err(in_tree(Problem::new(problem)));
            }
            Layout::Tree(scaled)
        }
        RawLayout::Hashed(outer, inner) => Layout::Hashed(count(outer, 65_536)?, count(inner, 65_536)?),
    })
}

/// The directories of one level of a tree.
fn directories_of(level: &[Vec<u64>]) -> Outcome<Vec<Directories>> {
    let of = |pair: &Vec<u64>| match pair[..] {
        [count, files] if count.saturating_mul(files.max(1)) <= FILES_LIMIT => Ok(Directories { count, files }),
        [_, _] => Err(Problem::new("its tree has more than 2^40 files or directories")),
        _ => Err(Problem::new("a level of its tree is a list of pairs: number of directories, files in each")),
    };
    let level = level.iter().map(of).collect::<Outcome<Vec<_>>>()?;
    Ok(level.into_iter().filter(|each| each.count > 0).collect())
}

/// Number and size of files: `files` with `size` or with `smallest` and `largest`; or `total`, with `largest` for one file.
fn files_and_size(raw: &RawFileset, scope: &Scope) -> Outcome<(u64, Size)> {
    let name = raw.name.get_ref();
    let bytes = |field: &Option<Field>| optional(field.as_ref(), Unit::Bytes, scope);
    if raw.sizes.is_some() {
        let others = [&raw.size, &raw.smallest, &raw.largest, &raw.total].into_iter().flatten();
        if let Some(other) = others.into_iter().next() {
            return Err(Problem::new("`sizes` excludes other keys for sizes").at(other.span()));
        }
    }
    let classes = raw.sizes.as_ref().map(|sizes| classes(sizes, Unit::Bytes, QUANTITY_LIMIT, scope)).transpose()?;
    let size = match (bytes(&raw.size)?, bytes(&raw.smallest)?, bytes(&raw.largest)?, bytes(&raw.total)?) {
        (Some(each), None, None, None) => Size::Uniform(each, each),
        (None, Some(smallest), Some(largest), None) if smallest <= largest => Size::Uniform(smallest, largest),
        (None, Some(smallest), Some(largest), None) => {
            return Err(Problem::new(format!("`smallest` ({smallest} B) is larger than `largest` ({largest} B)")));
        }
        (None, None, largest, Some(bytes)) => Size::Total { bytes, largest: largest.unwrap_or(bytes) },
        (None, None, None, None) if classes.is_some() => Size::Classes(classes.unwrap_or_default()),
        _ => {
            return Err(Problem::new(format!("fileset `{name}` has no file size"))
                .help("give `size`, or `smallest` and `largest`, or `sizes`, or `total` with or without `largest`"));
        }
    };
    let files = match (&raw.files, &size) {
        (None, Size::Total { bytes, largest }) if *bytes > 0 && *largest > 0 => bytes.div_ceil(*largest),
        (None, Size::Total { .. }) => return Err(Problem::new(format!("fileset `{name}` has no bytes"))),
        (Some(field), Size::Total { .. }) => {
            return Err(Problem::new("`files` and `total` exclude each other")
                .help("the number of files follows from `total` and `largest`")
                .at(field.span()));
        }
        (Some(field), _) => number(field, Unit::Plain, scope)?,
        (None, _) => {
            return Err(Problem::new(format!("fileset `{name}` has no number of files")).help("give `files`"));
        }
    };
    if files == 0 || files > FILES_LIMIT {
        let place = raw.files.as_ref().or(raw.total.as_ref()).map_or(raw.name.span(), |field| field.span());
        return Err(Problem::new(format!("fileset `{name}` has {files} files; it must have 1 to 2^40")).at(place));
    }
    Ok((files, size))
}

fn content(raw: &RawFileset, scope: &Scope) -> Outcome<Content> {
    let share = |field: &Field, what: &str| {
        crate::compile::limited(Some(field), (what, Unit::Percent), (0, 0, 100), scope).map(|share| share as u8)
    };
    let is_set = |field: &&Field| text(field, scope).is_ok_and(|text| !text.is_empty());
    let (data, duplicate) = raw.set.as_ref().map_or((None, None), |(data, duplicate)| (Some(data), Some(duplicate)));
    let (data, duplicate) = (data.filter(is_set), duplicate.filter(is_set));
    let mut content =
        data.or(raw.content.as_ref()).map_or(Ok(Content::default()), |field| data::content(field, scope))?;
    if let Some(field) = raw.compressible.as_ref().filter(|_| data.is_none()) {
        content.compressible_percent = share(field, "compressible")?;
    }
    if let Some(field) = duplicate.or(raw.duplicate.as_ref()) {
        content.duplicate_percent = share(field, "duplicate")?;
    }
    content.verify = truth(raw.verify.as_ref(), scope)?;
    if content.verify && (content.zeros || content.duplicate_percent > 0) {
        return Err(
            Problem::new("`verify` needs blocks with different content").help("leave out `zeros` and `duplicate`")
        );
    }
    Ok(content)
}

/// Largest size of one file, in bytes.
pub(crate) fn largest_bytes(fileset: &Fileset) -> u64 {
    match &fileset.size {
        Size::Uniform(_, largest) => *largest,
        Size::Total { bytes, largest } => *bytes.min(largest),
        Size::Classes(classes) => {
            let values = values_in_classes(classes, fileset.files);
            values.iter().rposition(|values| *values > 0).map_or(0, |largest| classes[largest].most)
        }
    }
}

/// Smallest size of one file, in bytes, except the last of a total.
pub(crate) fn smallest_bytes(fileset: &Fileset) -> u64 {
    match &fileset.size {
        Size::Uniform(smallest, _) => *smallest,
        Size::Total { bytes, largest } => *bytes.min(largest),
        Size::Classes(classes) => classes.first().map_or(0, |class| class.least),
    }
}

/// Mean total bytes of this many files of one owner.
pub(crate) fn mean_bytes(fileset: &Fileset, files: u64) -> u64 {
    let (bytes, of) = match &fileset.size {
        Size::Uniform(smallest, largest) => (u128::from(*smallest) + u128::from(*largest), 2),
        Size::Total { bytes, .. } => (u128::from(*bytes), u128::from(fileset.files)),
        Size::Classes(classes) => {
            let values = values_in_classes(classes, fileset.files).into_iter();
            let twice = |(class, values): (&Class, u64)| {
                u128::from(values) * (u128::from(class.least) + u128::from(class.most))
            };
            let bytes = classes.iter().zip(values).map(twice).fold(0u128, u128::saturating_add);
            (bytes, 2 * u128::from(fileset.files))
        }
    };
    u64::try_from(bytes.saturating_mul(u128::from(files)) / of).unwrap_or(u64::MAX)
}

/// Most total bytes of this many files of one owner. Of files in classes no more than all are the largest.
pub(crate) fn most_bytes(fileset: &Fileset, files: u64) -> u64 {
    match &fileset.size {
        Size::Uniform(_, largest) => largest.saturating_mul(files),
        Size::Total { .. } => mean_bytes(fileset, files),
        Size::Classes(_) => largest_bytes(fileset).saturating_mul(files).min(mean_bytes(fileset, fileset.files)),
    }
}

/// Directories of one owner's files, including their parents.
pub(crate) fn directories(fileset: &Fileset) -> u64 {
    match &fileset.layout {
        Layout::Flat => 1,
        Layout::PerDirectory(files) => 1 + fileset.files.div_ceil(*files),
        Layout::Directories(directories) => 1 + directories,
        Layout::Hashed(outer, inner) => 1 + outer + outer * inner,
        Layout::Tree(levels) => level_counts(levels).into_iter().fold(0, u64::saturating_add),
    }
}

/// Directories that hold files: the items of a phase over directories. In a tree all of them, since they are numbered together.
pub(crate) fn leaf_directories(fileset: &Fileset) -> u64 {
    match &fileset.layout {
        Layout::Flat => 1,
        Layout::PerDirectory(files) => fileset.files.div_ceil(*files),
        Layout::Directories(directories) => *directories,
        Layout::Hashed(outer, inner) => outer * inner,
        Layout::Tree(_) => directories(fileset),
    }
}
