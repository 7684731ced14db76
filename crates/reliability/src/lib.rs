//! What a contender keeps when things go wrong below it: when the power goes, and when its disk fails.
//! In: a stage on a disk that Bakeoff serves itself. Out: for each contender what was kept, lost, reported, and returned wrong.
//!
//! It knows nothing of how results are shown.

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

/// Name of an image on which a contender stands, in the folder that is served.
fn image_name(image: Option<&std::path::Path>) -> Result<String, ReliabilityError> {
    let name = image.and_then(std::path::Path::file_name).map(|name| name.to_string_lossy().into_owned());
    name.ok_or(ReliabilityError::NoImage)
}

/// The kernel that runs, as `uname -r` has it.
pub fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
