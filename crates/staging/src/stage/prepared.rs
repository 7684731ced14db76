//! A contender before it is mounted: the steps of its recipe, each with its error turned into one of that contender.
//! In: a device that is ready. Out: a [`Stage`], mounted and read back.
//! Every step is a command that can be typed in a shell.

use crate::ageing::image_cache::{AgedCache, AgedImage};
use crate::busy::await_free;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::gone::gone;
use crate::filesystems::own_devices;
use crate::filesystems::template;
use crate::filesystems::tools;
use crate::stage::Stage;
use crate::stage::daemon::Daemon;
use crate::stage::recipe::{Commands, Options, Source, Step};
use crate::stage::target::of_contender;
use records::{Contender, OptionFound};
use std::time::{Duration, Instant};
use system::command::Answer;
use system::{Command, CommandError, Journal, Sysfs as _};

/// How long to wait after mkfs and after mount until the device is idle; then work goes on.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

/// A contender whose filesystem is not mounted yet. Dropping it tears down what was set up so far.
#[derive(Debug)]
pub(crate) struct Prepared<'g>(Stage<'g>);

/// What is set up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub contender: &'a Contender,
    /// Absent for a raw device and a directory.
    pub filesystem: Option<&'a Filesystem>,
    /// The aged image for a real device; an image file is a copy of it already.
    pub kept: Option<(&'a AgedCache, &'a AgedImage)>,
}

impl<'g> Prepared<'g> {
    /// Nothing is set up on this stage yet.
    pub fn begun(stage: Stage<'g>) -> Prepared<'g> {
        Prepared(stage)
    }

    /// The device without a filesystem, for a guest.
    pub fn disk(self) -> Stage<'g> {
        self.0
    }

    /// Carries the recipe out.
    ///
    /// # Errors
    /// A step failed; what the earlier ones set up is torn down.
    pub fn follow(mut self, source: Source, asked: Request<'_>) -> Result<Stage<'g>, StagingError> {
        if let Some(filesystem) = asked.filesystem {
            self.take_own(filesystem, asked.contender)?;
        }
        source.recipe().iter().try_for_each(|step| self.carry_out(*step, asked))?;
        Ok(self.0)
    }

    fn carry_out(&mut self, step: Step, asked: Request<'_>) -> Result<(), StagingError> {
        let stage = &mut self.0;
        match step {
            Step::SetDevice => stage.apply(asked.contender, axes::on_device(asked.contender))?,
            Step::SetMounted => stage.apply(asked.contender, axes::on_mounted(asked.contender))?,
            Step::ReadBack => stage.read_back(asked.contender)?,
            Step::FindDevices => stage.find_devices()?,
            Step::Encrypt => stage.encrypt()?,
            Step::Describe => stage.look_at_device(),
            Step::Build => stage.build_layers(asked.contender)?,
            Step::Empty if stage.state.image.is_none() => stage.target.empty_device()?,
            Step::Empty => {}
            Step::Copy => self.copy(asked)?,
            Step::Serve | Step::Make | Step::Mount | Step::MountKept => {
                let Some(filesystem) = asked.filesystem else { return Ok(()) };
                match step {
                    Step::Serve => self.serve(filesystem)?,
                    Step::Make => self.make(filesystem, asked.contender)?,
                    _ => self.mount(filesystem, asked.contender, step == Step::MountKept)?,
                }
            }
        }
        Ok(())
    }

    /// Takes the devices that the contender's options name.
    fn take_own(&mut self, filesystem: &Filesystem, contender: &Contender) -> Result<(), StagingError> {
        let Stage { target, state } = &mut self.0;
        let own = target.own_devices(filesystem, contender)?;
        state.options = Options::of(filesystem, contender, &own);
        state.places.devices = own_devices::checking(&state.places, &own);
        let beside = own.iter().flat_map(|taken| std::iter::once(taken.device.clone()).chain(taken.device.below()));
        state.watch.below.extend(beside.map(|device| device.name));
        state.own = own;
        Ok(())
    }

    /// Finds the folder of the filesystem's tools, and starts its server.
    fn serve(&mut self, filesystem: &Filesystem) -> Result<(), StagingError> {
        let Stage { target, state } = &mut self.0;
        state.tools = tools::prefix(filesystem);
        if let Some(facts) = &filesystem.daemon {
            let started = Daemon::start(facts, &mut state.places, &target.journal, &mut target.mark);
            state.daemon = Some(started.map_err(|error| of_contender(&state.label, error))?);
        }
        Ok(())
    }

    fn copy(&mut self, asked: Request<'_>) -> Result<(), StagingError> {
        let Stage { target, state } = &mut self.0;
        match asked.kept.filter(|_| state.image.is_none()) {
            Some((cache, aged)) => {
                let began = Instant::now();
                target.hand_over()?;
                cache.restore_to_device(aged, &state.places.device, &target.journal)?;
                state.copied = began.elapsed();
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn make(&mut self, filesystem: &Filesystem, contender: &Contender) -> Result<(), StagingError> {
        let stage = &mut self.0;
        // With layers, their lowest was built on the device that was handed over for it.
        if stage.state.layers.is_empty() {
            stage.target.hand_over()?;
        }
        stage.target.hand_over_own(&stage.state.own)?;
        for command in stage.state.commands_of(filesystem).make_own() {
            let made = command.limit(stage.limits().make()).run(&stage.target.journal);
            let made = made.map_err(StagingError::command("preparing its own device"));
            made.map_err(|error| of_contender(&contender.label, error))?;
        }
        let command = stage.state.commands_of(filesystem).make().limit(stage.limits().make());
        let began = Instant::now();
        // mkfs needs the device exclusively, and programs that probe every device hold it for a moment.
        stage.await_free();
        stage.run_when_free(&command).map_err(|error| {
            let options = template::asked_words(filesystem, contender);
            let way =
                if options.is_empty() { String::new() } else { format!("its mkfs options are: {}", options.join(" ")) };
            let cause = error.cause();
            let error = StagingError::failed(&contender.label, format!("cannot be made: {error}"), way, cause);
            stage.explained(error, "mkfs")
        })?;
        stage.state.found.mkfs_seconds = Some(began.elapsed().as_secs_f64());
        stage.state.mounted = stage.state.commands_of(filesystem).mount().is_none();
        stage.is_anew();
        if !stage.settle(SETTLE_LIMIT).idle {
            stage.state.found.remarks.push("the device was still busy a minute after mkfs".into());
        }
        Ok(())
    }

    fn mount(&mut self, filesystem: &Filesystem, contender: &Contender, kept: bool) -> Result<(), StagingError> {
        let stage = &mut self.0;
        let commands = stage.state.commands_of(filesystem);
        let command = if kept { Some(commands.mount_again(true)) } else { commands.mount() };
        if let Some(command) = command {
            let uptime = uptime();
            let began = Instant::now();
            let mounted = stage.run_when_free(&command.limit(stage.limits().mount()));
            let answer = mounted
                .map_err(|error| stage.explained(mount_refused(filesystem, contender, &error, uptime), "mounting"))?;
            // Some servers report success before they have parsed their options.
            if stage.state.mount().is_none() {
                let text = [answer.stderr.trim(), answer.stdout.trim()].join(" ");
                return Err(stage.explained(nothing_mounted(&contender.label, text.trim()), "mounting"));
            }
            stage.state.found.mount_seconds = Some(began.elapsed().as_secs_f64());
            stage.state.mounted = true;
            stage.is_anew();
        }
        let root = stage.state.places.mountpoint.join("work");
        let seen = stage.state.seen(&root);
        match std::fs::create_dir(&seen) {
            // An aged image already has it.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                let problem = format!("cannot create a folder on it: {error}");
                let error = StagingError::failed(&contender.label, problem, "", system::cause::of_io(&error));
                return Err(stage.explained(error, "mounting"));
            }
            _ => {}
        }
        let shared = filesystem.shared.as_ref();
        stage.state.found.remarks.extend(shared.map(crate::filesystems::shared::SharedFacts::remark));
        stage.state.root = root;
        stage.settle(SETTLE_LIMIT);
        stage.state.filesystem = Some(filesystem.clone());
        Ok(())
    }
}

impl Stage<'_> {
    /// Gives the folder of the work its key, and reads back how it is encrypted.
    fn encrypt(&mut self) -> Result<(), StagingError> {
        let Some(shown) = self.unlock()? else { return Ok(()) };
        let facts = self.state.filesystem.as_ref().and_then(|filesystem| filesystem.encryption.as_ref());
        let Some(facts) = facts else { return Ok(()) };
        if !shown.contains(&facts.holds) {
            let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
            let problem = format!("its folder is not encrypted with {}: {text}", facts.holds);
            return Err(StagingError::contender(&self.state.label, problem, ""));
        }
        let (asked, by) = (format!("encryption by the setting {}", facts.setting), facts.tool.program.clone());
        let found = OptionFound { asked, found: Some(facts.holds.clone()), by };
        self.state.found.options.push(found);
        Ok(())
    }

    /// Gives the mounted filesystem the key of the work's folder, if that is encrypted. Returns what shows the encryption.
    pub(super) fn unlock(&self) -> Result<Option<String>, StagingError> {
        let Some([unlock, show]) = self.state.commands().and_then(Commands::encrypt) else { return Ok(None) };
        self.run(unlock, self.limits().mount(), "encrypting the folder of")?;
        let shown = show.limit(self.limits().mount()).run(&self.target.journal);
        shown.map(|answer| Some(answer.stdout)).map_err(StagingError::command("showing how its folder is encrypted"))
    }

    fn await_free(&self) -> bool {
        await_free(self.state.devices().map(|device| device.path.as_path()))
    }

    /// Runs a command; once more if it failed while another process held a device that is free by now.
    fn run_when_free(&self, command: &Command) -> Result<Answer, CommandError> {
        match command.run(&self.target.journal) {
            Err(_) if self.await_free() => command.run(&self.target.journal),
            answer => answer,
        }
    }
}

/// The error for a mount that returned success and mounted nothing.
pub(crate) fn nothing_mounted(label: &str, text: &str) -> StagingError {
    let text = if text.is_empty() { String::new() } else { format!("; its output: {text}") };
    StagingError::contender(label, format!("mount returned success, but the filesystem is not mounted{text}"), "")
}

/// The kernel's refusal, turned into what the user can act on: the option that is gone, or the kernel's log.
fn mount_refused(
    filesystem: &Filesystem,
    contender: &Contender,
    error: &system::CommandError,
    since: f64,
) -> StagingError {
    let log = kernel_log(since);
    let options = contender.mount_options();
    let gone =
        options.iter().find_map(|option| Some((option, gone(filesystem, option)?.way(option, &filesystem.title))));
    if let Some((option, way)) = gone {
        let text = if log.is_empty() { error.answer.clone() } else { log.join("; ") };
        return StagingError::contender(
            &contender.label,
            format!("the kernel rejects the mount option {option}: {text}"),
            way,
        );
    }
    let text = if log.is_empty() { String::new() } else { format!("; the kernel says: {}", log.join("; ")) };
    let way = if options.is_empty() { String::new() } else { format!("its mount options are: {}", contender.mount) };
    let problem = format!("cannot be mounted: {error}{text}");
    StagingError::failed(&contender.label, problem, way, error.cause())
}

/// The last three lines that the kernel logged since a time after boot.
fn kernel_log(since: f64) -> Vec<String> {
    let unrecorded = Journal::new();
    let Ok(answer) = Command::new(["dmesg"]).run(&unrecorded) else {
        return Vec::new();
    };
    let lines: Vec<String> = answer
        .stdout
        .lines()
        .filter_map(|line| {
            let (time, text) = line.strip_prefix('[')?.split_once(']')?;
            let recent = time.trim().parse::<f64>().ok()? >= since;
            // Attaching a loop device logs its capacity, which does not concern the mount.
            (recent && !text.contains("capacity change")).then(|| text.trim().to_string())
        })
        .collect();
    lines[lines.len().saturating_sub(3)..].to_vec()
}

fn uptime() -> f64 {
    let text = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0.0)
}
