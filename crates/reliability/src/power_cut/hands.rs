//! Whoever carries out a work, and looks at what a cut left of it: with a root at hand, and without a word of the disk below.
//! In: a [`Work`], a root, and a [`Question`]. Out: marks, and what was [`Seen`].
//!
//! It works in this process, or in one beside a stage elsewhere.

use super::campaign::Work;
use super::diary::Diary;
use super::kept::Proof;
use super::program::Program;
use super::promise_work::PromiseWork;
use super::promises::Finding;
use crate::error::ReliabilityError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Whoever is told what has returned, and whether to go on.
pub(crate) trait Marker: Send {
    /// Marks that something has returned.
    fn mark(&mut self, word: u64) -> Result<(), ReliabilityError>;

    /// An error where nobody wants more.
    fn go_on(&mut self) -> Result<(), ReliabilityError>;
}

/// What is to be looked at in a state that is mounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Each is looked at by itself.
    pub proofs: Vec<Proof>,
    /// Entries of the diary that had been written.
    pub diary: u32,
}

/// What was seen.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// Of each proof.
    pub findings: Vec<Finding>,
    /// The first entry of the diary that is gone.
    pub first_lost: Option<u32>,
}

/// A work that is laid out.
pub(crate) enum Hands {
    Promises(Box<PromiseWork>),
    Program { program: Program, root: PathBuf },
}

impl Hands {
    /// Lays out what stands there before the power may go.
    pub fn set_up(work: &Work, root: &Path, seed: u64) -> Result<Hands, ReliabilityError> {
        match work {
            Work::Promises { unsynced, chosen } => {
                Ok(Hands::Promises(Box::new(PromiseWork::set_up(root, chosen, *unsynced, seed)?)))
            }
            Work::Program(program) => {
                program.prepared(root)?;
                Ok(Hands::Program { program: program.clone(), root: root.to_owned() })
            }
        }
    }

    /// Does it, and marks what has returned. The lines of a program, each of which is one mark.
    pub fn work(&mut self, marker: &mut dyn Marker) -> Result<Vec<String>, ReliabilityError> {
        match self {
            Hands::Promises(work) => work.work(marker).map(|()| Vec::new()),
            Hands::Program { program, root } => program.work(root, marker),
        }
    }
}

/// Looks below a root.
pub(crate) fn look(root: &Path, question: &Question) -> Seen {
    let findings = question.proofs.iter().map(|proof| proof.look(root)).collect();
    Seen { findings, first_lost: Diary::of(root).first_lost(question.diary) }
}
