//! Carries out a plan: order, staging, hand-over to the engine, evidence, resume.
//! In: a [`Scheme`], a venue, a ledger, somebody who watches. Out: trials in the ledger.
//! Knows nothing of how anything is shown.

mod aged;
mod agent;
mod budget;
mod evidence;
mod ground;
mod order;
mod run;
mod scheme;
mod steady;
mod trial;
mod venue;
mod watch;

pub use aged::{Ager, Ages, percent};
pub use agent::{Agent, AgentError, Line};
pub use ground::{LabVenue, contender, places};
pub use order::order_of_block;
pub use run::{Ended, Run, RunError};
pub use scheme::{DEVICE, Entry, LEAST_BLOCKS, MOST_BLOCKS, Place, Sampling, Scheme, Shard, TWIN, Work};
pub use trial::Stop;
pub use venue::{Staged, Venue, VenueError};
pub use watch::{News, Unwatched, Watcher};
