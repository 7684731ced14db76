//! The layers between a contender's filesystem and its disks: built in a guest, where they can touch nothing else.
//! In: the contender's stack, and the disks that the guest's host provides. Out: a stage whose device is that of the highest layer.
//! A guest's kernel, its keys and its disks end with the guest, so no layer outlives its trial.

use crate::error::StagingError;
use crate::filesystems::gone::version;
use crate::stage::Stage;
use crate::stage::target::{MAKE_LIMIT, Target};
use layers::{Layer, Places, Rung, Stack};
use records::{Contender, OptionFound};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use system::{BlockDevice, Call, Command, Sysfs as _};

/// File with the key of layers that encrypt. The guest's /run is in its memory.
const KEY: &str = "/run/bakeoff-key";
/// Its length in bytes.
const KEY_BYTES: usize = 64;

/// Layers that are built, from the disks upward.
pub(crate) type Built = Vec<(Rung, Places)>;

/// The layers of a stage.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    built: Built,
    /// How many are open, from the lowest.
    open: usize,
}

impl Layers {
    /// Whether the filesystem is on the disk itself.
    pub fn is_empty(&self) -> bool {
        self.built.is_empty()
    }

    /// Whether what was flushed through all of them survives a power cut.
    pub fn flush(&self) -> bool {
        self.built.iter().all(|(rung, _)| rung.flushes())
    }
}

/// Each layer with what its placeholders become, on these disks; `label` is unique to the run.
pub(crate) fn placed(stack: &Stack, disks: &[PathBuf], label: &str) -> Built {
    let mut devices = disks.to_vec();
    let mut built = Vec::new();
    for (number, rung) in stack.rungs().iter().enumerate() {
        let name = format!("{}_{number}", label.replace('-', "_"));
        let places = Places { devices, name, key: KEY.into() };
        devices = vec![rung.node(&places)];
        built.push((rung.clone(), places));
    }
    built
}

/// The device of the highest layer; None without layers.
pub(crate) fn top(built: &Built) -> Option<PathBuf> {
    built.last().map(|(rung, places)| rung.node(places))
}

/// Commands that build a layer, and the one that shows it.
pub(crate) fn commands((rung, places): &(Rung, Places)) -> Vec<Command> {
    rung.build(places).into_iter().chain([rung.shown(places)]).map(Command::new).collect()
}

/// Commands that close all layers, the highest first.
pub(crate) fn closing(built: &[(Rung, Places)]) -> impl Iterator<Item = Command> {
    built.iter().rev().flat_map(|(rung, places)| rung.close(places)).map(Command::new)
}

/// Whether the layers of a contender can be built where it runs.
///
/// # Errors
/// It runs on this machine's own kernel, something else of it does not go together with layers, or a tool is missing.
pub fn check(contender: &Contender) -> Result<(), StagingError> {
    let stack = axes::stack(contender);
    let Some(lowest) = stack.rungs().first() else { return Ok(()) };
    let name = &lowest.layer.name;
    let since = stack.rungs().iter().find_map(|rung| rung.layer.since);
    let refused = |problem: String, way: &str| Err(StagingError::contender(&contender.label, problem, way));
    if !crate::guests::is_guest(contender.kernel.as_deref()) {
        let series = if since.is_some() { "debian:newest" } else { "debian:6.12" };
        let way = match contender.kernel.as_deref() {
            Some("host") => "leave host out of --kernel".to_owned(),
            _ => format!("add --kernel {series} (`bakeoff systems --kernels` lists others)"),
        };
        let problem = format!("layers such as {name} are built only in a guest, where they can touch no other disk");
        return refused(problem, &way);
    }
    let series = contender.kernel.as_deref().and_then(|kernel| kernel.strip_prefix("debian:"));
    if let Some(why) = series.and_then(|series| stack.rungs().iter().find_map(|rung| too_old(rung.layer, series))) {
        return refused(why, "name a newer kernel (--kernel)");
    }
    if axes::devices(contender) > 1 {
        return refused(
            format!("a volume on several devices is not built on {name}"),
            "leave `devices` or `stack` out",
        );
    }
    if contender.ageing().is_some() {
        return refused(format!("ages are not built on {name}"), "leave the age and the fill, or `stack`, out");
    }
    if stack.devices() > 1 && axes::value(contender, "disk").is_some() {
        return refused(format!("{name} needs several disks, and --disk models one"), "leave --disk or `stack` out");
    }
    let tools = stack.rungs().iter().flat_map(|rung| rung.layer.tools.iter().map(|tool| (&rung.layer.name, tool)));
    let mut missing = tools.filter(|(_, tool)| system::command::find_program(&tool.program).is_none());
    missing.next().map_or(Ok(()), |(name, tool)| {
        let way = format!("apt-get install {}", tool.package);
        Err(StagingError::missing_tool(&format!("the layer {name}"), &tool.program, way))
    })
}

/// Why a kernel of this release cannot build a layer, where it is too old.
pub(crate) fn too_old(layer: &Layer, release: &str) -> Option<String> {
    let (first, second) = layer.since?;
    let old = version(release)? < (first, second);
    old.then(|| format!("{} needs Linux {first}.{second} or newer, and this kernel is {release}", layer.name))
}

/// Whether disks of this size are large enough for the layers of a contender.
///
/// # Errors
/// They are too small.
pub fn fits(contender: &Contender, bytes: Option<u64>) -> Result<(), StagingError> {
    let stack = axes::stack(contender);
    let Some((bytes, (rung, mib))) = bytes.zip(stack.least_mib()) else { return Ok(()) };
    if bytes >= mib << 20 {
        return Ok(());
    }
    let [least, bytes] = [mib << 20, bytes].map(records::show_bytes);
    let problem = format!("{} needs a disk of at least {least}, and this one has {bytes}", rung.asked());
    Err(StagingError::contender(&contender.label, problem, format!("--image {}", least.replace(' ', ""))))
}

impl Stage<'_> {
    /// Builds the contender's layers on its disks; from then on the highest is its device.
    pub(super) fn build_layers(&mut self, contender: &Contender) -> Result<(), StagingError> {
        let stack = axes::stack(contender);
        if stack.rungs().is_empty() {
            return Ok(());
        }
        // Checked before, too; here right before the first command that formats.
        if !self.target.guest {
            let problem = "layers are built only in a guest";
            return Err(StagingError::contender(&contender.label, problem, "add --kernel debian:6.12"));
        }
        let mut disks: Vec<PathBuf> = self.state.devices().map(|device| device.path.clone()).collect();
        make_key().map_err(|error| StagingError::file("write the key", Path::new(KEY), error))?;
        self.target.hand_over()?;
        if let Some((command, parts)) = disks.first().and_then(|disk| stack.divided(disk)) {
            self.run(Command::new(command), MAKE_LIMIT, "dividing the disk of")?;
            disks = parts;
        }
        let built = placed(&stack, &disks, &self.target.mark.label());
        for one in built {
            let failed = |problem: String| StagingError::contender(&contender.label, problem, "");
            let mut output = String::new();
            // Kept before it is complete, so that taking the stage down closes what there is.
            self.state.layers.built.push(one.clone());
            self.state.layers.open += 1;
            for command in commands(&one) {
                let answer = command.limit(MAKE_LIMIT).run(&self.target.journal);
                output = answer.map_err(|error| failed(format!("building {}: {error}", one.0.asked())))?.stdout;
            }
            let (rung, places) = &one;
            if let Some(missing) = rung.missing(&output, places) {
                let text = output.split_whitespace().collect::<Vec<_>>().join(" ");
                return Err(failed(format!(
                    "building {}: {missing} did not take effect; its tools show: {text}",
                    rung.asked()
                )));
            }
            let by = rung.shown(places).first().cloned().unwrap_or_default();
            let found =
                OptionFound { asked: format!("layer {}", rung.asked()), found: Some("as requested".into()), by };
            self.state.found.options.push(found);
        }
        self.now_on(&contender.label)
    }

    /// Makes the highest layer the device of this stage. Its disks are still watched.
    fn now_on(&mut self, label: &str) -> Result<(), StagingError> {
        let Some(node) = top(&self.state.layers.built) else { return Ok(()) };
        let device = BlockDevice::find(&node)
            .map_err(|error| StagingError::contender(label, format!("its highest layer has no device: {error}"), ""))?;
        self.state.members.others.clear();
        (self.state.places.device, self.state.places.name) = (node, device.name.clone());
        self.state.places.members.clear();
        relink(&self.state.places.nodes, &device)?;
        self.state.device = Some(device);
        Ok(())
    }
}

/// Writes random bytes to the key's file.
fn make_key() -> std::io::Result<()> {
    let mut bytes = [0; KEY_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(KEY)?.write_all(&bytes)
}

/// Leaves a link to this device alone in the folder of nodes.
fn relink(nodes: &Path, device: &BlockDevice) -> Result<(), StagingError> {
    let failed = |error| StagingError::file("link the device in", nodes, error);
    for entry in std::fs::read_dir(nodes).map_err(failed)?.flatten() {
        std::fs::remove_file(entry.path()).map_err(failed)?;
    }
    std::os::unix::fs::symlink(&device.path, nodes.join(device.name.replace('/', "!"))).map_err(failed)
}

impl Stage<'_> {
    /// Closes the layers while the filesystem is unmounted, so that none of them writes to its disks any more.
    pub(crate) fn close_layers(&mut self) -> Result<(), StagingError> {
        let problems = self.target.close_layers(&mut self.state.layers);
        let failed =
            |problem: String| StagingError::contender(&self.state.label, format!("closing its layers: {problem}"), "");
        problems.into_iter().next().map_or(Ok(()), |problem| Err(failed(problem)))
    }

    /// Opens closed layers on what is on their disks by now.
    pub(crate) fn reopen_layers(&mut self) -> Result<(), StagingError> {
        let Layers { built, open } = &self.state.layers;
        let label = self.state.label.clone();
        let Some((_, lowest)) = built.first().filter(|_| *open == 0) else { return Ok(()) };
        for disk in &lowest.devices {
            let flushed = Call::FlushBuffers(disk.clone()).make(MAKE_LIMIT, &self.target.journal);
            flushed.map_err(StagingError::command(format!("dropping the caches of the disks of {label}")))?;
        }
        for (rung, places) in &self.state.layers.built {
            self.state.layers.open += 1;
            for words in rung.reopen(places) {
                let opened = Command::new(words).limit(MAKE_LIMIT).run(&self.target.journal);
                opened.map_err(StagingError::command(format!("opening {} of {label} again", rung.asked())))?;
            }
        }
        self.now_on(&label)
    }
}

impl Target {
    /// Closes open layers, the highest first. Returns what could not be closed, in words.
    pub(crate) fn close_layers(&self, layers: &mut Layers) -> Vec<String> {
        let open = &layers.built[..std::mem::take(&mut layers.open)];
        let closed = closing(open).map(|command| command.limit(MAKE_LIMIT).run(&self.journal));
        closed.filter_map(|closed| closed.err().map(|error| error.to_string())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_layer_is_built_on_the_one_below_it_and_closed_before_it() {
        let stack = Stack::parse("raid1+luks").expect("good");
        let built = placed(&stack, &["/dev/vda".into(), "/dev/vdb".into()], "bo-1a2b");
        assert_eq!(top(&built), Some("/dev/mapper/bo_1a2b_1".into()));
        assert_eq!(built[1].1.devices, [PathBuf::from("/dev/md0")]);
        let closed: Vec<String> = closing(&built).map(|command| command.into_words().join(" ")).collect();
        assert_eq!(closed, ["cryptsetup close bo_1a2b_1", "env MDADM_NO_UDEV=1 mdadm --stop /dev/md0"]);
    }

    #[test]
    fn layers_are_refused_outside_a_guest_and_with_what_they_do_not_go_together_with() {
        let refused = |axes: &[(&str, &str)]| {
            let mut contender = Contender::plain("ext4");
            axes.iter().for_each(|(name, value)| axes::put(&mut contender, name, value));
            check(&contender).expect_err("refused").to_string()
        };
        let guest = ("kernel", "debian:6.12");
        assert!(refused(&[("stack", "luks")]).contains("--kernel debian:6.12"));
        assert!(refused(&[("stack", "luks"), guest, ("devices", "2")]).contains("several devices"));
        assert!(refused(&[("stack", "luks"), guest, ("age", "old")]).contains("ages"));
        assert!(refused(&[("stack", "raid1"), guest, ("disk", "hdd-7200")]).contains("--disk models one"));
        assert!(check(&Contender::plain("ext4")).is_ok());
        let mut cached = Contender::plain("ext4");
        axes::put(&mut cached, "stack", "bcache");
        assert!(fits(&cached, Some(512 << 20)).is_ok() && fits(&cached, None).is_ok());
        assert!(fits(&cached, Some(511 << 20)).expect_err("too small").to_string().contains("at least 512 MiB"));
    }
}
