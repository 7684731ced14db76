//! The recipe of a contender: the steps that set it up, in order, and the commands of its filesystem.
//! In: where its filesystem comes from. Out: [`Step`]s, and [`Commands`] with every placeholder filled in.
//! A stage carries the steps out, and `plan --commands` prints them: both take the order and the words from here.

use crate::filesystems::description::Filesystem;
use crate::filesystems::own_devices::{self, Companion};
use crate::filesystems::several::Spread;
use crate::filesystems::template::{self, Placeholders};
use records::Contender;
use system::Command;

/// Where the filesystem of a contender comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// mkfs makes it for one trial.
    Made,
    /// mkfs makes it, to be aged and kept.
    ToAge,
    /// It is a copy of an aged image.
    Kept,
    /// There is none: the device itself is read.
    Raw,
    /// It belongs to others, and one of its directories is used.
    Directory,
}

/// One step of setting a contender up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Finds the tools of the filesystem, and starts its server.
    Serve,
    /// Sets scheduler, queue and others that apply to the device.
    SetDevice,
    /// Fills a real device with zeros, so that a copy of it is small.
    Empty,
    /// Copies an aged image to a real device.
    Copy,
    /// Builds the layers below the filesystem.
    Build,
    /// Removes signatures, prepares the contender's own devices, and runs mkfs.
    Make,
    /// Mounts what mkfs made.
    Mount,
    /// Mounts a copy of an aged image.
    MountKept,
    /// Gives the folder of the work its key, where the filesystem encrypts it.
    Encrypt,
    /// Checks that all devices of the volume are present.
    FindDevices,
    /// Reads every requested option back.
    ReadBack,
    /// Describes the device as it is during the trial.
    Describe,
    /// Sets memory and others that apply to what is mounted.
    SetMounted,
}

impl Source {
    /// The steps, in order.
    pub fn recipe(self) -> &'static [Step] {
        use Step::*;
        match self {
            Source::Made => &[Serve, SetDevice, Build, Make, Mount, Encrypt, FindDevices, ReadBack, SetMounted],
            Source::ToAge => &[Serve, Empty, Make, Mount, Encrypt, ReadBack],
            Source::Kept => &[Copy, Serve, SetDevice, MountKept, Encrypt, ReadBack, SetMounted],
            Source::Raw => &[SetDevice, Describe],
            Source::Directory => &[Describe, SetMounted],
        }
    }
}

/// A contender's options, with the nodes of its own devices.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Options {
    /// Words for mkfs.
    pub make: Vec<String>,
    /// Options for mount.
    pub mount: Vec<String>,
}

impl Options {
    /// Those of a contender with these devices of its own.
    pub fn of(filesystem: &Filesystem, contender: &Contender, own: &[Companion]) -> Options {
        let make = own_devices::with_devices(template::make_options(filesystem, contender), own);
        let mut mount = own_devices::mounting(template::mount_options(filesystem, contender), own);
        // mount(8) requires a word after -o.
        if mount.is_empty() && !filesystem.mount.command.is_empty() {
            mount.push("defaults".into());
        }
        Options { make, mount }
    }
}

/// The commands of a contender's filesystem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Commands<'a> {
    pub spread: Spread<'a>,
    pub places: &'a Placeholders,
    pub options: &'a Options,
    /// Further devices of the contender.
    pub own: &'a [Companion],
    /// Leads to the filesystem's tools, or to the namespace of its server.
    pub prefix: &'a [String],
}

impl Commands<'_> {
    /// Prepares the contender's own devices, where mkfs does not.
    pub fn make_own(self) -> Vec<Command> {
        let words = own_devices::making(self.spread.filesystem, self.places, self.own, &self.options.make);
        words.into_iter().map(|words| self.prefixed(words)).collect()
    }

    /// Makes the filesystem.
    pub fn make(self) -> Command {
        self.prefixed(self.places.fill(self.spread.make(), &self.options.make))
    }

    /// Mounts what was made; None if mkfs has mounted it.
    pub fn mount(self) -> Option<Command> {
        let template = self.spread.mount();
        (!template.is_empty()).then(|| self.filled(template))
    }

    /// Mounts what was unmounted, or a copy of it; `whole`: with all devices.
    pub fn mount_again(self, whole: bool) -> Command {
        self.filled(self.spread.mount_again(whole))
    }

    /// Gives the folder of the work its key and shows how it is encrypted; None where it is not.
    pub fn encrypt(self) -> Option<[Command; 2]> {
        let facts = self.spread.filesystem.encrypting(&self.options.make)?;
        Some([&facts.command, &facts.shown].map(|template| self.filled(template)))
    }

    /// Fails unless all devices of the volume are present.
    pub fn find_devices(self) -> Option<Command> {
        let several = self.spread.several().filter(|several| !several.whole.is_empty())?;
        Some(self.filled(&several.whole))
    }

    /// Shows the options in effect: each tool's name, and its command.
    pub fn inspect(self) -> Vec<(String, Command)> {
        let tools = self.spread.filesystem.inspect.iter();
        tools.map(|(name, template)| (name.clone(), self.prefixed(self.places.fill(template, &[])))).collect()
    }

    /// Writes everything back, besides syncfs.
    pub fn sync(self) -> Option<Command> {
        let template = &self.spread.filesystem.sync.command;
        (!template.is_empty()).then(|| self.prefixed(self.places.fill(template, &[])))
    }

    /// Empties the filesystem's journal.
    pub fn checkpoint(self) -> Option<Command> {
        let template = &self.spread.filesystem.sync.checkpoint;
        (!template.is_empty()).then(|| self.filled(template))
    }

    /// Fails unless all servers of a shared filesystem are present.
    pub fn find_servers(self) -> Option<Command> {
        self.spread.filesystem.shared.as_ref().map(|shared| self.filled(&shared.intact))
    }

    /// Unmounts it.
    pub fn unmount(self) -> Command {
        self.filled(&self.spread.filesystem.mount.unmount)
    }

    /// Shows the layout of its free space while it is unmounted.
    pub fn free_space(self) -> Option<Command> {
        let facts = self.spread.filesystem.free_space.as_ref()?;
        Some(self.prefixed(self.places.fill(&facts.command, &[])))
    }

    /// Checks it while it is unmounted.
    pub fn check(self) -> Option<Command> {
        self.spread.check().map(|template| self.filled(template))
    }

    fn filled(self, template: &[String]) -> Command {
        self.prefixed(self.places.fill(template, &self.options.mount))
    }

    fn prefixed(self, words: Vec<String>) -> Command {
        Command::new(words).prefixed(self.prefix)
    }
}
