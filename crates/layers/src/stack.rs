//! A stack of layers: what it is written as, and its commands.
//! In: `raid1+luks:cipher=adiantum`, from the disks upward, and the nodes of devices. Out: a [`Rung`] for each layer, with its commands.

use crate::description::{Choice, Layer, Value};
use crate::named;
use std::path::{Path, PathBuf};

/// The stack without layers.
pub const NONE: &str = "none";
/// The option by which the disks of a layer on several are partitions of one, as a test on a single disk needs.
pub const ONE_DISK: &str = "one-disk";
/// Most layers of a stack.
const MOST: usize = 4;

/// Layers from the disks upward; none for a filesystem on the disk itself.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stack(Vec<Rung>);

/// One layer of a stack, with its options.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// The layer.
    pub layer: &'static Layer,
    /// Values of its options, requested or usual, as `name=value`.
    values: Vec<(String, &'static Value)>,
    /// Its name and the requested options.
    asked: Vec<String>,
    /// Its disks are partitions of one.
    one_disk: bool,
}

/// What the placeholders of a layer's commands become.
#[derive(Debug, Clone, PartialEq)]
pub struct Places {
    /// Nodes of the devices that it is built on: `{device}` is the first, `{last}` the last, `{members}` all, `{count}` their number.
    pub devices: Vec<PathBuf>,
    /// `{name}`: unique to the run and the layer, letters, digits and underscores.
    pub name: String,
    /// `{key}`: a file with random bytes.
    pub key: PathBuf,
}

impl Stack {
    /// Parses layers from the disks upward, joined by `+`, each with its options after colons.
    ///
    /// # Errors
    /// An unknown layer, option or value, too many layers, or a layer on several devices that is not the lowest.
    pub fn parse(text: &str) -> Result<Stack, String> {
        if text == NONE {
            return Ok(Stack::default());
        }
        let rungs: Vec<Rung> = text.split('+').map(Rung::parse).collect::<Result<_, _>>()?;
        if rungs.len() > MOST {
            return Err(format!("a stack has at most {MOST} layers, and `{text}` has {}", rungs.len()));
        }
        match rungs.iter().skip(1).find(|rung| rung.layer.devices > 1) {
            Some(Rung { layer, .. }) => Err(format!(
                "{} is built on {} disks, so it can only be the lowest layer, written first: {}+...",
                layer.name, layer.devices, layer.name
            )),
            None => Ok(Stack(rungs)),
        }
    }

    /// Its layers, from the disks upward.
    pub fn rungs(&self) -> &[Rung] {
        &self.0
    }

    /// Number of disks that it is built on.
    pub fn devices(&self) -> u32 {
        self.0.first().filter(|lowest| !lowest.one_disk).map_or(1, |lowest| lowest.layer.devices)
    }

    /// The layer that needs the largest disks, and the least size of each in MiB; more where they are parts of one.
    pub fn least_mib(&self) -> Option<(&Rung, u64)> {
        let parts = self.0.first().filter(|lowest| lowest.one_disk).map_or(1, |lowest| lowest.layer.devices);
        let needs = self.0.iter().map(|rung| (rung, rung.layer.least_mib * u64::from(parts)));
        needs.max_by_key(|need| need.1)
    }

    /// The command that divides the only disk for the lowest layer, and the nodes of the parts; None where it has disks of its own.
    pub fn divided(&self, disk: &Path) -> Option<(Vec<String>, Vec<PathBuf>)> {
        let lowest = self.0.first().filter(|lowest| lowest.one_disk)?;
        let (count, disk) = (lowest.layer.devices, shown(disk));
        let parts = (1..=count).map(|number| partition(&disk, number).into()).collect();
        let each = format!("$(($(blockdev --getsize64 {disk}) / 1048576 / {count} - 1))MiB");
        let lines = format!("echo \"size={each}, type=linux\";").repeat(count as usize);
        let script =
            format!("{{ {lines} }} | sfdisk --quiet --no-tell-kernel --label gpt {disk} && blockdev --rereadpt {disk}");
        Some((["sh", "-c", &script].map(String::from).to_vec(), parts))
    }
}

impl Rung {
    fn parse(text: &str) -> Result<Rung, String> {
        let mut words = text.split(':');
        let name = words.next().unwrap_or_default();
        let layer = named(name).ok_or_else(|| {
            match name {
                "" => return "a layer's name is missing: write layers as in raid1+luks".into(),
                NONE => return format!("`{NONE}` is the disk itself, and is not joined with layers"),
                _ => {}
            }
            let known: Vec<&str> = crate::shipped().iter().map(|layer| layer.name.as_str()).collect();
            format!("there is no layer `{name}`; known: {NONE}, {}", known.join(", "))
        })?;
        let mut asked: Vec<(&str, &str)> = Vec::new();
        for word in words {
            let (option, value) = word.split_once('=').unwrap_or((word, "on"));
            if asked.iter().any(|(known, _)| *known == option) {
                return Err(format!("{name} has the option {option} twice"));
            }
            asked.push((option, value));
        }
        let one_disk = asked.iter().position(|asked| layer.devices > 1 && *asked == (ONE_DISK, "on"));
        one_disk.map(|at| asked.remove(at));
        let one_disk = one_disk.is_some();
        if let Some((option, _)) = asked.iter().find(|(option, _)| !layer.options.contains_key(*option)) {
            let of_several = (layer.devices > 1).then_some(ONE_DISK);
            let known: Vec<&str> = layer.options.keys().map(String::as_str).chain(of_several).collect();
            let known = if known.is_empty() { "it has none".into() } else { format!("it has {}", known.join(", ")) };
            return Err(format!("{name} has no option `{option}`; {known}"));
        }
        let mut values = Vec::new();
        for (option, choice) in &layer.options {
            let requested = asked.iter().find(|(known, _)| known == option).map(|(_, value)| *value);
            let Some(value) = requested.or(choice.usual.as_deref()) else { continue };
            values.push((format!("{option}={value}"), value_of(name, option, choice, value)?));
        }
        let options = asked.iter().map(|(option, value)| format!("{option}={value}"));
        let asked = [name.to_owned()].into_iter().chain(options).chain(one_disk.then(|| ONE_DISK.into())).collect();
        Ok(Rung { layer, values, asked, one_disk })
    }

    /// As it was requested: its name, and its options.
    pub fn asked(&self) -> String {
        self.asked.join(":")
    }

    /// Whether what was flushed through it survives a power cut.
    pub fn flushes(&self) -> bool {
        self.layer.flushes && self.values.iter().all(|(_, value)| value.flushes)
    }

    /// Commands that make and open it on blank devices.
    pub fn build(&self, places: &Places) -> Vec<Vec<String>> {
        let after = self.values.iter().flat_map(|(_, value)| &value.after);
        let all = self.layer.make.commands.iter().chain(&self.layer.open.commands).chain(after);
        all.map(|words| self.filled(words, places)).collect()
    }

    /// Commands that open it again after it was closed.
    pub fn reopen(&self, places: &Places) -> Vec<Vec<String>> {
        let open = &self.layer.open;
        let commands = if open.again.is_empty() { &open.commands } else { &open.again };
        commands.iter().map(|words| self.filled(words, places)).collect()
    }

    /// Commands that close it.
    pub fn close(&self, places: &Places) -> Vec<Vec<String>> {
        self.layer.close.commands.iter().map(|words| self.filled(words, places)).collect()
    }

    /// Node of the device that it provides.
    pub fn node(&self, places: &Places) -> PathBuf {
        fill(&self.layer.open.node, places).into()
    }

    /// The command that shows it.
    pub fn shown(&self, places: &Places) -> Vec<String> {
        self.filled(&self.layer.shown.command, places)
    }

    /// What was requested and the output of [`Rung::shown`] does not confirm: the layer itself, or one of its options. None: all is in effect.
    pub fn missing(&self, output: &str, places: &Places) -> Option<String> {
        let found = output.split_whitespace().collect::<Vec<_>>().join(" ");
        let lacks = |text: &String| !found.contains(&fill(text, places));
        let of_layer = self.layer.shown.holds.iter().any(&lacks).then(|| self.layer.name.clone());
        let of_value =
            |(name, value): &(String, &Value)| value.holds.as_ref().filter(|text| lacks(text)).map(|_| name.clone());
        of_layer.or_else(|| self.values.iter().find_map(of_value))
    }

    fn filled(&self, words: &[String], places: &Places) -> Vec<String> {
        let of_values = |of: fn(&Value) -> &Vec<String>| {
            let words = self.values.iter().flat_map(move |(_, value)| of(value));
            words.map(|word| fill(word, places)).collect::<Vec<_>>()
        };
        let words = words.iter().flat_map(|word| match word.as_str() {
            "{make}" => of_values(|value| &value.make),
            "{open}" => of_values(|value| &value.open),
            "{members}" => places.devices.iter().map(|device| shown(device)).collect(),
            _ => vec![fill(word, places)],
        });
        words.collect()
    }
}

fn value_of(layer: &str, option: &str, choice: &'static Choice, value: &str) -> Result<&'static Value, String> {
    choice.values.get(value).ok_or_else(|| {
        let known: Vec<&str> = choice.values.keys().map(String::as_str).collect();
        format!("{layer}:{option} cannot be `{value}`; write {layer}:{option}= with one of {}", known.join(", "))
    })
}

fn fill(word: &str, places: &Places) -> String {
    let of = |device: Option<&PathBuf>| device.map(|path| shown(path)).unwrap_or_default();
    let (first, last) = (of(places.devices.first()), of(places.devices.last()));
    word.replace("{partition}", &partition(&first, 1))
        .replace("{device}", &first)
        .replace("{last}", &last)
        .replace("{count}", &places.devices.len().to_string())
        .replace("{name}", &places.name)
        .replace("{key}", &shown(&places.key))
}

/// The name that the kernel gives a partition.
fn partition(device: &str, number: u32) -> String {
    let between = if device.ends_with(|letter: char| letter.is_ascii_digit()) { "p" } else { "" };
    format!("{device}{between}{number}")
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(devices: &[&str]) -> Places {
        Places { devices: devices.iter().map(PathBuf::from).collect(), name: "bo_1".into(), key: "/run/key".into() }
    }

    #[test]
    fn a_stack_is_read_from_the_disks_upward() {
        let stack = Stack::parse("raid1:state=degraded+luks:sector-size=4096:no-read-workqueue").expect("good");
        let asked: Vec<String> = stack.rungs().iter().map(Rung::asked).collect();
        assert_eq!(asked, ["raid1:state=degraded", "luks:sector-size=4096:no-read-workqueue=on"]);
        assert_eq!((stack.devices(), Stack::parse("none"), Stack::default().devices()), (2, Ok(Stack::default()), 1));
    }

    #[test]
    fn an_invalid_stack_is_refused_with_the_valid_words() {
        for (text, why) in [
            ("", "a layer's name is missing"),
            ("luks+", "a layer's name is missing"),
            ("lux", "there is no layer `lux`; known: none, bcache, integrity, luks"),
            ("luks+none", "`none` is the disk itself"),
            ("raid1:onedisk", "it has bitmap, state, one-disk"),
            ("luks:rounds=3", "luks has no option `rounds`; it has cipher, no-read-workqueue"),
            ("luks:cipher=rot13", "luks:cipher cannot be `rot13`; write luks:cipher= with one of adiantum, aes-xts"),
            ("luks:cipher=adiantum:cipher=aes-xts", "cipher twice"),
            ("partition:x=1", "it has none"),
            ("luks+raid1", "only be the lowest layer, written first: raid1+..."),
            ("lvm+lvm+lvm+lvm+lvm", "at most 4 layers"),
        ] {
            let error = Stack::parse(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn commands_have_the_words_of_requested_and_usual_values() {
        let stack = Stack::parse("raid5:chunk-size=64k").expect("good");
        let rung = &stack.rungs()[0];
        let places = places(&["/dev/vda", "/dev/vdb", "/dev/vdc"]);
        let made = rung.build(&places);
        assert_eq!(made.len(), 1);
        let line = made[0].join(" ");
        let end = "--level 5 --raid-devices 3 --bitmap none --chunk 64 /dev/vda /dev/vdb /dev/vdc";
        assert!(line.ends_with(end), "{line}");
        let degraded = Stack::parse("raid5:state=degraded").expect("good");
        let last = degraded.rungs()[0].build(&places).pop().expect("some").join(" ");
        assert_eq!(last, "mdadm /dev/md0 --fail /dev/vdc --remove /dev/vdc");
    }

    #[test]
    fn a_layer_on_several_disks_can_have_parts_of_one() {
        let stack = Stack::parse("raid1:one-disk:state=degraded+luks").expect("good");
        assert_eq!((stack.devices(), stack.rungs()[0].asked().as_str()), (1, "raid1:state=degraded:one-disk"));
        let (command, parts) = stack.divided(Path::new("/dev/vda")).expect("it is divided");
        assert_eq!(parts, [PathBuf::from("/dev/vda1"), "/dev/vda2".into()]);
        assert!(
            command[2].contains("/ 1048576 / 2 - 1") && command[2].ends_with("blockdev --rereadpt /dev/vda"),
            "{command:?}"
        );
        let least =
            |text| Stack::parse(text).expect("good").least_mib().map(|need| (need.0.layer.name.clone(), need.1));
        let of = |name: &str, mib| Some((name.to_owned(), mib));
        assert_eq!((least("bcache"), least("bcache:one-disk")), (of("bcache", 512), of("bcache", 1024)));
        assert_eq!((least("raid1:one-disk+vdo"), least("none")), (of("vdo", 8192), None));
        let divided = |text| Stack::parse(text).map(|stack| stack.divided(Path::new("/dev/vda")).is_some());
        assert_eq!((divided("raid1"), divided("none")), (Ok(false), Ok(false)));
        assert!(divided("luks:one-disk").is_err_and(|why| why.contains("no option `one-disk`")));
    }

    #[test]
    fn a_layer_whose_option_loses_flushed_data_is_known_by_its_file() {
        let flushes = |text| Stack::parse(text).expect("good").rungs()[0].flushes();
        assert_eq!(
            ["integrity", "integrity:mode=bitmap", "integrity:mode=direct", "luks"].map(flushes),
            [true, true, false, true]
        );
    }

    #[test]
    fn a_partition_has_the_name_that_the_kernel_gives_it() {
        let stack = Stack::parse("partition").expect("good");
        let node = |device| stack.rungs()[0].node(&places(&[device]));
        assert_eq!((node("/dev/vda"), node("/dev/md0")), ("/dev/vda1".into(), "/dev/md0p1".into()));
    }

    #[test]
    fn an_option_that_the_tools_do_not_show_is_missing() {
        let stack = Stack::parse("luks:sector-size=4096").expect("good");
        let (rung, places) = (&stack.rungs()[0], places(&["/dev/vda"]));
        let missing = |output: &str| rung.missing(output, &places);
        assert_eq!(missing("  type:    LUKS2\n  sector size:  4096\n"), None);
        assert_eq!(missing("  type:    LUKS2\n  sector size:  512\n").as_deref(), Some("sector-size=4096"));
        assert_eq!(missing("  type:    PLAIN\n  sector size:  4096\n").as_deref(), Some("luks"));
    }
}
