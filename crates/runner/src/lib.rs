//! Carries out a plan: order, staging, hand-over to the engine, evidence, resume.
//! In: a [`ResolvedPlan`], a venue, a ledger, a watcher. Out: trials in the ledger.
//! It knows nothing of how results are shown.

mod aged;
mod agent;
mod apart_venue;
mod attempts;
mod budget;
mod clients;
mod clock;
mod evidence;
mod order;
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
pub use apart_venue::{ApartVenue, guests_in};
pub use budget::policy;
pub use clients::ClientsVenue;
pub use clock::{Clock, MachineClock};
pub use order::order_of_block;
pub use records::plan::{LEAST_BLOCKS, MOST_BLOCKS};
pub use records::{Ages, Cause, DEVICE, Place, PlannedContender, ResolvedPlan, Sampling, Shard, TWIN, Work};
pub use run::{Ended, Run, RunError};
pub use staging_venue::{StagingVenue, drained, places};
pub use trial::Stop;
pub use venue::{Venue, VenueError};
pub use watch::{News, Unwatched, Watcher};
