//! The options of `publish` and `gallery`.
//! In: words typed by a person. Out: arguments, parsed and not yet resolved.

use clap::Args;
use std::path::PathBuf;

/// Shown below the help of `publish`.
pub const PUBLISH_EXAMPLES: &str = "\
Examples:
  bakeoff publish                           previews the latest run
  bakeoff publish --run all --out to-share  a folder for every run measured here
  bakeoff gallery to-share --out site       open site/index.html";

/// `bakeoff publish`
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Run ids, or the starts of some, or `all` [default: the latest run]
    #[arg(long, value_name = "RUN", value_delimiter = ',', num_args = 1..)]
    pub run: Vec<String>,
    /// Folder to write, with a folder for each run; runs that it already has are not changed. Without --out nothing is written
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Show every text that would be published, and write nothing; the default without --out
    #[arg(long)]
    pub preview: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff gallery`
#[derive(Debug, Args)]
pub struct GalleryArgs {
    /// Folders with output of `bakeoff publish`, up to four levels deep
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Folder for the site; an earlier site in it is replaced
    #[arg(long, value_name = "SITE")]
    pub out: PathBuf,
    /// Print JSON: each entry with its answer, refused entries with reasons, ratios over all entries, results for published claims
    #[arg(long)]
    pub json: bool,
}
