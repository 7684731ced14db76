//! The rivals: how each is told to do the same work, and where its figure stands in what it prints.
//! In: a work, a place. Out: figures by work, or why there are none.
//! Only what is installed runs; nothing is installed here.

use crate::table::Measured;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A figure for a work.
pub type Figures = Vec<(String, Measured)>;

/// A program that can be asked for figures.
pub struct Tool {
    /// Its name, and what sets it apart from other uses of the same program.
    pub name: &'static str,
    /// What a person would type, with `DIR` for the place.
    pub command: String,
    /// How its output becomes figures.
    pub read: fn(&str) -> Option<Figures>,
    /// A program to look for on the PATH.
    pub program: &'static str,
}

/// Where a program is, if it is installed.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|d| d.join(program)).find(|p| p.is_file())
}

impl Tool {
    /// Run it in a place.
    pub fn run(&self, place: &Path) -> Result<Figures, String> {
        let line = self.command.replace("DIR", &place.display().to_string());
        let output = Command::new("sh")
            .args(["-c", &line])
            .current_dir(place)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("`{line}`: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("`{line}` ended with {}: {}", output.status, said.lines().last().unwrap_or_default()));
        }
        (self.read)(&said).ok_or_else(|| format!("`{line}` printed no figure"))
    }
}

/// Names of the works; the same for every tool.
pub const RANDOM: &str = "random 4 KiB cached read, pread";
/// See above.
pub const RING: &str = "random 4 KiB cached read, io_uring, depth 32";
/// See above.
pub const SEQUENTIAL: &str = "sequential 1 MiB cached read";
/// See above.
pub const WRITE: &str = "write of incompressible data, 1 MiB blocks, pages there before";

/// Name of a work on small files.
pub fn small(work: &str, workers: u64) -> String {
    format!("{work} of 1 KiB files, {workers} worker{}", if workers == 1 { "" } else { "s" })
}

fn fio(output: &str, value: &str, work: &str) -> Option<Figures> {
    let json: serde_json::Value = serde_json::from_str(output.get(output.find('{')?..=output.rfind('}')?)?).ok()?;
    let job = json.get("jobs")?.get(0)?;
    let figure = ["read", "write"].iter().filter_map(|d| job.get(d)?.get(value)?.as_f64()).fold(0.0, f64::max);
    (figure > 0.0).then(|| vec![(work.to_owned(), figure.into())])
}

fn fio_command(rest: &str, bytes: u64) -> String {
    format!("fio --name=bench --filename=DIR/0 --size={bytes} --invalidate=0 --output-format=json {rest}")
}

fn number_after(text: &str, label: &str) -> Option<f64> {
    let rest = text.get(text.find(label)? + label.len()..)?;
    rest.split_whitespace().next()?.trim_end_matches(',').parse().ok()
}

/// Random reads by system calls.
pub fn random(bytes: u64, count: u64) -> Vec<Tool> {
    let read: fn(&str) -> Option<Figures> = |o| fio(o, "iops", RANDOM);
    let common = format!("--rw=randread --bs=4k --ioengine=psync --norandommap --io_size={}", count * 4096);
    let sysbench = format!(
        "ln -f 0 test_file.0 && sysbench fileio --file-num=1 --file-total-size={bytes} --file-test-mode=rndrd \
         --file-block-size=4096 --time=0 --events={count} --file-fsync-freq=0 run; rm -f test_file.0"
    );
    vec![
        Tool { name: "fio", program: "fio", command: fio_command(&common, bytes), read },
        Tool {
            name: "fio, no latencies",
            program: "fio",
            command: fio_command(&format!("{common} --gtod_reduce=1"), bytes),
            read,
        },
        Tool {
            name: "sysbench",
            program: "sysbench",
            command: sysbench,
            read: |o| Some(vec![(RANDOM.to_owned(), number_after(o, "reads/s:")?.into())]),
        },
        elbencho(RANDOM, &format!("-r -b 4K -t 1 --rand --randamount {} DIR/0", count * 4096)),
    ]
}

/// Random reads through io_uring.
pub fn ring(bytes: u64, count: u64) -> Vec<Tool> {
    let read: fn(&str) -> Option<Figures> = |o| fio(o, "iops", RING);
    let common =
        format!("--rw=randread --bs=4k --ioengine=io_uring --iodepth=32 --norandommap --io_size={}", count * 4096);
    let tuned = "--registerfiles --fixedbufs --iodepth_batch_submit=16 --iodepth_batch_complete_min=1 \
                 --iodepth_batch_complete_max=32 --gtod_reduce=1";
    vec![
        Tool { name: "fio", program: "fio", command: fio_command(&common, bytes), read },
        Tool { name: "fio, tuned", program: "fio", command: fio_command(&format!("{common} {tuned}"), bytes), read },
    ]
}

/// Sequential reads.
pub fn sequential(bytes: u64, times: u64) -> Vec<Tool> {
    let common = format!("--rw=read --bs=1m --ioengine=psync --loops={times}");
    vec![
        Tool {
            name: "fio",
            program: "fio",
            command: fio_command(&common, bytes),
            read: |o| fio(o, "bw_bytes", SEQUENTIAL),
        },
        Tool {
            name: "dd",
            program: "dd",
            command: "LC_ALL=C dd if=DIR/0 of=/dev/null bs=1M".into(),
            read: |o| Some(vec![(SEQUENTIAL.to_owned(), dd_rate(o)?.into())]),
        },
        elbencho(SEQUENTIAL, "-r -b 1M -t 1 DIR/0"),
    ]
}

/// dd prints bytes and seconds; its own rate is rounded.
fn dd_rate(output: &str) -> Option<f64> {
    let line = output.lines().find(|l| l.contains(" copied, "))?;
    let bytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    let seconds: f64 = line.split(" copied, ").nth(1)?.split_whitespace().next()?.parse().ok()?;
    Some(bytes / seconds)
}

/// Writes of incompressible data.
pub fn write(bytes: u64) -> Vec<Tool> {
    let common = "--rw=write --bs=1m --ioengine=psync --overwrite=1 --refill_buffers=1";
    vec![
        Tool { name: "fio", program: "fio", command: fio_command(common, bytes), read: |o| fio(o, "bw_bytes", WRITE) },
        elbencho(WRITE, "-w -b 1M -t 1 --blockvarpct 100 DIR/0"),
    ]
}

/// Small files by programs that make and remove their own.
pub fn small_files(files: u64, workers: u64) -> Vec<Tool> {
    let directories = files / 200;
    let mut tools = Vec::new();
    let fs_mark = |threads: &str, each: u64| {
        format!("mkdir -p fm && fs_mark -d DIR/fm -n {each} -s 1024 -D {directories} -S 0 -L 1 {threads}; rm -rf fm")
    };
    let one = workers == 1;
    tools.push(Tool {
        name: "fs_mark",
        program: "fs_mark",
        command: fs_mark(&format!("-t {workers}"), files),
        read: if one { |o| fs_mark_rate(o, 1) } else { |o| fs_mark_rate(o, 2) },
    });
    if one {
        let thousands = files / 1024;
        let command = format!(
            "mkdir -p bo && bonnie++ -d DIR/bo -s 0 -n {thousands}:1024:1024:{directories} -u root -q -m x; rm -rf bo"
        );
        tools.push(Tool { name: "bonnie++", program: "bonnie++", command, read: bonnie });
    }
    let mdtest = format!(
        "mkdir -p md && {} mdtest -F -n {files} -I 200 -w 1024 -e 1024 -u -d DIR/md; rm -rf md",
        if one { String::new() } else { format!("mpirun --allow-run-as-root --oversubscribe -n {workers}") }
    );
    tools.push(Tool {
        name: "mdtest",
        program: "mdtest",
        command: mdtest,
        read: if one { |o| mdtest_rates(o, 1) } else { |o| mdtest_rates(o, 2) },
    });
    tools
}

fn fs_mark_rate(output: &str, workers: u64) -> Option<Figures> {
    let mut lines = output.lines().skip_while(|l| !l.contains("Files/sec")).skip(1);
    let rate: f64 = lines.next()?.split_whitespace().nth(3)?.parse().ok()?;
    Some(vec![(small("create", workers), rate.into())])
}

/// Columns of Bonnie++ 2.00's CSV: sequential create, read and delete; "+++++" where it could not time them.
fn bonnie(output: &str) -> Option<Figures> {
    let line = output.lines().find(|l| l.starts_with("1.98,"))?;
    let fields: Vec<&str> = line.split(',').collect();
    let works = [("create", 26), ("read", 28), ("unlink", 30)];
    let figures = works.iter().filter_map(|(w, i)| Some((small(w, 1), fields.get(*i)?.parse::<f64>().ok()?.into())));
    Some(figures.collect())
}

fn mdtest_rates(output: &str, workers: u64) -> Option<Figures> {
    let works = [("File creation", "create"), ("File stat", "stat"), ("File read", "read"), ("File removal", "unlink")];
    let figures: Figures = works
        .iter()
        .filter_map(|(label, work)| {
            let line = output.lines().find(|l| l.trim_start().starts_with(label))?;
            let rate = line.trim_start()[label.len()..].split_whitespace().find_map(|w| w.parse::<f64>().ok())?;
            Some((small(work, workers), rate.into()))
        })
        .collect();
    (!figures.is_empty()).then_some(figures)
}

fn elbencho(work: &'static str, rest: &str) -> Tool {
    let command = format!("rm -f el.csv; elbencho --csvfile el.csv {rest} >/dev/null; cat el.csv; rm -f el.csv");
    let read: fn(&str) -> Option<Figures> = match work {
        RANDOM => |o| elbencho_rate(o, "IOPS [last]", 1.0, RANDOM),
        SEQUENTIAL => |o| elbencho_rate(o, "MiB/s [last]", 1_048_576.0, SEQUENTIAL),
        _ => |o| elbencho_rate(o, "MiB/s [last]", 1_048_576.0, WRITE),
    };
    Tool { name: "elbencho", program: "elbencho", command, read }
}

fn elbencho_rate(output: &str, column: &str, unit: f64, work: &str) -> Option<Figures> {
    let mut lines = output.lines().filter(|l| l.contains(','));
    let place = lines.next()?.split(',').position(|c| c.trim() == column)?;
    let rate: f64 = lines.next_back()?.split(',').nth(place)?.trim().parse().ok()?;
    Some(vec![(work.to_owned(), (rate * unit).into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_found_in_what_the_rivals_print() {
        let csv = "1.98,2.00a,x,1,17951,,,,,,,,,,,,,,,,,196,1024,1024,,1000,101,9,+++++,+++,303,9,,,,,,";
        assert_eq!(bonnie(csv).unwrap(), [(small("create", 1), 101.0.into()), (small("unlink", 1), 303.0.into())]);
        let fs_mark = "FSUse%  Count  Size  Files/sec  App Overhead\n  4  20000  1024  52197.7  82010\n";
        assert_eq!(fs_mark_rate(fs_mark, 1).unwrap()[0].1.per_second, 52_197.7);
        let dd = "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s";
        assert_eq!(dd_rate(dd), Some(2_147_483_648.0));
        let json = r#"note: {"jobs": [{"read": {"iops": 7.5, "bw_bytes": 0}, "write": {"iops": 0, "bw_bytes": 0}}]}"#;
        assert_eq!(fio(json, "iops", RANDOM).unwrap()[0].1.per_second, 7.5);
        assert_eq!(number_after("  reads/s:      405555.45\n", "reads/s:"), Some(405_555.45));
        let mdtest = "   File creation             242000.5     242000.5   242000.5   0.0\n   File stat  9.0 9.0";
        assert_eq!(
            mdtest_rates(mdtest, 1).unwrap(),
            [(small("create", 1), 242_000.5.into()), (small("stat", 1), 9.0.into())]
        );
        let elbencho = "label,operation,IOPS [first],IOPS [last]\nx,READ,1,864000\n";
        assert_eq!(elbencho_rate(elbencho, "IOPS [last]", 1.0, RANDOM).unwrap()[0].1.per_second, 864_000.0);
    }

    #[test]
    fn nothing_printed_is_no_figure() {
        assert!(bonnie("").is_none() && dd_rate("").is_none() && mdtest_rates("", 1).is_none());
    }
}
