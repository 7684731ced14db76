//! Selects the kernel that mounts possibly damaged filesystems: a virtual machine's, if one boots quickly and without a download, or the host's.
//! In: the user's options, and what this machine offers. Out: the kernel of contenders that name none, and the
//! reason, for people and for `--json`.

use crate::args::MountedIn;
use crate::failure::Failure;
use records::{Backend, Contender};
use runner::PlannedContender;
use schemars::JsonSchema;
use serde::Serialize;
use staging::{Registry, StagingError, Target, Where};
use std::path::PathBuf;
use system::Journal;

/// The reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// Set by `--in`.
    Asked,
    /// Every contender names a kernel, or needs one other than this machine's.
    Named,
    /// Power cuts of programs run only on this machine.
    Program,
    /// This machine lacks what virtual machines need.
    NoGuests,
    /// There is no kernel that could be booted without a download.
    NoKernel,
    /// The available kernel does not suit a contender.
    KernelLacks,
    /// KVM boots no virtual machine here, and emulated ones take too long.
    NoKvm,
    /// KVM boots a virtual machine.
    Kvm,
}

/// Kernel that mounted the contenders that name none, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MountedBy {
    /// In a virtual machine, or on this machine.
    pub place: MountedIn,
    /// Why.
    pub reason: Reason,
    /// The virtual machine's kernel, in the form of `--kernel`; null if this machine's own kernel mounts.
    pub kernel: Option<String>,
    /// The finding that decided it, in words; empty if none was needed.
    pub found: String,
}

impl MountedBy {
    fn here(reason: Reason, found: impl Into<String>) -> MountedBy {
        MountedBy { place: MountedIn::Here, reason, kernel: None, found: found.into() }
    }

    /// The result of `--in here`.
    #[cfg(test)]
    pub fn asked_here() -> MountedBy {
        MountedBy::here(Reason::Asked, "")
    }

    /// The decision as a sentence; None if every contender names a kernel.
    pub fn sentence(&self) -> Option<String> {
        const HERE: &str = "Possibly damaged filesystems are mounted by this machine's own kernel";
        const ALL_THE_SAME: &str = "`--in guest` still mounts them in a virtual machine";
        let found = &self.found;
        let kernel = self.kernel.as_deref().unwrap_or_default();
        Some(match self.reason {
            Reason::Named => return None,
            Reason::Asked if self.place == MountedIn::Here => format!("{HERE}, as set by `--in here`."),
            Reason::Asked => format!(
                "Possibly damaged filesystems are mounted in a virtual machine ({kernel}), as set by `--in guest`."
            ),
            Reason::Kvm => format!(
                "Possibly damaged filesystems are mounted in a virtual machine ({kernel}), since KVM works here; with `--in here` this machine's own kernel mounts them."
            ),
            Reason::Program => format!("{HERE}: your own programs do not run in a virtual machine."),
            Reason::NoGuests => format!("{HERE}: virtual machines cannot run here ({found})."),
            Reason::NoKernel => format!("{HERE}: {found}."),
            Reason::KernelLacks => format!("{HERE}: {found}."),
            Reason::NoKvm => format!(
                "{HERE}: a virtual machine would be {found}, and would take half a second or more for each state; {ALL_THE_SAME}."
            ),
        })
    }
}

/// What a machine offers, as far as the decision depends on it.
trait Offers {
    /// What is missing here for virtual machines.
    fn lacks(&self) -> Option<String>;
    /// A kernel that can be booted without a download.
    fn kernel(&self) -> Option<String>;
    /// Whether it boots under KVM with all that the contenders need; otherwise why not.
    fn boots(&self, kernel: &str) -> Result<(), (Reason, String)>;
}

/// No kernel can be booted; with advice.
const NO_KERNEL: &str = "no kernel for a virtual machine is installed or downloaded (`bakeoff systems --fetch debian:newest` downloads one)";

/// The kernel for a requested guest.
fn guest_kernel(lacks: Option<String>, kernel: Option<String>) -> Result<String, Failure> {
    if let Some(lack) = lacks {
        return Err(Failure::usage(format!("--in guest: virtual machines cannot run here: {lack}")));
    }
    kernel.ok_or_else(|| Failure::usage(format!("--in guest: {NO_KERNEL}")))
}

fn decided(asked: Option<MountedIn>, program: bool, named: bool, offers: &dyn Offers) -> Result<MountedBy, Failure> {
    let guest =
        |reason, kernel| MountedBy { place: MountedIn::Guest, reason, kernel: Some(kernel), found: String::new() };
    if named {
        return Ok(MountedBy::here(Reason::Named, ""));
    }
    match asked {
        Some(MountedIn::Here) => Ok(MountedBy::here(Reason::Asked, "")),
        Some(MountedIn::Guest) if program => Err(Failure::usage(
            "--in guest: power cuts of programs run only on this machine's own kernel: leave it out",
        )),
        Some(MountedIn::Guest) => {
            guest_kernel(offers.lacks(), offers.kernel()).map(|kernel| guest(Reason::Asked, kernel))
        }
        None if program => Ok(MountedBy::here(Reason::Program, "")),
        None => Ok(match (offers.lacks(), offers.kernel()) {
            (Some(lack), _) => MountedBy::here(Reason::NoGuests, lack),
            (None, None) => MountedBy::here(Reason::NoKernel, NO_KERNEL),
            (None, Some(kernel)) => match offers.boots(&kernel) {
                Ok(()) => guest(Reason::Kvm, kernel),
                Err((reason, found)) => MountedBy::here(reason, found),
            },
        }),
    }
}

/// This machine, with the contenders that name no kernel.
struct Machine<'a> {
    contenders: Vec<&'a Contender>,
    filesystems: &'a Registry,
    bytes: u64,
}

impl Machine<'_> {
    /// The backend of guests with that kernel here, tested with a kernel that can mount all contenders.
    fn tried(&self, kernel: &str) -> Result<(Backend, String), StagingError> {
        let those: Vec<Contender> = self.contenders.iter().map(|one| on_kernel(one, kernel)).collect();
        let place = Where::Image { bytes: self.bytes, folder: PathBuf::from(crate::scratch::DEFAULT) };
        let mut target = Target::open(self.filesystems, &place, &Journal::new())?;
        target.expect(&those);
        let mut found = (Backend::Emulation, "no contender needs one".to_string());
        for contender in &those {
            found = target.guest_backend(contender)?;
        }
        Ok(found)
    }
}

impl Offers for Machine<'_> {
    fn lacks(&self) -> Option<String> {
        staging::guests_lack()
    }

    fn kernel(&self) -> Option<String> {
        staging::kernel_at_hand()
    }

    fn boots(&self, kernel: &str) -> Result<(), (Reason, String)> {
        // Checked first: building the guest's archive would be in vain.
        staging::kvm_opens().map_err(|why| (Reason::NoKvm, format!("emulated by QEMU, since {why}")))?;
        match self.tried(kernel) {
            Ok((Backend::Kvm, _)) => Ok(()),
            Ok((_, why)) => Err((Reason::NoKvm, why)),
            Err(error) => Err((Reason::KernelLacks, error.to_string())),
        }
    }
}

fn on_kernel(contender: &Contender, kernel: &str) -> Contender {
    Contender { kernel: Some(kernel.into()), ..contender.clone() }
}

/// Decides, and assigns the mounting kernel to contenders that name none. `program`: whether power cuts of a user's program are tested.
///
/// # Errors
/// The requested kernel is not available.
pub fn decide(
    asked: Option<MountedIn>,
    program: bool,
    contenders: &mut [PlannedContender],
    filesystems: &Registry,
    bytes: u64,
) -> Result<MountedBy, Failure> {
    // A contender that names `host` keeps it.
    let free = |contender: &Contender| contender.kernel.is_none();
    let those: Vec<&Contender> = contenders.iter().map(|entry| &entry.asked).filter(|one| free(one)).collect();
    let named = those.is_empty();
    let decided = decided(asked, program, named, &Machine { contenders: those, filesystems, bytes })?;
    if let Some(kernel) = &decided.kernel {
        for entry in contenders.iter_mut().filter(|entry| free(&entry.asked)) {
            entry.asked.kernel = Some(kernel.clone());
        }
    }
    Ok(decided)
}

/// The mounting kernel for a requested place; None: the host kernel.
///
/// # Errors
/// There is none.
pub fn asked(place: MountedIn) -> Result<Option<String>, Failure> {
    match place {
        MountedIn::Here => Ok(None),
        MountedIn::Guest => guest_kernel(staging::guests_lack(), staging::kernel_at_hand()).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with given properties.
    struct Known {
        lacks: Option<&'static str>,
        kernel: Option<&'static str>,
        boots: Result<(), (Reason, &'static str)>,
    }

    impl Offers for Known {
        fn lacks(&self) -> Option<String> {
            self.lacks.map(str::to_owned)
        }

        fn kernel(&self) -> Option<String> {
            self.kernel.map(str::to_owned)
        }

        fn boots(&self, _: &str) -> Result<(), (Reason, String)> {
            self.boots.map_err(|(reason, why)| (reason, why.to_owned()))
        }
    }

    const LAPTOP: Known = Known { lacks: None, kernel: Some("/boot/vmlinuz-6.12"), boots: Ok(()) };

    fn of(known: &Known) -> MountedBy {
        decided(None, false, false, known).expect("decided")
    }

    #[test]
    fn a_guest_is_the_default_where_kvm_boots_one_and_a_kernel_is_here() {
        let laptop = of(&LAPTOP);
        assert_eq!((laptop.place, laptop.reason), (MountedIn::Guest, Reason::Kvm));
        assert_eq!(laptop.kernel.as_deref(), Some("/boot/vmlinuz-6.12"));
        let note = laptop.sentence().expect("a sentence");
        assert!(note.contains("/boot/vmlinuz-6.12") && note.contains("`--in here`"), "{note}");
        for (machine, reason, words) in [
            (Known { lacks: Some("apt-get install qemu-system-x86"), ..LAPTOP }, Reason::NoGuests, "apt-get install"),
            (Known { kernel: None, ..LAPTOP }, Reason::NoKernel, "systems --fetch"),
            (Known { boots: Err((Reason::NoKvm, "KVM cannot boot a guest")), ..LAPTOP }, Reason::NoKvm, "`--in guest`"),
            (Known { boots: Err((Reason::KernelLacks, "it lacks xfs")), ..LAPTOP }, Reason::KernelLacks, "lacks xfs"),
        ] {
            let found = of(&machine);
            assert_eq!((found.place, found.reason, &found.kernel), (MountedIn::Here, reason, &None));
            let note = found.sentence().expect("a sentence");
            assert!(note.contains(words) && note.contains("this machine's own kernel"), "{note}");
        }
    }

    #[test]
    fn an_explicit_place_is_used_or_refused() {
        let emulated = Known { boots: Err((Reason::NoKvm, "none")), ..LAPTOP };
        let asked = |place, program, known: &Known| decided(Some(place), program, false, known);
        let guest = asked(MountedIn::Guest, false, &emulated).expect("emulated, since it was asked for");
        assert_eq!((guest.place, guest.reason), (MountedIn::Guest, Reason::Asked));
        let here = asked(MountedIn::Here, false, &LAPTOP).expect("here");
        assert_eq!((here.place, here.kernel), (MountedIn::Here, None));
        let without = Known { kernel: None, ..LAPTOP };
        let refused = asked(MountedIn::Guest, false, &without).expect_err("nothing to boot").text;
        assert!(refused.contains("systems --fetch"), "{refused}");
        let refused = asked(MountedIn::Guest, true, &LAPTOP).expect_err("a program").text;
        assert!(refused.contains("power cuts of programs run only"), "{refused}");
    }

    #[test]
    fn programs_stay_here_and_a_named_kernel_is_used_without_a_remark() {
        let program = decided(None, true, false, &LAPTOP).expect("decided");
        assert_eq!((program.place, program.reason), (MountedIn::Here, Reason::Program));
        let named = decided(None, false, true, &LAPTOP).expect("decided");
        assert_eq!((named.reason, named.sentence()), (Reason::Named, None));
    }
}
