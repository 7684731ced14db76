//! The workload of the commands on a command line; it could be written as a workload file as well.
//! In: [`Own`]. Out: a workload in TOML.

use crate::args::{Own, Start};
use crate::failure::{Failure, given};
use crate::fio_jobs;
use crate::programs;
use crate::text::shortened;
use std::io::Read;
use std::path::Path;
use workload::quantity::parse_duration;
use workload::written::{Declared, Figure, File, Phase, Printed, Work};

/// Name of the workload.
pub const NAME: &str = "command";
/// Longest name derived from a program's name.
const NAME_LENGTH: usize = 40;
/// Longest command line in a title.
const TITLE_LENGTH: usize = 60;
/// Words that only a shell understands.
const SHELL_WORDS: [&str; 10] = ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>", "2>&1"];

/// Refuses options for commands if there are no commands, and invalid values.
///
/// # Errors
/// The user does not exist here; the time is invalid; or no name or command uses the option.
pub fn check_use(own: &Own, names: &[String]) -> Result<(), Failure> {
    if let Some(limit) = &own.time_limit {
        given("--time-limit", limit, parse_duration)?;
    }
    if let Some(user) = &own.user {
        engine::user_ids(user).map_err(|why| Failure::usage(format!("--user {user}: {why}")))?;
    }
    let jobs = names.iter().any(|name| fio_jobs::is_job_file(name));
    let programs = !own.command.is_empty() || jobs;
    let traces = names.iter().any(|name| trace::is_trace_file(name));
    let options = [
        ("--user", own.user.is_some(), programs, "--command, and for job files of fio"),
        ("--time-limit", own.time_limit.is_some(), programs || traces, "--command, job files of fio and traces"),
        ("--start", own.start != Start::default(), programs || traces, "--command, job files of fio and traces"),
        ("--map", !own.map.is_empty(), jobs, "job files of fio"),
        ("--full-speed", own.full_speed, traces, "traces, which `bakeoff record` makes"),
    ];
    match options.iter().find(|(_, is_given, taken, _)| *is_given && !taken) {
        Some((option, _, _, takes)) => Err(Failure::usage(format!("{option} is for {takes}"))),
        None => Ok(()),
    }
}

/// The text of the workload; None without a command.
///
/// # Errors
/// A command cannot be parsed, or its program does not exist; or there are more names than commands.
pub fn workload(own: &Own) -> Result<Option<String>, Failure> {
    if own.command.is_empty() {
        return Ok(None);
    }
    if own.name.len() > own.command.len() {
        let text = format!("--name {}: the command line has more names than commands", own.name[own.command.len()]);
        return Err(Failure::usage(text));
    }
    let input = own.input.as_deref().map(input).transpose()?;
    let parameters = parameters(own)?;
    let words = |option: &str, text: &str| words(option, text, own.shell, &parameters);
    let mut phases = Vec::new();
    if let Some(folder) = &own.copy_in {
        phases.push(beside("copy-in", untimed(copying(folder)?), phases.len()));
        if let Some(user) = &own.user {
            let words = ["chown", "--recursive", "--no-dereference", "--", user, "."].map(str::to_owned);
            phases.push(beside("hand-over", untimed(words.into()), phases.len()));
        }
    }
    for text in &own.prepare {
        phases.push(beside("prepare", work(own, words("--prepare", text)?), phases.len()));
    }
    for (at, text) in own.command.iter().enumerate() {
        let words = words("--command", text)?;
        let name = own.name.get(at).cloned().unwrap_or_else(|| program_name(&words, own.shell));
        let (input, output) = (input.clone(), own.output.clone());
        let work = Work { exit_status: own.exit_status.clone(), input, output, ..work(own, words) };
        for _ in 0..own.warmup {
            phases.push(beside("warmup", work.clone(), phases.len()));
        }
        phases.push(timed(own, unused(name, &phases), text, work));
    }
    if let Some(last) = phases.last_mut() {
        let printed = figures(own)?;
        last.figure = (!printed.is_empty()).then_some(Figure::Printed(printed));
    }
    for (option, texts) in [("--check", &own.check), ("--cleanup", &own.cleanup)] {
        for text in texts {
            let words = words(option, text)?;
            phases.push(beside(&option[2..], work(own, words), phases.len()));
        }
    }
    let file = File {
        name: NAME.into(),
        title: "Your own commands".into(),
        about: own.command.join("; "),
        options: parameters.iter().map(declared).collect(),
        time_limit: own.time_limit.clone(),
        scales: File::same_scales(),
        phases,
        ..File::default()
    };
    file.text().map(Some).map_err(|error| Failure::usage(format!("--command: {error}")))
}

/// Most values of one parameter.
const VALUES_LIMIT: usize = 64;

/// A parameter of the commands, and its values.
pub type Parameter = (String, Vec<String>);

/// The parameters of the commands.
///
/// # Errors
/// One is not NAME=VALUES, occurs twice, is in no command, or has too many values.
pub fn parameters(own: &Own) -> Result<Vec<Parameter>, Failure> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for text in &own.parameter {
        let failed = |why: String| Failure::usage(format!("--parameter {text}: {why}"));
        let (name, list) = text
            .split_once('=')
            .ok_or_else(|| failed("write NAME=VALUES, such as threads=1,2,4 or threads=1..8".into()))?;
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if !is_name {
            return Err(failed("a name begins with a small letter and has small letters, digits and `_`".into()));
        }
        if parameters.iter().any(|(known, _)| known == name) {
            return Err(failed("this parameter is given twice; write all its values in one list".into()));
        }
        let place = place(name);
        let mut texts = own.command.iter().chain(&own.prepare).chain(&own.check).chain(&own.cleanup);
        if !texts.any(|text| text.contains(&place)) {
            return Err(failed(format!("no command contains {place}")));
        }
        parameters.push((name.to_owned(), values(list).map_err(failed)?));
    }
    Ok(parameters)
}

/// Where a parameter's value goes in a command.
fn place(name: &str) -> String {
    format!("{{{name}}}")
}

/// The values of a list `a,b,c`, in which `FROM..TO` and `FROM..TO..STEP` are sequences of whole numbers.
fn values(list: &str) -> Result<Vec<String>, String> {
    let mut values: Vec<String> = Vec::new();
    for item in list.split(',').map(str::trim) {
        if item.is_empty() || item.contains(['$', '{']) {
            return Err(format!("`{item}` cannot be a value"));
        }
        match sequence(item)? {
            Some(numbers) => values.extend(numbers),
            None => values.push(item.to_owned()),
        }
        if values.len() > VALUES_LIMIT {
            return Err(format!("more than {VALUES_LIMIT} values"));
        }
    }
    match values.iter().enumerate().find(|(at, value)| values[..*at].contains(value)) {
        Some((_, twice)) => Err(format!("the value {twice} is given twice")),
        None => Ok(values),
    }
}

/// The numbers of `FROM..TO` or `FROM..TO..STEP`; None if the text has no `..` between numbers.
fn sequence(item: &str) -> Result<Option<Vec<String>>, String> {
    let parts: Option<Vec<i64>> = item.split("..").map(|part| part.parse().ok()).collect();
    let (from, to, step) = match parts.as_deref() {
        Some([from, to]) => (*from, *to, 1),
        Some([from, to, step]) => (*from, *to, *step),
        _ => return Ok(None),
    };
    let step = usize::try_from(step).ok().filter(|step| *step > 0);
    let step = step.ok_or_else(|| format!("{item}: a step is a whole number above 0"))?;
    if to < from {
        return Err(format!("{item}: write the smaller number first"));
    }
    Ok(Some((from..=to).step_by(step).take(VALUES_LIMIT + 1).map(|number| number.to_string()).collect()))
}

/// A parameter as an option of the workload.
fn declared((name, values): &Parameter) -> (String, Declared) {
    let default = values.first().cloned().unwrap_or_default();
    (name.clone(), Declared { about: "parameter of the commands".into(), default })
}

/// What commands read, with everything that could refuse it.
fn input(file: &Path) -> Result<String, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::usage(format!("--input {}: {why}", file.display()));
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(|error| failed(&error))?;
    opened.take(workload::command::INPUT_LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    if bytes.len() > workload::command::INPUT_LIMIT {
        return Err(failed(&"it has more than 64 KiB; put it into a folder (--copy-in) and redirect it (--shell)"));
    }
    String::from_utf8(bytes)
        .map_err(|_| failed(&"it is not UTF-8; put it into a folder (--copy-in) and redirect it (--shell)"))
}

fn timed(own: &Own, name: String, text: &str, work: Work) -> Phase {
    let line = shortened(text.trim(), TITLE_LENGTH);
    let title = if own.name.contains(&name) { name.clone() } else { line.clone() };
    let cache = if own.warmup > 0 { Start::AsFound } else { own.start }.into();
    let work = vec![work];
    Phase { doing: format!("running `{line}`"), name, title, cache, work, ..Phase::default() }
}

/// The metrics that the last command prints.
fn figures(own: &Own) -> Result<Vec<Printed>, Failure> {
    let ways =
        [("--higher-is-better", &own.higher_is_better, "more"), ("--lower-is-better", &own.lower_is_better, "less")];
    let each =
        ways.into_iter().flat_map(|(option, texts, better)| texts.iter().map(move |text| (option, text, better)));
    each.map(|(option, text, better)| {
        let (name, from) =
            text.split_once('=').filter(|(name, from)| !name.is_empty() && !from.is_empty()).ok_or_else(|| {
                Failure::usage(format!(
                    "{option} {text}: write NAME=WHERE, such as 'tps=tps = ([0-9.]+)' or iops=/jobs/0/read/iops"
                ))
            })?;
        Ok(Printed { name: name.into(), from: from.into(), better })
    })
    .collect()
}

/// A user's command.
fn work(own: &Own, command: Vec<String>) -> Work {
    let (user, private) = (own.user.clone(), own.private.clone());
    Work { command, user, private, unconfined: own.unconfined, ..Work::default() }
}

/// A command of Bakeoff itself.
fn untimed(command: Vec<String>) -> Work {
    Work { command, ..Work::default() }
}

/// An untimed phase.
fn beside(what: &str, work: Work, number: usize) -> Phase {
    let title = what.replace('-', " ");
    let name = format!("{what}-{}", number + 1);
    Phase::preparation(name, title, work)
}

fn copying(folder: &Path) -> Result<Vec<String>, Failure> {
    let failed = |why: &dyn std::fmt::Display| Failure::usage(format!("--copy-in {}: {why}", folder.display()));
    let whole = folder.canonicalize().map_err(|error| failed(&error))?;
    if !whole.is_dir() {
        return Err(failed(&"it is not a folder"));
    }
    let text = whole.to_str().ok_or_else(|| failed(&"its name is not UTF-8"))?;
    Ok(["cp", "-a", "--no-target-directory", "--", text, "."].map(str::to_owned).into())
}

/// The words of a command: split as a shell does, a leading `~/` replaced, the program found.
fn words(option: &str, text: &str, shell: bool, parameters: &[Parameter]) -> Result<Vec<String>, Failure> {
    if shell {
        return Ok(["sh", "-c", text].map(str::to_owned).into());
    }
    let failed = |why: String| Failure::usage(format!("{option} {text:?}: {why}"));
    let mut words = shell_words::split(text).map_err(|error| failed(error.to_string()))?;
    if let Some(word) = words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
        return Err(failed(format!("only a shell understands `{word}`; --shell runs the commands in a shell")));
    }
    let home = std::env::var("HOME").unwrap_or_default();
    for word in words.iter_mut().filter(|word| !home.is_empty() && word.starts_with("~/")) {
        word.replace_range(..1, &home);
    }
    let program = words.first_mut().ok_or_else(|| failed("it names no program".into()))?;
    let named = parameters.iter().find(|(name, _)| program.contains(&place(name)));
    if let Some((name, values)) = named {
        let each = values.iter().map(|value| program.replace(&place(name), value));
        each.map(|one| found(&one)).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    } else if let Some(found) = found(program).map_err(failed)? {
        *program = found;
    }
    Ok(words)
}

/// The absolute path of a program given by a path, since commands run in another folder; `None` if its name needs no change.
fn found(program: &str) -> Result<Option<String>, String> {
    if program.contains('/') {
        let here = std::path::absolute(program).ok().filter(|path| path.is_file());
        // A program that is missing here may be copied in or created there.
        return Ok(here.map(|path| path.to_string_lossy().into_owned()));
    }
    if programs::is_here(program) {
        return Ok(None);
    }
    Err(format!("no program `{program}` in {}; give its path, or install it", workload::command::PATH))
}

/// A name for a phase, of allowed letters only.
fn program_name(words: &[String], shell: bool) -> String {
    let first = if shell {
        words.last().and_then(|text| text.split_whitespace().next())
    } else {
        words.first().map(String::as_str)
    };
    let base = first.and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let letters: String = base.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    let name = letters.trim_start_matches(['-', '_', '.']);
    if name.is_empty() { NAME.into() } else { name.chars().take(NAME_LENGTH).collect() }
}

/// The name, with a number added if an earlier phase has it.
fn unused(name: String, phases: &[Phase]) -> String {
    let taken = |name: &String| phases.iter().any(|phase| phase.name == *name);
    let mut numbered = (2..).map(|number| format!("{name}-{number}"));
    if taken(&name) { numbered.find(|name| !taken(name)).unwrap_or(name) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn own(commands: &[&str]) -> Own {
        Own { command: commands.iter().map(|text| (*text).to_owned()).collect(), ..Own::default() }
    }

    #[test]
    fn commands_become_phases_in_order_with_names_of_their_own() {
        let mut asked = own(&["tar cf a.tar 'a b'", "tar xf a.tar", "/usr/bin/env du -s ."]);
        asked.prepare = vec!["mkdir a".into()];
        asked.check = vec!["test -e a".into()];
        asked.name = vec!["pack".into()];
        let text = workload(&asked).unwrap().unwrap();
        let read = workload::Workload::parse(&text, "text").unwrap();
        let program = read.compile("full", &BTreeMap::new(), 0).unwrap().program;
        let names: Vec<&str> = program.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names, ["prepare-1", "pack", "tar", "env", "check-5"]);
        assert_eq!(program.phases.iter().filter(|phase| phase.preparation).count(), 2);
        assert!(text.contains("\"a b\""), "{text}");
    }

    #[test]
    fn figures_belong_to_the_last_command() {
        let mut asked = own(&["true", "echo 7 tps"]);
        asked.higher_is_better = vec!["tps=([0-9]+) tps".into()];
        let read = workload::Workload::parse(&workload(&asked).unwrap().unwrap(), "text").unwrap();
        let compiled = read.compile("quick", &BTreeMap::new(), 0).unwrap();
        let own: Vec<_> =
            compiled.phases.iter().filter_map(|facts| Some((facts.named(), facts.own.clone()?))).collect();
        assert_eq!(own.len(), 1);
        assert_eq!((own[0].0.as_str(), own[0].1.more_is_better), ("echo tps", true));
    }

    #[test]
    fn no_command_is_no_workload() {
        assert_eq!(workload(&Own::default()).unwrap(), None);
    }
}
