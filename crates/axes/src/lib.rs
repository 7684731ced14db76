//! The table of axes: everything by which contenders can vary, one file each.
//! In: a contender and the name of an axis. Out: its value, label, how it is applied, read back and shown.
//! To add one, write a file that implements [`Axis`] and a line in `TABLE`; no other code distinguishes axes.

mod age;
mod axis;
mod device;
mod devices;
mod disk;
mod fill;
mod guest;
mod kernel;
mod memory;
mod mkfs;
mod mount;
mod queue;
mod scheduler;
mod size;
mod stack;

pub use axis::{About, Applied, Axis, DEFAULT, Disk, Ground, Look, Moment, Seen, Takes};
pub use devices::{DEVICES, MOST_DEVICES, devices};
pub use disk::{described, disk_name, disks};
pub use guest::{BOOTED, CLOCK, INSTRUCTIONS, OF_GUESTS, START};
pub use queue::queue_file;
pub use size::exact_size;
pub use stack::{STACK, disks_of, stack};

use records::Contender;

/// Every axis, in the order in which contenders are multiplied and labels are written.
static TABLE: [&dyn Axis; 13] = [
    &disk::ModelledDisk,
    &devices::Devices,
    &mkfs::Mkfs,
    &mount::Mount,
    &device::Device,
    &memory::Memory,
    &stack::Layers,
    &kernel::Kernel,
    &guest::Start,
    &guest::Clock,
    &age::Age,
    &fill::Fill,
    &scheduler::Scheduler,
];

/// An axis of the table by its full name: `mkfs.rmapbt` is the setting `rmapbt` of the family `mkfs.`.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    /// The entry of the table.
    pub axis: &'static dyn Axis,
    /// What follows the family's name; empty for an axis outside a family.
    pub setting: &'a str,
    /// Its position in the table.
    pub place: usize,
}

impl Named<'_> {
    /// The name by which it was found.
    pub fn name(&self) -> String {
        format!("{}{}", self.axis.about().name, self.setting)
    }
}

/// The axis of this name; None where there is none.
pub fn find(name: &str) -> Option<Named<'_>> {
    TABLE.iter().enumerate().find_map(|(place, axis)| {
        let own = axis.about().name;
        let setting = match own.ends_with('.') {
            true => name.strip_prefix(own).filter(|setting| !setting.is_empty())?,
            false => (name == own).then_some("")?,
        };
        Some(Named { axis: *axis, setting, place })
    })
}

/// Names of all axes; those of families end with a dot.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|axis| axis.about().name)
}

/// Axes that apply to every contender, whether or not it requests a value: those outside families.
pub fn common_names() -> impl Iterator<Item = &'static str> {
    names().filter(|name| !name.contains('.'))
}

/// Whether names of axes begin with this word and a dot: `mkfs`, `limit`.
pub fn is_family(word: &str) -> bool {
    names().any(|name| name.split_once('.').is_some_and(|(family, _)| family == word))
}

/// A contender's value on an axis; None if it requests none.
pub fn value(contender: &Contender, name: &str) -> Option<String> {
    let own = find(name).and_then(|named| named.axis.asked(contender, named.setting));
    own.or_else(|| contender.axes.get(name).cloned())
}

/// The axes whose value is in no option of the contender, with their values: a limit, or what was left to the defaults.
pub fn beside_options(contender: &Contender) -> impl Iterator<Item = (&str, &str)> {
    let alone = |name: &str| find(name).is_some_and(|named| named.axis.asked(contender, named.setting).is_none());
    let places = contender.axes.iter().filter(move |(name, _)| alone(name));
    places.map(|(name, value)| (name.as_str(), value.as_str()))
}

/// Value of a contender that requests none on an axis.
pub fn usual(name: &str) -> &'static str {
    find(name).map_or(DEFAULT, |named| named.axis.about().usual)
}

/// Sets a contender to a value of an axis. The caller updates its label with [`label`].
pub fn put(contender: &mut Contender, name: &str, value: &str) {
    contender.axes.insert(name.to_owned(), value.to_owned());
    if let Some(named) = find(name) {
        named.axis.put(contender, named.setting, value);
    }
}

/// The contender without a requested value on an axis.
pub fn without(contender: &Contender, name: &str) -> Contender {
    let mut without = contender.clone();
    without.axes.remove(name);
    if let Some(named) = find(name) {
        named.axis.clear(&mut without, named.setting);
    }
    without
}

/// A contender's label: its base, and its value on each axis that multiplied it.
pub fn label(contender: &Contender) -> String {
    format!("{}{}", contender.base, places(contender))
}

/// The part of a label that its axes make: ` rmapbt=0 old+bfq`.
pub fn places(contender: &Contender) -> String {
    let mut places: Vec<(Named<'_>, &String)> =
        contender.axes.iter().filter_map(|(name, value)| Some((find(name)?, value))).collect();
    places.sort_by_key(|(named, _)| named.place);
    places.iter().map(|(named, value)| named.axis.label(named.setting, value)).collect()
}

/// A value of an axis to apply to a trial.
pub struct Acting {
    /// The entry of the table.
    pub axis: &'static dyn Axis,
    /// The setting within a family; empty for an axis outside a family.
    pub setting: String,
    /// Its value.
    pub value: String,
}

impl std::fmt::Debug for Acting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{} {}", self.axis.about().name, self.setting, self.value)
    }
}

/// Axes that act on the device before its filesystem is made, in the order of their moments.
pub fn on_device(contender: &Contender) -> Vec<Acting> {
    let mut acting = acting(contender, |moment| moment < Moment::Mounted);
    acting.sort_by_key(|one| one.axis.about().moment);
    acting
}

/// Axes that act on the mounted filesystem.
pub fn on_mounted(contender: &Contender) -> Vec<Acting> {
    acting(contender, |moment| moment == Moment::Mounted)
}

fn acting(contender: &Contender, when: impl Fn(Moment) -> bool) -> Vec<Acting> {
    let axes = TABLE.iter().filter(|axis| when(axis.about().moment));
    let each = axes.flat_map(|axis| axis.applies(contender).into_iter().map(move |one| (*axis, one)));
    each.map(|(axis, (setting, value))| Acting { axis, setting, value }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(places: &[(&str, &str)]) -> Contender {
        let mut contender = Contender::plain("xfs");
        places.iter().for_each(|(name, value)| put(&mut contender, name, value));
        contender
    }

    #[test]
    fn a_label_is_made_of_the_base_and_each_axis_in_the_tables_order() {
        let places =
            [("scheduler", "bfq"), ("fill", "40%"), ("age", "old"), ("limit.memory", "2G"), ("mkfs.rmapbt", "0")];
        assert_eq!(label(&standing(&places)), "xfs rmapbt=0 memory=2G old 40%+bfq");
        assert_eq!(
            label(&standing(&[("kernel", "debian:6.12"), ("mount.noatime", "on")])),
            "xfs noatime=on on debian:6.12"
        );
    }

    #[test]
    fn every_axis_gives_back_what_was_put_and_nothing_when_it_is_taken_off() {
        let places = [
            ("mkfs.rmapbt", "0"),
            ("mount.logbsize", "32k"),
            ("mount.noatime", "on"),
            ("device.read_ahead", "4M"),
            ("limit.memory", "512M"),
            ("kernel", "debian:6.12"),
            ("guest.start", "booted"),
            ("guest.clock", "instructions"),
            ("age", "old"),
            ("fill", "40%"),
            ("scheduler", "bfq"),
        ];
        let all = standing(&places);
        for (name, at) in places {
            assert_eq!(value(&all, name).as_deref(), Some(at), "{name}");
            let off = without(&all, name);
            assert_eq!(value(&off, name), None, "{name}");
            let mut again = off.clone();
            put(&mut again, name, at);
            assert_eq!(label(&again), label(&all), "{name}");
        }
        let bare = places.iter().fold(all, |contender, (name, _)| without(&contender, name));
        assert_eq!(bare, Contender::plain("xfs"));
    }

    #[test]
    fn a_setting_left_to_its_default_changes_only_the_label() {
        let at = standing(&[("mkfs.rmapbt", DEFAULT), ("mount.noatime", DEFAULT), ("device.read_ahead", DEFAULT)]);
        assert_eq!((at.mkfs_settings.len(), at.mount.as_str(), at.device.len()), (0, "", 0));
        assert_eq!(label(&at), "xfs rmapbt=default noatime=default read_ahead=default");
        assert!(on_device(&at).is_empty() && on_mounted(&at).is_empty());
    }

    #[test]
    fn a_scheduler_is_set_before_the_queue_that_it_resets_and_a_limit_only_once_all_is_mounted() {
        let at = standing(&[("device.requests", "64"), ("limit.memory", "2G"), ("scheduler", "bfq"), ("age", "old")]);
        let shown = |acting: Vec<Acting>| -> Vec<_> { acting.iter().map(|one| format!("{one:?}")).collect() };
        assert_eq!(shown(on_device(&at)), ["scheduler bfq", "device.requests 64"]);
        let mounted = shown(on_mounted(&at)).into_iter().filter(|one| !one.starts_with("age"));
        assert_eq!(mounted.collect::<Vec<_>>(), ["limit.memory 2G"]);
    }

    #[test]
    fn places_beside_the_options_are_those_that_no_option_keeps() {
        let at = standing(&[("limit.memory", "2G"), ("scheduler", "bfq"), ("mkfs.rmapbt", DEFAULT), ("fill", "40%")]);
        let beside: Vec<_> = beside_options(&at).collect();
        assert_eq!(beside, [("limit.memory", "2G"), ("mkfs.rmapbt", DEFAULT)]);
    }

    #[test]
    fn guest_axes_change_labels_and_have_no_effect_around_a_trial() {
        let at = standing(&[("guest.clock", "instructions"), ("kernel", "debian:6.1"), ("guest.start", "booted")]);
        assert_eq!(label(&at), "xfs on debian:6.1 booted by instructions");
        let acting: Vec<_> = on_device(&at).into_iter().chain(on_mounted(&at)).collect();
        assert!(acting.iter().all(|one| !one.axis.about().name.starts_with("guest")), "{acting:?}");
        let wrong = |name: &str| find(name).expect("known").axis.check("", "sometimes").expect_err("no value");
        assert!(wrong("guest.start").contains("booted") && wrong("guest.clock").contains("instructions"));
    }

    #[test]
    fn families_need_a_setting_and_names_are_whole() {
        assert!(find("mkfs.").is_none() && find("mkfs").is_none() && find("limit.memoryx").is_none());
        assert!(is_family("mkfs") && is_family("limit") && !is_family("age") && !is_family("lim"));
        assert_eq!(find("device.read_ahead").map(|named| named.setting), Some("read_ahead"));
    }
}
