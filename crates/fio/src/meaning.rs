//! What a job does, in words: what it reads and writes, which caches it bypasses, and when fio counts it as done.
//! In: a job. Out: sentences for reports, so that a cache's figure is not taken for a disk's.

use crate::job_file::Job;
use crate::options;

/// Its operation as a title of tables: `random reads`.
pub fn title(job: &Job, reads: bool) -> String {
    let random = if job.pattern().starts_with("rand") { "random " } else { "" };
    format!("{random}{}", if reads { "reads" } else { "writes" })
}

/// One or more sentences about a job.
pub fn sentences(job: &Job) -> String {
    let (reads, writes) = job.directions();
    let does = match (reads, writes) {
        (true, true) => "reads and writes",
        (true, false) => "reads",
        (false, true) => "writes",
        (false, false) => {
            let does = job.text("ioengine").unwrap_or(job.pattern());
            return format!("`{}` does the work of fio's `{does}`; its time is judged.", job.name);
        }
    };
    let mut shown = vec![format!("`{}` {does}", job.name)];
    if job.pattern().starts_with("rand") {
        shown.push("at random".into());
    }
    if let Some(block) = job.text("bs") {
        shown.push(format!("{block} per call"));
    }
    shown.push(caches(job, reads).into());
    let engine = job.text("ioengine").unwrap_or(options::ENGINE);
    if let Some(depth) = job.number("iodepth").filter(|depth| *depth > 1) {
        shown.push(match options::is_asynchronous(engine) {
            true => format!("up to {depth} in flight ({engine})"),
            false => format!("one in flight ({engine} has depth 1 and ignores iodepth={depth})"),
        });
    }
    if let Some(clones) = job.number("numjobs").filter(|clones| *clones > 1) {
        let kind = if job.truth("thread") { "threads" } else { "processes" };
        shown.push(format!("in {clones} {kind}"));
    }
    if job.truth("time_based")
        && let Some(seconds) = job.seconds("runtime")
    {
        shown.push(format!("for {seconds} s"));
    }
    let first = shown.join(", ") + ".";
    if writes { format!("{first} {}", durability(job)) } else { first }
}

fn caches(job: &Job, reads: bool) -> &'static str {
    match (job.is_direct(), job.text("invalidate").is_none_or(|text| text.trim() != "0")) {
        (true, _) => "past the page cache (direct=1)",
        (false, true) if reads => "through the page cache, from which fio first drops its files (invalidate=1)",
        (false, false) if reads => "through the page cache as it is (invalidate=0)",
        (false, _) => "through the page cache",
    }
}

/// When fio counts a write as done.
fn durability(job: &Job) -> String {
    let every = |key: &str| job.number(key).filter(|every| *every > 0);
    let sync = job.text("sync").filter(|text| !["0", "none"].contains(text));
    match (sync, every("fsync"), every("fdatasync")) {
        (Some(word), ..) => format!("Each write is durable before it returns (sync={word})."),
        (_, Some(every), _) => format!("It calls fsync after {}.", writes(every)),
        (_, _, Some(every)) => format!("It calls fdatasync after {}.", writes(every)),
        _ if job.truth("end_fsync") => "fio's own time ends with one fsync (end_fsync=1).".into(),
        _ if job.truth("fsync_on_close") => "fio's own time ends with an fsync of each file (fsync_on_close=1).".into(),
        _ => "fio's own time ends when the last call has returned, before cached writes are on the device; the judged time ends when \
              the data is durable."
            .into(),
    }
}

fn writes(every: u64) -> String {
    if every == 1 { "each write".into() } else { format!("every {every} writes") }
}

#[cfg(test)]
mod tests {
    use crate::JobFile;

    fn text_of(lines: &str) -> String {
        super::sentences(&JobFile::read(&format!("[db]\n{lines}"), &|_| None).expect("read").jobs[0])
    }

    #[test]
    fn the_sentence_names_caches_and_durability() {
        let text =
            text_of("rw=randread\nbs=4k\ndirect=1\nioengine=io_uring\niodepth=32\nnumjobs=4\nruntime=30\ntime_based");
        assert_eq!(
            text,
            "`db` reads, at random, 4k per call, past the page cache (direct=1), up to 32 in flight (io_uring), in 4 processes, for 30 s."
        );
        assert!(text_of("rw=read\niodepth=32").contains("psync has depth 1"));
        assert!(text_of("rw=read").contains("fio first drops"), "{}", text_of("rw=read"));
        assert!(text_of("rw=read\ninvalidate=0").contains("as it is"));
        assert!(text_of("rw=write").contains("when the data is durable"));
        assert!(text_of("rw=write\nfdatasync=1").contains("fdatasync after each write"));
        assert!(text_of("rw=randwrite\nsync=dsync").contains("before it returns"));
        assert!(text_of("rw=write\nend_fsync=1").contains("one fsync"));
    }
}
