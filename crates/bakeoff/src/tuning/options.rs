//! The options that a search may try, without those that mkfs or the kernel refuses here.
//! In: the `[[tune]]` entries of a filesystem's description, the user's own options. Out: a [`tune::Space`], and a sentence for each value left out.

use crate::contenders;
use crate::failure::Failure;
use crate::text;
use records::{Contender, DataMode, Durability, Journaling};
use runner::Stop;
use staging::{Filesystem, Registry, Staged, StagingError, Target, Where};
use system::Journal;
use tune::{Factor, MOST_VALUES, Set, Space};
use workload::axes::Axes;

/// Letters of a reason why a value is left out.
const REASON: usize = 160;
/// Most pairs of mkfs settings that are tried. A set with another pair that mkfs refuses drops out of its stage.
const MOST_PAIRS: u32 = 100;
/// The same in virtual machines, which take seconds for each.
const MOST_PAIRS_IN_GUESTS: u32 = 10;
/// Options of the disk's queue, which every filesystem has: axis, values, whether they are less safe, and why they may matter.
const COMMON: [(&str, &[&str], bool, &str); 3] = [
    ("scheduler", &["mq-deadline", "bfq", "none", "kyber"], false, "In which order requests reach the disk."),
    ("device.read_ahead", &["1M", "4M"], false, "How much is read ahead of sequential reads."),
    (
        "device.flushes",
        &["off"],
        true,
        "No flushes: a power cut may damage the filesystem if the disk has a volatile cache.",
    ),
];

/// Why an option of the user's own may matter.
const REQUESTED: &str = "Requested with --axis.";
/// Families of axes whose values are options of the filesystem or of the disk's queue, which the user has set: not the defaults.
const OPTIONS: [&str; 4] = ["mkfs.", "mount.", "device.", "scheduler"];
/// Axes that `--with` does not set, and what to do.
const ELSEWHERE: [(&str, &str); 5] = [
    ("disk", "name it with --disk"),
    ("kernel", "name it with --kernel"),
    (axes::CLOCK, "a search judges times"),
    ("age", "a search formats anew for each trial"),
    ("fill", "a search formats anew for each trial"),
];

/// The filesystem and the baseline of a search.
pub struct Subject {
    /// Its description.
    pub filesystem: Filesystem,
    /// The defaults, or the options that the user has now.
    pub base: Contender,
    /// Whether the baseline is the user's options.
    pub own: bool,
    /// Options to try in place of the known ones, and whether each is less safe.
    pub asked: Vec<(Factor, bool)>,
}

/// What the trial of all values leaves.
pub struct Tried {
    /// The options to search.
    pub space: Space,
    /// Axes whose values are less safe than the baseline, with the reasons, by value.
    pub less_safe: Vec<(String, String, String)>,
    /// A sentence on each value and pair of values that is left out.
    pub left_out: Vec<String>,
    /// How often a filesystem was made for this.
    pub made: u32,
}

impl Subject {
    /// The subject of a command line.
    ///
    /// # Errors
    /// The filesystem is unknown or has no options to try; `--against` cannot be split into words; an axis cannot be searched.
    pub fn of(name: &str, against: Option<&str>, axes: &[String], registry: &Registry) -> Result<Self, Failure> {
        let filesystem = registry.get(name).map_err(|error| Failure::usage(format!("tuning {name}: {error}")))?.clone();
        let mut asked: Vec<(Factor, bool)> = Vec::new();
        for text in axes {
            let read = read_axis(text, &filesystem).map_err(|why| Failure::usage(format!("--axis {why}")))?;
            asked.retain(|(other, _)| other.axis != read.0.axis);
            asked.push(read);
        }
        if filesystem.tune.is_empty() && asked.is_empty() {
            let known: Vec<&str> =
                registry.all().filter(|one| !one.tune.is_empty()).map(|one| one.name.as_str()).collect();
            let known = known.join(", ");
            return Err(Failure::usage(format!(
                "tuning {name}: its description lists no options to try ([[tune]]); those of {known} do; or name options with --axis NAME=VALUES"
            )));
        }
        let mut base = Contender::plain(name);
        let own = against.is_some();
        if let Some(options) = against {
            read_options(options, &mut base)?;
        }
        Ok(Self { filesystem, base, own, asked })
    }

    /// The baseline without options of the user: the filesystem's defaults at the same place.
    fn defaults(&self) -> Contender {
        let is_option = |axis: &&String| OPTIONS.iter().any(|family| axis.starts_with(family));
        let options = self.base.axes.keys().filter(is_option);
        let mut defaults = options.fold(self.base.clone(), |base, axis| axes::without(&base, axis));
        defaults.mkfs.clear();
        defaults.mount.clear();
        defaults.label = axes::label(&defaults);
        defaults
    }

    /// The same with what every set has: a modelled disk, a kernel, and values of axes as typed (`devices=2`).
    ///
    /// # Errors
    /// There is no such kernel; an axis is unknown, has no or several values, or has an option of its own.
    pub fn with(mut self, disk: Option<&str>, kernel: Option<&str>, values: &[String]) -> Result<Self, Failure> {
        let places = [disk.map(|disk| ("disk", lasting(disk))), kernel_of(kernel)?];
        for (axis, value) in places.into_iter().flatten() {
            axes::put(&mut self.base, axis, &value);
        }
        for text in values {
            let wrong = |why: String| Failure::usage(format!("--with {why}"));
            let (axis, value) = read_value(text, &self.filesystem).map_err(wrong)?;
            if self.asked.iter().any(|(searched, _)| searched.axis == axis) {
                return Err(wrong(format!("{text}: --axis searches {axis} already")));
            }
            if let Some(other) = self.base.axes.get(&axis) {
                return Err(wrong(format!("{text}: {axis} is {other} already")));
            }
            self.own |= OPTIONS.iter().any(|family| axis.starts_with(family));
            self.base = axes::without(&self.base, &axis);
            axes::put(&mut self.base, &axis, &value);
        }
        self.base.label = axes::label(&self.base);
        Ok(self)
    }

    /// Whether all sets are in virtual machines.
    pub fn in_guests(&self) -> bool {
        staging::is_guest(self.base.kernel.as_deref())
    }

    /// The baseline with a set of options.
    pub fn contender(&self, set: &Set) -> Contender {
        let mut contender = self.base.clone();
        for (axis, value) in set {
            contender = axes::without(&contender, axis);
            axes::put(&mut contender, axis, value);
        }
        contender.label = axes::label(&contender);
        contender
    }

    /// The baseline and each value of its own options and layers by itself: what the place must be able to hold.
    pub fn every_value(&self, allow_less_safe: bool) -> Vec<Contender> {
        let mut contenders = vec![self.base.clone()];
        let of_filesystem = |axis: &str| axis.starts_with("mkfs.") || axis.starts_with("mount.") || axis == axes::STACK;
        for (factor, _) in self.factors(allow_less_safe).iter().filter(|(factor, _)| of_filesystem(&factor.axis)) {
            contenders.extend(factor.values.iter().map(|value| self.contender(&alone(factor, value))));
        }
        contenders
    }

    /// All options of a set as typed: `mkfs.xfs -l size=256m, mount -o noatime, scheduler bfq`.
    pub fn in_words(&self, set: &Set) -> String {
        let contender = self.contender(set);
        let typed = staging::typed(&self.filesystem, &contender);
        let mut parts = Vec::new();
        if !typed.mkfs.is_empty() {
            parts.push(format!("{} {}", typed.program, typed_line(&typed.mkfs)));
        }
        if !typed.mount.is_empty() {
            parts.push(format!("mount -o {}", typed.mount.join(",")));
        }
        parts.extend(set.get(axes::STACK).map(|stack| format!("stack {stack}")));
        parts.extend(contender.scheduler.iter().map(|name| format!("scheduler {name}")));
        parts.extend(contender.device.iter().map(|(name, value)| format!("queue {name}={value}")));
        if parts.is_empty() { "the defaults".into() } else { parts.join(", ") }
    }

    /// Options to try, before any is tried, and whether each is less safe: those that the user asked for, or all that are known.
    pub fn factors(&self, allow_less_safe: bool) -> Vec<(Factor, bool)> {
        let mut factors = if self.asked.is_empty() {
            known(&self.filesystem).filter(|(_, less_safe)| allow_less_safe || !less_safe).collect()
        } else {
            self.asked.clone()
        };
        // What every set has is not searched, and nothing that needs another value of it.
        let fixed = &self.base.axes;
        factors.retain(|(factor, _)| {
            let is_kept = |(axis, value): (&String, &String)| fixed.get(axis).is_none_or(|now| now == value);
            !fixed.contains_key(&factor.axis) && factor.needs.iter().all(is_kept)
        });
        for (factor, _) in &mut factors {
            let now = axes::value(&self.base, &factor.axis);
            let value_now = now.as_deref().unwrap_or(axes::usual(&factor.axis));
            factor.values.retain(|value| value != value_now);
            // What the user has set may be worse than the default; only mount options can be taken back here.
            if now.is_some() && factor.axis.starts_with("mount.") {
                factor.values.push(axes::DEFAULT.into());
            }
        }
        factors.sort_by_key(|(_, less_safe)| *less_safe);
        factors
    }
}

/// A value of an option, with what it needs.
fn alone(factor: &Factor, value: &str) -> Set {
    factor.needs.clone().into_iter().chain([(factor.axis.clone(), value.to_owned())]).collect()
}

/// What a description lists, and what every filesystem has; and whether each is less safe.
fn known(filesystem: &Filesystem) -> impl Iterator<Item = (Factor, bool)> {
    let listed = filesystem.tune.iter().map(|one| {
        let (axis, values, why) = (one.axis.clone(), one.values.clone(), one.why.clone());
        (Factor { axis, values, why, needs: one.needs.clone() }, one.less_safe)
    });
    let common = COMMON.into_iter().map(|(axis, values, less_safe, why)| {
        let values = values.iter().map(|value| (*value).to_owned()).collect();
        (Factor { axis: axis.into(), values, why: why.into(), needs: Set::new() }, less_safe)
    });
    listed.chain(common)
}

/// Reads `--axis`: `mkfs.log_size=64m,128m`, or `mkfs.log_size` for the values of the description.
fn read_axis(text: &str, filesystem: &Filesystem) -> Result<(Factor, bool), String> {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    let known = || known(filesystem).find(|(one, _)| one.axis == name);
    if name == text {
        let none = || format!("{text}: write NAME=VALUE,VALUE; {} lists no values for it", filesystem.name);
        return known().ok_or_else(none);
    }
    let mut axes = Axes::default();
    axes.set(text)?;
    let values = axes.of(name).to_vec();
    if values.len() > MOST_VALUES {
        return Err(format!("{text}: {} values; the limit is {MOST_VALUES}", values.len()));
    }
    if let Some((factor, less_safe)) = listing(filesystem, name, &values).or_else(known) {
        return Ok((Factor { values, ..factor }, less_safe));
    }
    if name != axes::STACK && !OPTIONS.iter().any(|family| name.starts_with(family)) {
        return Err(format!("{text}: a search varies mkfs.NAME, mount.NAME, scheduler, device.NAME and stack"));
    }
    check_name(text, name, filesystem)?;
    Ok((Factor { axis: name.into(), values, why: REQUESTED.into(), needs: Set::new() }, false))
}

/// Whether the filesystem has the mkfs setting or mount option of this name.
fn check_name(text: &str, name: &str, filesystem: &Filesystem) -> Result<(), String> {
    let (family, setting) = name.split_once('.').unwrap_or((name, ""));
    let takes = match family {
        "mkfs" => Some(filesystem.settings.keys().cloned().collect()),
        "mount" => filesystem.known_mount_options(),
        _ => None,
    };
    let Some(takes) = takes.filter(|takes| !takes.contains(setting)) else { return Ok(()) };
    let hint = workload::did_you_mean(setting, takes.iter().map(String::as_str));
    Err(format!("{text}: {} has no such option{hint}", filesystem.name))
}

/// The first entry that lists any of these values of an axis: safe and less safe values of one axis are listed apart.
fn listing(filesystem: &Filesystem, axis: &str, values: &[String]) -> Option<(Factor, bool)> {
    known(filesystem).find(|(one, _)| one.axis == axis && one.values.iter().any(|its| values.contains(its)))
}

/// What the description writes about a value; of one that it does not list, what it writes about the axis if that is less safe throughout.
fn reason(filesystem: &Filesystem, factor: &Factor, value: &str) -> Option<String> {
    let listed = listing(filesystem, &factor.axis, &[value.to_owned()]).map(|(one, _)| one.why);
    listed.or_else(|| is_less_safe(filesystem, &factor.axis, value).then(|| factor.why.clone()))
}

/// Whether the description lists a value as less safe, or where it does not list it, only such values of its axis. The default is not.
fn is_less_safe(filesystem: &Filesystem, axis: &str, value: &str) -> bool {
    if value == axes::DEFAULT {
        return false;
    }
    let of_axis = || known(filesystem).filter(|(one, _)| one.axis == axis).map(|(_, less_safe)| less_safe);
    match listing(filesystem, axis, &[value.to_owned()]) {
        Some((_, less_safe)) => less_safe,
        None => of_axis().reduce(|one, other| one && other).unwrap_or(false),
    }
}

/// A disk's description by a path that holds in any folder.
fn lasting(disk: &str) -> String {
    let path = std::path::absolute(disk).ok().filter(|_| disk.ends_with(".toml"));
    path.map_or_else(|| disk.to_owned(), |path| path.display().to_string())
}

/// The kernel that every set has, by its recorded name.
fn kernel_of(kernel: Option<&str>) -> Result<Option<(&'static str, String)>, Failure> {
    kernel.map(|kernel| Ok(("kernel", contenders::kernel_called(kernel)?))).transpose()
}

/// Reads `--with`: one value of an axis that has no option of its own.
fn read_value(text: &str, filesystem: &Filesystem) -> Result<(String, String), String> {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if let Some((_, option)) = ELSEWHERE.iter().find(|(axis, _)| *axis == name) {
        return Err(format!("{text}: {option}"));
    }
    let mut axes = Axes::default();
    axes.set(text)?;
    check_name(text, name, filesystem)?;
    match axes.of(name) {
        [value] => Ok((name.to_owned(), value.clone())),
        _ => Err(format!("{text}: every set has one value of it; --axis searches several")),
    }
}

/// Words as typed in a shell, with quotes only where a shell needs them: `-l size=256m`.
pub fn typed_line(words: &[String]) -> String {
    let plain =
        |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_=,.:^+%@/".contains(letter));
    let quoted = |word: &String| if plain(word) { word.clone() } else { shell_words::quote(word).into_owned() };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Reads options as a user types them: words for mkfs, and mount options after `-o`.
fn read_options(options: &str, base: &mut Contender) -> Result<(), Failure> {
    let words = shell_words::split(options)
        .map_err(|error| Failure::usage(format!("--against {options}: {error}; close the quotes")))?;
    let mut words = words.into_iter();
    let mut mount: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix("-o") {
            Some("") => mount.push(
                words
                    .next()
                    .ok_or_else(|| Failure::usage(format!("--against {options}: -o has no mount options after it")))?,
            ),
            Some(list) => mount.push(list.to_owned()),
            None => base.mkfs.push(word),
        }
    }
    base.mount = mount.join(",");
    Ok(())
}

/// Makes and mounts each value once on a small image, and leaves out what is refused, ignored, or less safe without permission.
/// `None`: the user stopped it.
///
/// # Errors
/// The baseline itself cannot be made or mounted.
pub fn try_out(
    subject: &Subject,
    registry: &Registry,
    place: &Where,
    allow_less_safe: bool,
    stop: &Stop,
) -> Result<Option<Tried>, Failure> {
    let mut target = Target::open(registry, place, &Journal::new())?;
    target.expect(&subject.every_value(allow_less_safe));
    let (class, scheduler) = tried(&mut target, &subject.base)?;
    // What the user has may be safer than the defaults, whose class is the one to keep; unless they cannot be made here.
    let of_defaults = subject.own.then(|| tried(&mut target, &subject.defaults()).ok()).flatten();
    let of_defaults = of_defaults.map_or_else(|| class.clone(), |(class, _)| class);
    let excludes = subject.filesystem.excludes.iter().map(|rule| rule.when.clone()).collect();
    let space = Space { factors: Vec::new(), excludes, base: of_base(&subject.base) };
    let mut found = Tried { space, less_safe: Vec::new(), left_out: Vec::new(), made: 1 + u32::from(subject.own) };
    for (mut factor, _) in subject.factors(allow_less_safe) {
        let mut values = Vec::new();
        for value in std::mem::take(&mut factor.values) {
            if stop() {
                return Ok(None);
            }
            if factor.axis == "scheduler" && scheduler.as_ref() == Some(&value) {
                continue;
            }
            let set = alone(&factor, &value);
            found.made += 1;
            let its = match found.space.is_excluded(&set) {
                true => Err("it cannot be combined with the options that you have".to_owned()),
                false => {
                    let contender = subject.contender(&set);
                    let first = tried(&mut target, &contender);
                    // On a busy machine a guest may boot too slowly once; a value that is left out for that would change the whole search.
                    let once = first.is_ok() || !subject.in_guests();
                    let its = if once { first } else { tried(&mut target, &contender) };
                    its.map_err(|error| error.to_string())
                }
            };
            let less_safe = is_less_safe(&subject.filesystem, &factor.axis, &value);
            let weaker = its.as_ref().is_ok_and(|(its, _)| is_weaker(its, &[&class]));
            let too_weak = its.as_ref().is_ok_and(|(its, _)| is_weaker(its, &[&class, &of_defaults]));
            let why = match its {
                Ok((its, _)) if (too_weak || less_safe) && !allow_less_safe => {
                    format!("it is less safe ({})", its.badge())
                }
                Ok((its, _)) => {
                    let needs = factor.needs.iter().filter_map(|(axis, value)| {
                        let (one, less_safe) = listing(&subject.filesystem, axis, std::slice::from_ref(value))?;
                        less_safe.then(|| (axis.clone(), value.clone(), one.why))
                    });
                    found.less_safe.extend(needs.filter(|one| !found.less_safe.contains(one)).collect::<Vec<_>>());
                    if less_safe || weaker {
                        let why = reason(&subject.filesystem, &factor, &value).unwrap_or_else(|| its.badge());
                        found.less_safe.push((factor.axis.clone(), value.clone(), why));
                    }
                    values.push(value);
                    continue;
                }
                Err(why) => why,
            };
            found.left_out.push(left_out(&format!("{}={value}", factor.axis), &why));
        }
        if !values.is_empty() {
            found.space.factors.push(Factor { values, ..factor });
        }
    }
    exclude_pairs(subject, &mut target, &mut found, stop);
    Ok((!stop()).then_some(found))
}

/// Tries pairs of mkfs settings, whose limits depend on each other and on the size of the device: a log must fit into an allocation group.
fn exclude_pairs(subject: &Subject, target: &mut Target, found: &mut Tried, stop: &Stop) {
    let is_mkfs = |at: &usize| found.space.factors[*at].axis.starts_with("mkfs.");
    let mkfs: Vec<usize> = (0..found.space.factors.len()).filter(is_mkfs).collect();
    let values = |at: &usize| (0..found.space.factors[*at].values.len()).map(|value| (*at, value)).collect::<Vec<_>>();
    let all: Vec<(usize, usize)> = mkfs.iter().flat_map(values).collect();
    let most = if subject.in_guests() { MOST_PAIRS_IN_GUESTS } else { MOST_PAIRS };
    let mut pairs = 0;
    for (place, (first, its)) in all.iter().enumerate() {
        for (second, other) in all[place + 1..].iter().filter(|(second, _)| second != first) {
            let one = found.space.with(&Set::new(), *first, *its);
            let Some(set) = one.and_then(|one| found.space.with(&one, *second, *other)) else { continue };
            if pairs == most || stop() {
                return;
            }
            pairs += 1;
            found.made += 1;
            let Err(error) = tried(target, &subject.contender(&set)) else { continue };
            let pair = |factor: usize, value: usize| {
                let factor = &found.space.factors[factor];
                (factor.axis.clone(), factor.values[value].clone())
            };
            let both = Set::from([pair(*first, *its), pair(*second, *other)]);
            let words = both.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(" with ");
            found.left_out.push(left_out(&words, &error.to_string()));
            found.space.excludes.push(both);
        }
    }
}

/// A sentence on what is left out; the reason without the contender's name before it.
fn left_out(what: &str, why: &str) -> String {
    let why = why.split_once(": cannot ").map_or_else(|| why.to_owned(), |(_, rest)| format!("it cannot {rest}"));
    format!("{what} is left out: {}", text::shortened(&why, REASON))
}

/// What the baseline requests, by axis: mount options of the user, and what every set has.
fn of_base(base: &Contender) -> Set {
    let of_mount = base.mount_options().into_iter().map(|option| match option.split_once('=') {
        Some((name, value)) => (format!("mount.{name}"), value.to_owned()),
        None => (format!("mount.{option}"), "on".to_owned()),
    });
    of_mount.chain(base.axes.clone()).collect()
}

/// Makes, mounts and closes a contender: its durability class and its scheduler.
fn tried(target: &mut Target, contender: &Contender) -> Result<(Durability, Option<String>), StagingError> {
    let stage: Box<dyn Staged + '_> = match staging::is_guest(contender.kernel.as_deref()) {
        true => Box::new(target.stage_in_guest(contender)?),
        false => Box::new(target.stage(contender)?),
    };
    let found = stage.setup().found;
    stage.close()?;
    Ok((found.durability, found.scheduler))
}

/// Whether a class promises less than each of the others in any one respect.
fn is_weaker(its: &Durability, than: &[&Durability]) -> bool {
    let lost = |now: Option<bool>, before: Option<bool>| before == Some(true) && now == Some(false);
    let order = |mode: DataMode| match mode {
        DataMode::Writeback => 0,
        DataMode::Ordered => 1,
        DataMode::Atomic | DataMode::Unknown => 2,
    };
    let respects = |than: &Durability| {
        [
            lost(its.flushes, than.flushes),
            order(its.data) < order(than.data),
            its.journal == Journaling::None && than.journal != Journaling::None,
            lost(its.checksums_data, than.checksums_data),
            lost(its.checksums_metadata, than.checksums_metadata),
            lost(its.copy_on_write, than.copy_on_write),
        ]
    };
    let than: Vec<_> = than.iter().map(|than| respects(than)).collect();
    (0..6).any(|respect| than.iter().all(|lost| lost[respect]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(name: &str, against: Option<&str>) -> Subject {
        Subject::of(name, against, &[], &Registry::embedded().expect("good")).expect("a subject")
    }

    fn searching(name: &str, axes: &[&str]) -> Result<Subject, String> {
        let axes: Vec<String> = axes.iter().map(|axis| (*axis).to_owned()).collect();
        Subject::of(name, None, &axes, &Registry::embedded().expect("good")).map_err(|failure| failure.text)
    }

    fn set(values: &[(&str, &str)]) -> Set {
        values.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_are_shown_as_they_are_typed_on_top_of_those_of_the_user() {
        let xfs = subject("xfs", Some("-m reflink=0 -o noatime,logbsize=64k"));
        let shown = xfs.in_words(&set(&[("mkfs.log_size", "256m"), ("mount.logbsize", "256k"), ("scheduler", "bfq")]));
        assert_eq!(shown, "mkfs.xfs -m reflink=0 -l size=256m, mount -o noatime,logbsize=256k, scheduler bfq");
        assert_eq!(subject("ext4", None).in_words(&Set::new()), "the defaults");
    }

    #[test]
    fn what_every_set_has_is_part_of_the_baseline_but_only_options_make_it_the_users() {
        let with = |values: &[&str]| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            subject("btrfs", None).with(Some("hdd-7200"), None, &values).map_err(|failure| failure.text)
        };
        let placed = with(&["devices=2", "limit.memory=1G"]).expect("a subject");
        assert_eq!(placed.base.label, "btrfs modelled hdd-7200 2 devices memory=1G");
        assert!(!placed.own && placed.in_words(&Set::new()) == "the defaults");
        let own = with(&["mount.noatime=on"]).expect("a subject");
        assert!(own.own && own.in_words(&Set::new()) == "mount -o noatime");
        assert!(with(&["devices=2", "devices=3"]).err().is_some_and(|text| text.contains("devices is 2 already")));
        assert!(with(&["mount.noatme=on"]).err().is_some_and(|text| text.contains("did you mean `noatime`")));
        assert!(own.factors(true).iter().all(|(factor, _)| factor.axis != "mount.noatime"), "it is not searched");
        let replaced = subject("btrfs", Some("-o compress=zstd")).with(None, None, &["mount.compress=lzo".into()]);
        assert_eq!(replaced.map(|one| one.base.mount).ok().as_deref(), Some("compress=lzo"));
        assert!(with(&["kernel=host"]).err().is_some_and(|text| text.contains("--kernel")));
        assert!(with(&["age=old"]).err().is_some_and(|text| text.contains("anew")));
    }

    #[test]
    fn layers_are_searched_and_named_where_they_differ() {
        let xfs = searching("xfs", &["stack=none,raid5:chunk-size=64k+luks"]).expect("a subject");
        let shown = xfs.in_words(&set(&[("stack", "raid5:chunk-size=64k+luks"), ("mkfs.inode_size", "1024")]));
        assert_eq!(shown, "mkfs.xfs -i size=1024, stack raid5:chunk-size=64k+luks");
        assert_eq!(xfs.every_value(false).len(), 2, "the baseline, which has none, and the other");
    }

    #[test]
    fn less_safe_options_are_tried_only_on_request_and_last() {
        let ext4 = subject("ext4", None);
        let axes = |allow| ext4.factors(allow).into_iter().map(|(factor, _)| factor.axis).collect::<Vec<_>>();
        assert!(!axes(false).iter().any(|axis| axis == "mount.nobarrier" || axis == "device.flushes"));
        assert_eq!(axes(true).last().map(String::as_str), Some("device.flushes"));
    }

    #[test]
    fn what_the_user_has_is_not_tried_again_but_its_default_is() {
        let xfs = subject("xfs", Some("-onoatime,logbsize=64k"));
        let factors = xfs.factors(false);
        let values = |axis: &str| {
            factors.iter().find(|(factor, _)| factor.axis == axis).map(|(factor, _)| factor.values.join(" "))
        };
        assert_eq!(values("mount.logbsize").as_deref(), Some("256k default"));
        assert_eq!(values("mount.noatime").as_deref(), Some("default"));
        assert_eq!(xfs.contender(&set(&[("mount.noatime", "default")])).mount, "logbsize=64k");
        let own = ["mkfs.log_size=64m", "scheduler=bfq", "device.read_ahead=1M", "devices=2"].map(String::from);
        let defaults = xfs.with(None, None, &own).expect("a subject").defaults();
        let devices = Contender { axes: set(&[("devices", "2")]), ..Contender::plain("xfs") };
        assert_eq!(defaults, Contender { label: axes::label(&devices), ..devices }, "at the same place");
    }

    #[test]
    fn a_filesystem_without_options_and_options_without_an_end_are_refused() {
        let registry = Registry::embedded().expect("good");
        let refused = |name: &str, against| Subject::of(name, against, &[], &registry).err().expect("refused").text;
        assert!(refused("ext2", None).contains("ext4"));
        assert!(refused("xfs", Some("-o")).contains("-o has no mount options"));
        assert!(refused("xfs", Some("'")).contains("close the quotes"));
    }

    #[test]
    fn only_what_the_user_asks_for_is_searched_with_the_users_values_or_the_listed_ones() {
        let xfs = searching("xfs", &["mkfs.log_size=64m,512m", "mount.logbsize"]).expect("a subject");
        let shown: Vec<String> = xfs
            .factors(false)
            .into_iter()
            .map(|(factor, _)| format!("{}={}", factor.axis, factor.values.join(",")))
            .collect();
        assert_eq!(shown, ["mkfs.log_size=64m,512m", "mount.logbsize=256k,64k"]);
        assert!(xfs.factors(false)[0].0.why.contains("log"), "the reason is the description's");
        let crc = searching("xfs", &["mkfs.crc=off"]).expect("a subject").factors(false);
        assert!(crc[0].1 && crc[0].0.needs.contains_key("mkfs.reflink"), "still less safe, with what it needs");
        let asked = |axis| searching("ext4", &[axis]).expect("a subject").factors(true).remove(0);
        let (data, less_safe) = asked("mount.data=writeback");
        assert!(less_safe && data.why.contains("after its metadata"), "the entry of that value: {data:?}");
        let (data, _) = asked("mount.data=journal,writeback");
        let why = |value| reason(&searching("ext4", &[]).expect("a subject").filesystem, &data, value);
        assert!(why("journal").is_some_and(|why| why.contains("through the journal")));
        assert!(why("writeback").is_some_and(|why| why.contains("after its metadata")));
        assert_eq!((why("ordered"), why("default")), (None, None), "they are not listed");
        let ext4 = searching("ext4", &[]).expect("a subject").filesystem;
        let flags =
            [("mount.data", "writeback"), ("mount.commit", "90")].map(|(axis, value)| is_less_safe(&ext4, axis, value));
        assert_eq!(flags, [true, true], "listed; all listed values are");
        for (axis, value) in [("mount.data", "ordered"), ("mount.commit", "default"), ("mount.lazytime", "on")] {
            assert!(!is_less_safe(&ext4, axis, value), "{axis}={value}: its class decides");
        }
        assert!(searching("ext2", &["mkfs.block_size=1024"]).is_ok(), "named values need no list");
        let twice = searching("xfs", &["mkfs.log_size=64m", "mkfs.log_size=512m"]).expect("a subject").factors(false);
        assert_eq!(twice.iter().map(|(factor, _)| factor.values.join(",")).collect::<Vec<_>>(), ["512m"], "the last");
    }

    #[test]
    fn an_axis_that_cannot_be_searched_is_refused_with_the_nearest_name() {
        let refused = |axis: &str| searching("xfs", &[axis]).err().expect("refused");
        assert!(refused("mkfs.logsize=64m").contains("did you mean `log_size`"));
        assert!(refused("mount.logbsise=64k").contains("did you mean `logbsize`"));
        assert!(refused("kernel=6.12").contains("a search varies"));
        assert!(refused("mkfs.block_size").contains("write NAME=VALUE"));
        assert!(refused("mkfs.log_size=1,2,3,4,5,6,7,8,9").contains("the limit is 8"));
        assert!(refused("device.read_ahead=much").contains("much"));
    }

    #[test]
    fn a_class_is_weaker_if_any_promise_is() {
        let class = Durability {
            flushes: Some(true),
            data: DataMode::Ordered,
            journal: Journaling::Metadata,
            ..Durability::unknown()
        };
        let weaker = |its: Durability| is_weaker(&its, &[&class]);
        assert!(weaker(Durability { flushes: Some(false), ..class.clone() }));
        assert!(weaker(Durability { data: DataMode::Writeback, ..class.clone() }));
        assert!(weaker(Durability { journal: Journaling::None, ..class.clone() }));
        assert!(!weaker(Durability { data: DataMode::Atomic, journal: Journaling::Data, ..class.clone() }));
        let mixed = Durability { data: DataMode::Atomic, flushes: Some(false), ..class.clone() };
        let its = Durability { flushes: Some(false), ..class.clone() };
        assert!(is_weaker(&its, &[&mixed]) && is_weaker(&its, &[&class]));
        assert!(!is_weaker(&its, &[&mixed, &class]), "each in another respect");
    }
}
