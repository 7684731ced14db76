//! Axes: the value of each contender on what was varied, and which contenders differ in that alone.
//! In: contenders as requested. Out: an [`AxisView`] for each axis on which at least two contenders differ.
//! Derived from the options themselves, so that schedulers of a command line and of a plan are one axis.

use super::ContenderView;
use crate::chart::slots;
use crate::safe;
use records::{Contender, DEVICE, FRESH};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The filesystem itself as an axis, which is not in the table of axes.
pub(super) const FILESYSTEM: &str = "filesystem";

/// Age and fill as one axis, if they never vary separately.
const AGE_AND_FILL: &str = "age and fill";

/// One axis of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisView {
    /// Name: `scheduler`, `age`, `fill`, `mkfs.rmapbt`.
    pub name: String,
    /// Its values, in their own order or in that of the plan.
    pub values: Vec<String>,
    /// Whether the values have a natural order, so that a line may connect them.
    pub ordered: bool,
    /// Positions of the values on a numeric scale, if that gives the better chart.
    pub positions: Option<Vec<f64>>,
    /// Contenders that differ in this axis alone.
    pub groups: Vec<AxisGroup>,
}

/// Contenders that differ in one axis only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AxisGroup {
    /// Their common name: `ext4`.
    pub name: String,
    /// Place of its colour.
    pub slot: usize,
    /// For each value of the axis the index of its contender into [`super::View::contenders`].
    pub members: Vec<Option<usize>>,
}

/// A contender as requested, with its position in the view.
struct Asked<'a> {
    place: usize,
    label: &'a str,
    options: &'a Contender,
}

/// Releases of kernels, whose names do not show their order.
pub(super) type Releases = BTreeMap<String, String>;

/// The axes of a run; `asked` holds the options of each of `contenders`.
pub(super) fn axes(contenders: &[ContenderView], asked: &[Option<&Contender>], releases: &Releases) -> Vec<AxisView> {
    let taking_part = contenders.iter().zip(asked).enumerate().filter(|(_, (contender, _))| contender.error.is_none());
    let all: Vec<Asked> = taking_part
        .filter_map(|(place, (contender, options))| Some(Asked { place, label: &contender.name, options: (*options)? }))
        .filter(|asked| asked.options.filesystem != DEVICE)
        .collect();
    let found: Vec<AxisView> = names(&all).iter().filter_map(|name| axis(name, &all, releases)).collect();
    // A fresh filesystem has no fill, so it differs from an aged one in two axes at once.
    let lived = || axis(AGE_AND_FILL, &all, releases);
    if found.is_empty() { lived().into_iter().collect() } else { found }
}

fn names(all: &[Asked]) -> Vec<String> {
    let mut named: BTreeSet<String> = BTreeSet::new();
    for asked in all {
        named.extend(asked.options.axes.keys().cloned());
        named.extend(asked.options.mkfs_settings.keys().map(|name| format!("mkfs.{name}")));
        named.extend(asked.options.device.keys().map(|name| format!("device.{name}")));
    }
    let usual: Vec<&str> = axes::common_names().collect();
    named.retain(|name| !usual.contains(&name.as_str()));
    // Filesystems come last, because every table shows them.
    usual.into_iter().map(str::to_owned).chain(named).chain([FILESYSTEM.to_owned()]).collect()
}

fn axis(name: &str, all: &[Asked], releases: &Releases) -> Option<AxisView> {
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
    let table = axes::find(name).map(|named| named.axis);
    let rank = |value: &String| match name {
        // Only fresh or aged is known of their order.
        AGE_AND_FILL => Some(f64::from(u8::from(value != FRESH))),
        _ => table.and_then(|axis| axis.rank(releases.get(value).unwrap_or(value))),
    };
    let ranks: Option<Vec<f64>> = values.iter().map(rank).collect();
    if ranks.is_some() {
        values.sort_by(|a, b| rank(a).unwrap_or_default().total_cmp(&rank(b).unwrap_or_default()));
    }
    let groups = groups(name, &values, all);
    let meets = |group: &&AxisGroup| group.members.iter().flatten().count() >= 2;
    // Every table compares filesystems; as an axis they add information only if something else varies, too.
    let least = if name == FILESYSTEM { 2 } else { 1 };
    if groups.iter().filter(meets).count() < least {
        return None;
    }
    Some(AxisView {
        ordered: ranks.is_some()
            && (values.len() > 2 || name == AGE_AND_FILL || table.is_some_and(|axis| axis.about().is_ordered)),
        positions: ranks
            .filter(|_| table.is_some_and(|axis| axis.about().is_scale))
            .and_then(|_| values.iter().map(rank).collect()),
        name: safe::terminal(name),
        values: values.iter().map(|value| safe::terminal(value)).collect(),
        groups: groups.into_iter().map(|group| AxisGroup { name: safe::terminal(&group.name), ..group }).collect(),
    })
}

fn groups(name: &str, values: &[String], all: &[Asked]) -> Vec<AxisGroup> {
    // Two with equal options differ only in their names, so they form groups of their own.
    let mut groups: Vec<(Contender, AxisGroup)> = Vec::new();
    for asked in all {
        let value = value(asked.options, name);
        let Some(at) = values.iter().position(|known| *known == value) else { continue };
        let key = rest(asked.options, name);
        match groups.iter_mut().find(|(known, group)| *known == key && group.members[at].is_none()) {
            Some((_, group)) => group.members[at] = Some(asked.place),
            None => {
                let taken: Vec<&str> = groups.iter().map(|(_, group)| group.name.as_str()).collect();
                let own = common(asked.options, name);
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

/// The value of a contender on an axis.
fn value(options: &Contender, name: &str) -> String {
    match name {
        FILESYSTEM => options.filesystem.clone(),
        AGE_AND_FILL => {
            [value(options, "age")].into_iter().chain(axes::value(options, "fill")).collect::<Vec<_>>().join(" ")
        }
        _ => axes::value(options, name).unwrap_or_else(|| axes::usual(name).to_owned()),
    }
}

/// The contender without its name, its axis values and its value on this axis: equal for those that differ in this axis only.
fn rest(options: &Contender, name: &str) -> Contender {
    let mut rest = match name {
        FILESYSTEM => Contender { filesystem: String::new(), ..options.clone() },
        _ => without(options, name),
    };
    rest.label.clear();
    rest.base.clear();
    // Values that no option holds exist only here, so they stay.
    let alone: BTreeSet<&str> = axes::beside_options(options).map(|(name, _)| name).collect();
    rest.axes.retain(|name, _| alone.contains(name.as_str()));
    rest
}

fn without(options: &Contender, name: &str) -> Contender {
    match name {
        AGE_AND_FILL => axes::without(&axes::without(options, "age"), "fill"),
        _ => axes::without(options, name),
    }
}

/// Name of a contender without its value on an axis.
fn common(options: &Contender, name: &str) -> String {
    if name != FILESYSTEM {
        return axes::label(&without(options, name));
    }
    let own = options.base.strip_prefix(&options.filesystem).unwrap_or(&options.base);
    let left = format!("{own}{}", axes::places(options));
    let left = left.trim_start_matches(['+', ' ', ',', '-']);
    if left.is_empty() { "plain".into() } else { left.to_owned() }
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
    fn contenders_that_differ_in_their_layers_are_in_no_group_of_another_axis() {
        let at = |stack: &str| {
            let mut contender = Contender::plain("ext4");
            [("stack", stack), ("scheduler", "bfq")].iter().for_each(|(name, at)| axes::put(&mut contender, name, at));
            contender
        };
        assert_ne!(rest(&at("none"), "scheduler"), rest(&at("luks"), "scheduler"));
        assert_eq!(rest(&at("none"), "stack"), rest(&at("luks"), "stack"));
    }

    #[test]
    fn a_group_is_named_by_what_its_members_share() {
        let at = |places: &[(&str, &str)]| {
            let mut contender = Contender::plain("xfs");
            places.iter().for_each(|(name, value)| axes::put(&mut contender, name, value));
            contender
        };
        let old = at(&[("age", "old"), ("scheduler", "bfq")]);
        assert_eq!((common(&old, "scheduler"), common(&old, "age")), ("xfs old".into(), "xfs+bfq".into()));
        assert_eq!(common(&at(&[("mkfs.rmapbt", "0"), ("fill", "40%")]), "fill"), "xfs rmapbt=0");
        assert_eq!(common(&at(&[("scheduler", "bfq")]), FILESYSTEM), "bfq");
        assert_eq!(common(&Contender::plain("xfs"), FILESYSTEM), "plain");
        let tuned = Contender::named("xfs-tuned", "xfs");
        assert_eq!(common(&tuned, FILESYSTEM), "tuned");
    }

    #[test]
    fn a_limit_is_an_axis_though_no_option_keeps_it() {
        let at = |value: &str| {
            let mut contender = Contender::plain("xfs");
            axes::put(&mut contender, "limit.memory", value);
            axes::put(&mut contender, "scheduler", "bfq");
            contender
        };
        assert_eq!(rest(&at("512M"), "limit.memory"), rest(&at("2G"), "limit.memory"));
        assert_ne!(rest(&at("512M"), "scheduler"), rest(&at("2G"), "scheduler"));
    }

    #[test]
    fn a_mount_option_leaves_the_others_to_the_group() {
        let of = |mount: &str| rest(&Contender { mount: mount.into(), ..Contender::default() }, "mount.logbsize");
        assert_eq!(of("noatime,logbsize=32k"), of("noatime,logbsize=256k"));
        assert_ne!(of("noatime,logbsize=32k"), of("logbsize=32k"));
    }
}
