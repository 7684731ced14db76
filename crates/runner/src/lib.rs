//! Carries out a plan: order, staging, hand-over to the engine, evidence, resume.
//! In: a [`ResolvedPlan`], a venue, a ledger, somebody who watches. Out: trials in the ledger.
//! Knows nothing of how anything is shown.

mod aged;
mod agent;
mod attempts;
mod budget;
mod clients;
mod clock;
mod evidence;
mod images_venue;
mod order;
mod parts_venue;
mod passes;
mod restoring;
mod run;
mod slices;
mod staging_venue;
mod steady;
mod trial;
mod venue;
mod watch;

pub use aged::{Ager, cache, percent};
pub use agent::{Agent, AgentError};
pub use budget::policy;
pub use clients::ClientsVenue;
pub use clock::{Clock, MachineClock};
pub use images_venue::ImagesVenue;
pub use order::{order_of_block, parts};
pub use parts_venue::PartsVenue;
pub use records::plan::{LEAST_BLOCKS, MOST_BLOCKS};
pub use records::{Ages, Cause, DEVICE, Place, PlannedContender, ResolvedPlan, Sampling, Shard, TWIN, Work};
pub use run::{Ended, Run, RunError};
pub use staging_venue::{StagingVenue, drained, places};
pub use trial::Stop;
pub use venue::{Venue, VenueError};
pub use watch::{News, Unwatched, Watcher};
