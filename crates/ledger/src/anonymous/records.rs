//! The rules for each field of a record, by its type. Every record is destructured completely: a new field does not compile before it is
//! decided here whether it leaves.
//! In: records. Out: the cleaned records; words that no other text may hold either are collected as secrets.

use super::secrets::Secrets;
use super::{LEFT_OUT, LeftOut, PATH, Rule};
use crate::import::Imported;
use records::custody::{Backing, Identity, Promise, Terms};
use records::program::{Command, Step};
use records::{
    BlockDevice, Closing, CommandRecord, Contender, ContenderRecord, DIRECTORY, Found, Machine, NewRun, Origin, Part,
    PhaseRecord, Place, PlannedContender, ResolvedPlan, RunRecord, RunStatus, TWIN, TrialRecord,
};
use std::path::{Path, PathBuf};

/// Boot parameters that may affect a result; the values of all others are left out.
const BOOT: &str = "mitigations isolcpus nohz nohz_full rcu_nocbs intel_pstate amd_pstate cpufreq idle \
    iommu intel_iommu amd_iommu transparent_hugepage hugepages hugepagesz numa_balancing clocksource tsc preempt maxcpus \
    nosmt mem swapaccount elevator pcie_aspm spectre_v2";
/// Options whose value is a path or a device.
const PATH_OPTIONS: [&str; 9] =
    ["--dir", "--scratch", "--report", "--ledger", "--on", "--erase", "--filesystems", "--claims", "--file"];
/// Options of mkfs programs whose value is a name that the owner chose.
const NAMED: [&str; 3] = ["-L", "--label", "--name"];
const MEMORY: &str = "/dev/shm";
/// Remarks that hold only this program's own text.
const OWN_REMARKS: [&str; 2] = [" is modelled", " is served by Bakeoff itself"];

/// State of the cleaning.
struct Cleaner<'a> {
    secrets: &'a mut Secrets,
    left_out: &'a mut LeftOut,
}

/// Cleans all records of a run.
pub(super) fn clean(imported: &mut Imported, secrets: &mut Secrets, left_out: &mut LeftOut) {
    let mut cleaner = Cleaner { secrets, left_out };
    let Imported { run, contenders, trials } = imported;
    let RunRecord { id: _, began_ms: _, ended_ms: _, seconds: _, status, ending, new, ceiling: _ } = run;
    // Contenders first, so that a directory's path becomes its contender's name and not just any path.
    contenders.iter_mut().for_each(|contender| cleaner.contender_record(contender));
    // A finished run has an ending in this program's own words; otherwise it may hold output of programs, or a file name.
    if *status != RunStatus::Finished || matches!(new.origin, Origin::Foreign { .. }) {
        ending.iter_mut().for_each(|ending| cleaner.answer(ending));
    }
    cleaner.new_run(new);
    trials.iter_mut().for_each(|trial| cleaner.trial(trial));
}

impl Cleaner<'_> {
    fn new_run(&mut self, new: &mut NewRun) {
        let NewRun { title, plan, seed: _, machine, merged, version: _, command_line, origin, works: _ } = new;
        self.command_line(command_line);
        machine.iter_mut().for_each(|machine| self.machine(machine));
        for part in merged.iter_mut().flat_map(|merged| &mut merged.parts) {
            let Part { index: _, run: _, finished: _, machine, ceiling: _ } = part;
            machine.iter_mut().for_each(|machine| self.machine(machine));
        }
        if let Some(plan) = plan {
            self.plan(plan, title);
        }
        match origin {
            Origin::Measured | Origin::Exported => {}
            Origin::Foreign { program: _, file } => self.text(file, PATH, Rule::Path),
        }
    }

    fn machine(&mut self, machine: &mut Machine) {
        let Machine {
            hostname,
            kernel: _,
            kernel_version: _,
            architecture: _,
            distribution: _,
            cpu: _,
            memory_bytes: _,
            swap_bytes: _,
            virtualisation: _,
            boot_parameters,
            boot_id,
            cgroups,
            memory_limit_bytes: _,
            cpu_limit: _,
            settings: _,
            root: _,
            tools: _,
            device: _,
            features: _,
        } = machine;
        self.secrets.host(hostname);
        self.text(hostname, LEFT_OUT, Rule::Host);
        self.secrets.add(boot_id, Rule::Identifier);
        self.text(boot_id, LEFT_OUT, Rule::Identifier);
        self.emptied(cgroups, Rule::Group);
        let words: Vec<&str> = boot_parameters.split_whitespace().collect();
        let named = |word: &str| BOOT.split_whitespace().any(|known| word.split(['=', '.']).next() == Some(known));
        let kept: Vec<&str> = words.iter().copied().filter(|word| named(word)).collect();
        (kept.len()..words.len()).for_each(|_| self.left_out.note(Rule::Boot));
        *boot_parameters = kept.join(" ");
    }

    fn plan(&mut self, plan: &mut ResolvedPlan, run_title: &mut String) {
        let ResolvedPlan {
            title,
            place,
            terms,
            contenders,
            works,
            sampling: _,
            cold: _,
            turns: _,
            split: _,
            seed: _,
            shard: _,
            ages,
            filesystems,
            notes: _,
        } = plan;
        self.terms(terms);
        for work in works {
            let phases = work.compiled.program.phases.iter_mut();
            let steps = phases.flat_map(|phase| &mut phase.groups).flat_map(|group| &mut group.steps);
            steps.for_each(|step| {
                if let Step::Run(command) = step {
                    self.command(command);
                }
            });
        }
        match place {
            Place::Image { bytes: _, scratch } if scratch.starts_with(MEMORY) => {
                // That images were in memory matters for every result.
                if scratch != Path::new(MEMORY) {
                    self.path_of(scratch);
                    *scratch = MEMORY.into();
                }
            }
            Place::Image { bytes: _, scratch: path } | Place::Device { path } => self.path(path),
            Place::Directories(folders) => {
                folders.iter_mut().for_each(|folder| self.path(folder));
                // The title repeats their names, which may be too short to be found in it.
                let titled = "directories compared";
                for title in [title, run_title] {
                    self.text(title, titled, Rule::Path);
                }
            }
        }
        for (planned, index) in contenders.iter_mut().zip(0..) {
            let PlannedContender { asked, twin_of, works: _ } = planned;
            if asked.filesystem == DIRECTORY {
                let number = twin_of.and_then(|of| u32::try_from(of).ok()).unwrap_or(index);
                self.directory(asked, number, twin_of.is_some());
            }
            self.contender(asked);
        }
        if let Some(ages) = ages {
            self.path(&mut ages.folder);
            let gits = ages.profiles.values_mut().filter_map(|profile| profile.git.as_mut());
            gits.for_each(|git| self.path(&mut git.path));
        }
        filesystems.iter_mut().for_each(|file| self.path(file));
    }

    /// A user's own program: its command stays, since it is what was measured.
    fn command(&mut self, command: &mut Command) {
        let Command {
            words: _,
            environment,
            user,
            input,
            output: _,
            private,
            unconfined: _,
            exit_statuses: _,
            figures: _,
            reports: _,
        } = command;
        for (name, value) in environment {
            if name != "LANG" {
                self.text(value, LEFT_OUT, Rule::Output);
            }
        }
        private.iter_mut().for_each(|folder| self.text(folder, LEFT_OUT, Rule::Path));
        if let Some(user) = user.take() {
            self.secrets.add(&user, Rule::User);
            self.left_out.note(Rule::User);
        }
        self.text(input, "", Rule::Output);
    }

    fn terms(&mut self, terms: &mut Terms) {
        let Terms { erase, promised } = terms;
        erase.iter().for_each(|name| self.secrets.serial(name));
        self.emptied(erase, Rule::Serial);
        for promise in promised.iter() {
            let Promise { named, identity } = promise;
            self.path_of(named);
            let Identity {
                size_bytes: _,
                logical_sector: _,
                model: _,
                serial,
                wwid,
                by_id,
                partition,
                backing,
                sequence: _,
                boot_id,
            } = identity;
            serial.iter().chain(wwid).chain(by_id).for_each(|name| self.secrets.serial(name));
            let ids = partition.iter().flat_map(|partition| partition.uuid.iter().chain(&partition.table_uuid));
            ids.chain([boot_id]).for_each(|id| self.secrets.add(id, Rule::Identifier));
            if let Some(Backing { path, file: _, offset: _ }) = backing {
                self.path_of(path);
            }
        }
        self.emptied(promised, Rule::Serial);
    }

    fn contender_record(&mut self, record: &mut ContenderRecord) {
        let ContenderRecord { index, label, asked, twin_of, error, cause: _ } = record;
        error.iter_mut().for_each(|error| self.answer(error));
        let number = twin_of.unwrap_or(*index);
        if let Some(asked) = asked {
            if asked.filesystem == DIRECTORY {
                let own = self.directory(asked, number, twin_of.is_some());
                self.text(label, &own, Rule::Path);
            }
            self.contender(asked);
        }
    }

    /// Replaces a directory's name by one that is not a path, with the number of its contender, so that two directories stay distinct.
    fn directory(&mut self, asked: &mut Contender, number: u32, is_twin: bool) -> String {
        let name = format!("directory {}", u64::from(number) + 1);
        let own = if is_twin { format!("{name}{TWIN}") } else { name.clone() };
        for (old, new) in [(&mut asked.label, &own), (&mut asked.base, &name)] {
            self.secrets.renamed(old, new);
            self.text(old, new, Rule::Path);
        }
        own
    }

    fn contender(&mut self, asked: &mut Contender) {
        let Contender {
            label: _,
            base: _,
            filesystem: _,
            mkfs,
            mount: _,
            mkfs_settings: _,
            scheduler: _,
            device: _,
            kernel,
            age: _,
            fill: _,
            axes,
            nearest: _,
        } = asked;
        let mut before = "";
        for word in mkfs.iter() {
            if NAMED.contains(&before) {
                self.secrets.add(word, Rule::User);
            }
            before = word;
        }
        let is_file = |value: &&String| value.contains('/') || value.ends_with(".toml");
        let files: Vec<String> = kernel.iter().chain(axes.values()).filter(is_file).cloned().collect();
        files.iter().for_each(|file| self.secrets.path(file));
    }

    fn trial(&mut self, trial: &mut TrialRecord) {
        let TrialRecord {
            block: _,
            position: _,
            attempt: _,
            contender: _,
            workload: _,
            scale: _,
            began_ms: _,
            ended_ms: _,
            seconds: _,
            status: _,
            reason,
            cause: _,
            found,
            closing,
            remarks,
            phases,
            commands,
        } = trial;
        reason.iter_mut().for_each(|reason| self.answer(reason));
        closing.iter_mut().for_each(|closing| self.closing(closing));
        self.remarks(remarks);
        found.iter_mut().for_each(|found| self.found(found));
        phases.iter_mut().for_each(|phase| self.phase(phase));
        for command in commands {
            let CommandRecord { line: _, status: _, output, elapsed_ns: _ } = command;
            self.text(output, "", Rule::Output);
        }
    }

    fn found(&mut self, found: &mut Found) {
        let Found {
            filesystem: _,
            mount_options: _,
            super_options: _,
            more_options: _,
            inspected,
            options: _,
            scheduler: _,
            device,
            below,
            in_use,
            durability: _,
            remarks,
            cold_possible: _,
            empty: _,
            aged,
            mkfs_seconds: _,
            mount_seconds: _,
            backend: _,
            kernel: _,
            boot_seconds: _,
            cannot,
        } = found;
        self.remarks(remarks);
        // Names of mounts and programs.
        in_use.iter_mut().for_each(|user| self.answer(user));
        cannot.values_mut().for_each(|why| self.answer(why));
        if let Some(aged) = aged {
            aged.state.no_free_space.iter_mut().for_each(|why| self.answer(why));
            aged.state.free_space.iter_mut().for_each(|space| self.answer(&mut space.answer));
        }
        device.iter_mut().chain(below).for_each(|device| self.device(device));
        // Tools print the creator of a volume and its last mount point; the options are also kept by name.
        for text in inspected.values_mut() {
            self.text(text, LEFT_OUT, Rule::Output);
        }
    }

    fn closing(&mut self, closing: &mut Closing) {
        let Closing {
            used: _,
            written_bytes: _,
            read_bytes: _,
            unmount_seconds: _,
            check_seconds: _,
            whole: _,
            check_answer,
            damage,
            axes: _,
            remarks,
        } = closing;
        self.answer(check_answer);
        damage.iter_mut().for_each(|damage| self.answer(damage));
        self.remarks(remarks);
    }

    /// Output of a program or the system: it may hold anything, so it is left out completely.
    fn answer(&mut self, text: &mut String) {
        self.text(text, LEFT_OUT, Rule::Output);
    }

    /// Remarks begin with this program's own words; after a colon they repeat output of a program or the system.
    fn remarks(&mut self, remarks: &mut [String]) {
        for remark in remarks {
            let Some((own, answer)) = remark.split_once(": ") else { continue };
            if answer != LEFT_OUT && !OWN_REMARKS.iter().any(|known| own.contains(known)) {
                *remark = format!("{own}: {LEFT_OUT}");
                self.left_out.note(Rule::Output);
            }
        }
    }

    fn device(&mut self, device: &mut BlockDevice) {
        let BlockDevice {
            path,
            name: _,
            number: _,
            size_bytes: _,
            serial,
            wwid,
            by_id,
            model: _,
            driver: _,
            rotational: _,
            removable: _,
            read_only: _,
            logical_sector: _,
            physical_sector: _,
            discards: _,
            sequence: _,
            parent: _,
            partitions: _,
            holders: _,
            slaves: _,
            layout: _,
            backing_file,
            loop_direct: _,
            queue: _,
        } = device;
        // A modelled disk has no file in /dev, and its name stays.
        if path.is_absolute() {
            self.path(path);
        }
        serial.iter().chain(wwid.iter()).chain(by_id.iter()).for_each(|name| self.secrets.serial(name));
        for name in [serial, wwid] {
            if name.take().is_some() {
                self.left_out.note(Rule::Serial);
            }
        }
        self.emptied(by_id, Rule::Serial);
        backing_file.iter_mut().for_each(|file| self.path(file));
    }

    fn phase(&mut self, phase: &mut PhaseRecord) {
        let PhaseRecord { name: _, operation: _, cache: _, figure: _, preparation: _, outcome, evidence } = phase;
        self.remarks(&mut outcome.remarks);
        self.remarks(&mut evidence.remarks);
        self.remarks(&mut evidence.disturbed);
        for run in &mut outcome.commands {
            self.text(&mut run.output, "", Rule::Output);
            self.text(&mut run.errors, "", Rule::Output);
            self.emptied(&mut run.left_behind, Rule::Output);
        }
        for client in outcome.together.iter_mut().flat_map(|together| together.clients.iter_mut()) {
            self.secrets.host(&client.host);
            self.text(&mut client.host, LEFT_OUT, Rule::Host);
        }
        for error in &mut outcome.errors.first {
            self.text(&mut error.file, PATH, Rule::Path);
            // The error number gives the same message.
            let known = std::io::Error::from_raw_os_error(error.errno).to_string();
            self.text(&mut error.message, &known, Rule::Output);
        }
    }

    /// Arguments that are paths: values of options that take one, files, and any other word with a slash.
    fn command_line(&mut self, words: &mut [String]) {
        let (mut is_value, mut is_user) = (false, false);
        if let Some(program) = words.first_mut() {
            self.text(program, "bakeoff", Rule::Path);
        }
        for word in words.iter_mut().skip(1) {
            let option = word.split_once('=').filter(|(option, _)| PATH_OPTIONS.contains(option));
            let option = option.map(|(option, value)| (option.to_owned(), value.to_owned()));
            let user = word.strip_prefix("--user=").map(str::to_owned).or_else(|| is_user.then(|| word.clone()));
            is_user = word == "--user";
            if let Some(user) = user.filter(|user| user != LEFT_OUT) {
                self.secrets.add(&user, Rule::User);
                let instead = if word.starts_with("--user=") { format!("--user={LEFT_OUT}") } else { LEFT_OUT.into() };
                self.text(word, &instead, Rule::User);
                continue;
            }
            let is_file = !word.starts_with('-') && (word.contains('/') || word.ends_with(".toml"));
            let next = PATH_OPTIONS.contains(&word.as_str());
            if let Some((option, value)) = option {
                self.path_of(Path::new(&value));
                self.text(word, &format!("{option}={PATH}"), Rule::Path);
            } else if is_value || is_file {
                self.path_of(Path::new(&word.clone()));
                self.text(word, PATH, Rule::Path);
            }
            is_value = next;
        }
    }

    fn path_of(&mut self, path: &Path) {
        self.secrets.path(&path.to_string_lossy());
    }

    fn path(&mut self, path: &mut PathBuf) {
        self.path_of(path);
        if path != Path::new(PATH) && !path.as_os_str().is_empty() {
            self.left_out.note(Rule::Path);
            *path = PATH.into();
        }
    }

    fn text(&mut self, text: &mut String, instead: &str, rule: Rule) {
        if !text.is_empty() && text != instead {
            self.left_out.note(rule);
            *text = instead.to_owned();
        }
    }

    fn emptied<T>(&mut self, list: &mut Vec<T>, rule: Rule) {
        list.drain(..).for_each(|_| self.left_out.note(rule));
    }
}
