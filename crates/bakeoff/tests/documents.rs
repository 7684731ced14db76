//! README.md, docs/ and `bakeoff help questions` are correct: commands are run (small, or as a plan), files are parsed, options exist.
//! The first line of a block in a document names its content: ```sh, ```toml workload, ```text ...

#[path = "documents/names.rs"]
mod names;
mod support;

use prerequisites::needs;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Place, Printed};

/// A fenced block.
struct Block {
    place: String,
    holds: String,
    text: String,
}

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md, CONTRIBUTING.md and everything in docs/, with names for errors.
fn documents() -> Vec<(String, String)> {
    let mut paths = vec![top().join("README.md"), top().join("CONTRIBUTING.md")];
    let docs = std::fs::read_dir(top().join("docs")).expect("docs is there");
    paths.extend(docs.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "md")));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).expect("a document is text"))
    };
    paths.into_iter().filter(|path| path.exists()).map(read).collect()
}

fn blocks() -> Vec<Block> {
    let mut found = Vec::new();
    for (name, text) in documents() {
        let mut open: Option<Block> = None;
        for (number, line) in text.lines().enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(holds), None) => {
                    let place = format!("{name}:{}", number + 1);
                    open = Some(Block { place, holds: holds.trim().into(), text: String::new() });
                }
                (Some(_), Some(_)) => found.extend(open.take()),
                (None, Some(block)) => block.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{name}: a block is not closed");
    }
    found
}

/// The commands of a document: those in blocks, or those between backticks in its sentences.
fn commands_in_blocks() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for block in blocks().iter().filter(|block| block.holds == "sh") {
        for line in block.text.replace("\\\n", " ").lines() {
            let line = line.split(" # ").next().unwrap_or_default();
            for command in line.split(';').map(str::trim).filter(|command| !command.is_empty()) {
                let words = shell_words::split(command).unwrap_or_else(|e| panic!("{}: {command}: {e}", block.place));
                found.push((format!("{}: {command}", block.place), words));
            }
        }
    }
    assert!(found.len() > 20, "the documents show commands");
    found
}

fn commands_in_sentences() -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (name, text) in documents() {
        // Every second piece between backticks is code; fences have three backticks, and their pieces contain line breaks.
        for code in
            text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("bakeoff ") && !code.contains('\n'))
        {
            let words = code.split_whitespace().map(str::to_string).collect();
            found.push((format!("{name}: {code}"), words));
        }
    }
    assert!(found.len() > 20, "the sentences speak of commands");
    found
}

/// The commands of `bakeoff help questions`.
fn commands_in_help() -> Vec<(String, Vec<String>)> {
    let text = Place::new().bakeoff("help questions").well().out;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let joined = text.replace("\\\n", " ");
    let commands = joined.lines().filter_map(|line| line.strip_prefix("  bakeoff "));
    let words = |command: &str| shell_words::split(&format!("bakeoff {command}")).expect("a command");
    let found: Vec<_> = commands.map(|command| (format!("help questions: {command}"), words(command))).collect();
    assert!(found.len() >= 20, "{text}");
    found
}

#[test]
fn every_block_names_its_content() {
    let known = [
        "sh",
        "ini fio",
        "text",
        "json",
        "toml workload",
        "toml plan",
        "toml age",
        "toml filesystem",
        "toml contenders",
    ];
    let unknown: Vec<String> = blocks()
        .iter()
        .filter(|block| !known.contains(&block.holds.as_str()) && !block.holds.starts_with("csv"))
        .map(|block| format!("{}: {:?}", block.place, block.holds))
        .collect();
    assert_eq!(unknown, Vec::<String>::new(), "known are {known:?}");
}

/// Mentioned verbs and options exist.
#[test]
fn every_verb_and_option_that_is_shown_exists() {
    let place = Place::new();
    let mut help: BTreeMap<String, String> = BTreeMap::new();
    let mut wrong = Vec::new();
    let shown = commands_in_blocks().into_iter().chain(commands_in_sentences()).chain(commands_in_help());
    for (shown, words) in shown {
        if words[0] != "bakeoff" {
            continue;
        }
        let Some(verb) = words.get(1).filter(|word| !word.starts_with("--")) else { continue };
        let text = help.entry(verb.clone()).or_insert_with(|| {
            let Printed { status, out, .. } = place.bakeoff(&format!("help {verb} all"));
            if status == Some(0) { out } else { String::new() }
        });
        if text.is_empty() {
            wrong.push(format!("{shown}: no verb {verb}"));
        }
        for option in words.iter().filter(|word| word.starts_with("--")) {
            let option = option.split(['=', ',']).next().unwrap_or_default();
            let there = text.split(|c: char| !(c.is_alphanumeric() || c == '-')).any(|word| word == option);
            if !there && !text.is_empty() {
                wrong.push(format!("{shown}: {verb} has no {option}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_make_target_that_is_shown_exists() {
    let makefile = std::fs::read_to_string(top().join("Makefile")).expect("it is there");
    let sentences = documents().into_iter().flat_map(|(name, text)| {
        let codes: Vec<String> = text.split('`').skip(1).step_by(2).map(str::to_string).collect();
        codes.into_iter().map(move |code| (name.clone(), code.split_whitespace().map(str::to_string).collect()))
    });
    for (shown, words) in commands_in_blocks().into_iter().chain(sentences) {
        if words.first().is_some_and(|word: &String| word == "make") && words.len() == 2 && !words[1].contains('=') {
            let target = format!("\n{}:", words[1]);
            assert!(makefile.contains(&target), "{shown}: the Makefile has no target {}", words[1]);
        }
    }
}

/// Space for plans that exceed any test disk: a large tmpfs.
struct Room(PathBuf);

impl Room {
    fn new(point: PathBuf) -> Room {
        std::fs::create_dir(&point).expect("made");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4T", "room"]).arg(&point).status();
        assert!(mounted.is_ok_and(|status| status.success()), "a tmpfs is mounted");
        Room(point)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Saves the files of the documents as a user would.
fn save_files(place: &Place) {
    for block in blocks() {
        let path = match block.holds.as_str() {
            "toml workload" => "mine.toml",
            "toml age" => "config/bakeoff/ages/mine.toml",
            "ini fio" => "mine.fio",
            _ => continue,
        };
        let path = place.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, &block.text).expect("written");
    }
    let header = trace::Header { format: 1, threads: 1, command: vec!["app".into()], ..trace::Header::default() };
    let call = trace::Call::MakeFolder { path: "made".into(), mode: 0o755 };
    let action = trace::Action { thread: 0, think_ns: 0, took_ns: 0, result: 0, call, after: Vec::new() };
    let app = trace::Trace { header, tree: Vec::new(), actions: vec![action] };
    std::fs::write(place.path("app.trace"), trace::packed(&app).expect("it is packed")).expect("written");
}

/// `run` as a plan: the same arguments without those of a run only; a device is replaced by an image.
fn as_plan(place: &Place, words: &[String]) -> Vec<String> {
    let mut plan = vec!["plan".to_string()];
    let mut words = words.iter().skip(2);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--on" | "--erase" => drop(words.next()),
            "--dir" | "--copy-in" => {
                let folder = place.path(words.next().expect("a folder").trim_start_matches('/'));
                std::fs::create_dir_all(&folder).expect("made");
                plan.extend([word.clone(), folder.display().to_string()]);
            }
            _ => plan.push(word.clone()),
        }
    }
    plan
}

#[test]
fn every_run_that_is_shown_can_be_planned() {
    needs!(root, xfs, btrfs, fio, git, postgres);
    let place = Place::new();
    std::fs::create_dir(place.path("published")).expect("made");
    std::fs::copy(top().join("published/recipes.csv"), place.path("published/recipes.csv")).expect("copied");
    let room = Room::new(place.path("room"));
    save_files(&place);
    let mut wrong = Vec::new();
    let shown = commands_in_blocks().into_iter().chain(commands_in_sentences()).chain(commands_in_help());
    for (shown, words) in shown.filter(|(_, words)| words.get(1).is_some_and(|verb| verb == "run" || verb == "plan")) {
        // Words in capitals are placeholders.
        let is_placeholder = |part: &str| part.len() > 2 && part.chars().all(|c| c.is_ascii_uppercase());
        if words.iter().any(|word| word.split([',', '=', '|', '/']).any(is_placeholder)) {
            continue;
        }
        let mut plan = as_plan(&place, &words);
        if !plan.iter().any(|word| word == "--dir" || word == "--scratch") {
            plan.extend(["--scratch".into(), room.0.display().to_string()]);
        }
        let output = place.bakeoff_words(&plan);
        if output.status != Some(0) {
            wrong.push(format!("{shown}\n  {plan:?}\n  {}", output.err));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_that_is_shown_is_read() {
    let mut read = 0;
    for block in blocks().iter().filter(|block| block.holds.starts_with("toml")) {
        let place = Place::new();
        save_files(&place);
        let folder = place.path("srv");
        std::fs::create_dir_all(&folder).expect("made");
        let output = match block.holds.as_str() {
            "toml workload" => place.bakeoff("plan mine.toml --dir srv"),
            "toml plan" => {
                place.write("plan.toml", &block.text);
                place.bakeoff("plan plan.toml")
            }
            "toml age" => place.bakeoff("plan sequential --fs ext4 --age mine"),
            "toml filesystem" => {
                std::fs::create_dir_all(place.path("config/bakeoff/filesystems")).expect("made");
                place.write("config/bakeoff/filesystems/mine.toml", &block.text);
                place.bakeoff("plan sequential --fs mine")
            }
            "toml contenders" => {
                std::fs::create_dir_all(place.path("config/bakeoff")).expect("made");
                place.write("config/bakeoff/contenders.toml", &block.text);
                place.bakeoff("plan sequential --fs ext4")
            }
            other => panic!("{}: no test reads {other}", block.place),
        };
        assert_eq!(output.status, Some(0), "{}: {}", block.place, output.err);
        read += 1;
    }
    assert!(read >= 3, "the documents show files");
}

/// Documented verbs that read a ledger, on a ledger with matching content.
#[test]
fn every_look_at_a_ledger_that_is_shown_works() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("a")).expect("made");
    std::fs::create_dir(place.path("b")).expect("made");
    place
        .bakeoff("run small-files --set files=200 --set some=50 --dir a --dir b --samples 3 --plain --no-report")
        .well();
    let looks = ["show", "report", "compare", "claims", "export", "systems", "workloads", "doctor"];
    let mut wrong = Vec::new();
    for (shown, words) in commands_in_blocks() {
        if words[0] != "bakeoff" || !words.get(1).is_some_and(|verb| looks.contains(&verb.as_str())) {
            continue;
        }
        // Contenders and axes of the README's own runs differ from those of this one.
        if words.iter().any(|word| word == "--pivot" || word == "--why" || word == "--fetch") || words[1] == "compare" {
            continue;
        }
        let output = place.bakeoff_words(&words[1..]);
        if output.status != Some(0) {
            wrong.push(format!("{shown}: {}", output.err));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every mix in documents or the help can be judged in a run of the work that it is about.
#[test]
fn every_mix_that_is_shown_can_be_weighed() {
    let place = Place::in_memory();
    std::fs::create_dir(place.path("a")).expect("made");
    place.bakeoff("run small-files --set files=200 --set some=50 --dir a --samples 3 --plain --no-report").well();
    let shown = commands_in_blocks().into_iter().chain(commands_in_sentences());
    let after = |words: Vec<String>| words.windows(2).find(|pair| pair[0] == "--mix").map(|pair| pair[1].clone());
    let mut mixes: Vec<String> = shown.filter_map(|(_, words)| after(words)).collect();
    let help = place.bakeoff("show --help").well().out;
    let in_help = |word: &str| word.trim_end_matches(',').to_owned();
    mixes.extend(help.split_whitespace().filter(|word| word.starts_with("create=")).map(in_help));
    assert!(mixes.len() >= 3, "{mixes:?}");
    for mix in mixes {
        place.bakeoff_words(&["show".into(), "--mix".into(), mix]).well();
    }
}

/// Crates that a manifest depends on, and those that only its tests need.
fn needs_of(manifest: &Path) -> (Vec<String>, Vec<String>) {
    let text = std::fs::read_to_string(manifest).expect("a manifest");
    let (mut used, mut tested) = (Vec::new(), Vec::new());
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']').into();
        } else if let Some((name, _)) = line.split_once(['.', ' ', '=']).filter(|_| !line.starts_with('#')) {
            match section.as_str() {
                "dependencies" => used.push(name.to_owned()),
                "dev-dependencies" => tested.push(name.to_owned()),
                _ => {}
            }
        }
    }
    (used, tested)
}

/// `a, b; tests of c` for each foreign crate, as in docs/dependencies.md.
fn users() -> BTreeMap<String, String> {
    let mut found: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    let crates = std::fs::read_dir(top().join("crates")).expect("crates").flatten().map(|entry| entry.path());
    let mut rooms: Vec<PathBuf> = crates.collect();
    rooms.sort();
    rooms.extend(["benches", "fuzz"].map(|room| top().join(room)));
    let name = |room: &PathBuf| room.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let own: Vec<String> = rooms.iter().map(name).collect();
    for room in &rooms {
        let (used, tested) = needs_of(&room.join("Cargo.toml"));
        let tested = tested.into_iter().filter(|one| !used.contains(one)).collect::<Vec<_>>();
        used.iter().for_each(|one| found.entry(one.clone()).or_default().0.push(name(room)));
        tested.into_iter().for_each(|one| found.entry(one).or_default().1.push(name(room)));
    }
    let in_words = |(used, tested): (Vec<String>, Vec<String>)| match (used.join(", "), tested.join(", ")) {
        (used, tested) if tested.is_empty() => used,
        (used, tested) if used.is_empty() => format!("tests of {tested}"),
        (used, tested) => format!("{used}; tests of {tested}"),
    };
    found.into_iter().filter(|(one, _)| !own.contains(one)).map(|(one, by)| (one, in_words(by))).collect()
}

#[test]
fn every_dependency_is_listed_with_its_users() {
    let text = std::fs::read_to_string(top().join("docs/dependencies.md")).expect("it is there");
    let rows = text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| crate "));
    let cells = |line: &str| line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect::<Vec<_>>();
    let listed: BTreeMap<String, String> = rows.map(cells).map(|cells| (cells[0].clone(), cells[1].clone())).collect();
    assert_eq!(listed, users());
}

#[test]
fn the_tour_of_the_code_leads_to_functions_that_are_there() {
    let tour = std::fs::read_to_string(top().join("docs/architecture.md")).expect("the tour");
    let mut stops = 0;
    for line in tour.lines().filter(|line| line.starts_with('|') && line.contains('`')) {
        let quoted: Vec<&str> = line.split('`').skip(1).step_by(2).collect();
        let [.., file, function] = quoted.as_slice() else { panic!("a file and a function: {line}") };
        let code = std::fs::read_to_string(top().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let begins = [format!("fn {function}("), format!("fn {function}<")];
        assert!(begins.iter().any(|begin| code.contains(begin)), "{file} has no {function}");
        stops += 1;
    }
    assert!(stops > 15, "{stops}");
}
