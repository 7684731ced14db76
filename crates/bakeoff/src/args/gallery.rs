//! The options of `publish` and `gallery`.
//! In: words typed by a person. Out: arguments, parsed and not yet resolved.

use clap::Args;
use std::path::PathBuf;

/// Shown below the help of `publish`.
pub const PUBLISH_EXAMPLES: &str = "\
Examples:
  bakeoff publish                               what would leave of the latest run; nothing is written
  bakeoff publish --run all --out to-share      a folder of every run that was measured here
  bakeoff gallery to-share --out site           the page of them all: open site/index.html";

/// `bakeoff publish`
#[derive(Debug, Args)]
pub struct PublishArgs {
    /// Runs, by their ids or the beginning of these, or `all` [default: the latest]
    #[arg(long, value_name = "RUN", value_delimiter = ',', num_args = 1..)]
    pub run: Vec<String>,
    /// Folder to write, one folder in it for each run; runs that are in it already stay as they are. Without it nothing is written
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
    /// Show what would leave, every text of it, and write nothing; so does `publish` without --out
    #[arg(long)]
    pub preview: bool,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `bakeoff gallery`
#[derive(Debug, Args)]
pub struct GalleryArgs {
    /// Folders that hold what `bakeoff publish` wrote, at any depth up to four
    #[arg(required = true, value_name = "FOLDER")]
    pub folders: Vec<PathBuf>,
    /// Folder for the site: made, or the site of an earlier time, which is replaced
    #[arg(long, value_name = "SITE")]
    pub out: PathBuf,
    /// As JSON: every entry with its answer, what was refused and why, ratios over all entries, and how published claims fared
    #[arg(long)]
    pub json: bool,
}
