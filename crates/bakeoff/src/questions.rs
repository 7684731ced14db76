//! From question to command: the text of `bakeoff help questions`.
//! In: nothing. Out: text of at most [`WIDTH`] columns. A test plans every run in it.

/// Columns of the text.
const WIDTH: usize = 80;

/// Questions with the command that answers each.
const QUESTIONS: [(&str, &str); 23] = [
    ("Which filesystem is best on this disk?", "bakeoff run"),
    ("Which on the empty disk /dev/sdb?", "bakeoff run --on /dev/sdb"),
    ("Is leaving ext4 worth it?", "bakeoff run --against ext4"),
    ("Which for a mail server?", "bakeoff run mail --fs ext4,xfs,btrfs"),
    ("Which for many small files?", "bakeoff run small-files --fs ext4,xfs,btrfs"),
    (
        "Which deletes many files fastest? (a million: files=1000000 and --budget 1h)",
        "bakeoff run small-files --set files=20000 --fs ext4,xfs,btrfs",
    ),
    ("Which for git and SQLite?", "bakeoff run git sqlite --fs ext4,xfs,btrfs"),
    (
        "PostgreSQL on ext4, or on btrfs with or without nodatacow?",
        "bakeoff run postgres --fs ext4,btrfs --axis mount.nodatacow=on,off",
    ),
    ("Is my own program faster on ext4 or XFS?", "bakeoff run --command ./build.sh --fs ext4,xfs"),
    ("Is noatime worth it?", "bakeoff run small-files --fs ext4 --axis mount.noatime=on,off"),
    (
        "Does btrfs with zstd pay off for my logs? (data=70%: 70 % compressible)",
        "bakeoff run sequential --fs ext4,btrfs --axis mount.compress=none,zstd --set data=logs",
    ),
    ("Does XFS need a larger log?", "bakeoff run mail --fs xfs --axis mkfs.log_size=default,256m"),
    (
        "Does XFS gain from a log on another disk? (which needs its own --erase)",
        "bakeoff run mail --fs xfs --mkfs xfs= --mkfs xfs=\"-l logdev=/dev/sdc1\"",
    ),
    ("The best options of XFS for my work? (20 minutes)", "bakeoff tune xfs --for mail"),
    ("ext4 with or without 64 KiB clusters?", "bakeoff run sequential --fs ext4 --axis mkfs.bigalloc=on,off"),
    (
        "Which I/O scheduler on the empty disk /dev/sdb?",
        "bakeoff run small-files --fs ext4 --scheduler none,mq-deadline,bfq --on /dev/sdb",
    ),
    (
        "F2FS or ext4 on flash? (modelled SSD, in virtual machines)",
        "bakeoff run small-files --fs ext4,f2fs --disk ssd-sata --kernel debian:6.1 --set files=500 --set some=200",
    ),
    ("Which on a hard disk that I do not have?", "bakeoff run small-files --disk hdd-7200"),
    ("How full is too full?", "bakeoff run nearly-full --fs ext4"),
    ("Does an old filesystem get slower?", "bakeoff run small-files --fs ext4,xfs --age fresh,old"),
    (
        "What does a power cut lose with data=writeback?",
        "bakeoff powercut --fs ext4 --axis mount.data=ordered,writeback --states 60",
    ),
    ("Is my disk all right? (reads it; it may be in use)", "bakeoff run device --on /dev/sda"),
    (
        "Is the new run slower than run BASE? (exit status 4 for CI; see `show --runs`)",
        "bakeoff compare BASE latest --fail-on likely:5%",
    ),
];

/// Every question with its command.
pub fn text() -> String {
    let mut text = String::from(
        "From question to command. A run takes five minutes at most; `--budget 2m` sets\nanother limit. To preview a run, write `plan` instead of `run`.\n",
    );
    for (question, command) in QUESTIONS {
        text.push_str(&format!("\n{question}\n"));
        text.push_str(&wrapped(command));
    }
    text.push_str("\n`bakeoff workloads` lists the work, `bakeoff help run` the options.\n");
    text
}

/// A command, on lines that a shell joins again.
fn wrapped(command: &str) -> String {
    let mut text = String::new();
    let mut line = String::from(" ");
    for part in
        command.split(" --").enumerate().map(|(at, part)| if at == 0 { part.into() } else { format!("--{part}") })
    {
        if line.len() + 1 + part.len() + " \\".len() > WIDTH {
            text.push_str(&line);
            text.push_str(" \\\n");
            line = String::from("     ");
        }
        line.push(' ');
        line.push_str(&part);
    }
    text + &line + "\n"
}
