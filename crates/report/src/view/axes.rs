//! Axes: where each contender stands on what was varied, and which contenders differ in that alone.
//! In: contenders as they were asked for. Out: an [`AxisView`] for each axis on which at least two stand apart.
//! Read from the options themselves, so that schedulers of a command line and of a plan are one axis.

use super::ContenderView;
use crate::chart::slots;
use crate::safe;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeSet;

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
    options: &'a Value,
}

/// The axes of a run; `asked` holds the options of each of `contenders`.
pub(super) fn axes(contenders: &[ContenderView], asked: &[&Value]) -> Vec<AxisView> {
    let taking_part = contenders.iter().zip(asked).enumerate().filter(|(_, (contender, options))| {
        contender.error.is_none() && options["filesystem"].as_str().is_some_and(|name| name != super::DEVICE)
    });
    let all: Vec<Asked> =
        taking_part.map(|(place, (contender, options))| Asked { place, label: &contender.name, options }).collect();
    names(&all).iter().filter_map(|name| axis(name, &all)).collect()
}

fn names(all: &[Asked]) -> Vec<String> {
    let mut named: BTreeSet<String> = BTreeSet::new();
    let keys = |value: &Value| value.as_object().map(|map| map.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    for asked in all {
        named.extend(keys(&asked.options["axes"]));
        named.extend(keys(&asked.options["mkfs_settings"]).iter().map(|name| format!("mkfs.{name}")));
        named.extend(keys(&asked.options["device"]).iter().map(|name| format!("device.{name}")));
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
    let mut groups: Vec<(String, AxisGroup)> = Vec::new();
    for asked in all {
        let value = value(asked.options, name);
        let Some(at) = values.iter().position(|known| *known == value) else { continue };
        let key = rest(asked.options, name);
        // Two of equal options are told apart by their names alone, so they make groups of their own.
        match groups.iter_mut().find(|(known, group)| *known == key && group.members[at].is_none()) {
            Some((_, group)) => group.members[at] = Some(asked.place),
            None => {
                let taken: Vec<&str> = groups.iter().map(|(_, group)| group.name.as_str()).collect();
                let own = common(asked.label, name, &value);
                let named = if taken.contains(&own.as_str()) { asked.label.to_owned() } else { own };
                let mut members = vec![None; values.len()];
                members[at] = Some(asked.place);
                let known = groups.iter().any(|(known, _)| *known == key);
                let key = if known { format!("{key} {}", asked.label) } else { key };
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
fn value(options: &Value, name: &str) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let own = match name.split_once('.') {
        Some(("mkfs", setting)) => text(&options["mkfs_settings"][setting]),
        Some(("device", setting)) => text(&options["device"][setting]),
        None if name == "fill" => options["fill"].as_f64().map(|share| format!("{}%", (share * 1e6).round() / 1e4)),
        _ => text(&options[name]),
    };
    let usual = USUAL.iter().find(|(known, _)| *known == name).map_or(DEFAULT, |(_, usual)| usual);
    own.or_else(|| text(&options["axes"][name])).unwrap_or_else(|| usual.to_owned())
}

/// All options but those of the axis, as a text that is equal for equals.
fn rest(options: &Value, name: &str) -> String {
    let mut options = options.clone();
    let Some(map) = options.as_object_mut() else { return String::new() };
    map.remove("label");
    map.remove("axes");
    match name.split_once('.') {
        None => {
            map.remove(name);
        }
        Some(("mount", setting)) => {
            let mount = map.get("mount").and_then(Value::as_str).unwrap_or_default();
            let others = mount.split(',').filter(|word| word.split('=').next() != Some(setting));
            let others = others.collect::<Vec<_>>().join(",");
            map.insert("mount".into(), Value::String(others));
        }
        Some((kind, setting)) => {
            let key = if kind == "mkfs" { "mkfs_settings" } else { kind };
            if let Some(settings) = map.get_mut(key).and_then(Value::as_object_mut) {
                settings.remove(setting);
            }
        }
    }
    options.to_string()
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
    use serde_json::json;

    #[test]
    fn options_of_a_command_line_and_of_a_plan_are_one_axis() {
        let typed = json!({"label": "ext4+bfq", "filesystem": "ext4", "scheduler": "bfq", "axes": {}});
        let planned =
            json!({"label": "ext4+none", "filesystem": "ext4", "scheduler": "none", "axes": {"scheduler": "none"}});
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
        let of = |mount: &str| rest(&json!({"mount": mount}), "mount.logbsize");
        assert_eq!(of("noatime,logbsize=32k"), of("noatime,logbsize=256k"));
        assert_ne!(of("noatime,logbsize=32k"), of("logbsize=32k"));
    }
}
