//! Which filesystems and schedulers can compete here; for each that cannot, why, and what would help.
//! In: the registry, /proc/filesystems, the tools found. Out: [`System`]s.
//! Nothing is made or mounted to find out.

use crate::error::StagingError;
use crate::filesystems::description::{Filesystem, ToolNeed};
use crate::filesystems::registry::Registry;
use crate::filesystems::tools;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use system::{Command, Journal};

/// One filesystem, and whether it can compete here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct System {
    /// Name.
    pub name: String,
    /// Title.
    pub title: String,
    /// One sentence about it.
    pub about: String,
    /// A further remark; empty for none.
    pub note: String,
    /// Whether it is one that servers share over a network, which competes where it is named (`--shared`).
    pub shared: bool,
    /// Whether it can compete on this machine's kernel now.
    pub can_compete: bool,
    /// The kernel on which it can compete in a guest now; absent where it needs none, or can in none.
    pub guest: Option<String>,
    /// Its tools.
    pub tools: Vec<Tool>,
    /// Why it cannot, in words; empty where it can.
    pub obstacles: Vec<String>,
    /// What would help, one line each.
    pub help: Vec<String>,
    /// Smallest device in bytes.
    pub smallest_bytes: u64,
}

impl System {
    /// Whether it could compete if its tools were installed.
    pub fn only_lacks_tools(&self) -> bool {
        !self.can_compete && self.obstacles.len() == missing_packages(&self.tools).len()
    }
}

/// Packages of the tools that are not installed.
fn missing_packages(tools: &[Tool]) -> Vec<&str> {
    let mut missing: Vec<&str> = tools.iter().filter(|tool| !tool.found).map(|tool| tool.package.as_str()).collect();
    missing.dedup();
    missing
}

/// One program that a filesystem needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// The program.
    pub program: String,
    /// Debian package that has it.
    pub package: String,
    /// Whether it is installed.
    pub found: bool,
    /// The version that it reports; absent if it is missing or reports none.
    pub version: Option<String>,
}

/// The versions that a filesystem's tools report.
pub(crate) fn versions(filesystem: &Filesystem, journal: &Journal) -> Vec<String> {
    filesystem.tools.iter().filter_map(|need| version(filesystem, need, journal)).collect()
}

/// The versions that a filesystem's tools report in a guest of this kernel, if they are not this machine's tools.
pub(crate) fn versions_in_guest(filesystem: &Filesystem, kernel: &str, journal: &Journal) -> Option<String> {
    let folder = tools::folder_for(filesystem, kernel).filter(|own| tools::folder(filesystem).as_ref() != Some(own))?;
    let prefix = tools::before(&folder);
    let mut lines: Vec<String> =
        filesystem.tools.iter().filter_map(|need| printed_version(need, &prefix, journal)).collect();
    lines.dedup();
    (!lines.is_empty()).then(|| format!("its tools in the guest are {}", lines.join(", ")))
}

/// Inspects all of them.
pub fn systems(registry: &Registry, journal: &Journal) -> Vec<System> {
    registry.all().map(|filesystem| look(filesystem, journal)).collect()
}

fn look(filesystem: &Filesystem, journal: &Journal) -> System {
    let tools: Vec<Tool> = filesystem
        .tools
        .iter()
        .map(|need| {
            let version = tools::find(filesystem, &need.program).and_then(|_| version(filesystem, need, journal));
            Tool {
                program: need.program.clone(),
                package: need.package.clone(),
                found: is_here(filesystem, need, || version.clone()),
                version,
            }
        })
        .collect();
    let mut obstacles = Vec::new();
    let mut help = Vec::new();
    for package in missing_packages(&tools) {
        obstacles.push(format!("tools of {package} are missing"));
        help.push(tools::way_to(filesystem, package));
    }
    if let Some(untrusted) = tools::distrusted(filesystem).filter(|_| tools::folder(filesystem).is_none()) {
        obstacles.push(format!("its unpacked tools are not used: {untrusted}"));
    }
    let mut guest = None;
    if !kernel_has(&filesystem.kernel) {
        obstacles.push(format!("this kernel does not support {}", filesystem.kernel));
        let known = tools::made_for(filesystem).or_else(|| filesystem.guest.kernel.clone());
        guest = known.filter(|_| tools.iter().all(|tool| tool.found) && system::process::is_root());
        if let Some(lack) = crate::guests::lacks().filter(|_| filesystem.guest.kernel.is_some()) {
            help.push(format!("a guest: {lack}"));
            guest = None;
        } else if filesystem.guest.kernel.is_none() {
            help.push(format!("a kernel with {}, given with --kernel PATH", filesystem.kernel));
        }
    }
    if !system::process::is_root() {
        obstacles.push("formatting needs root".into());
        help.push("run with sudo".into());
    }
    System {
        name: filesystem.name.clone(),
        title: filesystem.title.clone(),
        about: filesystem.about.clone(),
        note: filesystem.note.clone(),
        shared: filesystem.shared.is_some(),
        can_compete: obstacles.is_empty(),
        guest,
        tools,
        obstacles,
        help,
        smallest_bytes: filesystem.limits.smallest,
    }
}

/// The error for a missing tool; Ok if all are installed.
pub(crate) fn tools_are_here(filesystem: &Filesystem) -> Result<(), StagingError> {
    for need in &filesystem.tools {
        if !is_here(filesystem, need, || version(filesystem, need, &Journal::new())) {
            let way = tools::way_to(filesystem, &need.package);
            return Err(StagingError::missing_tool(&filesystem.name, &need.program, way));
        }
    }
    Ok(())
}

/// The error for what is missing; Ok if the filesystem can be used on this kernel.
pub(crate) fn usable(filesystem: &Filesystem) -> Result<(), StagingError> {
    tools_are_here(filesystem)?;
    if !kernel_has(&filesystem.kernel) {
        let problem = format!("this kernel does not support the filesystem {}", filesystem.kernel);
        return Err(StagingError::contender(
            &filesystem.name,
            problem,
            "load its module, or use a kernel that supports it",
        ));
    }
    Ok(())
}

/// The guest kernel for a filesystem that this machine's kernel lacks; None if this one has it, or none is known.
pub fn guest_kernel(registry: &Registry, filesystem: &str) -> Option<String> {
    let filesystem = registry.get(filesystem).ok()?;
    let known = filesystem.guest.kernel.as_ref().filter(|_| !kernel_has(&filesystem.kernel))?;
    Some(tools::made_for(filesystem).unwrap_or_else(|| known.clone()))
}

/// Whether it is built in, loaded, or a module that mount(8) would load.
fn kernel_has(name: &str) -> bool {
    let listed = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    if listed.lines().any(|line| line.split_whitespace().next_back() == Some(name)) {
        return true;
    }
    let release = system::machine::describe().kernel;
    let folder = Path::new("/lib/modules").join(release);
    // modules.dep lists the path of every module: kernel/fs/xfs/xfs.ko.zst
    let modules = std::fs::read_to_string(folder.join("modules.dep")).unwrap_or_default();
    modules.lines().any(|line| {
        let file = line.split(':').next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        file.split('.').next() == Some(name)
    })
}

/// Whether a program is installed and is the right one; its version is queried only if another program has the same name.
fn is_here(filesystem: &Filesystem, need: &ToolNeed, version: impl FnOnce() -> Option<String>) -> bool {
    let found = tools::find(filesystem, &need.program).is_some();
    found
        && (need.shows.is_empty()
            || filesystem.only_described
            || version().is_some_and(|version| version.starts_with(&need.shows)))
}

fn version_command(need: &ToolNeed, prefix: &[String]) -> Command {
    Command::new(need.version.clone()).prefixed(prefix).accept(&[0, 1, 2])
}

/// The commands that print the versions of these filesystems' tools, as typed in a shell; none is run.
pub fn version_commands(registry: &Registry, names: &[&str]) -> Vec<String> {
    let chosen = registry.all().filter(|filesystem| names.contains(&filesystem.name.as_str()));
    let mut lines = Vec::new();
    for (filesystem, need) in chosen.flat_map(|one| one.tools.iter().map(move |need| (one, need))) {
        let line = version_command(need, &tools::prefix(filesystem)).typed();
        let is_run = !need.version.is_empty() && tools::find(filesystem, &need.program).is_some();
        if is_run && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The line with the version: tools print it on either stream, among other lines.
fn version(filesystem: &Filesystem, need: &ToolNeed, journal: &Journal) -> Option<String> {
    if filesystem.only_described { None } else { printed_version(need, &tools::prefix(filesystem), journal) }
}

fn printed_version(need: &ToolNeed, prefix: &[String], journal: &Journal) -> Option<String> {
    if need.version.is_empty() {
        return None;
    }
    let answer = version_command(need, prefix).run(journal).ok()?;
    let text = format!("{}\n{}", answer.stdout, answer.stderr);
    let line = text.lines().find(|line| line.chars().any(|c| c.is_ascii_digit()))?;
    Some(line.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_has_only_the_name_does_not_count() {
        let mut filesystem = Registry::embedded().expect("good").get("ext2").expect("known").clone();
        let tool = |shows: &str| ToolNeed {
            program: "sh".into(),
            package: "dash".into(),
            version: vec!["echo".into(), "other-1.0".into()],
            shows: shows.into(),
        };
        filesystem.tools = vec![tool("other-")];
        assert!(tools_are_here(&filesystem).is_ok() && look(&filesystem, &Journal::new()).tools[0].found);
        filesystem.tools = vec![tool("this-")];
        let error = tools_are_here(&filesystem).expect_err("another program").to_string();
        assert!(error.contains("sh") && error.contains("apt-get install dash"), "{error}");
        assert!(!look(&filesystem, &Journal::new()).tools[0].found);
    }

    #[test]
    fn a_filesystem_that_only_lacks_its_tools_differs_from_one_that_the_kernel_lacks() {
        let mut filesystem = Registry::embedded().expect("good").get("ext4").expect("known").clone();
        let without = |filesystem: &Filesystem| {
            let mut found = look(filesystem, &Journal::new());
            found.obstacles.retain(|obstacle| !obstacle.contains("root"));
            found
        };
        assert!(!System { can_compete: true, ..without(&filesystem) }.only_lacks_tools());
        let missing = |program: &str| ToolNeed {
            program: program.into(),
            package: "no-such-package".into(),
            version: Vec::new(),
            shows: String::new(),
        };
        filesystem.tools = vec![missing("no-such-mkfs"), missing("no-such-fsck")];
        assert!(without(&filesystem).only_lacks_tools(), "{:?}", without(&filesystem));
        filesystem.kernel = "no-such-fs".into();
        assert!(!without(&filesystem).only_lacks_tools(), "{:?}", without(&filesystem));
    }
}
