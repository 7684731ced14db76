//! `bakeoff systems`: which filesystems, schedulers and kernels can compete here; for each that can't, why.
//! In: the catalogue and this machine. Out: a list on standard output.

use crate::catalogue::Catalogue;
use crate::failure::Failure;

/// Prints every filesystem with its tools, and the schedulers.
pub fn systems() -> Result<u8, Failure> {
    let catalogue = Catalogue::open(&[])?;
    println!("Filesystems that can compete here are marked *\n");
    for system in lab::systems(&catalogue.filesystems, &host::Journal::new()) {
        let mark = if system.can_compete { '*' } else { ' ' };
        println!("{mark} {:<10} {}", system.name, system.title);
        for tool in &system.tools {
            let version = tool.version.as_deref().unwrap_or(if tool.found { "version unknown" } else { "missing" });
            println!("    {:<18} {version}", tool.program);
        }
        if !system.can_compete {
            system.obstacles.iter().for_each(|obstacle| println!("    can't compete: {obstacle}"));
            system.help.iter().for_each(|help| println!("    what would help: {help}"));
        }
    }
    println!("\nI/O schedulers of today's kernels: none, mq-deadline, kyber, bfq");
    let heirs: Vec<String> = catalogue.work.aliases.iter().map(|(old, new)| format!("{old} is now {new}")).collect();
    println!("Old names are understood: {}", heirs.join(", "));
    println!("Option sets: {}", catalogue.work.contenders.keys().cloned().collect::<Vec<_>>().join(", "));
    Ok(0)
}
