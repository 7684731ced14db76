//! `bakeoff agent`: the engine's process, and the command that starts it.
//! In: JSON lines on standard input. Out: JSON lines on standard output.

use crate::failure::Failure;
use std::sync::Arc;
use workload::outcome::Ceiling;

/// Serves the agent protocol until a quit request or the end of input.
pub fn agent() -> Result<u8, Failure> {
    system::process::stay_in_memory();
    let input = std::io::BufReader::new(std::io::stdin());
    engine::agent(input, std::io::stdout()).map_err(|error| Failure::new(format!("the engine's process: {error}")))?;
    Ok(0)
}

/// The command that starts the engine's process.
pub fn command() -> Result<Vec<String>, Failure> {
    let program = std::env::current_exe().map_err(|error| Failure::new(format!("finding this program: {error}")))?;
    Ok(vec![program.to_string_lossy().into_owned(), "agent".into()])
}

/// Starts the engine once and measures the ceiling of this machine's memory.
pub fn measure_ceiling() -> Result<Ceiling, Failure> {
    let mut agent = runner::Agent::start(&[], &command()?, Arc::new(|| false))?;
    let ceiling = agent.measure_ceiling()?;
    agent.quit();
    Ok(ceiling)
}
