//! The help: short for verbs with many options, complete by topic. The texts and topics come from the declarations.
//! In: the command line's declaration, the words after `bakeoff help`. Out: the command to parse, and text.

use crate::args::{Arguments, HelpArgs};
use crate::failure::Failure;
use crate::questions;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, CommandFactory, FromArgMatches};

/// The topic of every option.
const ALL: &str = "all";

/// The topic that lists questions and the commands that answer them.
const QUESTIONS: &str = "questions";

/// The verb of a topic that is given without one.
const MAIN: &str = "run";

/// Reads the command line.
///
/// # Errors
/// Help was requested, or the command line is invalid.
pub fn parsed() -> Result<Arguments, clap::Error> {
    let mut command = shortened();
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The declarations. A plan accepts options of a run that have no effect on it; its help omits them.
pub fn declared() -> Command {
    let hidden = |arg: Arg| {
        let is_unused = ["report", "no_report", "fail_on", "plain", "serve"].contains(&arg.get_id().as_str());
        if is_unused { arg.hide(true) } else { arg }
    };
    Arguments::command().mut_subcommand("plan", |plan| plan.mut_args(hidden))
}

/// Every verb and option, for manual pages and completions.
pub fn complete() -> Command {
    let command = declared();
    // The parser keeps words for good, so they are leaked; this happens once.
    let words: Vec<&str> = words(&command).into_iter().map(|word| &*word.leak()).collect();
    let listed = |arg: Arg| arg.value_parser(PossibleValuesParser::new(words));
    command.mut_subcommand("help", |help| help.mut_arg("words", listed))
}

/// `bakeoff help`
///
/// # Errors
/// No such verb or topic.
pub fn help(args: &HelpArgs) -> Result<u8, Failure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    // As for `--help`, it is no error if the output closes early.
    let _ = match page(&words)? {
        Page::Questions => {
            print!("{}", questions::text());
            Ok(())
        }
        Page::Whole(text) => text.print(),
        Page::Topic(mut verb) => verb.print_long_help(),
    };
    Ok(0)
}

/// A help text.
enum Page {
    /// From question to command.
    Questions,
    /// As `--help` prints it.
    Whole(clap::Error),
    /// A verb reduced to one topic.
    Topic(Box<Command>),
}

fn page(words: &[&str]) -> Result<Page, Failure> {
    let short = shortened();
    let of_main = short.find_subcommand(MAIN).map(topics).unwrap_or_default();
    match words {
        [] => whole(short, &[]),
        [QUESTIONS] => Ok(Page::Questions),
        [word] if *word == ALL || of_main.iter().any(|topic| topic == word) => on_topic(MAIN, word),
        [word, rest @ ..] => match (short.find_subcommand(word).is_some(), rest) {
            (true, []) => whole(short, &[word]),
            (true, [topic, ..]) => on_topic(word, topic),
            (false, _) => {
                let lists = "`bakeoff help` lists the verbs, `bakeoff help run` the topics";
                Err(unknown(word, "no verb or topic", &self::words(&short), lists))
            }
        },
    }
}

fn whole(command: Command, verb: &[&str]) -> Result<Page, Failure> {
    let asked = ["bakeoff"].iter().chain(verb).chain(&["--help"]);
    match command.try_get_matches_from(asked) {
        Err(text) => Ok(Page::Whole(text)),
        Ok(_) => Err(Failure::new("the parser has no help")),
    }
}

/// All options of a verb on one topic, in full.
fn on_topic(verb: &str, topic: &str) -> Result<Page, Failure> {
    if topic == ALL {
        return whole(declared(), &[verb]);
    }
    let mut all = declared();
    all.build();
    let verb =
        all.find_subcommand(verb).ok_or_else(|| Failure::usage(format!("`{verb}`: no verb has this name")))?.clone();
    let (name, mut known) = (verb.get_name(), topics(&verb));
    if known.is_empty() {
        let why = format!("`bakeoff {name}` has no topics: `bakeoff help {name}` shows all its options");
        return Err(Failure::usage(why));
    }
    if !known.iter().any(|known| known == topic) {
        known.push(ALL.to_owned());
        let lists = format!("topics: {}", known.join(", "));
        return Err(unknown(topic, &format!("no topic of `bakeoff {name}`"), &known, &lists));
    }
    let only = |arg: Arg| {
        let hidden = topic_of(&arg).is_none_or(|its| its != topic);
        arg.hide(hidden)
    };
    let verb = verb.mut_args(only).help_template("{usage-heading} {usage}\n\n{all-args}\n");
    Ok(Page::Topic(Box::new(verb)))
}

/// The command as it is parsed: the help of verbs with topics shows only the options that most runs need.
fn shortened() -> Command {
    let all = declared();
    let long: Vec<String> =
        all.get_subcommands().filter(|verb| !topics(verb).is_empty()).map(|verb| verb.get_name().to_owned()).collect();
    let ledger = all.get_arguments().find(|arg| arg.get_id() == "ledger").cloned();
    long.iter().fold(all, |all, verb| all.mut_subcommand(verb, |verb| short(verb, ledger.as_ref())))
}

fn short(verb: Command, ledger: Option<&Arg>) -> Command {
    let more = format!(
        "More options: bakeoff help {} TOPIC, with TOPIC one of\n  {}, {ALL}",
        verb.get_name(),
        topics(&verb).join(", ")
    );
    let after = verb.get_after_help().map(|examples| format!("{examples}\n\n")).unwrap_or_default() + &more;
    let help = Arg::new("help").short('h').long("help").action(ArgAction::HelpShort).help("Print help").hide(true);
    let ledger = ledger.map(|arg| arg.clone().help_heading("Output"));
    verb.disable_help_flag(true).arg(help).args(ledger).after_help(after)
}

/// The topics of a verb: the headings of its options.
fn topics(verb: &Command) -> Vec<String> {
    let mut topics = Vec::new();
    for topic in verb.get_arguments().filter_map(topic_of) {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    topics
}

fn topic_of(arg: &Arg) -> Option<String> {
    arg.get_help_heading().map(str::to_lowercase)
}

fn verbs(command: &Command) -> Vec<String> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set()).map(|verb| verb.get_name().to_owned()).collect()
}

/// Words that may follow `bakeoff help`.
fn words(command: &Command) -> Vec<String> {
    let of_main = command.find_subcommand(MAIN).map(topics).unwrap_or_default();
    verbs(command).into_iter().chain(of_main).chain([ALL, QUESTIONS].map(str::to_owned)).collect()
}

fn unknown(word: &str, what: &str, known: &[String], lists: &str) -> Failure {
    let hint = workload::did_you_mean(word, known.iter().map(String::as_str));
    Failure::usage(format!("`{word}`: {what} has this name{hint} ({lists})"))
}
