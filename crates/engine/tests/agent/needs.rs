//! Steps that not every filesystem supports: carried out if supported, otherwise reported in advance.

use crate::common::*;
use std::collections::BTreeMap;
use workload::message::{Reply, Request};
use workload::program::*;

fn set(directory: &str, copies: Option<usize>) -> Fileset {
    let content = Content { verify: true, ..Content::default() };
    Fileset { name: directory.into(), content, copies, ..fileset(directory, 20, Size::Uniform(9_000, 9_000)) }
}

fn over(fileset: usize, steps: &[Step]) -> Phase {
    phase(vec![group(Over::Files { fileset }, steps)])
}

/// Loads programs of one phase with this step; a folder in memory has neither reflinks nor tools.
fn lacking(root: &std::path::Path, phases: Vec<Phase>) -> Vec<workload::message::Lack> {
    let mut agent = Agent::start();
    match agent.ask(&Request::Load(Box::new(program(root, vec![set("a", None), set("b", Some(0))], phases)))) {
        Reply::Loaded { lacking } => lacking,
        other => panic!("{other:?}"),
    }
}

#[test]
fn impossible_phases_are_listed_by_number_with_the_systems_answer() {
    let folder = folder();
    let tool = phase(vec![group(Over::Volume, &[Step::Volume(VolumeTool::Rollback, Vec::new())])]);
    let needs = vec![Need::Tool(VolumeTool::Rollback)];
    let lines = lacking(folder.path(), vec![over(0, &create()), tool, Phase { needs, ..over(0, &create()) }]);
    assert_eq!(lines.iter().map(|lack| lack.phase).collect::<Vec<_>>(), [1, 2], "{lines:?}");
    assert!(lines.iter().all(|lack| lack.why.contains("rollback to a snapshot")), "{lines:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "what was tried is gone");
}

#[test]
fn copies_hold_what_their_source_held_and_then_what_was_written_to_them() {
    let folder = folder();
    let phases = vec![
        over(0, &create()),
        over(0, &[Step::CopyRange("b".into())]),
        over(1, &[Step::OpenTruncate, Step::Write, Step::Close]),
        over(1, &[Step::Open, Step::Read, Step::Close]),
        over(0, &[Step::Open, Step::Read, Step::Close]),
    ];
    let mut agent = Agent::with(&program(folder.path(), vec![set("a", None), set("b", Some(0))], phases));
    (0..5).for_each(|phase| assert_eq!(agent.done(phase).items, 20, "phase {phase}"));
    for phase in [3, 4] {
        let verified = agent.done(phase).verified.expect("it is verified");
        assert_eq!((verified.blocks, verified.wrong), (60, 0), "{verified:?}");
    }
}

#[test]
fn a_source_that_holds_what_was_written_to_its_clone_is_found() {
    let folder = folder();
    let phases = vec![
        over(0, &create()),
        over(0, &[Step::CopyRange("b".into())]),
        over(1, &[Step::OpenTruncate, Step::Write, Step::Close]),
        over(0, &[Step::Open, Step::Read, Step::Close]),
    ];
    let mut agent = Agent::with(&program(folder.path(), vec![set("a", None), set("b", Some(0))], phases));
    (0..3).for_each(|phase| drop(agent.done(phase)));
    // Like a filesystem that shares a block once too often.
    std::fs::copy(folder.path().join("b/7"), folder.path().join("a/7")).unwrap();
    let verified = agent.done(3).verified.expect("it is verified");
    assert_eq!(verified.wrong, 3, "{verified:?}");
    assert!(verified.first[0].contains("another file"), "{verified:?}");
}

#[test]
fn files_without_names_get_theirs_and_keep_what_was_set() {
    let folder = folder();
    let make = [Step::OpenTmpfile, Step::Write, Step::SetXattr(100), Step::SetAcl, Step::LinkTmpfile, Step::Close];
    let look = [Step::Open, Step::Readahead, Step::GetXattr, Step::GetAcl, Step::Read, Step::DropCached, Step::Close];
    let phases = vec![over(0, &make), over(0, &look)];
    if !lacking(folder.path(), phases.clone()).is_empty() {
        return prerequisites::leave_out("tmpfs attributes", "memory's filesystem has no attributes of users here");
    }
    let mut agent = Agent::with(&program(folder.path(), vec![set("a", None)], phases));
    assert_eq!((agent.done(0).items, agent.done(1).items), (20, 20));
    assert_eq!(std::fs::read_dir(folder.path().join("a")).unwrap().count(), 20);
    let read = agent.done(1).verified.expect("it is verified");
    assert_eq!((read.blocks, read.wrong), (60, 0));
}

#[test]
fn space_is_given_taken_and_cut() {
    let folder = folder();
    let give = [Step::Create, Step::Fallocate, Step::Close];
    let change = [Step::OpenReadWrite, Step::PunchHole, Step::Truncate(50), Step::Close];
    let mut agent = Agent::with(&program(folder.path(), vec![set("a", None)], vec![over(0, &give), over(0, &change)]));
    let facts = || std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(folder.path().join("a/3")).unwrap());
    agent.done(0);
    assert!(facts() * 512 >= 9_000, "space was given without a write");
    assert_eq!(std::fs::metadata(folder.path().join("a/3")).unwrap().len(), 9_000);
    agent.done(1);
    assert_eq!((facts(), std::fs::metadata(folder.path().join("a/3")).unwrap().len()), (0, 4_500));
}

#[test]
fn a_tool_is_run_for_each_number_and_its_failure_names_the_command() {
    let folder = folder();
    let step = Step::Volume(VolumeTool::Snapshot, Vec::new());
    let three = Group { first: 4, count: Some(3), ..group(Over::Volume, std::slice::from_ref(&step)) };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mark = format!("{}/{{snapshot}}", folder.path().display());
    let tools = |commands: Vec<Vec<String>>| BTreeMap::from([(VolumeTool::Snapshot, commands)]);
    let plain = program(folder.path(), vec![], vec![phase(vec![three])]);
    let good = tools(vec![words(&["mkdir", &mark]), words(&["rmdir", &mark]), words(&["touch", &mark])]);
    let mut agent = Agent::with(&Program { tools: good, ..plain.clone() });
    assert_eq!(agent.done(0).items, 3);
    let mut names: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["bakeoff-4", "bakeoff-5", "bakeoff-6"]);
    let mut agent = Agent::with(&Program { tools: tools(vec![words(&["mkdir", &mark])]), ..plain });
    match agent.perform(0) {
        Reply::Failed { reason, .. } => assert!(reason.contains("mkdir") && reason.contains("bakeoff-4"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
