//! The devices of a volume on several devices: made, lost, torn down.
//! In: the number that a contender requests. Out: images besides the first, or in a guest the disks that its host provides.
//! A lost device leaves a blank one in its place, as after replacing a disk.

use super::target::{Target, Where};
use super::{Beginning, Stage, State};
use crate::devices::image::{self, Image};
use crate::devices::wipe::wipe;
use crate::error::StagingError;
use crate::filesystems::several::Spread;
use crate::staged::Staged;
use records::{Cause, Contender};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use system::{BlockDevice, Command, Sysfs as _, presence};

/// How long a guest's disks may take to appear.
const APPEAR: Duration = Duration::from_secs(20);

/// The devices besides the first.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// In order.
    pub others: Vec<Member>,
    /// Number of the blank one; the first device is 1.
    pub lost: Option<u64>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Member {
    device: BlockDevice,
    /// Its image, if it is not a disk that a host provides.
    image: Option<Image>,
}

/// Serial number of a guest's disk, by its number.
pub(crate) fn serial(number: usize) -> String {
    format!("bakeoff-{number}")
}

/// Whether a contender can have as many devices as it requests.
///
/// # Errors
/// Its filesystem cannot, the place offers one device, or it is also to be aged or on a modelled disk.
pub(crate) fn check(
    filesystem: &crate::Filesystem,
    contender: &Contender,
    place: &Where,
    in_guest: bool,
) -> Result<(), StagingError> {
    let count = axes::devices(contender);
    if count < 2 {
        return Ok(());
    }
    let refused = |problem: String, way: &str| Err(StagingError::contender(&contender.label, problem, way));
    if filesystem.several.is_none() {
        return refused(
            format!("{} does not support volumes on several devices", filesystem.name),
            "leave `devices` out",
        );
    }
    if !in_guest && !matches!(place, Where::Image { .. }) {
        let way = "leave out --on to use images, or leave out `devices`";
        return refused(format!("it asks for {count} devices, and --on names one"), way);
    }
    if contender.ageing().is_some() || axes::value(contender, "disk").is_some() {
        return refused(
            "volumes on several devices work neither with ages nor with modelled disks".into(),
            "leave out the age, the fill and --disk, or leave out `devices`",
        );
    }
    Ok(())
}

impl Target {
    /// Makes the devices besides the first.
    pub(super) fn more_devices(&mut self, beginning: &Beginning<'_>) -> Result<Vec<Member>, StagingError> {
        let more = 2..=beginning.devices as usize;
        if self.guest {
            return more.map(|number| Ok(Member { device: lent(number)?, image: None })).collect();
        }
        let Where::Image { bytes, folder } = self.place.clone() else { return Ok(Vec::new()) };
        if !more.is_empty() {
            image::fits(&folder, bytes.saturating_mul(u64::from(beginning.devices)))?;
        }
        let mut made = Vec::new();
        for _ in more {
            self.images += 1;
            let image = image::attach(&self.journal, &mut self.mark, &folder, self.images, bytes, 0)?;
            made.push(Member { device: image.device.clone(), image: Some(image) });
        }
        Ok(made)
    }
}

/// A disk that the host provides, by its number.
fn lent(number: usize) -> Result<BlockDevice, StagingError> {
    let end = Instant::now() + APPEAR;
    loop {
        let disks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
        let named = |disk: &Path| {
            std::fs::read_to_string(disk.join("serial")).is_ok_and(|found| found.trim() == serial(number))
        };
        if let Some(name) =
            disks.map(|entry| entry.path()).find(|disk| named(disk)).as_deref().and_then(Path::file_name)
        {
            let node = Path::new("/dev").join(name);
            return BlockDevice::find(&node).map_err(|error| StagingError::refused(&node, error.to_string(), ""));
        }
        if Instant::now() > end {
            return Err(StagingError::guest(format!(
                "the disk with the serial number {} did not appear",
                serial(number)
            )));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

impl State {
    /// Adds the devices besides the first.
    pub(super) fn join(&mut self, others: Vec<Member>) {
        for member in &others {
            self.watch.add_member(&member.device);
        }
        self.members.others = others;
        self.places.members = self.there();
    }

    /// Every device of the contender: the volume's, and those that its options name.
    pub fn devices(&self) -> impl Iterator<Item = &BlockDevice> {
        let others = self.members.others.iter().map(|member| &member.device);
        self.device.iter().chain(others).chain(self.own.iter().map(|own| &own.device))
    }

    /// The images below them.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.image.iter().chain(self.members.others.iter().filter_map(|member| member.image.as_ref()))
    }

    /// The filesystem's commands for this number of devices.
    pub fn spread<'f>(&self, filesystem: &'f crate::Filesystem) -> Spread<'f> {
        Spread::over(filesystem, 1 + self.members.others.len())
    }

    fn numbered(&self, number: u64) -> Option<&BlockDevice> {
        let at = usize::try_from(number).ok()?.checked_sub(1)?;
        if at == 0 { self.device.as_ref() } else { self.members.others.get(at - 1).map(|member| &member.device) }
    }

    /// Nodes of the volume's devices, without the blank one; none if the volume is on one device.
    fn there(&self) -> Vec<PathBuf> {
        let all = 1..=1 + self.members.others.len() as u64;
        let there = all.filter(|number| self.members.lost != Some(*number));
        let nodes = there.filter_map(|number| Some(self.numbered(number)?.path.clone()));
        if self.members.others.is_empty() { Vec::new() } else { nodes.collect() }
    }

    /// Takes out the images besides the first; the caller removes them.
    pub(super) fn more_images(&mut self) -> Vec<Image> {
        std::mem::take(&mut self.members.others).into_iter().filter_map(|member| member.image).collect()
    }
}

impl Stage<'_> {
    /// Unmounts, empties a device, and mounts the rest.
    pub(crate) fn lose_device(&mut self, number: u64) -> Result<(), StagingError> {
        let label = self.state.label.clone();
        let failed = |problem: String| StagingError::contender(&label, problem, "");
        let count = 1 + self.state.members.others.len();
        let Some(path) = self.state.numbered(number).filter(|_| count > 1).map(|device| device.path.clone()) else {
            return Err(failed(format!("device {number} of {count} cannot be removed")));
        };
        if let Some(gone) = self.state.members.lost {
            return Err(failed(format!("device {number} cannot be removed while device {gone} is missing")));
        }
        self.unmount_only()?;
        wipe(&path, &self.target.journal)?;
        let discard = Command::new(["blkdiscard".to_string(), "--force".into(), path.display().to_string()]);
        // Nothing uses the content behind the signatures any more, so a device that cannot discard will do.
        let _ = discard.limit(self.limits().make()).run(&self.target.journal);
        self.has_devices_but(Some(number));
        self.put_back().map(drop)
    }

    /// The lost device is in its place again.
    ///
    /// # Errors
    /// The filesystem's own tools report that a device is missing.
    pub(crate) fn has_all_devices(&mut self) -> Result<(), StagingError> {
        self.has_devices_but(None);
        self.is_whole()
    }

    /// Checks that all devices of the volume are present, and adds a remark on how many copies are on them.
    pub(super) fn find_devices(&mut self) -> Result<(), StagingError> {
        if let Some(several) = self.state.commands().and_then(|commands| commands.spread.several()) {
            let count = 1 + self.state.members.others.len();
            let remark = format!("each block is on two of {count} devices ({})", several.called);
            self.state.found.remarks.push(remark);
        }
        self.is_whole()
    }

    /// Checks that all devices that were not removed are present, by what the kernel shows and by the filesystem's own tools.
    pub(super) fn is_whole(&self) -> Result<(), StagingError> {
        let members = &self.state.members;
        let asked = !members.others.is_empty() && members.lost.is_none();
        let Some(commands) = self.state.commands().filter(|_| asked) else {
            return Ok(());
        };
        let gone = |(device, how): (&BlockDevice, String)| {
            StagingError::failed(
                &self.state.label,
                format!("{} is lost: {how}", device.path.display()),
                "",
                Cause::Passing,
            )
        };
        let lost = self.state.devices().find_map(|device| Some((device, presence::lost(device)?)));
        lost.map_or(Ok(()), |lost| Err(gone(lost)))?;
        let Some(command) = commands.find_devices() else { return Ok(()) };
        let asked = self.run(command, self.limits().mount(), "checking for all devices of");
        asked.map_err(|error| {
            let problem = format!("some devices of the volume are missing: {error}");
            StagingError::failed(&self.state.label, problem, "", Cause::Unclear)
        })
    }

    fn has_devices_but(&mut self, lost: Option<u64>) {
        self.state.members.lost = lost;
        self.state.places.members = self.state.there();
    }
}
