//! Job files of fio, and what fio gets of them.

use crate::assert_said;
use fio::JobFile;

/// Variables of the environment, as hostile as they can be.
fn variable(name: &str) -> Option<String> {
    let value = match name {
        "A" => "/dev/loop0",
        "B" => "../..",
        "C" => "exec_prerun",
        "D" => "1m\nexec_prerun=reboot",
        "E" => "filename=/etc/passwd",
        "F" => "4k",
        _ => return None,
    };
    Some(value.into())
}

/// What is taken names nothing outside, is read again as it was written, and its translation is a workload.
pub fn file(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let file = match JobFile::read(text, &variable) {
        Ok(file) => file,
        Err(problem) => return assert_said("a job file", &problem.to_string()),
    };
    let written = JobFile::written(&file.jobs, 0);
    for line in written.lines() {
        let (key, value) = line.split_once('=').unwrap_or(("", line));
        assert!(!key.starts_with("exec_") && key != "include" && line.len() < 8191, "{line:?}");
        let names = if key.is_empty() { value.trim_matches(['[', ']']) } else { value };
        let leads_out = names.split(':').any(|path| path.starts_with('/') || path.split('/').any(|name| name == ".."));
        assert!(!leads_out && !names.contains(['\'', '"', '\\', ';', '#', '`']), "{line:?}");
        assert!(!names.contains('$') || key == "filename_format" && !names.contains("${"), "{line:?}");
    }
    let again = JobFile::read(&written, &|_| None).expect("what was written is a job file");
    assert_eq!(JobFile::written(&again.jobs, 0), written);
    let way = fio::Way { name: "jobs".into(), title: "Jobs".into(), start: "cold", ..fio::Way::default() };
    let _ = fio::remarks(&file);
    fio::run_by_fio(&file, &way).text().expect("a workload can be written");
    match fio::translated(&file, "jobs", "Jobs") {
        Ok(made) => drop(made.workload.text().expect("a workload can be written")),
        Err(problems) => problems.iter().for_each(|problem| assert!(!problem.is_empty())),
    }
}
