//! Contenders in virtual machines: they come to a verdict, and however a guest ends, the machine is clean afterwards.

mod machines;
mod support;

use machines::{
    ENDLESS, KERNEL, RUN, booted, clean, exported, failing, guests, killed, machines, place_with, signal,
    written_images,
};
use std::process::Command;
use std::time::{Duration, Instant};
use support::Place;

#[test]
fn two_contenders_on_another_kernel_get_a_verdict_that_names_the_virtual_machine() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let output = place
        .bakeoff(&format!("run small-files --set files=200 --set some=50 --samples 2 --image 256MiB --plain --no-report --scratch . --fs ext2,ext4 --kernel {KERNEL}"))
        .well();
    clean(&place);
    assert!(output.err.contains("In a virtual machine: ext2 (debian:6.1), ext4 (debian:6.1)"), "{}", output.err);
    let export = exported(&place);
    let emulated = export.contains("\"backend\":\"emulation\"") || export.contains("\"backend\": \"emulation\"");
    let place_named = if emulated { "in an emulated machine" } else { "in a virtual machine on this device" };
    let full = place.bakeoff("show --full").well().out;
    assert!(full.split_whitespace().collect::<Vec<_>>().join(" ").contains(place_named), "{full}");
    if emulated {
        assert!(full.contains("emulated"), "every table says so: {full}");
    }
    assert!(export.contains("[in the guest, 6.1") && export.contains("mkfs.ext4"), "its commands are in the ledger");
    assert!(export.contains("the end of its console"));
}

#[test]
fn the_newest_kernel_of_debian_runs_and_is_recorded_by_its_series() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let listed = place.bakeoff("systems --kernels --json");
    let known: serde_json::Value = serde_json::from_str(&listed.out).unwrap_or_default();
    let kernels = known["kernels"].as_array().cloned().unwrap_or_default();
    let newest = kernels.iter().find(|kernel| kernel["name"] == known["newest"]);
    let reached = known["not_read"].is_null();
    let Some(newest) = newest.filter(|newest| reached || newest["release_here"].is_string()) else {
        let why = known["not_read"].as_str().unwrap_or(&listed.err);
        prerequisites::leave_out("debian_suites", &format!("Debian's suites cannot be read: {why}"));
        return;
    };
    let (name, series) = (newest["name"].as_str().expect("text"), newest["series"].as_str().expect("text"));
    let output = place.bakeoff(&format!("{RUN} --fs ext4,btrfs --kernel debian:newest --no-twin")).well();
    clean(&place);
    assert!(output.err.contains(&format!("ext4 ({name}), btrfs ({name})")), "{}", output.err);
    let export = exported(&place);
    assert!(export.contains(&format!("[in the guest, {series}.")) && export.contains(name), "{}", output.err);
    // The command line is stored as typed; the kernel that ran is stored by its series, since `newest` changes over time.
    assert!(!export.replace(": ", ":").contains("\"kernel\":\"debian:newest\""), "{export}");
}

#[test]
fn features_of_a_filesystem_of_another_kernel_are_probed_in_a_guest() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let output = place.bakeoff(&format!("features nilfs2 --kernel {KERNEL} --scratch . --json")).well();
    clean(&place);
    let results: serde_json::Value = serde_json::from_str(&output.out).expect("JSON");
    let probed = &results["filesystems"][0];
    assert_eq!((&probed["name"], &probed["kernel"]), (&"nilfs2".into(), &KERNEL.into()));
    let of = |key: &str| {
        let all = probed["features"].as_array().expect("answers");
        all.iter().find(|one| one["key"] == key).expect("asked")["answer"].clone()
    };
    assert_eq!(of("name_bytes")["amount"], 255);
    // Tools named in its description prove nothing about scrub or reflinks: the guest's kernel was tested.
    assert_eq!((&of("sparse")["has"], &of("reflink")["has"]), (&true.into(), &false.into()), "{results}");
}

#[test]
fn openzfs_competes_where_its_module_was_built() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    if !place.bakeoff("systems").well().out.contains("--fs openzfs runs there") {
        prerequisites::leave_out("openzfs", "OpenZFS' module for guests is not built (make openzfs)");
        return;
    }
    // With tools of only one version, these are the host's tools as well, and there is no note.
    let mut of_two_versions = true;
    for (kernel, release) in [(KERNEL, "[in the guest, 6.1."), ("debian:6.12", "[in the guest, 6.12.")] {
        let place = Place::new();
        let output = place.bakeoff(&format!("run small-files --set files=100 --set some=20 --samples 1 --image 256MiB --plain --no-report --no-twin --scratch . --fs openzfs --axis mount.recordsize=16k --kernel {kernel}"));
        clean(&place);
        if output.err.contains("does not have zfs") {
            prerequisites::leave_out("openzfs", &format!("OpenZFS' module is not built for {kernel} (make openzfs)"));
            of_two_versions = false;
            continue;
        }
        let export = exported(&place);
        assert!(
            export.contains("/usr/lib/bakeoff/openzfs/sbin") && export.contains("recordsize=16k"),
            "{}",
            output.err
        );
        assert!(export.contains(release), "{}", output.err);
        assert!(!export.contains("\"status\":\"failed\""), "{}", output.err);
        let differ = of_two_versions && kernel != KERNEL;
        assert_eq!(export.contains("its tools in the guest are zfs-2."), differ, "{}", output.err);
    }
}

#[test]
fn ntfs_competes_and_is_checked_with_ntfsresize() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let lack = place.bakeoff("systems --json").well();
    let known: serde_json::Value = serde_json::from_str(&lack.out).expect("JSON");
    let tools = known["systems"].as_array().and_then(|all| all.iter().find(|one| one["name"] == "ntfs3"));
    let tools = tools.and_then(|one| one["tools"].as_array()).expect("it is listed with its tools");
    if !tools.iter().all(|tool| tool["found"] == true) {
        prerequisites::leave_out("ntfs-3g", "tools of ntfs-3g are missing");
        return;
    }
    place.bakeoff(&format!("{RUN} --fs ntfs3 --no-twin")).well();
    clean(&place);
    let export = exported(&place);
    assert!(export.contains("[in the guest, 6.12") && export.contains("ntfsresize --info"));
}

#[test]
fn bcachefs_competes_where_its_tools_were_unpacked() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    if !place.bakeoff("systems").well().out.contains("--fs bcachefs runs there") {
        prerequisites::leave_out("bcachefs", "bcachefs's tools for guests are not unpacked (make bcachefs)");
        return;
    }
    place.bakeoff(&format!("{RUN} --fs bcachefs --no-twin --axis mkfs.compression=lz4")).well();
    clean(&place);
    let export = exported(&place);
    assert!(export.contains("/usr/lib/bakeoff/bcachefs/sbin") && export.contains("[in the guest, 6.12"));
}

#[test]
fn a_kernel_that_panics_is_one_failed_trial_with_the_end_of_its_console() {
    let Some(_turn) = guests() else { return };
    let place = place_with("echo c > /proc/sysrq-trigger");
    let text = failing(&place, &format!("--fs odd --kernel {KERNEL}"));
    assert!(text.err.contains("its kernel panicked: sysrq triggered crash"), "{}", text.err);
    assert!(exported(&place).contains("Kernel panic - not syncing"), "the console is in the ledger");
}

#[test]
fn a_guest_that_runs_out_of_memory_is_one_failed_trial() {
    let Some(_turn) = guests() else { return };
    // An endless line is kept in memory; huge pages take most of it beforehand, since filling all memory takes an
    // emulated processor half a minute.
    let place = place_with("echo 768 > /proc/sys/vm/nr_hugepages; tail /dev/zero");
    let text = failing(&place, &format!("--fs odd --kernel {KERNEL}"));
    assert!(text.err.contains("the guest had run out of memory"), "{}", text.err);
}

#[test]
fn a_killed_machine_is_one_failed_trial() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let mut child = place.start(&format!("{RUN} --fs odd --kernel {KERNEL}"));
    signal(booted(&place, &mut child), "KILL");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    clean(&place);
    let export = exported(&place);
    assert!(export.contains("the guest was lost: QEMU"), "{export}");
}

#[test]
fn a_trial_whose_machine_was_killed_during_the_work_is_repeated() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("files=200", "files=10000");
    let mut child = place.start(&format!("{run} --fs ext2 --no-twin --kernel {KERNEL}"));
    let machine = booted(&place, &mut child);
    // mkfs takes less, an emulated processor more for the work.
    std::thread::sleep(Duration::from_secs(2));
    signal(machine, "KILL");
    assert!(child.wait().expect("it ends").success());
    clean(&place);
    let trials = trials(&place);
    assert!(trials.iter().any(|trial| trial.reason.is_none() && trial.phases.len() > 3), "{trials:?}");
    let lost: Vec<&str> = trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    assert!(lost.iter().all(|why| why.contains("a signal killed QEMU") || why.contains("was lost")), "{lost:?}");
}

#[test]
fn a_guest_that_is_lost_leaves_the_round_and_the_others_go_on() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let run = format!("{RUN} --fs ext4,odd --no-twin --seed 1 --kernel {KERNEL}");
    let plan = place.bakeoff(&run.replace("run ", "plan ").replace("--plain --no-report ", "")).well().out;
    assert!(plan.contains("Turns: by slices") && plan.contains("small-files: ext4"), "{plan}");
    let mut child = place.start(&run);
    let first = booted(&place, &mut child);
    // Both are up at the same time, and the second one makes its filesystem.
    let end = Instant::now() + Duration::from_secs(120);
    let second = loop {
        let machines = machines(&place.folder().display().to_string());
        if let Some(second) = machines.into_iter().find(|pid| *pid != first && written_images(&place) == 2) {
            break second;
        }
        assert!(child.try_wait().expect("it can be asked").is_none(), "the run ended before its second guest was up");
        assert!(Instant::now() < end, "no second guest after two minutes");
        std::thread::sleep(Duration::from_millis(20));
    };
    signal(second, "KILL");
    assert!(child.wait().expect("it ends").success(), "ext4 has a result");
    clean(&place);
    let trials = trials(&place);
    let of =
        |label: &str| trials.iter().find(|trial| trial.found.as_ref().is_some_and(|found| found.filesystem == label));
    let ext4 = of("ext4").expect("it was set up");
    assert!(ext4.phases.len() > 3 && ext4.closing.is_some() && ext4.reason.is_none(), "{ext4:?}");
    let lost = trials.iter().find(|trial| trial.contender == 1).and_then(|trial| trial.reason.as_deref());
    assert!(lost.is_some_and(|why| why.contains("the guest was lost")), "{lost:?}");
}

#[test]
fn a_guest_that_hangs_is_noticed_by_its_silence() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let mut child = place.start_with(&format!("{RUN} --fs odd --kernel {KERNEL}"), &[("BAKEOFF_GUEST_SILENCE", "5")]);
    let machine = booted(&place, &mut child);
    signal(machine, "STOP");
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(1));
    clean(&place);
    assert!(exported(&place).contains("it sent nothing for 5 s and was killed"));
}

#[test]
fn a_file_that_is_no_kernel_is_refused_before_anything_is_started() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let file = place.write("vmlinuz", "this is no kernel\n");
    let text = failing(&place, &format!("--fs ext4 --kernel {}", file.display()));
    assert!(text.err.contains("is not a kernel for x86"), "{}", text.err);
    let text = place.bakeoff(&format!("{RUN} --fs ext4 --kernel debian:6"));
    assert_eq!(text.status, Some(2), "{text:#?}");
    assert!(text.err.contains("debian:6.12"), "{}", text.err);
    let text = place.bakeoff(&format!("{RUN} --fs ext4 --kernel debian:2.4"));
    // If the suites cannot be read, the kernel cannot be refused before its trial.
    if !text.err.contains("list of Debian's suites cannot be read") {
        assert_eq!(text.status, Some(2), "{text:#?}");
        let named = ["debian:2.4 is in none of Debian's suites", "debian:newest, debian:6.1", "systems --kernels"];
        assert!(named.iter().all(|words| text.err.contains(words)), "{}", text.err);
    }
}

#[test]
fn a_killed_run_takes_its_guest_with_it_and_the_rest_is_cleaned_by_its_mark() {
    let Some(_turn) = guests() else { return };
    let place = place_with(ENDLESS);
    let mut child = place.start(&format!("{RUN} --fs odd --kernel {KERNEL}"));
    booted(&place, &mut child);
    killed(&place, &mut child);
    place.bakeoff(&format!("clean --scratch {}", place.folder().display())).well();
    clean(&place);
}

#[test]
fn a_guest_limits_memory_by_version_two_of_control_groups_and_reports_too_little_memory() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("--samples 1", "--samples 1 --fs ext4 --no-twin");
    place.bakeoff(&format!("{run} --kernel {KERNEL} --axis limit.memory=1M,128M"));
    let ledger = ledger::Ledger::open(&place.path("bakeoff.db"), ledger::Access::Read).expect("the ledger opens");
    let id = ledger.run(None).expect("the run").id;
    let trials = ledger.trials(&id).expect("trials");
    // A guest that a busy machine does not boot in time is tried again.
    let reasons: Vec<&str> = trials.iter().filter_map(|trial| trial.reason.as_deref()).collect();
    let starved = |why: &&str| why.contains("limit.memory 1M is too low") && why.contains("memory.events");
    assert!(reasons.iter().any(starved), "{reasons:?}");
    let ended = trials.iter().find(|trial| trial.contender == 1 && trial.closing.is_some());
    let ended = ended.unwrap_or_else(|| panic!("no trial came to its end: {reasons:?}"));
    let found = ended.found.as_ref().expect("what was found");
    let limit = found.options.iter().find(|option| option.asked == "limit.memory 128M").expect("read back");
    assert_eq!(limit.found.as_deref(), Some("134217728"));
    assert!(limit.by.starts_with("/sys/fs/cgroup/bakeoff-") && limit.by.ends_with("/memory.max"), "{}", limit.by);
    let after = &ended.closing.as_ref().expect("closing").axes;
    assert!(after.iter().any(|one| one.by.ends_with("memory.current") && one.found.is_some()), "{after:?}");
    clean(&place);
}

/// The trials of the last run.
fn trials(place: &Place) -> Vec<ledger::TrialRecord> {
    let ledger = ledger::Ledger::open(&place.path("bakeoff.db"), ledger::Access::Read).expect("the ledger opens");
    ledger.trials(&ledger.run(None).expect("the run").id).expect("trials")
}

/// The text after `word` at the beginning of a line in the output of a trial's dumpe2fs.
fn of_superblock(trial: &ledger::TrialRecord, word: &str) -> String {
    let printed =
        trial.commands.iter().filter(|command| command.line.contains("dumpe2fs")).map(|command| &command.output);
    let found = printed.flat_map(|output| output.lines()).find_map(|line| line.strip_prefix(word));
    found.unwrap_or_else(|| panic!("no {word} among {:?}", trial.commands)).trim().to_owned()
}

/// Seconds since 1970 of a time printed by dumpe2fs in a guest, which has no time zone set.
fn seconds(result: &str) -> i64 {
    let printed = Command::new("date").args(["-u", "+%s", "-d", result]).output().expect("date starts");
    String::from_utf8_lossy(&printed.stdout).trim().parse().unwrap_or_else(|_| panic!("{result} is no time"))
}

#[test]
fn an_emulated_guest_is_booted_once_and_each_trial_has_a_copy_with_a_time_and_randomness_of_its_own() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("--samples 1", "--samples 2");
    place.bakeoff(&format!("{run} --fs ext4 --no-twin --kernel {KERNEL}")).well();
    clean(&place);
    let trials = trials(&place);
    let emulated = |trial: &ledger::TrialRecord| {
        trial.found.as_ref().is_some_and(|found| found.backend == Some(records::Backend::Emulation))
    };
    if !trials.iter().all(emulated) {
        prerequisites::leave_out("emulation", "guests run under KVM here, where each is booted");
        return;
    }
    let starts = |word: &str| {
        let ended = |command: &&records::CommandRecord| {
            command.line.contains("qemu-system") && command.output.contains("console")
        };
        let commands = trials.iter().flat_map(|trial| &trial.commands).filter(ended);
        commands.filter(|command| command.line.contains(word)).count()
    };
    assert_eq!((starts("driver=null-co"), starts("-incoming")), (1, trials.len()), "{trials:?}");
    let ids: std::collections::BTreeSet<String> =
        trials.iter().map(|trial| of_superblock(trial, "Filesystem UUID:")).collect();
    assert_eq!(ids.len(), trials.len(), "{ids:?}");
    for trial in &trials {
        // Both times are rounded down to whole seconds.
        let (made, began) = (seconds(&of_superblock(trial, "Filesystem created:")), trial.began_ms / 1000);
        assert!((began..=trial.ended_ms / 1000).contains(&made), "made at {made}, begun at {began}");
    }
}

#[test]
fn a_guest_that_cannot_be_restored_is_booted_and_its_trial_has_a_remark() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let real = system::command::find_program("qemu-system-x86_64").expect("guests can run");
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *-incoming*) echo nothing comes in >&2; exit 1;; esac\nexec {} \"$@\"\n",
        real.display()
    );
    let wrapper = place.write("qemu-system-x86_64", &script);
    let made = Command::new("chmod").arg("+x").arg(&wrapper).status().expect("chmod starts");
    assert!(made.success());
    let path = format!("{}:{}", place.folder().display(), std::env::var("PATH").unwrap_or_default());
    let mut child = place.start_with(&format!("{RUN} --fs ext4 --no-twin --kernel {KERNEL}"), &[("PATH", &path)]);
    assert!(child.wait().expect("it ends").success());
    clean(&place);
    let trials = trials(&place);
    let done = trials.iter().find(|trial| trial.closing.is_some()).expect("a trial that came to its end");
    let found = done.found.as_ref().expect("what was found");
    if found.backend == Some(records::Backend::Emulation) {
        let matches = |remark: &&String| remark.contains("not restored") && remark.contains("nothing comes in");
        assert!(found.remarks.iter().any(|remark| matches(&remark)), "{:?}", found.remarks);
    }
}

#[test]
fn instructions_are_counted_alike_in_each_trial_and_no_time_is_judged() {
    let Some(_turn) = guests() else { return };
    let place = Place::new();
    let run = RUN.replace("--samples 1", "--samples 2");
    place.bakeoff(&format!("{run} --fs ext4 --no-twin --count-instructions --kernel {KERNEL}")).well();
    clean(&place);
    let counted = |trial: &ledger::TrialRecord, word: &str| {
        let create = trial.phases.iter().find(|phase| phase.name == "create").expect("it creates");
        *create.outcome.told.get(word).unwrap_or_else(|| panic!("no {word} in {:?}", create.outcome.told))
    };
    let trials = trials(&place);
    let own: Vec<f64> = trials.iter().map(|trial| counted(trial, "instructions")).collect();
    assert!(trials.iter().zip(&own).all(|(trial, own)| counted(trial, "all-instructions") > *own), "{own:?}");
    let (least, most) = (own.iter().copied().fold(f64::MAX, f64::min), own.iter().copied().fold(0.0, f64::max));
    assert!(least > 1000.0 && (most - least) / least < 0.05, "{own:?}");
    let shown: serde_json::Value = serde_json::from_str(&place.bakeoff("show --json").well().out).expect("JSON");
    let shown = shown.to_string();
    assert!(shown.contains("create instructions") && shown.contains("instructions/op"), "{shown}");
    assert!(!shown.contains("\"items/s\"") && !shown.contains("\"unit\":\"/s\""), "{shown}");
    let refused = place.bakeoff(&format!("{RUN} --fs ext4 --count-instructions"));
    assert!(
        refused.status != Some(0) && refused.err.contains("guest.clock applies to virtual machines"),
        "{refused:?}"
    );
}

#[test]
fn work_is_smaller_where_all_contenders_run_in_guests() {
    let place = Place::new();
    let scale = |words: &str| {
        let output = place.bakeoff(&format!("plan small-files --fs ext4 {words}"));
        assert_eq!(output.status, Some(0), "{}", output.err);
        let line = output.out.lines().find(|line| line.trim_start().starts_with("small-files ")).expect("the workload");
        line.split_whitespace().nth(1).expect("its scale").to_owned()
    };
    assert_eq!(scale("--kernel debian:6.12"), "guest");
    assert_eq!(scale("--kernel host,debian:6.12"), "quick");
    assert_eq!(scale("--kernel debian:6.12 --scale full"), "full");
    assert_eq!(scale("--scale guest"), "guest");
}
