//! The options of fio that a job may set here, and their allowed values; all others are refused.
//! In: the key and the value of a line, variables expanded. Out: the option by its canonical name, with its checked value; or why it is refused.
//! A new option of fio is unknown here until it has been reviewed.

use crate::names;

/// Engines that read and write files of a folder, each with whether it can have several calls in flight.
const TRANSFERS: [(&str, bool); 10] = [
    ("sync", false),
    ("psync", false),
    ("vsync", false),
    ("pvsync", false),
    ("pvsync2", false),
    ("libaio", true),
    ("posixaio", true),
    ("io_uring", true),
    ("mmap", false),
    ("splice", false),
];
/// The engine of a job that names none.
pub const ENGINE: &str = "psync";
/// Engines that do something else with files of a folder.
const FILE_ENGINES: [&str; 8] =
    ["ftruncate", "falloc", "filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];

/// Other names of options.
const ALIASES: [(&str, &str); 21] = [
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blockalign", "ba"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("io_limit", "io_size"),
    ("fill_fs", "fill_device"),
    ("fileoffset", "offset"),
    ("nr_files", "nrfiles"),
    ("timeout", "runtime"),
    ("iomem", "mem"),
    ("mem_align", "iomem_align"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("wait_for_previous", "stonewall"),
    ("disable_bw", "disable_bw_measurement"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
];

/// Allowed values of an option.
#[derive(Clone, Copy)]
enum Kind {
    /// 0 or 1; a bare word is 1.
    Flag,
    /// Numbers with units, ranges and lists of them.
    Numbers,
    /// One of these words.
    Word(&'static [&'static str]),
    /// One of these words, and numbers after a colon.
    WordThenNumbers(&'static [&'static str]),
    /// Names of errors.
    Errors,
    /// Bytes of a pattern, as numbers.
    Pattern,
    /// Files below the contender's folder; repeated settings add up.
    Files,
    /// Folders below it.
    Folders,
    /// The template of file names.
    Format,
    /// The name of another job.
    Job,
    /// An engine.
    Engine,
    /// Text or a log setting, which is not passed to fio.
    LeftOut,
}

use Kind::{Engine, Errors, Files, Flag, Folders, Format, Job, LeftOut, Numbers, Pattern, Word, WordThenNumbers};

/// Checks by which fio verifies data.
const VERIFY: &[&str] = &[
    "0",
    "md5",
    "crc64",
    "crc32c",
    "crc32c-intel",
    "crc32",
    "crc16",
    "crc7",
    "sha256",
    "sha512",
    "sha1",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "xxhash",
    "meta",
    "pattern",
    "null",
];
const PATTERNS: &[&str] = &["read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"];

/// Every option that may run.
#[rustfmt::skip]
const OPTIONS: &[(&str, Kind)] = &[
    // Jobs and their order.
    ("description", LeftOut), ("name", LeftOut), ("wait_for", Job), ("stonewall", Flag), ("new_group", Flag), ("exitall", Flag),
    ("exit_what", Word(&["group", "stonewall", "all"])), ("exitall_on_error", Flag), ("numjobs", Numbers), ("thread", Flag),
    ("loops", Numbers), ("startdelay", Numbers), ("runtime", Numbers), ("time_based", Flag), ("ramp_time", Numbers),
    // Files.
    ("filename", Files), ("directory", Folders), ("filename_format", Format), ("unique_filename", Flag),
    ("lockfile", Word(&["none", "exclusive", "readwrite"])), ("nrfiles", Numbers), ("openfiles", Numbers),
    ("file_service_type", WordThenNumbers(&["random", "roundrobin", "sequential", "zipf", "pareto", "normal", "gauss"])),
    ("filesize", Numbers), ("size", Numbers), ("io_size", Numbers), ("fill_device", Flag), ("file_append", Flag),
    ("fallocate", Word(&["none", "posix", "keep", "native", "truncate", "0", "1"])),
    ("fadvise_hint", Word(&["none", "random", "sequential", "noreuse", "0", "1"])), ("create_serialize", Flag),
    ("create_fsync", Flag), ("create_on_open", Flag), ("create_only", Flag), ("allow_file_create", Flag), ("pre_read", Flag),
    ("unlink", Flag), ("unlink_each_loop", Flag), ("overwrite", Flag), ("invalidate", Flag),
    // Calls, their sizes and places.
    ("rw", WordThenNumbers(PATTERNS)), ("rw_sequencer", Word(&["sequential", "identical"])), ("bs", Numbers), ("ba", Numbers),
    ("bsrange", Numbers), ("bssplit", Numbers), ("bs_unaligned", Flag), ("offset", Numbers), ("offset_align", Numbers),
    ("offset_increment", Numbers), ("number_ios", Numbers), ("randrepeat", Flag), ("randseed", Numbers), ("allrandrepeat", Flag),
    ("norandommap", Flag), ("softrandommap", Flag), ("random_generator", Word(&["tausworthe", "tausworthe64", "lfsr"])),
    ("random_distribution", WordThenNumbers(&["random", "zipf", "pareto", "normal", "gauss", "zoned", "zoned_abs"])),
    ("percentage_random", Numbers), ("rwmixread", Numbers), ("rwmixwrite", Numbers), ("zonemode", Word(&["none", "strided"])),
    ("zonesize", Numbers), ("zonerange", Numbers), ("zoneskip", Numbers),
    // Engines and depths.
    ("ioengine", Engine), ("iodepth", Numbers), ("iodepth_batch", Numbers), ("iodepth_batch_complete_min", Numbers),
    ("iodepth_batch_complete_max", Numbers), ("iodepth_low", Numbers), ("serialize_overlap", Flag),
    ("io_submit_mode", Word(&["inline"])), ("hipri", Flag), ("hipri_percentage", Numbers), ("uncached", Flag), ("nowait", Flag),
    ("userspace_reap", Flag), ("cmdprio_percentage", Numbers), ("cmdprio_class", Numbers), ("cmdprio", Numbers),
    ("cmdprio_bssplit", Numbers), ("fixedbufs", Flag), ("registerfiles", Flag), ("sqthread_poll", Flag),
    ("sqthread_poll_cpu", Numbers), ("nonvectored", Flag), ("force_async", Numbers), ("thp", Flag),
    ("stat_type", Word(&["stat", "lstat"])),
    // Caches and durability.
    ("direct", Flag), ("buffered", Flag), ("atomic", Flag), ("sync", Word(&["0", "1", "none", "sync", "dsync"])),
    ("fsync", Numbers), ("fdatasync", Numbers), ("write_barrier", Numbers),
    ("sync_file_range", WordThenNumbers(&["wait_before", "write", "wait_after"])), ("end_fsync", Flag), ("fsync_on_close", Flag),
    ("write_hint", Word(&["none", "short", "medium", "long", "extreme"])),
    // Memory and data.
    ("mem", Word(&["malloc", "shm", "shmhuge", "mmap"])), ("iomem_align", Numbers), ("hugepage-size", Numbers), ("lockmem", Numbers),
    ("zero_buffers", Flag), ("refill_buffers", Flag), ("scramble_buffers", Flag), ("buffer_pattern", Pattern),
    ("buffer_compress_percentage", Numbers), ("buffer_compress_chunk", Numbers), ("dedupe_percentage", Numbers),
    ("dedupe_mode", Word(&["repeat", "working_set"])), ("dedupe_working_set_percentage", Numbers), ("dedupe_global", Flag),
    ("verify", Word(VERIFY)), ("do_verify", Flag), ("verify_only", Flag), ("verify_interval", Numbers), ("verify_offset", Numbers),
    ("verify_pattern", Pattern), ("verify_fatal", Flag), ("verify_dump", Flag), ("verify_async", Numbers),
    ("verify_async_cpus", Numbers), ("verify_backlog", Numbers), ("verify_backlog_batch", Numbers), ("experimental_verify", Flag),
    ("verify_state_load", Word(&["0"])), ("verify_state_save", Word(&["0"])),
    // Pace.
    ("thinktime", Numbers), ("thinktime_spin", Numbers), ("thinktime_blocks", Numbers), ("thinktime_iotime", Numbers),
    ("thinktime_blocks_type", Word(&["complete", "issue"])), ("rate", Numbers), ("rate_min", Numbers),
    ("rate_process", Word(&["linear", "poisson"])), ("rate_cycle", Numbers), ("rate_ignore_thinktime", Flag), ("rate_iops", Numbers),
    ("rate_iops_min", Numbers), ("max_latency", Numbers), ("latency_target", Numbers), ("latency_window", Numbers),
    ("latency_percentile", Numbers), ("latency_run", Flag), ("flow_id", Numbers), ("flow", Numbers), ("flow_watermark", Numbers),
    ("flow_sleep", Numbers), ("steadystate", WordThenNumbers(&["iops", "iops_slope", "bw", "bw_slope"])),
    ("steadystate_duration", Numbers), ("steadystate_ramp_time", Numbers),
    // Processors.
    ("nice", Numbers), ("prio", Numbers), ("prioclass", Numbers), ("cpumask", Numbers), ("cpus_allowed", Numbers),
    ("cpus_allowed_policy", Word(&["shared", "split"])), ("numa_cpu_nodes", Numbers),
    ("numa_mem_policy", WordThenNumbers(&["default", "prefer", "bind", "interleave", "local"])), ("gtod_cpu", Numbers),
    ("clocksource", Word(&["gettimeofday", "clock_gettime", "cpu"])),
    // Errors and reports.
    ("ignore_error", Errors), ("continue_on_error", Word(&["none", "read", "write", "io", "verify", "all", "0", "1"])),
    ("error_dump", Flag), ("group_reporting", Flag), ("stats", Word(&["1"])), ("unified_rw_reporting", Word(&["0", "none"])),
    ("clat_percentiles", Flag), ("lat_percentiles", Flag), ("slat_percentiles", Flag), ("percentile_list", Numbers),
    ("significant_figures", Numbers), ("disk_util", Flag), ("gtod_reduce", Flag), ("disable_lat", Flag), ("disable_clat", Flag),
    ("disable_slat", Flag), ("disable_bw_measurement", Flag), ("block_error_percentiles", Flag), ("kb_base", Word(&["1000", "1024"])),
    ("unit_base", Word(&["0", "1", "8"])),
    ("per_job_logs", LeftOut), ("bwavgtime", LeftOut), ("iopsavgtime", LeftOut), ("log_avg_msec", LeftOut),
    ("log_hist_msec", LeftOut), ("log_hist_coarseness", LeftOut), ("log_max_value", LeftOut), ("log_offset", LeftOut),
    ("log_prio", LeftOut), ("log_unix_epoch", LeftOut), ("log_store_compressed", LeftOut), ("log_compression", LeftOut),
    ("log_entries", LeftOut),
];

/// Options that are refused, each with its reason.
const REFUSED: [(&str, &str); 35] = [
    ("exec_prerun", "runs a command: give it with --command, or before fio in a workload file"),
    ("exec_postrun", "runs a command: give it with --command, or after fio in a workload file"),
    ("ioscheduler", "sets the disk's scheduler: name it with the contender (ext4+bfq)"),
    ("cgroup", "creates a control group: use --memory or limit.memory="),
    ("cgroup_weight", "changes a control group"),
    ("cgroup_nodelete", "leaves a control group behind"),
    ("uid", "runs as another user: use --user"),
    ("gid", "runs as another group: use --user"),
    ("read_iolog", "replays an I/O log from outside the contender's folder"),
    ("read_iolog_chunked", "replays an I/O log from outside the contender's folder"),
    ("replay_redirect", "sends a replay to another file or device"),
    ("merge_blktrace_file", "writes a merged trace to a file"),
    ("write_iolog", "writes a log of calls: use `bakeoff record`"),
    ("write_bw_log", "writes a log: the figures and latencies are in the report"),
    ("write_lat_log", "writes a log: the figures and latencies are in the report"),
    ("write_iops_log", "writes a log: the figures and latencies are in the report"),
    ("write_hist_log", "writes a log: the figures and latencies are in the report"),
    ("opendir", "opens all files of an existing folder, and the contender's is empty"),
    ("hostname", "uses a network"),
    ("profile", "loads a profile instead of jobs"),
    ("ignore_zone_limits", "is for zoned devices"),
    ("zone_reset_threshold", "is for zoned devices"),
    ("zone_reset_frequency", "is for zoned devices"),
    ("max_open_zones", "is for zoned devices"),
    ("job_max_open_zones", "is for zoned devices"),
    ("read_beyond_wp", "is for zoned devices"),
    ("zonecapacity", "is for zoned devices"),
    ("allow_mounted_write", "is for devices, and jobs run on files"),
    ("trim_percentage", "trims devices; fio trims no files"),
    ("trim_verify_zero", "trims devices; fio trims no files"),
    ("trim_backlog", "trims devices; fio trims no files"),
    ("trim_backlog_batch", "trims devices; fio trims no files"),
    ("program", "runs a command: give it with --command"),
    ("filename_list", "names files in another file"),
    ("cmd_type", "sends commands to a device"),
];

/// An accepted option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Its canonical name.
    pub key: &'static str,
    /// Its value; None if it is not passed to fio.
    pub value: Option<String>,
    /// Whether it adds to an earlier setting.
    pub adds: bool,
}

/// The canonical name of an option.
pub fn canonical(key: &str) -> &str {
    ALIASES.iter().find(|(other, _)| *other == key).map_or(key, |(_, known)| known)
}

/// Whether an engine transfers data of the job's files.
pub fn transfers(engine: &str) -> bool {
    TRANSFERS.iter().any(|(known, _)| *known == engine)
}

/// Whether an engine can have several calls in flight.
pub fn is_asynchronous(engine: &str) -> bool {
    TRANSFERS.iter().any(|(known, deep)| *known == engine && *deep)
}

/// Checks an option.
///
/// # Errors
/// It is unknown, not allowed, or has an invalid value; in a clause that begins with a verb.
pub fn checked(key: &str, value: Option<&str>) -> Result<Checked, String> {
    let key = canonical(key);
    if let Some((_, why)) = REFUSED.iter().find(|(known, _)| *known == key) {
        return Err((*why).into());
    }
    let Some((key, kind)) = OPTIONS.iter().find(|(known, _)| *known == key) else {
        let known: Vec<&str> = OPTIONS.iter().map(|(known, _)| *known).collect();
        let hint = workload::did_you_mean(key, known.iter().copied());
        return Err(format!("is not an option known to stay in the contender's folder: leave it out{hint}"));
    };
    let given = match (kind, value) {
        (Flag, None) => "1",
        (LeftOut, _) => "",
        (_, Some(value)) if !value.is_empty() => value,
        _ => return Err("has no value".into()),
    };
    let value = match kind {
        LeftOut => None,
        kind => Some(value_of(key, *kind, given)?),
    };
    Ok(Checked { key, value, adds: matches!(kind, Files) })
}

fn value_of(key: &str, kind: Kind, value: &str) -> Result<String, String> {
    let is = |fits: bool, what: &str| if fits { Ok(value.to_owned()) } else { Err(what.to_owned()) };
    match kind {
        Flag => is(["0", "1"].contains(&value), "is neither 0 nor 1"),
        Numbers => is(numbers(value), "is neither a number nor a list of numbers"),
        Word(words) => is(words.contains(&value), &not_among(key, value, words)),
        WordThenNumbers(words) => {
            let (word, rest) = value.split_once(':').map_or((value, None), |(word, rest)| (word, Some(rest)));
            is(words.contains(&word) && rest.is_none_or(numbers), &not_among(key, word, words))
        }
        Errors => is(
            value.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || ":,".contains(c)),
            "is not a list of errors, such as ENOSPC:122",
        ),
        Pattern => is(
            value.starts_with(|c: char| c.is_ascii_digit() || "-%".contains(c))
                && value.chars().all(|c| c.is_ascii_hexdigit() || "x-%o".contains(c)),
            "is not a number: in quotes fio expects text or a file name; write it as 0x...",
        ),
        Files => names::paths(value, "file"),
        Folders if value == "." || value == "./" => Ok(String::new()),
        Folders => names::paths(value, "folder"),
        Format => names::format(value),
        Job => names::job(value),
        Engine => {
            is(transfers(value) || FILE_ENGINES.contains(&value), "is not an engine that works on files of a folder")
        }
        LeftOut => Ok(String::new()),
    }
}

/// Numbers as fio writes them, with units, ranges, shares and lists; no quotes, nothing in the form of a path.
fn numbers(value: &str) -> bool {
    let starts = value.trim_start_matches(['-', '+', ',', '.', ':']).starts_with(|c: char| c.is_ascii_digit());
    let path = value.contains("..") || value.split([':', ',']).any(|part| part.starts_with('/'));
    starts && !path && value.chars().all(|c| c.is_ascii_alphanumeric() || "-+,.:%/_".contains(c))
}

/// Why a word is not allowed; for some words of fio, the reason for refusing them.
fn not_among(key: &str, word: &str, words: &[&str]) -> String {
    match key {
        "rw" if word.contains("trim") => "trims devices; fio trims no files".into(),
        "io_submit_mode" => "passes calls to threads, with which fio can hang forever: leave it out".into(),
        "unified_rw_reporting" => "adds up reads and writes, which are separate operations here: leave it out".into(),
        "verify_state_load" | "verify_state_save" => "keeps the state of a check in a file: leave it out".into(),
        "zonemode" => "is for zoned devices".into(),
        "stats" => "disables fio's report: leave it out".into(),
        "mem" => "uses memory that may be in a file or on a device: use malloc, shm, shmhuge or mmap".into(),
        _ => format!("is none of {}", words.join(", ")),
    }
}

/// Whether an option is allowed.
#[cfg(test)]
pub fn is_known(key: &str) -> bool {
    OPTIONS.iter().any(|(known, _)| *known == key)
}

/// Every allowed option, each with an allowed value.
#[cfg(test)]
pub fn samples() -> Vec<(&'static str, Option<String>)> {
    let sample = |(key, kind): &(&'static str, Kind)| {
        let value = match kind {
            Flag => "1",
            Numbers => "1",
            Word(words) | WordThenNumbers(words) => words[0],
            Errors => "ENOSPC",
            Pattern => "0xff",
            Files | Folders | Format | Job => "x",
            Engine => "psync",
            LeftOut => return (*key, None),
        };
        (*key, Some(value.to_owned()))
    };
    OPTIONS.iter().map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn refused(key: &str, value: Option<&str>) -> String {
        checked(key, value).expect_err(key)
    }

    #[test]
    fn unknown_options_are_refused() {
        for key in ["no_such_option", "", "--rw", "exec_", "EXEC_PRERUN", "filename ", "include", "trigger", "aux-path"]
        {
            assert!(refused(key, Some("x")).contains("is not an option"), "{key}");
        }
        assert!(refused("blocksise", Some("4k")).contains("did you mean"));
    }

    #[test]
    fn no_option_is_allowed_and_refused_or_named_twice() {
        let allowed: Vec<&str> = OPTIONS.iter().map(|(key, _)| *key).collect();
        let once: BTreeSet<&str> = allowed.iter().copied().collect();
        assert_eq!(once.len(), allowed.len());
        assert!(REFUSED.iter().all(|(key, _)| !once.contains(key)));
        assert!(ALIASES.iter().all(|(other, key)| !once.contains(other) && once.contains(key)));
    }

    #[test]
    fn every_option_may_have_its_sample() {
        for (key, value) in samples() {
            assert_eq!(checked(key, value.as_deref()).map(|checked| checked.value), Ok(value.clone()), "{key}");
        }
    }

    #[test]
    fn values_are_numbers_words_and_names_that_fio_reads_as_they_are() {
        for (key, value) in [
            ("bs", "4k,8k"),
            ("bs", ",8k"),
            ("bssplit", "4k/60:64k/40"),
            ("rw", "read:-8k"),
            ("rw", "randread:8"),
            ("random_distribution", "zipf:1.1"),
            ("percentile_list", "50:99.9"),
            ("cpus_allowed", "0-3,5"),
            ("size", "50%"),
            ("offset", "-4k"),
            ("verify_pattern", "0xdeadbeef"),
            ("verify_pattern", "%o"),
            ("ignore_error", "EAGAIN,ENOSPC:122"),
            ("sync_file_range", "write:8"),
            ("numa_mem_policy", "bind:0-1"),
        ] {
            assert_eq!(checked(key, Some(value)).map(|checked| checked.value), Ok(Some(value.into())), "{key}={value}");
        }
        assert_eq!(checked("timeout", Some("5")).map(|checked| checked.key), Ok("runtime"));
    }

    #[test]
    fn values_that_lead_elsewhere_are_refused() {
        for (key, value) in [
            ("mem", "mmaphuge:/mnt/huge"),
            ("mem", "mmapshared:x"),
            ("buffer_pattern", "'/etc/shadow'"),
            ("buffer_pattern", "\"text\""),
            ("verify_pattern", "'f'"),
            ("ioengine", "external:/tmp/evil.so"),
            ("ioengine", "exec"),
            ("ioengine", "cpuio"),
            ("ioengine", "net"),
            ("ioengine", "sg"),
            ("ioengine", "e4defrag"),
            ("rw", "randtrim"),
            ("rw", "trimwrite"),
            ("rw", "read:/x"),
            ("io_submit_mode", "offload"),
            ("unified_rw_reporting", "mixed"),
            ("verify_state_load", "1"),
            ("zonemode", "zbd"),
            ("stats", "0"),
            ("size", "/dev/sda"),
            ("size", "1m:/dev/sda"),
            ("bssplit", "4k/../60"),
            ("size", "$mb_memory"),
            ("size", "1m;x"),
            ("size", "`reboot`"),
            ("size", "$(reboot)"),
            ("size", "1m\nexec_prerun=x"),
            ("size", ""),
            ("direct", "yes"),
            ("ignore_error", "/x"),
        ] {
            refused(key, Some(value));
        }
        assert!(refused("size", None).contains("no value"));
    }
}
