//! Debian's suites, queried with apt under a configuration of our own: the machine's sources, lists and packages stay as they are.
//! In: a folder of the cache, and the machine's apt settings for mirrors and proxies. Out: the kernels of all suites; packages of them.
//! apt checks Debian's signature as usual: every source names Debian's keyring, and every setting that would accept unsigned data is off.

use super::choice::{self, Incomplete, Offer};
use super::parts;
use crate::error::StagingError;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system::command::find_program;
use system::create::Folder;
use system::{Command, Journal};

/// How long reading all suites may take, and downloading a kernel.
pub(super) const DOWNLOAD_LIMIT: Duration = Duration::from_secs(900);

/// The suites, and whether the mirror of security updates has them.
const SUITES: [(&str, bool); 8] = [
    ("bookworm", false),
    ("bookworm-security", true),
    ("bookworm-backports", false),
    ("trixie", false),
    ("trixie-security", true),
    ("trixie-backports", false),
    ("sid", false),
    ("experimental", false),
];

/// Default mirrors, if the machine's own apt names no mirror of Debian.
const MIRROR: &str = "http://deb.debian.org/debian";
const SECURITY: &str = "http://deb.debian.org/debian-security";

/// Debian's keys, from its package debian-archive-keyring; the second name is that of later releases.
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.gpg", "/usr/share/keyrings/debian-archive-keyring.pgp"];

/// Settings of the machine's own apt that are taken over: access to the network, and checks of the mirror's age and the own clock.
const TAKEN_OVER: [&str; 7] = [
    "Acquire::http::",
    "Acquire::https::",
    "Acquire::Force",
    "Acquire::Check-Valid-Until ",
    "Acquire::Check-Date ",
    "Acquire::Max-ValidTime ",
    "Acquire::Min-ValidTime ",
];

/// Settings of the machine's own apt.
#[derive(Debug, PartialEq, Eq)]
struct Machine {
    /// Lines of its configuration that are taken over.
    settings: Vec<String>,
    mirror: String,
    security: String,
}

/// The private configuration, written and ready to use.
pub(super) struct Suites {
    config: PathBuf,
}

/// A suite that could not be read, and why.
pub(super) type Unread = (String, String);

/// The content of the suites.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub kernels: Vec<Offer>,
    pub incomplete: Vec<Incomplete>,
    pub unread: Vec<Unread>,
}

impl Suites {
    /// Writes the configuration into a folder of the cache; nothing is fetched.
    pub fn prepare(cache: &Path, journal: &Journal) -> Result<Suites, StagingError> {
        let folder = cache.join("apt");
        if let Some(missing) = ["apt-get", "apt-cache", "apt-config"].iter().find(|name| find_program(name).is_none()) {
            let way = "this needs apt (Debian or a derivative); on other systems, give the path of a kernel".into();
            return Err(StagingError::missing_tool("a kernel of Debian's", missing, way));
        }
        let Some(keyring) = KEYRINGS.iter().find(|path| Path::new(path).is_file()) else {
            return Err(StagingError::file(
                "check packages of Debian with",
                Path::new(KEYRINGS[0]),
                "it does not exist",
            )
            .with_way("apt-get install debian-archive-keyring"));
        };
        let machine = machine(journal)?;
        let written = write(&folder, keyring, &machine);
        written.map_err(|error| StagingError::file("write apt's private configuration in", &folder, error))?;
        Ok(Suites { config: folder.join(CONFIG) })
    }

    /// Reads the lists of all suites from the mirror; returns their kernels.
    pub fn read(&self, journal: &Journal) -> Result<Read, StagingError> {
        // Status 100: some could not be read; the error output names them.
        let updated = self
            .command(["apt-get", "-q", "update"])
            .accept(&[0, 100])
            .hint("this needs the network; a downloaded kernel works without it")
            .run(journal)
            .map_err(StagingError::command("reading the lists of Debian's suites"))?;
        let unread = unread(&updated.stderr);
        if updated.status != 0 && (unread.is_empty() || unread.len() == SUITES.len()) {
            return Err(failed(&updated.stderr));
        }
        let read = Read { unread, ..self.kernels(journal)? };
        if read.kernels.is_empty() {
            return Err(failed("it lists no kernel for amd64"));
        }
        Ok(read)
    }

    /// The newest kernel of each series whose parts all exist, and those that lack one.
    fn kernels(&self, journal: &Journal) -> Result<Read, StagingError> {
        let ask = |words: Vec<&str>| {
            let answer =
                self.command(words).run(journal).map_err(StagingError::command("asking apt for Debian's kernels"));
            answer.map(|answer| answer.stdout)
        };
        let names = ask(vec!["apt-cache", "pkgnames", "linux-image-"])?;
        let named: Vec<&str> = names.lines().filter(|name| parts::release_of(name).is_some()).collect();
        if named.is_empty() {
            return Ok(Read::default());
        }
        let parts = parts::read(&ask(parts::QUESTION.into_iter().chain(named.iter().copied()).collect())?);
        let table = ask(["apt-cache", "madison"].into_iter().chain(named).collect())?;
        let (kernels, incomplete) = choice::newest_of_each(&table, &parts);
        Ok(Read { kernels, incomplete, unread: Vec::new() })
    }

    /// Downloads a kernel's packages into a folder.
    pub fn download(&self, offer: &Offer, folder: &Path, journal: &Journal) -> Result<(), StagingError> {
        let names = std::iter::once(&offer.package).chain(&offer.parts);
        let packages: Vec<String> = names.map(|name| format!("{name}={}", offer.version)).collect();
        let get = self.command(["apt-get", "-q", "download"]).typed();
        Command::shell(format!("cd {} && {get} {}", quoted(folder), packages.join(" ")))
            .limit(DOWNLOAD_LIMIT)
            .hint("the download needs the network; without it, give the path of an installed kernel")
            .run(journal)
            .map_err(StagingError::command(format!("downloading {}", offer.package)))
            .map(|_| ())
    }

    fn command<S: Into<String>>(&self, words: impl IntoIterator<Item = S>) -> Command {
        let config = ["env".to_string(), format!("APT_CONFIG={}", self.config.display())];
        Command::new(words).prefixed(&config).limit(DOWNLOAD_LIMIT)
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// The first message shows what was wrong; the last one only that something was.
fn failed(note: &str) -> StagingError {
    let first = note
        .lines()
        .map(|line| line.trim_start_matches("E:").trim_start_matches("W:").trim())
        .find(|line| !line.is_empty());
    let first = first.unwrap_or("apt failed without a message");
    let problem = format!("the kernel list of Debian's suites cannot be read: {first}");
    StagingError::other(problem, "this needs the network; a downloaded kernel works without it")
}

/// Suites that apt could not read, by its messages: each names the address of a file, or the suite.
fn unread(note: &str) -> Vec<Unread> {
    let about = |line: &&str, suite: &str| {
        line.contains(&format!("/dists/{suite}/")) || line.split_whitespace().any(|word| word == suite)
    };
    let complaints = || note.lines().filter(|line| line.starts_with("E:") || line.starts_with("W:"));
    let of = |suite: &str| {
        complaints().find(|line| about(line, suite)).map(|line| (suite.to_owned(), line[2..].trim().to_owned()))
    };
    SUITES.iter().filter_map(|(suite, _)| of(suite)).collect()
}

/// Settings of the machine's own apt for the network and mirrors.
fn machine(journal: &Journal) -> Result<Machine, StagingError> {
    let asked = || StagingError::command("asking apt for this machine's mirror");
    let dump = Command::new(["apt-config", "dump"]).run(journal).map_err(asked())?;
    let targets = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(ORIGIN)", "Created-By: Packages"];
    // Sources that apt cannot read do not concern this program; it then uses Debian's own mirror.
    let targets = Command::new(targets).accept(&[0, 100]).run(journal).map_err(asked())?;
    // Lists that were never read have no origin, and are only in this output.
    let unread = Command::new(["apt-get", "update", "--print-uris"]).accept(&[0, 100]).run(journal);
    let unread = unread.map_err(asked())?;
    Ok(parsed(&dump.stdout, &(targets.stdout + &addresses(&unread.stdout))))
}

/// Mirror and suite, from lines such as `'http://deb.debian.org/debian/dists/bookworm/InRelease' NAME 0`.
fn addresses(printed: &str) -> String {
    let one = |line: &str| {
        let (mirror, rest) = line.strip_prefix('\'')?.split_once("/dists/")?;
        let (suite, _) = rest.split_once("/InRelease'")?;
        Some(format!("{mirror} {suite}\n"))
    };
    printed.lines().filter_map(one).collect()
}

fn parsed(dump: &str, targets: &str) -> Machine {
    let taken = |line: &&str| TAKEN_OVER.iter().any(|start| line.starts_with(start));
    let settings = dump.lines().filter(taken).map(str::to_owned).collect();
    let of_debian = |line: &str| {
        let mut words = line.split_whitespace();
        let (address, suite) = (words.next()?.trim_end_matches('/'), words.next()?);
        let origin = words.next();
        // The origin is known once the machine has read its lists.
        let debians = origin
            .map_or(["/debian", "/debian-security"].iter().any(|end| address.ends_with(end)), |name| name == "Debian");
        let http = address.starts_with("http://") || address.starts_with("https://");
        (debians && http).then(|| (address.to_owned(), suite.ends_with("-security")))
    };
    let found: Vec<(String, bool)> = targets.lines().filter_map(of_debian).collect();
    let first = |security: bool| found.iter().find(|(_, is)| *is == security).map(|(address, _)| address.clone());
    Machine {
        settings,
        mirror: first(false).unwrap_or_else(|| MIRROR.into()),
        security: first(true).unwrap_or_else(|| SECURITY.into()),
    }
}

const CONFIG: &str = "apt.conf";
/// apt complains about missing folders.
const FOLDERS: [&str; 8] = [
    "etc/apt.conf.d",
    "etc/sources.list.d",
    "etc/preferences.d",
    "etc/trusted.gpg.d",
    "state/lists",
    "state/lists/partial",
    "cache/archives",
    "cache/archives/partial",
];

fn write(folder: &Path, keyring: &str, machine: &Machine) -> std::io::Result<()> {
    for name in FOLDERS {
        Folder::make(&folder.join(name))?;
    }
    Folder::open(&folder.join("state"))?.replace("status", b"")?;
    Folder::open(&folder.join("etc"))?.replace("sources.list", sources(keyring, machine).as_bytes())?;
    Folder::open(folder)?.replace(CONFIG, config(folder, machine).as_bytes())
}

/// The sources: each must be signed by Debian's keys.
fn sources(keyring: &str, machine: &Machine) -> String {
    let line = |(suite, security): &(&str, bool)| {
        let mirror = if *security { &machine.security } else { &machine.mirror };
        format!("deb [arch=amd64 signed-by={keyring}] {mirror} {suite} main\n")
    };
    SUITES.iter().map(line).collect()
}

/// All that apt stores and reads is in the folder, except passwords of mirrors. It is read as APT_CONFIG, before the machine's own
/// configuration, whose path it changes: neither that nor its hooks are read.
fn config(folder: &Path, machine: &Machine) -> String {
    let place = |name: &str| folder.join(name).display().to_string();
    let mut lines = vec![
        format!("Dir::Etc \"{}\";", place("etc")),
        "Dir::Etc::netrc \"/etc/apt/auth.conf\";".into(),
        "Dir::Etc::netrcparts \"/etc/apt/auth.conf.d\";".into(),
        format!("Dir::State \"{}\";", place("state")),
        format!("Dir::State::status \"{}\";", place("state/status")),
        format!("Dir::Cache \"{}\";", place("cache")),
        // They would take twice the room of the lists, for two queries a day.
        "Dir::Cache::pkgcache \"\";".into(),
        "Dir::Cache::srcpkgcache \"\";".into(),
    ];
    lines.extend(machine.settings.iter().cloned());
    let last = [
        "APT::Architecture \"amd64\";",
        "APT::Architectures { \"amd64\"; };",
        // The folder belongs to root, and the user `_apt` may not enter it.
        "APT::Sandbox::User \"root\";",
        "APT::Get::AllowUnauthenticated \"false\";",
        "APT::Update::Error-Mode \"any\";",
        "Acquire::AllowInsecureRepositories \"false\";",
        "Acquire::AllowWeakRepositories \"false\";",
        "Acquire::AllowDowngradeToInsecureRepositories \"false\";",
        "Acquire::GzipIndexes \"true\";",
        "Acquire::Languages \"none\";",
        "Acquire::PDiffs \"false\";",
        "Acquire::Retries \"1\";",
        "Acquire::http::Timeout \"20\";",
        "Acquire::https::Timeout \"20\";",
    ];
    lines.extend(last.map(String::from));
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const DUMP: &str = "\
Acquire::AllowInsecureRepositories \"1\";
Acquire::Check-Valid-Until \"false\";
Acquire::http::Proxy \"http://proxy.example:3142\";
Acquire::Languages:: \"none\";
APT::Get::AllowUnauthenticated \"true\";
APT::Update::Post-Invoke:: \"rm -rf /var/cache/apt\";
Dir::State \"var/lib/apt\";
";

    fn machine() -> Machine {
        parsed(DUMP, "http://mirror.example/debian/ bookworm Debian\n")
    }

    #[test]
    fn mirrors_are_those_of_the_machine_and_debians_own_where_it_has_none() {
        let both = "https://packages.example/apt/ stable Example\n\
                    http://mirror.example/debian/ bookworm Debian\n\
                    http://mirror.example/debian/ bookworm-updates Debian\n\
                    http://mirror.example/debian-security/ bookworm-security Debian\n";
        let found = parsed("", both);
        assert_eq!(found.mirror, "http://mirror.example/debian");
        assert_eq!(found.security, "http://mirror.example/debian-security");
        // Until the machine's own lists are read, their origin is unknown.
        assert_eq!(parsed("", "http://near.example/debian/ trixie\n").mirror, "http://near.example/debian");
        for other in ["", "http://archive.ubuntu.com/ubuntu/ noble Ubuntu\n", "file:/media/debian/ trixie Debian\n"] {
            assert_eq!(
                (parsed("", other).mirror, parsed("", other).security),
                (MIRROR.into(), SECURITY.into()),
                "{other}"
            );
        }
    }

    #[test]
    fn every_source_is_checked_against_debians_keys_and_none_is_trusted_unsigned() {
        let text = sources(KEYRINGS[0], &machine());
        assert_eq!(text.lines().count(), SUITES.len());
        for line in text.lines() {
            assert!(line.starts_with(&format!("deb [arch=amd64 signed-by={}] http", KEYRINGS[0])), "{line}");
        }
        assert!(text.contains("] http://mirror.example/debian trixie-backports main\n"), "{text}");
        assert!(text.contains("http://deb.debian.org/debian-security bookworm-security main\n"), "{text}");
        assert!(!text.contains("trusted") && !text.contains("allow-"), "{text}");
    }

    #[test]
    fn the_configuration_keeps_to_its_folder_and_takes_over_the_network_alone() {
        let text = config(Path::new("/c/apt"), &machine());
        let value = |key: &str| {
            let start = format!("{key} \"");
            let last = text.lines().rfind(|line| line.starts_with(&start));
            last.map(|line| line[start.len()..].trim_end_matches("\";").to_owned())
        };
        for key in ["Dir::Etc", "Dir::State", "Dir::State::status", "Dir::Cache"] {
            assert!(value(key).is_some_and(|place| place.starts_with("/c/apt/")), "{key} in {text}");
        }
        assert_eq!(value("Acquire::http::Proxy").as_deref(), Some("http://proxy.example:3142"));
        assert_eq!(value("Acquire::Check-Valid-Until").as_deref(), Some("false"));
        let refused = ["APT::Get::AllowUnauthenticated", "Acquire::AllowInsecureRepositories"];
        for key in refused
            .into_iter()
            .chain(["Acquire::AllowWeakRepositories", "Acquire::AllowDowngradeToInsecureRepositories"])
        {
            assert_eq!(value(key).as_deref(), Some("false"), "{key}");
        }
        assert!(!text.contains("Post-Invoke"), "hooks of the machine are not run: {text}");
    }

    #[test]
    fn apt_uses_the_configuration_that_was_written() {
        if find_program("apt-config").is_none() {
            return prerequisites::leave_out("apt", "apt is not installed");
        }
        let place = tempfile::tempdir().expect("a folder");
        let folder = place.path().join("apt");
        write(&folder, KEYRINGS[0], &machine()).expect("written");
        let suites = Suites { config: folder.join(CONFIG) };
        let journal = Journal::new();
        let value = suites.command(["apt-config", "dump"]).run(&journal).expect("apt answers").stdout;
        assert!(value.contains(&format!("Dir::Etc \"{}\"", folder.join("etc").display())), "{value}");
        assert!(
            value.contains("APT::Get::AllowUnauthenticated \"false\"") && !value.contains("Post-Invoke"),
            "{value}"
        );
        // It knows the suites of our file, and none of the machine's sources.
        let value = suites.command(["apt-get", "update", "--print-uris"]).run(&journal).expect("apt answers").stdout;
        let known = addresses(&value);
        let named: BTreeSet<&str> =
            known.lines().filter_map(|line| line.split_once(' ')).map(|(_, suite)| suite).collect();
        assert_eq!(named, BTreeSet::from(SUITES.map(|(suite, _)| suite)), "{value}");
    }

    #[test]
    fn a_suite_that_apt_complains_of_was_not_read() {
        let note = "\
E: Release file for http://deb.debian.org/debian/dists/sid/InRelease is expired (invalid since 17d). Updates for this repository will not be applied.
E: The repository 'http://deb.debian.org/debian bookworm-backports Release' does not have a Release file.
N: See apt-secure(8) manpage for repository creation and user configuration details.
";
        let found = unread(note);
        let names: Vec<&str> = found.iter().map(|(suite, _)| suite.as_str()).collect();
        assert_eq!(names, ["bookworm-backports", "sid"]);
        assert!(found[1].1.starts_with("Release file for"), "{found:?}");
    }
}
