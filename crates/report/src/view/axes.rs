//! Axes: where each contender stands on what was varied, and which contenders differ in that alone.
//! In: contenders as they were asked for. Out: an [`AxisView`] for each axis on which at least two stand apart.
//! Read from the options themselves, so that schedulers of a command line and of a plan are one axis.

use super::ContenderView;
use crate::chart::slots;
use crate::safe;
use records::{Contender, DEVICE};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Axes that every contender stands on, with the value of one that asks for nothing.
const USUAL: [(&str, &str); 5] =
    [("filesystem", ""), ("scheduler", "as it is"), ("kernel", "host"), ("age", "fresh"), ("fill", "0%")];
/// Value of a contender that leaves a named option alone.
const DEFAULT: &str = "default";
/// Ages in the order in which filesystems live.
const AGES: [&str; 3] = ["fresh", "used", "old"];

/// One axis of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisView {
    /// Name: `scheduler`, `age`, `fill`, `mkfs.rmapbt`.
    pub name: String,
    /// Its values, in their own order or in that of the plan.
    pub values: Vec<String>,
    /// Whether the values have an order of their own, so that a line may lead from one to the next.
    pub ordered: bool,
    /// Where the values stand on a scale of numbers, where that is the better picture.
    pub positions: Option<Vec<f64>>,
    /// Contenders that differ in this axis alone.
    pub groups: Vec<AxisGroup>,
}

/// Contenders that are alike but for one axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AxisGroup {
    /// What they have in common, as a name: `ext4`.
    pub name: String,
    /// Place of its colour.
    pub slot: usize,
    /// For each value of the axis the index into [`super::View::contenders`] of who stands there.
    pub members: Vec<Option<usize>>,
}

/// A contender as asked for, with its place in the view.
struct Asked<'a> {
    place: usize,
    label: &'a str,
    options: &'a Contender,
}

/// The axes of a run; `asked` holds the options of each of `contenders`.
pub(super) fn axes(contenders: &[ContenderView], asked: &[Option<&Contender>]) -> Vec<AxisView> {
    let taking_part = contenders.iter().zip(asked).enumerate().filter(|(_, (contender, _))| contender.error.is_none());
    let all: Vec<Asked> = taking_part
        .filter_map(|(place, (contender, options))| Some(Asked { place, label: &contender.name, options: (*options)? }))
        .filter(|asked| asked.options.filesystem != DEVICE)
        .collect();
    names(&all).iter().filter_map(|name| axis(name, &all)).collect()
}

fn names(all: &[Asked]) -> Vec<String> {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for asked in all {
        named.extend(asked.options.axes.keys().cloned());
        named.extend(asked.options.mkfs_settings.keys().map(|name| format!("mkfs.{name}")));
        named.extend(asked.options.device.keys().map(|name| format!("device.{name}")));
    }
    let usual = USUAL.iter().map(|(name, _)| (*name).to_owned());
    let others = named.iter().filter(|name| USUAL.iter().all(|(usual, _)| usual != name)).cloned();
    // Filesystems come last: what every table shows anyway.
    let (filesystem, rest): (Vec<String>, Vec<String>) = usual.chain(others).partition(|name| name == "filesystem");
    rest.into_iter().chain(filesystem).collect()
}

fn axis(name: &str, all: &[Asked]) -> Option<AxisView> {
    let mut values: Vec<String> = Vec::new();
    for asked in all {
        let value = value(asked.options, name);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    if values.len() < 2 {
        return None;
    }
    let numbers: Option<Vec<f64>> = values.iter().map(|value| number(value)).collect();
    if name == "age" {
        values.sort_by_key(|value| AGES.iter().position(|age| age == value).unwrap_or(AGES.len()));
    } else if numbers.is_some() {
        values.sort_by(|a, b| number(a).unwrap_or_default().total_cmp(&number(b).unwrap_or_default()));
    }
    let groups = groups(name, &values, all);
    let meets = |group: &&AxisGroup| group.members.iter().flatten().count() >= 2;
    // Filesystems side by side are what every table shows; as an axis they only tell more where something else varies too.
    let least = if name == "filesystem" { 2 } else { 1 };
    if groups.iter().filter(meets).count() < least {
        return None;
    }
    Some(AxisView {
        ordered: matches!(name, "age" | "fill") || (numbers.is_some() && values.len() > 2),
        positions: numbers.filter(|_| name == "fill").and_then(|_| values.iter().map(|value| number(value)).collect()),
        name: safe::terminal(name),
        values: values.iter().map(|value| safe::terminal(value)).collect(),
        groups: groups.into_iter().map(|group| AxisGroup { name: safe::terminal(&group.name), ..group }).collect(),
    })
}

fn groups(name: &str, values: &[String], all: &[Asked]) -> Vec<AxisGroup> {
    // Two of equal options are told apart by their names alone, so they make groups of their own.
    let mut groups: Vec<(Contender, AxisGroup)> = Vec::new();
    for asked in all {
        let value = value(asked.options, name);
        let Some(at) = values.iter().position(|known| *known == value) else { continue };
        let key = rest(asked.options, name);
        match groups.iter_mut().find(|(known, group)| *known == key && group.members[at].is_none()) {
            Some((_, group)) => group.members[at] = Some(asked.place),
            None => {
                let taken: Vec<&str> = groups.iter().map(|(_, group)| group.name.as_str()).collect();
                let own = common(asked.label, name, &value);
                let named = if taken.contains(&own.as_str()) { asked.label.to_owned() } else { own };
                let mut members = vec![None; values.len()];
                members[at] = Some(asked.place);
                let known = groups.iter().any(|(known, _)| *known == key);
                let key = if known { Contender { label: asked.label.into(), ..key } } else { key };
                groups.push((key, AxisGroup { name: named, slot: 0, members }));
            }
        }
    }
    let mut groups: Vec<AxisGroup> = groups.into_iter().map(|(_, group)| group).collect();
    let places = slots(&groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>());
    for (group, slot) in groups.iter_mut().zip(places) {
        group.slot = slot;
    }
    groups
}

/// Where a contender stands on an axis.
fn value(options: &Contender, name: &str) -> String {
    let own = match name.split_once('.') {
        Some(("mkfs", setting)) => options.mkfs_settings.get(setting).cloned(),
        Some(("device", setting)) => options.device.get(setting).cloned(),
        _ => match name {
            "filesystem" => Some(options.filesystem.clone()),
            "scheduler" => options.scheduler.clone(),
            "kernel" => options.kernel.clone(),
            "age" => options.age.clone(),
            "fill" => options.fill.map(|share| format!("{}%", (share * 1e6).round() / 1e4)),
            _ => None,
        },
    };
    let usual = USUAL.iter().find(|(known, _)| *known == name).map_or(DEFAULT, |(_, usual)| usual);
    own.or_else(|| options.axes.get(name).cloned()).unwrap_or_else(|| usual.to_owned())
}

/// The contender but for its name, its places on axes, and what it has of this axis: equal for those that differ in it alone.
fn rest(options: &Contender, name: &str) -> Contender {
    let mut rest = Contender { label: String::new(), axes: BTreeMap::new(), ..options.clone() };
    match name.split_once('.') {
        Some(("mount", setting)) => {
            let others = rest.mount.split(',').filter(|word| word.split('=').next() != Some(setting));
            rest.mount = others.collect::<Vec<_>>().join(",");
        }
        Some(("mkfs", setting)) => drop(rest.mkfs_settings.remove(setting)),
        Some(("device", setting)) => drop(rest.device.remove(setting)),
        _ => match name {
            "filesystem" => rest.filesystem.clear(),
            "scheduler" => rest.scheduler = None,
            "kernel" => rest.kernel = None,
            "age" => rest.age = None,
            "fill" => rest.fill = None,
            _ => {}
        },
    }
    rest
}

/// A contender's label without what its value on the axis has put there.
fn common(label: &str, name: &str, value: &str) -> String {
    let mark = match name.split_once('.') {
        Some((_, setting)) => format!(" {setting}={value}"),
        None => match name {
            "filesystem" => {
                let left = label.strip_prefix(value).unwrap_or(label).trim_start_matches(['+', ' ', ',', '-']);
                return if left.is_empty() { "plain".into() } else { left.to_owned() };
            }
            "scheduler" => format!("+{value}"),
            "kernel" => format!(" on {value}"),
            "fill" => format!(" {value} full"),
            _ => format!(" {value}"),
        },
    };
    label.replacen(&mark, "", 1)
}

/// `40%`, `128`; nothing else is a number.
fn number(text: &str) -> Option<f64> {
    text.trim_end_matches('%').parse::<f64>().ok().filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(label: &str, scheduler: &str) -> Contender {
        Contender { label: label.into(), scheduler: Some(scheduler.into()), ..Contender::plain("ext4") }
    }

    #[test]
    fn options_of_a_command_line_and_of_a_plan_are_one_axis() {
        let typed = with("ext4+bfq", "bfq");
        let mut planned = with("ext4+none", "none");
        planned.axes.insert("scheduler".into(), "none".into());
        assert_eq!((value(&typed, "scheduler"), value(&planned, "scheduler")), ("bfq".into(), "none".into()));
        assert_eq!(rest(&typed, "scheduler"), rest(&planned, "scheduler"));
        assert_ne!(rest(&typed, "kernel"), rest(&planned, "kernel"));
    }

    #[test]
    fn a_group_is_named_by_what_its_members_share() {
        assert_eq!(common("ext4 old+bfq", "scheduler", "bfq"), "ext4 old");
        assert_eq!(common("ext4 old+bfq", "age", "old"), "ext4+bfq");
        assert_eq!(common("xfs rmapbt=0 40% full", "mkfs.rmapbt", "0"), "xfs 40% full");
        assert_eq!(common("xfs+bfq", "filesystem", "xfs"), "bfq");
    }

    #[test]
    fn a_mount_option_leaves_the_others_to_the_group() {
        let of = |mount: &str| rest(&Contender { mount: mount.into(), ..Contender::default() }, "mount.logbsize");
        assert_eq!(of("noatime,logbsize=32k"), of("noatime,logbsize=256k"));
        assert_ne!(of("noatime,logbsize=32k"), of("logbsize=32k"));
    }
}
