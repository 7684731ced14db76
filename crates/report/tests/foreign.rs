//! Results of other programs get the same statistics, and a file of any content never breaks the report.

#[path = "../../../tests/mutate.rs"]
mod mutate;
mod support;

use ledger::import::{export, import_bytes};
use ledger::{Access, Ledger};
use proptest::prelude::*;
use report::terminal::{Style, show};
use report::{Format, Material, View, write};

const BONNIE: &str = "\
1.98,2.00a,ext4,1,1,1G,,8192,5,901,98,182210,21,86031,9,2391,96,208113,12,301.2,9,16,,,,,21301,48,+++++,+++,25411,39,22518,50,+++++,+++,27113,41,1us,1us,1us,1us,1us,1us,1us,1us,1us,1us,1us,1us
1.98,2.00a,btrfs,1,1,1G,,8192,5,911,98,102210,31,46031,12,2299,96,188113,15,201.2,9,16,,,,,11301,48,+++++,+++,9411,39,12518,50,+++++,+++,7113,41,1us,1us,1us,1us,1us,1us,1us,1us,1us,1us,1us,1us
";

fn kept(text: &[u8]) -> Option<Material> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut ledger = Ledger::open(&folder.path().join("a.db"), Access::Write).expect("a ledger");
    let imported = import_bytes(text, "results.csv").ok()?;
    let id = ledger.keep_imported(&imported).ok()?;
    Some(Material::read(&ledger, Some(&id)).expect("what was kept is read"))
}

#[test]
fn results_of_bonnie_are_judged_and_marked_as_imported() {
    let material = kept(BONNIE.repeat(5).as_bytes()).expect("it is read");
    let view = View::of(&material).expect("it is judged");
    let text = show(&view, Style::plain(80));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("Bakeoff did not measure them"), "{text}");
    let (_, _, cell) = view.find("bonnie", "block-write:as-found", "ext4").expect("the cell is there");
    let figure = cell.figure.expect("a figure");
    assert_eq!(figure.trials, 5);
    assert!((figure.median / (182_210.0 * 1024.0) - 1.0).abs() < 1e-6);
    assert!(cell.returned.is_none(), "Bonnie++ does not report what was durable");
}

#[test]
fn one_imported_alone_is_answered_with_its_figures_and_not_asked_to_run_others() {
    let first = BONNIE.lines().next().expect("a line");
    let view = View::of(&kept(first.as_bytes()).expect("it is read")).expect("it is judged");
    let headline = &view.answer.headline;
    assert!(headline.starts_with("ext4 alone: ") && !headline.contains("--fs"), "{headline}");
}

#[test]
fn an_exported_run_gives_the_same_report_elsewhere() {
    let bench = support::made_up(support::Size { contenders: 3, blocks: 3 });
    let here = Material::read(&bench.ledger, Some(&bench.run)).expect("the run is read");
    let text = export(&bench.ledger, &bench.run, false).expect("it is exported");
    let there = kept(text.as_bytes()).expect("it is read elsewhere");
    assert_eq!(here.trials, there.trials);
    let tables = |material: &Material| {
        let view = View::of(material).expect("it is judged");
        view.workloads.iter().map(|workload| report::export::workload_csv(&view, workload)).collect::<Vec<_>>()
    };
    assert_eq!(tables(&here), tables(&there));
}

#[test]
fn an_exported_run_with_parts_changed_is_shown_or_refused() {
    let bench = support::made_up(support::Size { contenders: 3, blocks: 2 });
    let text = export(&bench.ledger, &bench.run, false).expect("it is exported").into_bytes();
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    mutate::fuzz("shown", &[text, BONNIE.as_bytes().to_vec()], 60, folder, |bytes| {
        let Ok(read) = import_bytes(bytes, "changed") else { return };
        let material = Material::new(read.run, read.contenders, read.trials);
        // A run that cannot be judged is refused with a reason; all others are shown.
        if let Ok(view) = View::of(&material) {
            drop((show(&view, Style::plain(80)), report::export::workload_csv(&view, &view.workloads[0])));
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_portable_file_with_numbers_changed_is_shown_or_refused(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), "[0-9eE.,-]"), 1..8),
    ) {
        let material = kept(BONNIE.as_bytes()).expect("it is read");
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut ledger = Ledger::open(&folder.path().join("a.db"), Access::Write).expect("a ledger");
        let imported = ledger::import::Imported {
            run: material.run.clone(),
            contenders: material.contenders.clone(),
            trials: material.trials.clone(),
        };
        let id = ledger.keep_imported(&imported).expect("it is kept");
        let text = export(&ledger, &id, false).expect("it is exported");
        let digits: Vec<usize> = text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
        let mut bytes = text.into_bytes();
        for (place, digit) in changes {
            bytes[digits[place.index(digits.len())]] = digit.as_bytes()[0];
        }
        if let Some((material, view)) = kept(&bytes).and_then(|material| View::of(&material).ok().map(|view| (material, view))) {
            show(&view, Style::plain(80));
            let out = tempfile::tempdir().expect("a scratch folder");
            let formats = [Format::Html, Format::Csv, Format::Json, Format::Ods, Format::Bonnie, Format::Hdr];
            write(&material, out.path(), &formats).expect("the report is written");
        }
    }
}
