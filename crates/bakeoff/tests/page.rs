//! From an empty folder to a verdict and a page, like a new user; the page opens in headless Chromium without an error.

mod support;

use prerequisites::needs;
use support::browser::{Browser, Tab};
use support::{Place, root};

const WORK: &str = "--set small-files.files=300 --set small-files.some=60 --samples 3 --seed 11 --plain";

#[test]
fn a_directory_is_measured_to_a_verdict_and_its_page_has_no_console_error() {
    let place = Place::in_memory();
    let output = place.bakeoff(&format!("run small-files --dir . {WORK} --report page")).well();
    assert!(output.out.contains("creat"), "{}", output.out);
    assert!(output.out.contains("index.html"), "{}", output.out);
    assert!(place.path("page/index.html").exists());
    assert!(
        std::fs::read_dir(place.folder())
            .expect("read")
            .all(|entry| { !entry.expect("an entry").file_name().to_string_lossy().ends_with("-work") })
    );
    page_is_quiet(&place);
}

#[test]
fn filesystems_are_formatted_measured_and_judged_and_every_form_of_the_result_is_written() {
    if !root("formatting") {
        return;
    }
    let place = Place::new();
    let fs = "--fs ext4,xfs,btrfs --image 400MiB --no-twin --scratch .";
    let output = place.bakeoff(&format!("run small-files {fs} {WORK} --report page")).well();
    for name in ["ext4", "xfs", "btrfs"] {
        assert!(output.out.contains(name), "{}", output.out);
    }
    place.bakeoff("show --json").well();
    place.bakeoff("show --csv").well();
    place.bakeoff("show --markdown").well();
    place.bakeoff("show --why small-files/create/ext4").well();
    page_is_quiet(&place);
    page_is_short(&place);
    assert_eq!(support::leftovers(place.folder()), Vec::<String>::new());
}

#[test]
fn findings_of_a_served_disk_are_a_page_too() {
    needs!(root, loop_devices, chromium);
    let place = Place::new();
    place.bakeoff("faults --fs ext4 --fault none,bit-flips --rounds 1 --seed 7 --html faults.html").well();
    let page = opened(&place, "faults.html");
    for words in ["ext4 did NOT report: bit-flips", "one bit is flipped", "What was seen", "WRONG"] {
        assert!(page.contains(words), "{words}: {page}");
    }
    place.bakeoff("faults --fs ext4 --html faults.html").refused(&["faults.html", "the file exists"]);
}

fn page_is_quiet(place: &Place) {
    needs!(chromium);
    let page = opened(place, "page/index.html");
    assert!(page.contains("<svg"), "the page has charts");
    for made_up in ["NaN", "undefined", "Infinity"] {
        let around = page.find(made_up).map(|at| page[..at].chars().rev().take(80).collect::<Vec<_>>());
        assert_eq!(around, None, "{made_up} is no figure");
    }
}

/// Sections are folded, links lead into them, no text is tiny, and the picture is a single tab stop.
fn page_is_short(place: &Place) {
    needs!(chromium);
    let mut tab = Tab::open(place, &format!("file://{}", place.path("page/index.html").display()));
    for (width, dark) in [(390, false), (1440, true), (1440, false)] {
        assert_eq!(tab.beyond(width, dark), Vec::<String>::new(), "something is cut off");
    }
    let height = tab.value("document.documentElement.scrollHeight").as_u64();
    assert!(height.is_some_and(|height| height < 4000), "{height:?} pixels");
    assert_eq!(tab.value("document.querySelectorAll('.card g[tabindex=\"0\"]').length"), 1);
    tab.value("location.hash = document.querySelector('.card figcaption a').hash");
    tab.until("document.querySelector('details.fold[open] .chart svg') !== null");
    let tiny = tab.value(TINY);
    assert_eq!(tiny, serde_json::json!([]), "letters below 12 pixels");
    assert_eq!(tab.complaints, Vec::<String>::new());
}

/// Texts with letters smaller than 12 pixels, in pictures after scaling.
const TINY: &str = "[...document.querySelectorAll('body *')].filter((e) => {
    if (e.children.length > 0 || !e.textContent.trim() || e.getBoundingClientRect().width === 0) return false;
    const box = e.ownerSVGElement && e.ownerSVGElement.viewBox.baseVal;
    const scale = box && box.width ? e.ownerSVGElement.getBoundingClientRect().width / box.width : 1;
    return parseFloat(getComputedStyle(e).fontSize) * scale < 11.9;
}).map((e) => `${e.tagName} ${e.textContent}`)";

/// The visible text of a page; the browser must open it without console messages.
fn opened(place: &Place, page: &str) -> String {
    Browser::new(place).opened(&format!("file://{}", place.path(page).display()))
}
