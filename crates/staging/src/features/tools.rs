//! Features that need options or tools: quotas, case folding, compression, snapshots, several devices, growing, shrinking.
//! In: a target of images and a filesystem with its keys under `[features]`. Out: answers, by observed effects.
//! A tool's success alone does not prove the feature: a quota is shown, a snapshot is read, sizes are checked.

use super::{Answer, Found};
use crate::devices::image;
use crate::error::StagingError;
use crate::filesystems::description::Filesystem;
use crate::filesystems::feature_tools::{More, Options, Resize};
use crate::filesystems::snapshots::SnapshotFacts;
use crate::stage::Stage;
use crate::stage::target::{Target, Where};
use records::Contender;
use records::show_bytes;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::Command;

/// How long one tool may take.
pub(super) const TOOL_LIMIT: Duration = Duration::from_secs(60);
/// Bytes of repeated text, which can be compressed.
const TEXT: usize = 16 << 20;
/// Number of the image of a second device; images of stages are counted from 1.
const SECOND: u32 = 1000;

/// Features that depend on options of mkfs or mount.
pub(super) fn with_options(target: &mut Target, filesystem: &Filesystem, found: &mut Found) {
    let tools = &filesystem.features;
    found.put("quota", optional(target, filesystem, tools.quota.as_ref(), &quota));
    found.put("casefold", optional(target, filesystem, tools.casefold.as_ref(), &casefold));
    found.put("compression", optional(target, filesystem, tools.compression.as_ref(), &compression));
}

type Try<'a> = &'a dyn Fn(&mut Stage<'_>, &Options) -> Result<Answer, StagingError>;

/// The feature with its options; without any, it is missing.
fn optional(target: &mut Target, filesystem: &Filesystem, options: Option<&Options>, try_it: Try) -> Answer {
    let Some(options) = options else {
        return Answer::no("it has no option or tool for this");
    };
    let contender = Contender {
        label: filesystem.name.clone(),
        mkfs: options.mkfs.clone(),
        mount: options.mount.clone(),
        ..Contender::plain(&filesystem.name)
    };
    match on_stage(target, &contender, &mut |stage| try_it(stage, options)) {
        Ok(answer) => answer,
        // The filesystem may have it while this kernel or these tools do not: that is not the same as no.
        Err(error) => Answer { text: "refused here".into(), ..Answer::no(error.to_string()) },
    }
}

/// Tries something on a fresh stage, which is torn down without a check.
pub(super) fn on_stage(
    target: &mut Target,
    contender: &Contender,
    try_it: &mut dyn FnMut(&mut Stage<'_>) -> Result<Answer, StagingError>,
) -> Result<Answer, StagingError> {
    let mut stage = target.stage(contender)?;
    try_it(&mut stage)
}

/// The same with default options: a refusing tool is answered with no, a filesystem that cannot be made now with unknown.
fn on_fresh(
    target: &mut Target,
    plain: &Contender,
    try_it: &mut dyn FnMut(&mut Stage<'_>) -> Result<Answer, StagingError>,
) -> Answer {
    match target.stage(plain) {
        Err(error) => Answer::unknown(error.to_string()),
        Ok(mut stage) => try_it(&mut stage).unwrap_or_else(|error| Answer::no(error.to_string())),
    }
}

/// The options in words.
fn by(options: &Options) -> String {
    let mkfs = (!options.mkfs.is_empty()).then(|| format!("mkfs {}", options.mkfs.join(" ")));
    let mount = (!options.mount.is_empty()).then(|| format!("mount -o {}", options.mount));
    let then = if mkfs.is_some() || mount.is_some() { "then " } else { "" };
    let command = options.command.first().map(|first| format!("{then}{first}"));
    [mkfs, mount, command].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn quota(stage: &mut Stage<'_>, options: &Options) -> Result<Answer, StagingError> {
    // Staging has already read the options back.
    if !options.command.is_empty() {
        run(stage, &options.command, &More::default())?;
    }
    Ok(Answer::yes(format!("by {}", by(options))))
}

fn casefold(stage: &mut Stage<'_>, options: &Options) -> Result<Answer, StagingError> {
    let folder = stage.state.root.join("folded");
    let seen = stage.state.seen(&folder);
    std::fs::create_dir(&seen).map_err(|error| StagingError::file("make", &seen, error))?;
    if !options.command.is_empty() {
        run(stage, &options.command, &More { folder: Some(&folder), ..More::default() })?;
    }
    std::fs::write(seen.join("Name"), "x").map_err(|error| StagingError::file("write into", &seen, error))?;
    let how = format!("by {}: a file Name, opened as nAME", by(options));
    Ok(if seen.join("nAME").exists() { Answer::yes(how) } else { Answer::no(how) })
}

fn compression(stage: &mut Stage<'_>, options: &Options) -> Result<Answer, StagingError> {
    let before = stage.usage()?.used_bytes;
    let text: Vec<u8> = b"The same words again and again. ".iter().copied().cycle().take(TEXT).collect();
    let path = stage.state.seen(&stage.state.root).join("text");
    std::fs::write(&path, &text).map_err(|error| StagingError::file("write", &path, error))?;
    stage.sync()?;
    let grown = stage.usage()?.used_bytes.saturating_sub(before);
    let how = format!("by {}: {} of repeated text take {}", by(options), show_bytes(TEXT as u64), show_bytes(grown));
    Ok(if grown < TEXT as u64 / 4 { Answer::yes(how) } else { Answer::no(how) })
}

/// Operations on the volume as a whole, each on a fresh one.
pub(super) fn on_volume(target: &mut Target, filesystem: &Filesystem, found: &mut Found) {
    let plain = Contender::plain(&filesystem.name);
    let tools = &filesystem.features;
    let facts = filesystem.snapshots.as_ref();
    let none = || Answer::no("it has no tool for this");
    let mut put = |key, answer: Option<Answer>| found.put(key, answer.unwrap_or_else(none));
    let mut fresh =
        |try_it: &mut dyn FnMut(&mut Stage<'_>) -> Result<Answer, StagingError>| on_fresh(target, &plain, try_it);
    put("snapshots", facts.map(|facts| fresh(&mut |stage| snapshot(stage, facts))));
    put("delete_snapshot", facts.map(|facts| fresh(&mut |stage| deleted_again(stage, facts))));
    let back = facts.filter(|facts| !facts.rollback.is_empty());
    put("rollback", back.map(|facts| fresh(&mut |stage| rolled_back(stage, facts))));
    put("scrub", (!tools.scrub.is_empty()).then(|| fresh(&mut |stage| scrubbed(stage, &tools.scrub))));
    put("grow", tools.grow.as_ref().map(|resize| fresh(&mut |stage| grow(stage, resize))));
    put("shrink", tools.shrink.as_ref().map(|resize| fresh(&mut |stage| shrink(stage, resize))));
    let several = || several_devices(target, &plain).unwrap_or_else(|error| Answer::no(error.to_string()));
    put("several_devices", (!tools.several_devices.is_empty()).then(several));
}

/// Name of the snapshot that is tried.
const SNAPSHOT: &str = "bakeoff-probe";

/// Runs commands of `[snapshots]` one after the other. Returns them in words.
fn by_commands(stage: &Stage<'_>, commands: &[Vec<String>]) -> Result<String, StagingError> {
    let mut lines = Vec::new();
    for words in stage.filled(commands) {
        let words: Vec<String> = words.iter().map(|word| word.replace("{snapshot}", SNAPSHOT)).collect();
        let (line, doing) = (words.join(" "), format!("running {}", words.first().map_or("", String::as_str)));
        stage.run(Command::new(words).prefixed(stage.enter()), TOOL_LIMIT, &doing)?;
        lines.push(line);
    }
    Ok(lines.join(", "))
}

/// A file that is changed after a snapshot was taken.
fn changed_after(stage: &mut Stage<'_>, facts: &SnapshotFacts) -> Result<(PathBuf, String), StagingError> {
    by_commands(stage, &facts.prepare)?;
    let file = stage.seen().join("changed");
    let write = |text: &str| std::fs::write(&file, text).map_err(|error| StagingError::file("write", &file, error));
    write("before")?;
    stage.sync()?;
    let how = by_commands(stage, &facts.take)?;
    write("after")?;
    stage.sync()?;
    Ok((file, how))
}

/// A snapshot is deleted: a second deletion fails, and later changes of the file stay.
fn deleted_again(stage: &mut Stage<'_>, facts: &SnapshotFacts) -> Result<Answer, StagingError> {
    let (file, _) = changed_after(stage, facts)?;
    let how = by_commands(stage, &facts.delete)?;
    if by_commands(stage, &facts.delete).is_ok() {
        return Ok(Answer::no(format!("{how}: it can be deleted twice, so the first deletion had no effect")));
    }
    let now = std::fs::read_to_string(&file).map_err(|error| StagingError::file("read", &file, error))?;
    Ok(match now == "after" {
        true => Answer::yes(format!("{how}; the file itself stays unchanged")),
        false => Answer::no(format!("{how}: this changes the file itself")),
    })
}

fn snapshot(stage: &mut Stage<'_>, facts: &SnapshotFacts) -> Result<Answer, StagingError> {
    let (_, how) = changed_after(stage, facts)?;
    by_commands(stage, &facts.show)?;
    let seen = facts.seen.replace("{snapshot}", SNAPSHOT);
    let kept = stage.state.seen(&stage.state.places.mountpoint.join(seen)).join("changed");
    let how = format!("{how}: a file that changed afterwards");
    Ok(match std::fs::read_to_string(&kept) {
        Ok(text) if text == "before" => Answer::yes(format!("{how} has its old content there")),
        Ok(_) => Answer::no(format!("{how} has its new content there, too")),
        Err(error) => Answer::no(format!("{how} cannot be read there: {error}")),
    })
}

fn rolled_back(stage: &mut Stage<'_>, facts: &SnapshotFacts) -> Result<Answer, StagingError> {
    let (file, _) = changed_after(stage, facts)?;
    let how = by_commands(stage, &facts.rollback)?;
    Ok(match std::fs::read_to_string(&file) {
        Ok(text) if text == "before" => Answer::yes(format!("{how}: a changed file has its old content")),
        Ok(_) => Answer::no(format!("{how}: a changed file keeps its new content")),
        Err(error) => Answer::no(format!("{how}: a changed file cannot be read: {error}")),
    })
}

fn scrubbed(stage: &Stage<'_>, command: &[String]) -> Result<Answer, StagingError> {
    run(stage, command, &More::default())?;
    Ok(Answer::yes(More::default().fill(&stage.state.places, command).join(" ")))
}

fn several_devices(target: &mut Target, plain: &Contender) -> Result<Answer, StagingError> {
    let Where::Image { bytes, folder } = target.place.clone() else {
        return Ok(Answer::unknown("only tried on images"));
    };
    let journal = target.journal.clone();
    let mut stage = target.stage(plain)?;
    let second = image::attach(&journal, &mut stage.target.mark, &folder, SECOND, bytes, 0)?;
    let answer = add_device(&mut stage, &second.device.path);
    drop(stage);
    let removed = second.remove(&journal, &mut target.mark);
    let answer = answer?;
    removed.map(|()| answer)
}

fn add_device(stage: &mut Stage<'_>, second: &Path) -> Result<Answer, StagingError> {
    let Some(command) = stage.state.filesystem.as_ref().map(|filesystem| filesystem.features.several_devices.clone())
    else {
        return Ok(Answer::unknown("no command is known"));
    };
    let before = stage.usage()?.total_bytes;
    run(stage, &command, &More { second: Some(second), ..More::default() })?;
    let after = stage.usage()?.total_bytes;
    let how = format!("a second device added: {} before, {} after", show_bytes(before), show_bytes(after));
    Ok(if after > before { Answer::yes(how) } else { Answer::no(how) })
}

fn grow(stage: &mut Stage<'_>, resize: &Resize) -> Result<Answer, StagingError> {
    let Some((file, device)) = stage.state.image.as_ref().map(|image| (image.file.clone(), image.device.path.clone()))
    else {
        return Ok(Answer::unknown("only tried on images"));
    };
    let bytes = std::fs::metadata(&file).map_err(|error| StagingError::file("inspect", &file, error))?.len() / 4 * 5;
    let doing = |what: &str| StagingError::command(format!("{what} {}", file.display()));
    let longer = Command::new(["truncate", "--size", &bytes.to_string(), &file.display().to_string()]);
    longer.run(&stage.target.journal).map_err(doing("extending"))?;
    let again = Command::new(["losetup", "--set-capacity", &device.display().to_string()]);
    again.run(&stage.target.journal).map_err(doing("showing the new size of"))?;
    resized(stage, resize, bytes >> 20, true)
}

fn shrink(stage: &mut Stage<'_>, resize: &Resize) -> Result<Answer, StagingError> {
    let bytes = stage.device().map_or(0, |device| device.size_bytes);
    resized(stage, resize, (bytes >> 20) / 4 * 3, false)
}

fn resized(stage: &mut Stage<'_>, resize: &Resize, mib: u64, longer: bool) -> Result<Answer, StagingError> {
    let before = stage.usage()?.total_bytes;
    let more = More { mib, ..More::default() };
    let mut refused = String::new();
    let mut offline = resize.offline;
    if !offline && let Err(error) = run(stage, &resize.command, &more) {
        if resize.unmounted.is_empty() {
            return Err(error);
        }
        refused = format!("refused while mounted ({error}); ");
        offline = true;
    }
    if offline {
        stage.take_off()?;
        run(stage, if resize.offline { &resize.command } else { &resize.unmounted }, &more)?;
        stage.put_back()?;
    }
    let after = stage.usage()?.total_bytes;
    let state = if offline { "unmounted" } else { "while mounted" };
    let how = format!("{refused}{state}: {} before, {} after", show_bytes(before), show_bytes(after));
    let did = if longer { after > before } else { after < before };
    let text = if offline { "yes, unmounted" } else { "yes, mounted" };
    Ok(if did { Answer { text: text.into(), ..Answer::yes(how) } } else { Answer::no(how) })
}

/// Runs a command of the filesystem's file.
pub(super) fn run(stage: &Stage<'_>, template: &[String], more: &More<'_>) -> Result<(), StagingError> {
    let words = more.fill(&stage.state.places, template);
    let doing = words.first().cloned().unwrap_or_default();
    Command::new(words)
        .prefixed(stage.enter())
        .limit(TOOL_LIMIT)
        .run(&stage.target.journal)
        .map(|_| ())
        .map_err(StagingError::command(format!("running {doing}")))
}
