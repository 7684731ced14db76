//! How a filesystem is shared over a network: the key `[shared]` of a file in `shared/`.
//! In: TOML. Out: [`SharedFacts`]; a filesystem of one machine has none.
//! Servers run in network namespaces of their own on this machine; their data is on the device under test.

use schemars::JsonSchema;
use serde::Deserialize;

/// Most servers that are started.
const MOST_SERVERS: u32 = 16;

/// The servers of a shared filesystem.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedFacts {
    /// How many there are, each in its own network namespace; 1 to 16.
    pub servers: u32,
    /// How data lies on them, in words that end a sentence: `each file on both`.
    pub layout: String,
    /// Fails if a server is lost, and prints which one and what to do; runs after the work, and after a failure.
    pub intact: Vec<String>,
}

impl SharedFacts {
    /// A word in braces that is not a placeholder.
    pub(crate) fn unknown_place(&self) -> Option<&str> {
        self.intact.iter().find_map(|word| crate::filesystems::template::unknown_place(word))
    }

    /// What is wrong with the numbers; None if nothing is.
    pub(crate) fn problem(&self) -> Option<String> {
        let wrong = !(1..=MOST_SERVERS).contains(&self.servers);
        wrong.then(|| format!("shared.servers is {}; the range is 1 to {MOST_SERVERS}", self.servers))
    }

    /// The remark next to each of its figures.
    pub(crate) fn remark(&self) -> String {
        let servers = if self.servers == 1 { "1 server".into() } else { format!("{} servers", self.servers) };
        format!(
            "{servers} and the client run on this machine, {}; they talk between network namespaces, without network latency, \
             and all share the CPUs and the disk",
            self.layout
        )
    }
}
