//! Output of `--json` matches its documented schema: exactly its keys, each of its type.

mod made;
mod support;

use made::{Made, keep};
use prerequisites::needs;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use support::Place;

fn reference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// The documented schema of a form, made strict: an unknown key is an error.
fn schema(form: &str) -> Value {
    let path = reference().join(format!("{form}.schema.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut schema = serde_json::from_str(&text).expect("a schema is JSON");
    close(&mut schema);
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            keys.values_mut().for_each(close);
            if keys.get("type") == Some(&json!("object")) && keys.contains_key("properties") {
                keys.insert("additionalProperties".into(), json!(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// All violations of the schema in a document.
fn faults(form: &str, answer: &Value) -> Vec<String> {
    let validator = jsonschema::validator_for(&schema(form)).expect("a schema");
    validator.iter_errors(answer).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

/// The document that a command writes; checks it against its schema.
fn answer(place: &Place, form: &str, words: &str) -> Value {
    answer_with(place, form, words, 0)
}

fn answer_with(place: &Place, form: &str, words: &str, status: i32) -> Value {
    let output = place.bakeoff(words);
    assert_eq!(output.status, Some(status), "{words}: {}", output.err);
    let answer: Value =
        serde_json::from_str(&output.out).unwrap_or_else(|error| panic!("{words}: {error}: {}", output.out));
    assert_eq!(faults(form, &answer), Vec::<String>::new(), "{words}");
    assert_eq!(answer["schema"], format!("bakeoff-{form}"));
    answer
}

/// A ledger with a run of two directories.
fn measured() -> Place {
    let place = Place::in_memory();
    for folder in ["a", "b"] {
        std::fs::create_dir(place.path(folder)).expect("made");
    }
    place
        .bakeoff("run small-files --set files=200 --set some=50 --dir a --dir b --samples 3 --plain --no-report")
        .well();
    place
}

#[test]
fn a_wrong_document_does_not_pass() {
    let good = answer(&Place::new(), "workloads", "workloads mail --json");
    for (key, value) in [("plans", json!(null)), ("more", json!(1)), ("schema_version", json!(2))] {
        let mut bad = good.clone();
        bad[key] = value;
        assert!(!faults("workloads", &bad).is_empty(), "{key}");
    }
    let mut bad = good;
    bad["workloads"][0].as_object_mut().expect("a workload").remove("phases");
    assert!(!faults("workloads", &bad).is_empty(), "a missing key");
}

#[test]
fn every_list_matches_its_schema() {
    let place = Place::new();
    let systems = answer(&place, "systems", "systems --json");
    let names: Vec<&str> =
        systems["systems"].as_array().expect("a list").iter().filter_map(|s| s["name"].as_str()).collect();
    assert!(names.contains(&"ext4") && names.contains(&"xfs"), "{names:?}");
    let all = answer(&place, "workloads", "workloads --json");
    assert!(all["plans"].as_array().is_some_and(|plans| plans.len() > 3));
    let one = answer(&place, "workloads", "workloads small-files --json");
    let scales: Vec<&str> = one["workloads"][0]["scales"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|scale| scale["name"].as_str())
        .collect();
    assert_eq!((one["workloads"].as_array().map(Vec::len), scales), (Some(1), vec!["full", "guest", "quick"]));
    let features = answer(&place, "features", "features --dir . --json");
    assert_eq!(features["filesystems"][0]["features"].as_array().map(Vec::len), Some(36));
    answer(&place, "clean", "clean --dry-run --json");
}

#[test]
fn kernels_of_debian_are_listed_by_their_schema() {
    let place = Place::new();
    let output = place.bakeoff("systems --kernels --json");
    if output.status != Some(0) {
        prerequisites::leave_out("debian_suites", &format!("Debian's suites cannot be read: {}", output.err.trim()));
        return;
    }
    let found: Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(faults("kernels", &found), Vec::<String>::new());
    let names: Vec<&str> =
        found["kernels"].as_array().expect("a list").iter().filter_map(|k| k["name"].as_str()).collect();
    assert!(names.contains(&found["newest"].as_str().expect("the newest of them")), "{names:?}");
}

#[test]
fn the_doctor_answers_by_his_schema_and_with_his_status() {
    let place = Place::new();
    let output = place.bakeoff("doctor --json");
    let found: Value = serde_json::from_str(&output.out).expect("JSON");
    assert_eq!(faults("doctor", &found), Vec::<String>::new());
    assert_eq!(output.status, Some(i32::from(found["worst"] == "bad")));
    assert!(found["ceiling"]["generate_bytes_per_second"].as_f64().is_some_and(|rate| rate > 1e6));
}

#[test]
fn answers_of_publish_and_gallery_match_their_schemas() {
    let place = measured();
    let preview = answer(&place, "publish", "publish --json");
    assert_eq!((&preview["folder"], &preview["runs"][0]["written"]), (&Value::Null, &json!(false)));
    let written = answer(&place, "publish", "publish --out pub --json");
    assert_eq!((&written["folder"], &written["runs"][0]["written"]), (&json!("pub"), &json!(true)));
    let run = written["runs"][0]["run"].as_str().expect("an id");
    std::fs::create_dir(place.path("pub/broken")).expect("made");
    place.write("pub/broken/results.json", "{}");
    let gallery = answer(&place, "gallery", "gallery pub --out site --json");
    assert_eq!((&gallery["entries"][0]["run"], &gallery["machines"]), (&json!(run), &json!(1)));
    assert_eq!(gallery["refused"].as_array().map(Vec::len), Some(1));
    assert!(gallery["ratios"].as_array().is_some_and(|ratios| !ratios.is_empty()), "{gallery}");
    let stated = std::fs::read_to_string(place.path(&format!("pub/{run}/results.json"))).expect("it was written");
    assert_eq!(faults("published", &serde_json::from_str(&stated).expect("JSON")), Vec::<String>::new());
}

#[test]
fn a_plan_is_forecast_by_its_schema() {
    let place = Place::new();
    let plan = answer(&place, "plan", "plan small-files --dir . --seed 7 --samples 4 --json --commands");
    assert_eq!((&plan["seed"], &plan["blocks"]["least"]), (&json!(7), &json!(4)));
    assert_eq!(plan["place"]["kind"], "directories");
    assert!(plan["commands"]["trials"].as_array().is_some_and(|trials| !trials.is_empty()));
}

#[test]
fn a_plan_with_axes_and_ages_is_forecast_by_its_schema() {
    needs!(root, xfs);
    let words = "plan small-files --fs ext4,xfs --image 400MiB --scratch . --scheduler none,bfq --axis mkfs.block_size=1024,4096 \
                 --age fresh,old --fill 60% --json";
    let plan = answer(&Place::new(), "plan", words);
    let aged = plan["contenders"].as_array().expect("a list").iter().find(|one| {
        one["settings"]
            .as_array()
            .is_some_and(|all| all.iter().any(|setting| setting["name"] == "age" && setting["value"] == "old"))
    });
    assert!(aged.is_some(), "{plan:#}");
    assert!(plan["costs"]["ageing"]["bytes_once"].as_u64().is_some_and(|bytes| bytes > 0));
    assert_eq!(plan["commands"], Value::Null);
}

#[test]
fn images_are_planned_for_the_files_blocks_and_inodes_of_each_contender() {
    needs!(root, xfs);
    let size = |words: &str| {
        let plan = answer(&Place::new(), "plan", &format!("plan {words} --scratch . --json"));
        plan["place"]["bytes"].as_u64().expect("a size")
    };
    assert!(size("small-files --scale full --fs ext4") >= 300_002 * 16384);
    assert!(size("small-files --scale full --fs ext4 --mkfs ext4=-Tnews") < 300_002 * 16384);
    assert!(size("small-files --set files=1000000 --fs xfs") >= 1_000_000 * (4096 + 512));
    assert_eq!(size("small-files --fs xfs"), 2 << 30);
}

#[test]
fn the_time_of_programs_is_declared_or_unknown() {
    needs!(root);
    let seconds = |words: &str| {
        let plan = answer(&Place::new(), "plan", &format!("plan {words} --fs ext4 --no-twin --scratch . --json"));
        plan["costs"]["seconds_per_block"].as_f64()
    };
    let (few, many) = (seconds("git --set commits=100"), seconds("git --set commits=10000"));
    assert!(many > few.map(|few| few + 60.0), "{few:?}, {many:?}");
    assert_eq!(seconds("--command sync"), None);
    let output = Place::new().bakeoff("plan --command sync --fs ext4 --scratch .").well();
    assert!(output.out.contains("Time: unknown before the first round"), "{}", output.out);
}

#[test]
fn a_forecast_distinguishes_contenders_with_different_limits() {
    needs!(root);
    let words = "plan small-files --fs ext4 --image 400MiB --scratch . --axis limit.memory=512M,2G --json";
    let plan = answer(&Place::new(), "plan", words);
    let contenders = plan["contenders"].as_array().expect("a list").iter();
    let settings: Vec<&Value> = contenders.filter(|one| one["twin_of"].is_null()).map(|one| &one["settings"]).collect();
    let limit = |value: &str| json!([{"name": "limit.memory", "value": value}]);
    assert_eq!(settings, [&limit("512M"), &limit("2G")]);
}

#[test]
fn answers_about_a_ledger_match_their_schemas() {
    let place = measured();
    let runs = answer(&place, "runs", "show --runs --json");
    let id = runs["runs"][0]["id"].as_str().expect("an id").to_owned();
    assert_eq!(runs["runs"][0]["status"], "finished");
    let names: Vec<String> = {
        let results: Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
        let contenders = results["contenders"].as_array().expect("a list");
        contenders.iter().filter_map(|one| one["name"].as_str()).map(str::to_owned).collect()
    };
    let compared = answer(&place, "compare", &format!("compare {} {} --json", names[0], names[1]));
    assert_eq!(compared["a"], json!({"run": id, "contender": names[0]}));
    assert!(compared["comparison"]["rows"].as_array().is_some_and(|rows| rows.len() > 3));
    let whole = answer(&place, "compare", &format!("compare {id} {id} --json --fail-on worse:5%"));
    assert_eq!((&whole["fail_on"], &whole["failures"]), (&json!(0.05), &json!([])));
    let claims = answer(&place, "claims", "claims --json");
    assert!(
        claims["claims"].as_array().is_some_and(|claims| claims.iter().any(|one| one["outcome"] == "not-testable"))
    );
}

/// `--fail-on` reports regressions by its exit status and by row.
#[test]
fn a_regression_is_named_by_its_rows() {
    let place = Place::new();
    let before = keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.0)], 6);
    let after = keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.1)], 6);
    let words = format!("compare {before} {after} --json --fail-on worse:5%");
    let worse = answer_with(&place, "compare", &words, 4);
    let failures = worse["failures"].as_array().expect("a list");
    let row = failures.first().and_then(Value::as_u64).expect("a row") as usize;
    assert_eq!(worse["comparison"]["rows"][row]["change"], "worse", "{worse:#}");
}

#[test]
fn an_error_is_no_document() {
    let output = Place::new().bakeoff("compare neither nothing --json");
    assert_ne!(output.status, Some(0));
    assert!(output.out.is_empty() && !output.err.is_empty(), "{} {}", output.out, output.err);
}

#[test]
fn the_reference_is_what_the_declarations_say() {
    let place = Place::new();
    place.bakeoff("manual --reference --folder reference").well();
    let mut written = names(&place.path("reference"));
    let mut kept = names(&reference());
    written.sort();
    kept.sort();
    assert_eq!(written, kept, "run `make reference`");
    for name in written {
        let read = |folder: &Path| std::fs::read_to_string(folder.join(&name)).expect("a text");
        assert_eq!(read(&place.path("reference")), read(&reference()), "{name}: run `make reference`");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
