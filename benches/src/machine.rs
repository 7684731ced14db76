//! The machine and the versions of everything that took part.
//! In: nothing. Out: lines for the report.
//! What cannot be found out is left out.

use crate::rivals::find;
use std::process::Command;

fn first_line(program: &str, argument: &str) -> Option<String> {
    find(program)?;
    let output = Command::new(program).arg(argument).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    text.lines().find(|l| !l.trim().is_empty()).map(|l| l.trim().to_owned())
}

fn line_of(file: &str, key: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find(|l| l.starts_with(key))?;
    Some(line.split_once(':').map_or(line, |(_, value)| value).trim().to_owned())
}

/// The machine, one fact a line.
pub fn facts() -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let steal = line_of("/proc/stat", "cpu ").and_then(|l| l.split_whitespace().nth(8).map(str::to_owned));
    [
        line_of("/proc/cpuinfo", "model name").map(|m| format!("CPU: {m}, {cores} cores")),
        line_of("/proc/meminfo", "MemTotal").map(|m| format!("memory: {m}")),
        std::fs::read_to_string("/proc/sys/kernel/osrelease").ok().map(|k| format!("kernel: Linux {}", k.trim())),
        line_of("/etc/os-release", "PRETTY_NAME=")
            .map(|d| d.replace("PRETTY_NAME=", "distribution: ").replace('"', "")),
        first_line("systemd-detect-virt", "--vm").map(|v| format!("virtual machine: {v}")),
        std::fs::read_to_string("/proc/loadavg")
            .ok()
            .map(|l| format!("load when the report was written: {}", l.trim())),
        steal.map(|s| format!("stolen CPU time since boot: {s} ticks")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Versions of the tools that are installed.
pub fn versions() -> Vec<String> {
    let tools = [
        ("fio", "--version"),
        ("bonnie++", "-version"),
        ("fs_mark", "-v"),
        ("sysbench", "--version"),
        ("dd", "--version"),
        ("elbencho", "--version"),
        ("mdtest", "--version"),
        ("mkfs.ext4", "-V"),
        ("mkfs.xfs", "-V"),
        ("zstd", "--version"),
    ];
    let found = tools.iter().map(|(program, argument)| match find(program) {
        None => format!("{program}: not installed, not run"),
        // fs_mark has no option that prints its version.
        Some(_) if *program == "fs_mark" => package("fsmark").unwrap_or_else(|| "fs_mark: installed".into()),
        Some(_) if *program == "bonnie++" => package("bonnie++").unwrap_or_else(|| "bonnie++: installed".into()),
        Some(_) => format!("{program}: {}", first_line(program, argument).unwrap_or_else(|| "installed".into())),
    });
    found.collect()
}

fn package(name: &str) -> Option<String> {
    let output = Command::new("dpkg-query").args(["-W", "-f", "${Version}", name]).output().ok()?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!version.is_empty()).then(|| format!("{name}: Debian package {version}"))
}
