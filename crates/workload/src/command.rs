//! A user's own programs, from a workload file, and the figures that they print.
//! In: `RawWork` and variables. Out: a complete [`Command`]: words, environment, user; its figures, checked.
//! No shell reads the words, and the caller's environment is not passed on, so that a run can be repeated.

use crate::compile::Outcome;
use crate::error::Problem;
use crate::program::{
    ALL_INSTRUCTIONS, Command, DEVICE_WRITTEN, INSTRUCTIONS, OwnFigure, PEAK_MEMORY, Reports, USABLE_SHARE,
};
use crate::quantity::Scope;
use crate::scope::text;
use crate::syntax::{RawOwnFigure, RawWork, Scalar};
use include_dir::{Dir, include_dir};
use regex::Regex;
use std::collections::BTreeMap;
use std::path::{Component, Path};
use toml::Spanned;

/// Scripts that come with Bakeoff, for commands of built-in and users' workloads.
static SCRIPTS: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/workloads/scripts");
/// Search path for programs, unless the environment sets another.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// Private folders of one command.
const PRIVATE_LIMIT: usize = 16;
/// Words of one command.
const WORDS_LIMIT: usize = 4096;
/// Bytes of the words and the environment of one command together: execve(2)'s limit for one word.
const BYTES_LIMIT: usize = 128 << 10;

/// The environment of every program, independent of the caller's.
pub fn environment() -> BTreeMap<String, String> {
    [("PATH", PATH), ("LANG", "C.UTF-8"), ("TZ", "UTC")].map(|(name, value)| (name.into(), value.into())).into()
}

/// The command of a work table; None if it is work of another kind.
pub(crate) fn command(work: &RawWork, scope: &Scope) -> Outcome<Option<Command>> {
    let (words, place) = match (&work.command, &work.shell) {
        (None, None) => return belongs_to_commands(work).map(|()| None),
        (Some(words), None) => {
            let each = words.get_ref().iter().map(|word| known(word, words.span(), scope));
            (each.collect::<Outcome<Vec<_>>>()?, words.span())
        }
        (None, Some(line)) => (vec!["sh".into(), "-c".into(), line.get_ref().0.clone()], line.span()),
        (Some(_), Some(line)) => {
            return Err(Problem::new("`command` and `shell` exclude each other").at(line.span()));
        }
    };
    if let Some(step) = work.steps.first() {
        return Err(Problem::new("a command has no steps").help("leave out `steps`").at(step.span()));
    }
    let mut environment = environment();
    for (name, value) in &work.environment {
        environment.insert(name.clone(), known(value.get_ref(), value.span(), scope)?);
    }
    let user = work.user.as_ref().map(|user| text(user, scope)).transpose()?;
    let input = input(work)?;
    let output = work.output.as_ref().map(output).transpose()?.unwrap_or_default();
    let reports = work.reports.as_ref().map(|reports| reports.get_ref().clone());
    let private = private(&work.private)?;
    let unconfined = work.unconfined.as_ref().is_some_and(|asked| *asked.get_ref());
    let exit_statuses = match &work.exit_status {
        Some(list) if list.get_ref().is_empty() => {
            return Err(Problem::new("`exit-status` names none: the command could not succeed").at(list.span()));
        }
        Some(list) => list.get_ref().clone(),
        None => Vec::new(),
    };
    let figures = Vec::new();
    let command =
        Command { words, environment, user, input, output, private, unconfined, exit_statuses, figures, reports };
    sound(&command).map_err(|problem| problem.at(place))?;
    Ok(Some(command))
}

/// Private folders of a command. The folders that every program needs cannot be private.
fn private(folders: &[Spanned<String>]) -> Outcome<Vec<String>> {
    const NEEDED: [&str; 3] = ["/dev", "/proc", "/sys"];
    if let Some(one) = folders.get(PRIVATE_LIMIT) {
        return Err(Problem::new(format!("more than {PRIVATE_LIMIT} private folders")).at(one.span()));
    }
    let each = folders.iter().map(|folder| {
        let path = Path::new(folder.get_ref());
        let mut parts = path.components();
        let plain = parts.next() == Some(Component::RootDir) && parts.all(|part| matches!(part, Component::Normal(_)));
        let whole = path.parent().is_some() && !folder.get_ref().contains('\0');
        if plain && whole && !NEEDED.iter().any(|needed| path.starts_with(needed)) {
            return Ok(folder.get_ref().clone());
        }
        let problem = Problem::new(format!("`{}` cannot be a private folder", folder.get_ref()));
        Err(problem.help("give an absolute path, such as `/tmp`; not /, /dev, /proc or /sys").at(folder.span()))
    });
    each.collect()
}

/// A command's standard input: a text, or a script that comes with Bakeoff.
fn input(work: &RawWork) -> Outcome<String> {
    match (&work.input, &work.script) {
        (None, None) => Ok(String::new()),
        (Some(text), None) => Ok(text.get_ref().clone()),
        (None, Some(name)) => {
            let script = SCRIPTS.get_file(name.get_ref()).and_then(|file| file.contents_utf8());
            let known = || SCRIPTS.files().filter_map(|file| file.path().to_str()).collect::<Vec<_>>();
            script
                .map(str::to_owned)
                .ok_or_else(|| Problem::unknown("script", name.get_ref(), &known()).at(name.span()))
        }
        (Some(_), Some(script)) => {
            Err(Problem::new("`input` and `script` exclude each other: both are standard input").at(script.span()))
        }
    }
}

/// The file that takes a command's standard output. It is one name, so that no link to a folder can lead the engine elsewhere.
fn output(file: &Spanned<String>) -> Outcome<String> {
    let name = file.get_ref();
    let one = Path::new(name).components().collect::<Vec<_>>();
    if matches!(one.as_slice(), [Component::Normal(_)]) && !name.contains(['/', '\0']) && name.len() <= 255 {
        return Ok(name.clone());
    }
    let problem = Problem::new(format!("`{name}` cannot take the output of a command"));
    Err(problem.help("give the name of a file in the command's folder, without `/`; or `null`").at(file.span()))
}

fn belongs_to_commands(work: &RawWork) -> Outcome<()> {
    let RawWork { environment, user, private, unconfined, exit_status, input, output, script, reports, .. } = work;
    let strays = [
        environment.values().next().map(|value| ("environment", value.span())),
        user.as_ref().map(|user| ("user", user.span())),
        private.first().map(|folder| ("private", folder.span())),
        unconfined.as_ref().map(|asked| ("unconfined", asked.span())),
        exit_status.as_ref().map(|list| ("exit-status", list.span())),
        input.as_ref().map(|input| ("input", input.span())),
        output.as_ref().map(|file| ("output", file.span())),
        script.as_ref().map(|script| ("script", script.span())),
        reports.as_ref().map(|reports| ("reports", reports.span())),
    ];
    match strays.into_iter().flatten().next() {
        Some((key, place)) => {
            Err(Problem::new(format!("`{key}` is for work that runs a `command` or a `shell`")).at(place))
        }
        None => Ok(()),
    }
}

/// The value of a variable if a word is `$` and its name; otherwise the word, with the value of each `{variable}` in it. `${...}` belongs
/// to the shell.
fn known(word: &Scalar, place: std::ops::Range<usize>, scope: &Scope) -> Outcome<String> {
    let value = |name: &str| text(&Spanned::new(place.clone(), Scalar(format!("${name}"))), scope);
    if let Some(name) = word.0.strip_prefix('$').filter(|name| scope.contains_key(*name)) {
        return value(name);
    }
    let (mut filled, mut rest) = (String::new(), word.0.as_str());
    while let Some(at) = rest.find('{') {
        let (before, behind) = rest.split_at(at);
        filled.push_str(before);
        let name = behind[1..].split_once('}').map(|(name, _)| name).filter(|name| scope.contains_key(*name));
        match name.filter(|_| !before.ends_with('$')) {
            Some(name) => {
                filled.push_str(&value(name)?);
                rest = &behind[name.len() + 2..];
            }
            None => {
                filled.push('{');
                rest = &behind[1..];
            }
        }
    }
    Ok(filled + rest)
}

fn sound(command: &Command) -> Outcome<()> {
    let Command { words, environment, user, input, reports, .. } = command;
    if words.first().is_none_or(String::is_empty) {
        return Err(Problem::new("a command without a program").help("write `command = [\"tar\", \"xf\", ...]`"));
    }
    let texts = || words.iter().chain(environment.keys()).chain(environment.values()).chain(user);
    let bytes: usize = texts().map(|text| text.len() + 1).sum();
    if words.len() > WORDS_LIMIT || bytes > BYTES_LIMIT {
        return Err(Problem::new(format!(
            "a command of {} words, and {bytes} bytes with its environment; the limits are {WORDS_LIMIT} and {BYTES_LIMIT}",
            words.len()
        )));
    }
    if input.len() > INPUT_LIMIT {
        return Err(Problem::new(format!("an input of {} bytes; the limit is {INPUT_LIMIT}", input.len())));
    }
    if let Some(Reports::Fio(names)) = reports
        && (names.is_empty() || names.len() > FIGURES_LIMIT || names.iter().any(|name| !name.contains(' ')))
    {
        let problem = Problem::new(format!("fio can report 1 to {FIGURES_LIMIT} parts, each a job and its operation"));
        return Err(problem.help("write `reports = { fio = [\"JOB read\", \"JOB write\"] }`"));
    }
    if texts().any(|text| text.contains('\0')) {
        return Err(Problem::new("a command cannot contain a NUL character"));
    }
    match environment.keys().find(|name| name.is_empty() || name.contains('=')) {
        Some(name) => Err(Problem::new(format!("`{name}` cannot be the name of an environment variable"))),
        None => Ok(()),
    }
}

/// Bytes of a command's standard input: the capacity of a pipe (pipe(7)).
pub const INPUT_LIMIT: usize = 64 << 10;
/// Most figures that one command may print, and parts that it may report.
const FIGURES_LIMIT: usize = 64;
/// Characters of one pattern.
const PATTERN_LIMIT: usize = 1000;

/// The figures that a phase's programs print, checked.
pub(crate) fn figures(raw: &[RawOwnFigure]) -> Outcome<Vec<OwnFigure>> {
    if raw.len() > FIGURES_LIMIT {
        return Err(Problem::new(format!("{} figures of one command; the limit is {FIGURES_LIMIT}", raw.len())));
    }
    let mut figures: Vec<OwnFigure> = Vec::new();
    for one in raw {
        let name = one.name.clone().or(one.unit.clone()).unwrap_or_else(|| "figure".into());
        let more_is_better = match one.better.as_ref().map(|word| word.0.as_str()) {
            Some("more") => true,
            Some("less") => false,
            _ => {
                return Err(Problem::new(format!("the figure `{name}` lacks `better`"))
                    .help("write `better = \"more\"` or `better = \"less\"`"));
            }
        };
        let unit = one.unit.clone().unwrap_or_default();
        if figures.iter().any(|other| other.name == name) {
            return Err(Problem::new(format!("two figures have the name `{name}`")).help("give each a `name`"));
        }
        let figure = OwnFigure { name, from: one.from.clone(), unit, more_is_better };
        if figure.pointer().is_none() {
            check_pattern(&figure).map_err(Problem::new)?;
        }
        figures.push(figure);
    }
    Ok(figures)
}

fn check_pattern(figure: &OwnFigure) -> Result<(), String> {
    let from = &figure.from;
    if from.len() > PATTERN_LIMIT {
        return Err(format!("the pattern of figure `{}` is longer than {PATTERN_LIMIT} bytes", figure.name));
    }
    let pattern = Regex::new(from).map_err(|error| format!("`{from}` is not a regular expression: {error}"))?;
    let is_known = [PEAK_MEMORY, USABLE_SHARE, DEVICE_WRITTEN, INSTRUCTIONS, ALL_INSTRUCTIONS].contains(&from.as_str());
    match pattern.captures_len() {
        1 if !is_known => Err(format!(
            "`{from}` has no group around the number of figure `{}`: write parentheses, such as 'tps = ([0-9.]+)'",
            figure.name
        )),
        _ => Ok(()),
    }
}
