//! What a filesystem can do on another kernel: tested in a guest with that kernel, on images in the guest's memory.
//! In: a target and a contender that names a kernel. Out: the answers of `features` from the guest.

use super::stage::{BOOT_LIMIT, in_guest};
use crate::error::StagingError;
use crate::features::Feature;
use crate::remote::{Ask, Asked};
use crate::stage::target::{Target, of_contender};
use records::{Cause, Contender};
use std::time::Duration;

/// Time limit of all questions together; each has a limit of its own.
const PROBE_LIMIT: Duration = Duration::from_secs(900);

impl Target {
    /// Probes a contender's filesystem in a guest of the kernel that it names, on images of `bytes`.
    ///
    /// # Errors
    /// No guest boots, or the filesystem cannot be made or mounted there at all.
    pub fn probe_in_guest(&mut self, contender: &Contender, bytes: u64) -> Result<Vec<Feature>, StagingError> {
        self.check(contender)?;
        let of_it = |error| of_contender(&contender.label, error);
        let prepared = self.prepared(contender).map_err(of_it)?;
        let (backend, _) = self.backend(&prepared).map_err(of_it)?;
        let description = self.registry.get(&contender.filesystem)?.source.clone();
        let asked =
            Asked { contender: Box::new(in_guest(contender)), description: Some(description), ..Asked::default() };
        let started = self.without_disk(&prepared, backend, BOOT_LIMIT);
        let answered = started.and_then(|mut machine| {
            let lost = |problem| StagingError::failed(&contender.label, problem, "", Cause::Unclear);
            let answered = machine.link.ask(&Ask::Probe { asked, bytes }, PROBE_LIMIT).map_err(lost);
            machine.end(&self.journal, &mut self.mark);
            answered
        });
        self.remove_folder();
        answered.map_err(of_it)?.of(&contender.label, "")
    }
}
