//! Scans a tree of files: how many, how large, how deep, in directories of which size, and what their data is like.
//! In: a folder and limits of time and number. Out: a [`Profile`]: counts, histograms and sampled shares, in bounded memory.
//! Nothing is modified, no symbolic link is followed, and files that vanish or cannot be read are counted.

mod histogram;
mod open;
mod profile;
mod sampled;
mod samples;
mod scan;

pub use histogram::{Bin, Histogram};
pub use profile::{LeftOut, Profile, Sampled};
pub use scan::{DEEPEST_LEVEL, Limits, ScanError, scan};
