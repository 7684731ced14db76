//! `bakeoff systems`: which filesystems, schedulers and kernels can compete here; for each that can't, why.
//! In: the catalogue and this machine. Out: a list on standard output.

use crate::catalogue::Catalogue;
use crate::failure::Failure;
use crate::text;
use std::path::PathBuf;

/// Prints every filesystem with its tools, the schedulers and the kernels.
pub fn systems(named: &[PathBuf]) -> Result<u8, Failure> {
    let catalogue = Catalogue::with(&[], named)?;
    println!("Marked * can compete on this machine's kernel, marked + in a virtual machine on another one\n");
    for system in staging::systems(&catalogue.filesystems.clone().may_run(), &system::Journal::new()) {
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
            println!("    in a guest: {} lacks it, {kernel} has it, and --fs {} runs there", running(), system.name);
        } else if !system.can_compete {
            system.obstacles.iter().for_each(|obstacle| println!("    can't compete: {obstacle}"));
            system.help.iter().for_each(|help| println!("    what would help: {help}"));
        }
        if !system.note.is_empty() {
            print!("{}", text::wrapped(&format!("{}\n", system.note), text::width(), "    ", "    "));
        }
    }
    kernels();
    println!("\nI/O schedulers of today's kernels: none, mq-deadline, kyber, bfq");
    let heirs: Vec<String> = catalogue.work.aliases.iter().map(|(old, new)| format!("{old} is now {new}")).collect();
    println!("Old names are understood: {}", heirs.join(", "));
    println!("Option sets: {}", catalogue.work.contenders.keys().cloned().collect::<Vec<_>>().join(", "));
    Ok(0)
}

/// Downloads a kernel, where it is not here yet.
pub fn fetch(kernel: &str) -> Result<u8, Failure> {
    staging::fetch_kernel(kernel)?;
    println!("{kernel} is here");
    Ok(0)
}

fn running() -> String {
    format!("Linux {}", system::machine::describe().kernel)
}

fn kernels() {
    println!("\nKernels: host ({}), debian:6.1, debian:6.12, or a kernel by its path", running());
    for name in ["debian:6.1", "debian:6.12"] {
        let state =
            if staging::kernel_is_here(name) { "is here" } else { "is downloaded with apt when it is first asked for" };
        println!("  {name:<12} {state}");
    }
    match staging::guests_lack() {
        Some(help) => println!("  guests cannot run here; what would help: {help}"),
        None if std::path::Path::new("/dev/kvm").exists() => {
            println!(
                "  guests run under KVM where it boots one, which is tried at the start of a run, else emulated by QEMU"
            );
        }
        None => println!("  guests are emulated by QEMU: there is no /dev/kvm"),
    }
}
