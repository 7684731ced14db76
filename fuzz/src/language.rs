//! What people write for Bakeoff: plans, option sets, workloads, ages, filesystems, and words of a command line.
//! In: bytes, read as text as files are. Out: nothing; what was read must be usable as it is.

use crate::assert_said;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use workload::age_profiles::{history, parse_fill, parse_profile, without_repeats};
use workload::axes::Axes;
use workload::product::PRODUCT_LIMIT;
use workload::quantity::{QUANTITY_LIMIT, parse_bytes, parse_duration, parse_share, show_bytes};
use workload::{Plan, Workload, parse_aliases, parse_contenders};

const FILE: &str = "fuzzed.toml";

/// A plan, with its contenders multiplied by its axes.
pub fn plan(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Plan::parse(&text, FILE) {
        Ok(plan) => {
            let contenders = plan.contenders.values().cloned().collect();
            match plan.axes.product(contenders, &BTreeMap::new()) {
                Ok(multiplied) => {
                    let multiplied = multiplied.contenders;
                    assert!(multiplied.len() <= PRODUCT_LIMIT);
                    let kept = without_repeats(multiplied);
                    assert!(
                        kept.iter()
                            .filter_map(|contender| contender.ageing())
                            .all(|(_, fill)| fill.is_none_or(|fill| fill > 0.0))
                    );
                }
                Err(refusal) => assert_said("a product", &refusal.to_string()),
            }
            let kept = serde_json::to_string(&plan).expect("a plan can be kept");
            let again: Plan = serde_json::from_str(&kept).expect("what was kept can be read");
            assert_eq!(again, plan, "a plan is kept as it was read");
        }
        Err(refusal) => assert_said("a plan", &refusal.to_string()),
    }
}

/// Option sets and aliases of schedulers.
pub fn contenders(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse_contenders(&text, FILE) {
        Ok(contenders) => assert!(contenders.iter().all(|(label, contender)| *label == contender.label)),
        Err(refusal) => assert_said("contenders", &refusal.to_string()),
    }
    if let Err(refusal) = parse_aliases(&text, FILE) {
        assert_said("aliases", &refusal.to_string());
    }
}

/// A workload, compiled for each of its scales.
pub fn workload(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match Workload::parse(&text, FILE) {
        Ok(workload) => {
            for scale in &workload.scales {
                let compiled = workload.compile(scale, &BTreeMap::new(), 1).expect("what was read can be compiled");
                assert_eq!(compiled.phases.len(), compiled.program.phases.len(), "every phase has a name");
            }
        }
        Err(refusal) => assert_said("a workload", &refusal.to_string()),
    }
}

/// A profile of ageing, and the history that it means for a small and for a very large volume.
pub fn age(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match parse_profile("fuzzed", &text, FILE) {
        Ok(profile) => {
            for volume in [64 << 20, 1 << 40, 1 << 60] {
                match history(&profile, volume, profile.fill) {
                    Ok(history) => assert!(history.filled <= volume && history.mean_size() > 0),
                    Err(refusal) => assert_said("a history", &refusal),
                }
            }
        }
        Err(refusal) => assert_said("an age", &refusal.to_string()),
    }
}

/// The description of a filesystem.
pub fn filesystem(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match staging::Filesystem::parse("fuzzed", FILE, &text) {
        Ok(filesystem) => drop(filesystem.known_mount_options()),
        Err(refusal) => assert_said("a filesystem", &refusal.to_string()),
    }
}

/// Options of mkfs and mount: a byte for the filesystem, a line of mount options, then a word for mkfs a line. What is taken
/// names no path but a device that the filesystem's file declares, and mounting none that mkfs was not given.
pub fn options(data: &[u8]) {
    static REGISTRY: OnceLock<staging::Registry> = OnceLock::new();
    let Some((which, data)) = data.split_first() else { return };
    let registry = REGISTRY.get_or_init(|| staging::Registry::embedded().expect("what is compiled in is good"));
    let filesystem = registry.all().nth(*which as usize % registry.all().count()).expect("one of them");
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n').map(str::to_owned);
    let mut contender = records::Contender::plain(&filesystem.name);
    contender.mount = lines.next().unwrap_or_default();
    contender.mkfs = lines.collect();
    if let Err(refusal) = staging::check_options(filesystem, &contender) {
        return assert_said("options", &refusal.to_string());
    }
    let mut given = Vec::new();
    for item in contender.mkfs.iter().flat_map(|word| word.split(',')).filter(|item| item.contains('/')) {
        let path = filesystem.devices.iter().find_map(|device| {
            let item = item.strip_prefix(device.flag.as_str()).unwrap_or(item);
            let path = item.strip_prefix(device.key.as_str())?.strip_prefix('=')?;
            path.starts_with('/').then(|| (device.mount.clone().unwrap_or_default(), PathBuf::from(path)))
        });
        given.push(path.unwrap_or_else(|| panic!("mkfs takes a path: {item}")));
    }
    for item in contender.mount.split(',').map(str::trim).filter(|item| item.contains('/')) {
        let (key, path) = item.split_once('=').unwrap_or((item, ""));
        let is_given = given.iter().any(|(mount, device)| mount == key && device == Path::new(path));
        assert!(is_given, "mount takes a path that mkfs was not given: {item}");
    }
}

/// Quantities, axes and mixes, as a command line or a file holds them.
pub fn words(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    if let Ok(bytes) = parse_bytes(&text) {
        assert!(bytes <= QUANTITY_LIMIT && !show_bytes(bytes).is_empty());
    }
    if let Ok(duration) = parse_duration(&text) {
        assert!(duration.as_nanos() <= u128::from(QUANTITY_LIMIT));
    }
    for share in [parse_share(&text), parse_fill(&text)].into_iter().flatten() {
        assert!((0.0..=1.0).contains(&share), "{share} is no share");
    }
    let mut axes = Axes::default();
    let set = axes.set(&text).and_then(|()| axes.leave_out(&text));
    if set.is_ok() {
        let ext4 = workload::Contender::named("a", "ext4");
        match axes.product(vec![ext4], &BTreeMap::new()) {
            Ok(all) => assert!((1..=PRODUCT_LIMIT).contains(&all.contenders.len())),
            Err(refusal) => assert_said("a product", &refusal),
        }
    }
    match judge::Mix::parse(&text) {
        Ok(mix) => assert!(mix.parts.iter().all(|(_, weight)| weight.is_finite() && *weight > 0.0)),
        Err(refusal) => assert_said("a mix", &refusal.to_string()),
    }
}
