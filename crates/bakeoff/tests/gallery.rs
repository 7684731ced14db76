//! Published runs are anonymous; a gallery judges them again, rejects runs that differ from their statement, and works in a browser.

mod made;
mod support;

use ledger::import::Imported;
use ledger::published::unpacked;
use ledger::{Access, Ledger};
use made::{Made, keep};
use prerequisites::needs;
use records::{BlockDevice, Machine};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::Place;

/// Words that identify the machine.
const SECRETS: [&str; 6] = ["annas-kitchen", "annabel", "s4planted77", "holiday-plans", "5000c500a1b2c3d4", "/srv/"];
/// Size limit of a page with a thousand runs, in bytes.
const PAGE_LIMIT: u64 = 5_000_000;

/// A made-up run as stored: ext4, xfs and btrfs, with all details of Annabel's machine.
fn whole(xfs: f64) -> Imported {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let path = folder.path().join("one.db");
    let run = keep(&path, &[Made::of("ext4", 1.0), Made::of("xfs", xfs), Made::of("btrfs", 1.5)], 6);
    let ledger = Ledger::open(&path, Access::Read).expect("it opens");
    let (contenders, trials) = (ledger.contenders(&run).expect("contenders"), ledger.trials(&run).expect("trials"));
    Imported { run: ledger.run(Some(&run)).expect("the run"), contenders, trials }
}

/// Stores the run of machine `number` in a ledger.
fn keep_machine(ledger: &mut Ledger, base: &Imported, number: usize) -> String {
    let mut one = base.clone();
    one.run.id = format!("20261124-{:06}-{number:04x}", 100_000 + number);
    one.run.began_ms = 1_790_000_000_000 + number as i64 * 86_400_000;
    one.run.ended_ms = Some(one.run.began_ms + 60_000);
    one.run.new.machine = Some(Machine {
        hostname: "annas-kitchen".into(),
        kernel: ["6.1.0", "6.12.9", "6.18.2"][number % 3].into(),
        memory_bytes: (4 + number as u64) << 30,
        ..Machine::default()
    });
    let device = BlockDevice {
        name: ["sda", "nvme0n1", "sdb"][number % 3].into(),
        rotational: number.is_multiple_of(3),
        model: Some(["Turning 7200", "Quick 5", "Flash 2"][number % 3].into()),
        serial: Some("S4PLANTED77".into()),
        wwid: Some("naa.5000c500a1b2c3d4".into()),
        ..BlockDevice::default()
    };
    for trial in &mut one.trials {
        trial.remarks = vec!["seen by annabel on annas-kitchen at /srv/holiday-plans".into()];
        trial.found.as_mut().expect("it was found").below = vec![device.clone()];
    }
    ledger.keep_imported(&one).expect("it is kept")
}

/// A folder with the published runs of so many machines; on each, xfs takes about twice as long as ext4.
fn published(machines: usize) -> Place {
    let place = Place::new();
    let mut ledger = Ledger::open(&place.path("bakeoff.db"), Access::Write).expect("a ledger");
    let kinds = [1.9, 2.0, 2.1].map(whole);
    for number in 0..machines {
        keep_machine(&mut ledger, &kinds[number % 3], number);
    }
    drop(ledger);
    let output = place.shell("USER=annabel $BAKEOFF publish --run all --out pub").well();
    assert_eq!(output.out.matches("ledger.json.gz").count(), machines, "{}", output.out);
    place
}

/// Folders of the published runs, sorted by name.
fn folders(place: &Place) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(place.path("pub")).expect("it was made");
    let mut all: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    all.sort();
    all
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn ledger_text(folder: &Path) -> String {
    let packed = std::fs::read(folder.join("ledger.json.gz")).expect("the ledger");
    String::from_utf8(unpacked(&packed).expect("it is whole")).expect("text")
}

#[test]
fn a_published_run_does_not_name_its_machine() {
    let place = published(1);
    let folder = &folders(&place)[0];
    let files = std::fs::read_dir(folder).expect("it was made").count();
    assert_eq!(files, 2);
    let results = std::fs::read_to_string(folder.join("results.json")).expect("results");
    for text in [ledger_text(folder), results] {
        let text = text.to_lowercase();
        let lines: Vec<&str> = SECRETS.into_iter().filter(|secret| text.contains(secret)).collect();
        assert_eq!(lines, Vec::<&str>::new());
        assert!(text.contains("ext4"));
    }
}

#[test]
fn a_preview_shows_what_leaves_and_writes_nothing() {
    let place = published(1);
    let names = |place: &Place| std::fs::read_dir(place.folder()).expect("a folder").count();
    let before = names(&place);
    let output = place.shell("USER=annabel $BAKEOFF publish --json").well();
    let preview = json(&output.out);
    assert_eq!((&preview["folder"], &preview["runs"][0]["written"]), (&Value::Null, &Value::Bool(false)));
    place.bakeoff("publish --run latest --preview --out other").well();
    assert_eq!(names(&place), before, "nothing was written");
    let leaves = ledger::anonymous::texts(&json(&ledger_text(&folders(&place)[0])));
    assert_eq!(
        preview["runs"][0]["texts"],
        serde_json::to_value(leaves).expect("JSON"),
        "what is shown is what leaves"
    );
    let plain = place.bakeoff("publish").well().out;
    for text in
        ["Nothing was written", "names of hosts (", "serial numbers (", "contenders[].label: btrfs | ext4 | xfs"]
    {
        assert!(plain.contains(text), "{text}: {plain}");
    }
}

#[test]
fn a_published_run_is_not_changed_and_an_unpublishable_one_is_refused() {
    let place = published(1);
    let output = place.bakeoff("publish --out pub").well().out;
    assert!(output.contains("has it already"), "{output}");
    place.bakeoff("publish --run nothing --out pub").refused(&["nothing"]);
    place.write("file", "");
    place.bakeoff("publish --out file").refused(&["writing published runs to file"]);
    // A run without figures is reported by name, and the others are written.
    let without = keep(&place.path("bakeoff.db"), &[Made::of("ext4", 1.0)], 0);
    let output = place.bakeoff("publish --run all --out new").well().out;
    assert!(output.contains("Not published") && output.contains(&without), "{output}");
    assert_eq!(std::fs::read_dir(place.path("new")).expect("it was made").count(), 1, "{output}");
    let both = json(&place.bakeoff("publish --run all --json").well().out);
    assert_eq!(
        (both["runs"].as_array().map(Vec::len), &both["not_published"][0]["run"]),
        (Some(1), &without.clone().into())
    );
    place.bakeoff(&format!("publish --run {without} --out new")).refused(&[&without]);
    let empty = Place::new();
    drop(Ledger::open(&empty.path("bakeoff.db"), Access::Write).expect("a ledger"));
    empty.bakeoff("publish --run all --out pub").refused(&["this machine measured none of them"]);
    assert!(!empty.path("pub").exists());
}

#[test]
fn ratios_are_pooled_over_machines_and_claims_are_scored() {
    let place = published(6);
    let made = json(&place.bakeoff("gallery pub --out site --json").well().out);
    assert_eq!((made["entries"].as_array().map(Vec::len), &made["machines"]), (Some(6), &6.into()));
    let ratios = made["ratios"].as_array().expect("a list");
    let total = |ratio: &&Value| {
        ratio["disk"].is_null()
            && ratio["workload"] == "small-files"
            && ratio["of"] == "ext4"
            && ratio["contender"] == "xfs"
            && ratio["line"].as_str().is_some_and(|line| line.contains("all work"))
    };
    let ratio = ratios.iter().find(total).expect("ext4 against xfs");
    let number = |value: &Value| value.as_f64().expect("a number");
    // The machines' ratios are 1.9, 2.0 and 2.1, twice each.
    assert!((number(&ratio["ratio"]) - 2.0).abs() < 0.02, "{ratio}");
    assert!(number(&ratio["interval"]["low"]) > 1.85 && number(&ratio["interval"]["high"]) < 2.15, "{ratio}");
    assert!(number(&ratio["prediction"]["low"]) < 1.9 && number(&ratio["prediction"]["high"]) > 2.1, "{ratio}");
    assert_eq!((&ratio["runs"], &ratio["machines"]), (&6.into(), &6.into()));
    let of_one = ratios
        .iter()
        .find(|one| one["disk"] == "hard disk" && one["line"] == ratio["line"])
        .expect("a class of its own");
    assert_eq!(&of_one["runs"], &2);
    let claims = made["claims"].as_array().expect("a list");
    let claim = claims.iter().find(|claim| claim["claim"] == "smallfiles-create-ext4-xfs").expect("it was tested");
    assert_eq!((&claim["holds"], &claim["tested"]), (&6.into(), &6.into()), "{claim}");
    let disks: Vec<&str> =
        made["entries"].as_array().expect("a list").iter().filter_map(|one| one["disk"].as_str()).collect();
    assert_eq!(disks, ["SSD", "NVMe SSD", "hard disk", "SSD", "NVMe SSD", "hard disk"]);
}

#[test]
fn an_entry_that_contradicts_its_ledger_or_is_damaged_is_refused_and_others_are_kept() {
    let place = published(7);
    let all = folders(&place);
    let change = |folder: &Path, from: &str, to: &str| {
        let path = folder.join("results.json");
        let text = std::fs::read_to_string(&path).expect("results");
        assert!(text.contains(from), "{text}");
        std::fs::write(path, text.replacen(from, to, 1)).expect("written");
    };
    change(&all[0], "\"take\": \"ext4\"", "\"take\": \"xfs\"");
    change(&all[1], "\"times\": 1.", "\"times\": 3.");
    std::fs::write(all[2].join("ledger.json.gz"), b"\x1f\x8bnothing").expect("written");
    change(&all[3], "\"form_version\": 1", "\"form_version\": 9");
    std::fs::copy(all[6].join("ledger.json.gz"), all[4].join("ledger.json.gz")).expect("copied");
    copy(&all[6], &place.path("pub/again"));
    let output = place.bakeoff("gallery pub --out site --json").well();
    let made = json(&output.out);
    let kept: Vec<&str> =
        made["entries"].as_array().expect("a list").iter().filter_map(|one| one["run"].as_str()).collect();
    let name = |at: usize| all[at].file_name().expect("a name").to_str().expect("text");
    assert_eq!(kept, [name(6), name(5)]);
    for (at, why) in [
        (0, "it states as the recommended contender Some(\"xfs\"), but its ledger gives Some(\"ext4\")"),
        (1, "for small-files/"),
        (2, "its ledger.json.gz cannot be read: it cannot be unpacked"),
        (3, "this bakeoff reads bakeoff-published 1"),
        (4, "and its ledger is of run"),
    ] {
        let line = output.err.lines().find(|line| line.contains(name(at)));
        assert!(line.is_some_and(|line| line.contains(why)), "{why}: {}", output.err);
    }
    assert!(output.err.contains("the gallery has run "), "{}", output.err);
    assert_eq!(made["refused"].as_array().map(Vec::len), Some(6));
    assert_eq!(std::fs::read_dir(place.path("site/ledgers")).expect("ledgers").count(), 2);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).expect("made");
    for name in ["ledger.json.gz", "results.json"] {
        std::fs::copy(from.join(name), to.join(name)).expect("copied");
    }
}

#[test]
fn a_ledger_that_names_its_owner_is_refused() {
    let place = published(1);
    let folder = &folders(&place)[0];
    let text = ledger_text(folder).replacen("\"boot_parameters\":\"\"", "\"boot_parameters\":\"owner=annabel\"", 1);
    assert!(text.contains("owner=annabel"));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).expect("memory");
    std::fs::write(folder.join("ledger.json.gz"), packed.finish().expect("memory")).expect("written");
    place.bakeoff("gallery pub --out site").refused(&["identifies the machine or its owner", "all were rejected"]);
    assert!(!place.path("site").exists());
}

#[test]
fn a_gallery_goes_into_a_folder_of_its_own_and_its_ledgers_are_runs() {
    let place = published(2);
    std::fs::create_dir(place.path("mine")).expect("made");
    place.write("mine/letter.txt", "dear");
    place.bakeoff("gallery pub --out mine").refused(&["not empty", "--out"]);
    place.bakeoff("gallery pub --out site").well();
    let gone = &folders(&place)[0];
    std::fs::remove_dir_all(gone).expect("removed");
    place.bakeoff("gallery pub --out site").well();
    let listed = std::fs::read_dir(place.path("site/ledgers")).expect("ledgers");
    let ledgers: Vec<PathBuf> = listed.map(|entry| entry.expect("an entry").path()).collect();
    assert_eq!(ledgers.len(), 1, "nothing of the earlier gallery stays");
    place.bakeoff(&format!("--ledger there.db import {}", ledgers[0].display())).well();
    let (here, there) =
        (place.bakeoff("show --csv").well().out, place.bakeoff("--ledger there.db show --csv").well().out);
    let figures = |text: &str| text.lines().count();
    assert_eq!(figures(&here), figures(&there));
}

/// If a change of the judge changes a verdict, the runs are published again with `make gallery`.
#[test]
fn our_own_published_runs_pass_every_check_of_the_gallery() {
    let place = Place::new();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gallery");
    let output = place.bakeoff(&format!("gallery {} --out site --json", own.display())).well();
    assert_eq!(output.err, "");
    let made = json(&output.out);
    let disks: Vec<&str> =
        made["entries"].as_array().expect("a list").iter().filter_map(|one| one["disk"].as_str()).collect();
    for kind in ["memory", "modelled hard disk", "modelled flash"] {
        assert!(disks.contains(&kind), "{kind}: {disks:?}");
    }
}

#[test]
fn folders_without_published_runs_are_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("empty")).expect("made");
    place.bakeoff("gallery empty --out site").refused(&["there are none in empty", "bakeoff publish"]);
    place.bakeoff("gallery nowhere --out site").refused(&["reading the folder nowhere"]);
    std::os::unix::fs::symlink("empty", place.path("empty/again")).expect("a link");
    place.bakeoff("gallery empty --out site").refused(&["there are none in empty"]);
    assert!(!place.path("site").exists());
}

#[test]
fn a_page_of_many_runs_stays_small() {
    let many = std::env::var("BAKEOFF_MANY_RUNS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let place = published(many);
    let began = std::time::Instant::now();
    let made = json(&place.bakeoff("gallery pub --out site --json").well().out);
    println!("{many} runs: the page has {} bytes, made in {:.1} s", made["page_bytes"], began.elapsed().as_secs_f64());
    let bytes = made["page_bytes"].as_u64().expect("bytes");
    let few =
        json(&published(2).bakeoff("gallery pub --out site --json").well().out)["page_bytes"].as_u64().expect("bytes");
    let each = (bytes - few) / (many as u64 - 2).max(1);
    assert!(few + each * 1000 < PAGE_LIMIT, "{each} bytes a run, {few} for two");
    assert!(bytes < PAGE_LIMIT, "{bytes}");
    if let Some(kept) = std::env::var_os("BAKEOFF_KEEP_SITE") {
        let copied = Command::new("cp").args(["-rT"]).arg(place.path("site")).arg(kept).status();
        assert!(copied.is_ok_and(|status| status.success()));
    }
}

/// Script that uses the page's filters and stores its answer in an attribute of the page; inserted before the page ends.
const LOOK: &str = r##"<script>
  const answer = {};
  const runs = () => document.querySelectorAll("[data-run]").length;
  const press = (name) => document.querySelector(`[data-filter="${name}"]`).click();
  answer.all = runs();
  press("disk=hard disk"); answer.turning = runs();
  press("kernel=6.1"); answer.old = runs();
  answer.hash = location.hash;
  press("disk=all"); press("kernel=all"); press("fs=xfs"); answer.xfs = runs();
  press("work=directories"); answer.line = document.querySelector("#line")?.selectedOptions[0].textContent;
  press("work=all"); press("fs=all");
  answer.again = runs();
  const heads = [...document.querySelectorAll("#matrix thead th")].map((one) => one.textContent);
  answer.matrix = [...document.querySelectorAll("#matrix tbody tr")].map((row) => Object.fromEntries([...row.children].map((cell, at) => [heads[at], cell.textContent])));
  answer.takes = [...document.querySelectorAll("#pooled tbody tr")].map((row) => [row.querySelector(".name").textContent, row.querySelector("[data-head=Takes]").textContent]);
  answer.chosen = document.querySelector("#line").selectedOptions[0].textContent;
  document.querySelector("#pooled .open").click();
  answer.rests = document.querySelectorAll("#pooled .below a[href^='ledgers/']").length;
  document.querySelector("#runs .open").click();
  answer.figures = document.querySelectorAll("#runs .below td.n").length;
  document.querySelector("#claims .open").click();
  answer.score = document.querySelector("#claims .open").textContent;
  document.querySelectorAll("#sources details").forEach((one) => { one.open = true; });
  answer.years = [...document.querySelectorAll("#sources [data-year]")].map((one) => one.dataset.year);
  answer.prediction = document.querySelector("#pooled [data-head='Your machine']").textContent;
  answer.ground = getComputedStyle(document.body).backgroundColor;
  answer.overflow = document.documentElement.scrollWidth - innerWidth;
  answer.width = innerWidth;
  document.documentElement.dataset.answer = JSON.stringify(answer);
</script></body>"##;

/// Opens the page in a browser of this width, light or dark, without console messages.
fn looked(place: &Place, width: u32, dark: bool) -> Value {
    let page = std::fs::read_to_string(place.path("site/index.html")).expect("the page");
    std::fs::write(place.path("site/look.html"), page.replace("</body>", LOOK)).expect("written");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", "--dump-dom"])
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(format!("--window-size={width},900"))
        .arg(format!("--user-data-dir={}", place.path("chromium").display()))
        .arg(format!("file://{}", place.path("site/look.html").display()))
        .output()
        .expect("chromium runs");
    let log = String::from_utf8_lossy(&output.stderr);
    let complaints: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert_eq!(complaints, Vec::<&str>::new());
    let dom = String::from_utf8_lossy(&output.stdout);
    let answer =
        dom.split_once("data-answer=\"").and_then(|(_, rest)| rest.split_once('"')).expect("the page answers").0;
    json(&answer.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
}

#[test]
fn filters_work_in_a_browser_on_a_screen_and_on_a_phone_in_the_light_and_in_the_dark() {
    needs!(chromium);
    let place = published(6);
    place.bakeoff("gallery pub --out site").well();
    for (width, dark) in [(1200, false), (390, true)] {
        let found = looked(&place, width, dark);
        let count = |name: &str| found[name].as_u64().unwrap_or_else(|| panic!("{name}: {found}"));
        assert_eq!([count("all"), count("turning"), count("old"), count("xfs"), count("again")], [6, 2, 2, 6, 6]);
        assert_eq!(found["hash"], "#disk=hard+disk&kernel=6.1");
        assert!(found["line"].as_str().is_some_and(|line| line.starts_with("directories")), "{found}");
        assert_eq!((count("rests"), &found["score"]), (6, &"holds on 6 of 6".into()), "{found}");
        let row = found["matrix"].as_array().expect("rows").iter().find(|row| row["Work"] == found["chosen"]);
        let row = row.unwrap_or_else(|| panic!("the matrix lacks the chosen work: {found}"));
        for takes in found["takes"].as_array().expect("rows") {
            let times = takes[1].as_str().expect("a ratio").trim_end_matches('x');
            let shown = row[takes[0].as_str().expect("a name")].as_str().expect("a column");
            assert_eq!(shown.trim_end_matches(" ?"), times, "{found}");
        }
        assert!(count("figures") >= 9, "{found}");
        assert!(found["prediction"].as_str().is_some_and(|text| text.contains(" to ")), "{found}");
        assert!(found["years"].as_array().is_some_and(|years| years.contains(&"2017".into())), "{found}");
        assert_eq!(found["ground"] == "rgb(255, 255, 255)", !dark, "{found}");
        assert!(found["overflow"].as_i64().is_some_and(|overflow| overflow <= 0), "{width}: {found}");
    }
}
