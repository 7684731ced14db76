//! Setting a contender up: daemon, mkfs, mount, each with its error turned into one of that contender.
//! In: a stage with its device. Out: the same stage, mounted.
//! Every step is a command that can be typed in a shell.

use crate::busy::await_free;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::gone::gone;
use crate::filesystems::own_devices::{self, Companion};
use crate::filesystems::template;
use crate::filesystems::tools;
use crate::stage::Stage;
use crate::stage::daemon::Daemon;
use crate::stage::target::of_contender;
use records::Contender;
use std::time::{Duration, Instant};
use system::command::Answer;
use system::{Command, CommandError, Journal, Sysfs as _};

/// How long to wait after mkfs and after mount until the device is idle; then work goes on.
const SETTLE_LIMIT: Duration = Duration::from_secs(60);

impl Stage<'_> {
    /// Prepares what every command of the filesystem needs: its tools' folder on the PATH, its daemon.
    pub(crate) fn make_ready(&mut self, filesystem: &Filesystem) -> Result<(), StagingError> {
        self.state.tools = tools::prefix(filesystem);
        if let Some(facts) = &filesystem.daemon {
            let target = &mut *self.target;
            let started = Daemon::start(facts, &mut self.state.places, &target.journal, &mut target.mark);
            self.state.daemon = Some(started.map_err(|error| of_contender(&self.state.label, error))?);
        }
        Ok(())
    }

    pub(crate) fn make(&mut self, filesystem: &Filesystem, contender: &Contender) -> Result<(), StagingError> {
        let own = self.target.own_devices(filesystem, contender)?;
        self.target.hand_over()?;
        self.target.hand_over_own(&own)?;
        let options = own_devices::with_devices(template::make_options(filesystem, contender), &own);
        let made = self.make_own(filesystem, &own, &options);
        made.map_err(|error| of_contender(&contender.label, error))?;
        self.state.list = own_devices::mounting(std::mem::take(&mut self.state.list), &own);
        self.state.places.devices = own_devices::checking(&self.state.places, &own);
        let beside = own.iter().flat_map(|taken| std::iter::once(taken.device.clone()).chain(taken.device.below()));
        self.state.watch.beneath.extend(beside.map(|device| device.name));
        self.state.own = own;
        let command = self.state.places.fill(self.state.spread(filesystem).make(), &options);
        let began = Instant::now();
        // mkfs needs the device exclusively, and programs that probe every device hold it for a moment.
        self.await_free();
        let made = self.run_when_free(&Command::new(command).prefixed(self.enter()).limit(self.limits().make()));
        made.map_err(|error| {
            let options = template::asked_words(filesystem, contender);
            let way =
                if options.is_empty() { String::new() } else { format!("its mkfs options are: {}", options.join(" ")) };
            let cause = error.cause();
            let error = StagingError::failed(&contender.label, format!("cannot be made: {error}"), way, cause);
            self.explained(error, "mkfs")
        })?;
        self.state.found.mkfs_seconds = Some(began.elapsed().as_secs_f64());
        self.state.mounted = filesystem.mount.command.is_empty();
        self.is_anew();
        if !self.settle(SETTLE_LIMIT).idle {
            self.state.found.remarks.push("the device was still busy a minute after mkfs".into());
        }
        Ok(())
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

    /// Prepares the contender's own devices, if mkfs does not.
    fn make_own(&mut self, filesystem: &Filesystem, own: &[Companion], options: &[String]) -> Result<(), StagingError> {
        for command in own_devices::making(filesystem, &self.state.places, own, options) {
            let made =
                Command::new(command).prefixed(self.enter()).limit(self.limits().make()).run(&self.target.journal);
            made.map_err(StagingError::command("preparing its own device"))?;
        }
        Ok(())
    }

    pub(crate) fn mount(&mut self, filesystem: &Filesystem, contender: &Contender) -> Result<(), StagingError> {
        if !filesystem.mount.command.is_empty() {
            let mut list = self.state.list.clone();
            if list.is_empty() {
                list.push("defaults".into());
            }
            self.state.list = list;
            let command = self.fill(self.state.spread(filesystem).mount());
            let uptime = uptime();
            let began = Instant::now();
            let mounted =
                self.run_when_free(&Command::new(command).prefixed(self.enter()).limit(self.limits().mount()));
            let answer = mounted
                .map_err(|error| self.explained(mount_refused(filesystem, contender, &error, uptime), "mounting"))?;
            // Some servers report success before they have parsed their options.
            if self.state.mount().is_none() {
                let text = [answer.stderr.trim(), answer.stdout.trim()].join(" ");
                return Err(self.explained(nothing_mounted(&contender.label, text.trim()), "mounting"));
            }
            self.state.found.mount_seconds = Some(began.elapsed().as_secs_f64());
            self.state.mounted = true;
            self.is_anew();
        }
        let root = self.state.places.mountpoint.join("work");
        let seen = self.state.seen(&root);
        match std::fs::create_dir(&seen) {
            // An aged image already has it.
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                let problem = format!("cannot create a folder on it: {error}");
                let error = StagingError::failed(&contender.label, problem, "", system::cause::of_io(&error));
                return Err(self.explained(error, "mounting"));
            }
            _ => {}
        }
        let shared = filesystem.shared.as_ref();
        self.state.found.remarks.extend(shared.map(crate::filesystems::shared::SharedFacts::remark));
        self.state.root = root;
        self.settle(SETTLE_LIMIT);
        Ok(())
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
