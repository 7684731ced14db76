//! What a contender keeps when the power fails or its disk fails.
//! In: a stage on a disk served by Bakeoff. Out: for each contender, what was kept, lost, reported, and returned wrong.
//!
//! It is independent of how results are shown.

mod description;
mod error;
pub mod faults;
mod kernel_log;
pub mod measured;
pub mod power_cut;
mod stamps;
mod witness;

pub use description::driver;
pub use error::ReliabilityError;
pub use witness::witness;

/// Name of a contender's image in the served folder.
fn image_name(image: Option<&std::path::Path>) -> Result<String, ReliabilityError> {
    let name = image.and_then(std::path::Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.ok_or(ReliabilityError::NoImage)
}

/// Release of the running kernel, as in `uname -r`.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
