//! `bakeoff systems`: which filesystems, schedulers and kernels can compete here; for the others, why not.
//! In: the catalogue and this machine. Out: a list on standard output.

use crate::args::SystemsArgs;
use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::json::{self, Answer};
use crate::programs::{self, Program};
use crate::verbs::kernels;
use crate::{contenders, text};
use schemars::JsonSchema;
use serde::Serialize;
use staging::System;
use std::collections::BTreeMap;
use std::path::Path;

/// Kernels of Debian's stable releases, which are listed even if they are not downloaded.
const KERNELS: [&str; 2] = ["debian:6.1", "debian:6.12"];

/// What can compete here.
#[derive(Serialize, JsonSchema)]
pub struct Systems {
    /// Filesystems, in order of their names.
    systems: Vec<System>,
    /// This machine's kernel, as `uname -r` has it.
    running_kernel: String,
    /// Downloaded kernels for guests, and those of Debian's stable releases; `systems --kernels` lists all that are available.
    kernels: Vec<Kernel>,
    /// Why guests cannot run here and what would help; null where they can.
    guests_lack: Option<String>,
    /// Whether there is /dev/kvm; without it guests are emulated.
    has_kvm: bool,
    /// I/O schedulers of current kernels; the device decides which of them it offers.
    schedulers: Vec<String>,
    /// Old names of schedulers, and the names that replaced them.
    scheduler_aliases: BTreeMap<String, String>,
    /// Option sets by name, which `--fs` takes as it takes filesystems.
    option_sets: Vec<String>,
    /// Modelled disks, by their names for `--disk`.
    modelled_disks: Vec<ModelledDisk>,
    /// Layers below a filesystem, as `--axis stack=` takes them; they are built in guests.
    layers: Vec<LayerHere>,
    /// Programs that workloads run.
    programs: Vec<Program>,
}

/// A layer below a filesystem.
#[derive(Serialize, JsonSchema)]
struct LayerHere {
    /// Its name.
    name: String,
    /// Name for readers.
    title: String,
    /// Number of disks that it is built on.
    disks: u32,
    /// The first kernel release that can build it, such as 7.1; null where every kernel with its modules can.
    since: Option<String>,
    /// Its options, each with its values.
    options: BTreeMap<String, Vec<String>>,
    /// Debian packages with tools that it needs and this machine lacks.
    missing: Vec<String>,
}

impl LayerHere {
    fn of(layer: &layers::Layer) -> LayerHere {
        let options =
            layer.options.iter().map(|(name, option)| (name.clone(), option.values.keys().cloned().collect()));
        let options = options.chain((layer.devices > 1).then(|| (layers::ONE_DISK.to_owned(), vec!["on".to_owned()])));
        let missing = layer.tools.iter().filter(|tool| system::command::find_program(&tool.program).is_none());
        LayerHere {
            name: layer.name.clone(),
            title: layer.title.clone(),
            disks: layer.devices,
            since: layer.since.map(|(first, second)| format!("{first}.{second}")),
            options: options.collect(),
            missing: missing.map(|tool| tool.package.clone()).collect(),
        }
    }

    /// Title, disks and options, and what would help.
    fn in_words(&self) -> String {
        let mut parts = vec![self.title.clone()];
        if self.disks > 1 {
            parts.push(format!("{} disks", self.disks));
        }
        parts.extend(self.since.iter().map(|release| format!("Linux {release} or newer")));
        parts.extend(self.options.iter().map(|(option, values)| format!("{option}={}", values.join("|"))));
        if !self.missing.is_empty() {
            parts.push(format!("its tools are missing: apt-get install {}", self.missing.join(" ")));
        }
        parts.join("; ")
    }
}

/// A disk that is served from memory at the pace of its description.
#[derive(Serialize, JsonSchema)]
struct ModelledDisk {
    /// Its name.
    name: String,
    /// Which disk is described.
    title: String,
}

/// A kernel for guests.
#[derive(Serialize, JsonSchema)]
struct Kernel {
    /// Its name, as `--kernel` takes it.
    name: String,
    /// Whether it is downloaded; if not, apt downloads it at its first use.
    is_here: bool,
}

impl Answer for Systems {
    const SCHEMA: &'static str = "bakeoff-systems";
}

/// Lists what can compete, or downloads a kernel.
pub fn systems(args: &SystemsArgs) -> Result<u8, Failure> {
    if let Some(kernel) = &args.fetch {
        let kernel = staging::kernel_called(kernel)?;
        staging::fetch_kernel(&kernel)?;
        println!("{kernel} is here");
        return Ok(0);
    }
    if args.kernels {
        return kernels::kernels(args.json);
    }
    let found = look(&Catalogue::with(&[], &args.filesystems)?);
    if args.json {
        json::print(&found)?;
    } else {
        in_words(&found);
    }
    Ok(0)
}

fn look(catalogue: &Catalogue) -> Systems {
    let mut named: Vec<String> = staging::kernels_here();
    named.extend(KERNELS.map(String::from).into_iter().filter(|name| !staging::kernel_is_here(name)));
    let kernel = |name: String| Kernel { is_here: staging::kernel_is_here(&name), name };
    Systems {
        systems: staging::systems(&catalogue.filesystems.clone().may_run(), &system::Journal::new()),
        running_kernel: system::machine::describe().kernel,
        kernels: named.into_iter().map(kernel).collect(),
        guests_lack: staging::guests_lack(),
        has_kvm: Path::new("/dev/kvm").exists(),
        schedulers: contenders::SCHEDULERS.map(str::to_owned).into(),
        scheduler_aliases: catalogue.work.aliases.clone(),
        option_sets: catalogue.work.contenders.keys().cloned().collect(),
        modelled_disks: axes::disks()
            .map(|(name, title)| ModelledDisk { name: name.into(), title: title.into() })
            .collect(),
        layers: layers::shipped().iter().map(LayerHere::of).collect(),
        programs: programs::of(catalogue.work.workloads.values()),
    }
}

fn in_words(found: &Systems) {
    println!("* can compete on this machine's kernel, + in a virtual machine on another one\n");
    let (shared, local): (Vec<&System>, Vec<&System>) = found.systems.iter().partition(|system| system.shared);
    local.into_iter().for_each(|system| one(system, &found.running_kernel));
    println!("\nShared filesystems (--shared), each set up with its servers on this machine\n");
    shared.into_iter().for_each(|system| one(system, &found.running_kernel));
    guests(found);
    println!();
    say("I/O schedulers of current kernels: ", &found.schedulers.join(", "));
    let heirs: Vec<String> = found.scheduler_aliases.iter().map(|(old, new)| format!("{old} is now {new}")).collect();
    say("Old names are accepted: ", &heirs.join(", "));
    say("Option sets: ", &found.option_sets.join(", "));
    println!("Modelled disks (--disk), simulated in memory:");
    found.modelled_disks.iter().for_each(|disk| text::print_beside(&format!("    {:<10} ", disk.name), &disk.title));
    println!("Layers below a filesystem (--axis stack=none,luks), in virtual machines:");
    found.layers.iter().for_each(|layer| text::print_beside(&format!("    {:<12} ", layer.name), &layer.in_words()));
    recipes(&found.programs);
}

/// Prints a line of the list, wrapped.
fn say(head: &str, text: &str) {
    print!("{}", text::wrapped(text, text::width(), head, "    "));
}

/// Prints the programs that workloads run, and which of them are missing.
fn recipes(programs: &[Program]) {
    let (here, missing): (Vec<&Program>, Vec<&Program>) = programs.iter().partition(|program| program.found);
    let text = |programs: &[&Program]| {
        let one = |program: &&Program| format!("{} ({})", program.program, program.workloads.join(", "));
        programs.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    if !here.is_empty() {
        say("Programs that workloads run: ", &text(&here));
    }
    if !missing.is_empty() {
        say("Missing: ", &format!("{}; what would help: {}", text(&missing), programs::install(&missing)));
    }
}

fn one(system: &System, running: &str) {
    let mark = match (system.can_compete, &system.guest) {
        (true, _) => '*',
        (false, Some(_)) => '+',
        (false, None) => ' ',
    };
    println!("{mark} {:<10} {}", system.name, system.title);
    for tool in &system.tools {
        let version = tool.version.as_deref().unwrap_or(if tool.found { "version unknown" } else { "missing" });
        println!("    {:<18} {version}", tool.program);
    }
    if let Some(kernel) = &system.guest {
        let way = format!("in a guest: Linux {running} lacks it, {kernel} has it, and --fs {} runs there", system.name);
        say("    ", &way);
    } else if !system.can_compete {
        system.obstacles.iter().for_each(|obstacle| say("    can't compete: ", obstacle));
        system.help.iter().for_each(|help| say("    what would help: ", help));
    }
    if !system.note.is_empty() {
        say("    ", &system.note);
    }
}

fn guests(found: &Systems) {
    let running = &found.running_kernel;
    println!();
    say(
        "Kernels: ",
        &format!("host (Linux {running}), a Debian series listed below, debian:newest, or the path of a kernel"),
    );
    for kernel in &found.kernels {
        let state = if kernel.is_here { "is here" } else { "is downloaded with apt at its first use" };
        println!("  {:<12} {state}", kernel.name);
    }
    println!("  all available kernels: bakeoff systems --kernels");
    match &found.guests_lack {
        Some(help) => say("  ", &format!("guests cannot run here; what would help: {help}")),
        None if found.has_kvm => {
            say(
                "  ",
                "guests run under KVM if one boots with it (tried at the start of a run); otherwise QEMU emulates them",
            );
        }
        None => println!("  QEMU emulates guests: there is no /dev/kvm"),
    }
}
