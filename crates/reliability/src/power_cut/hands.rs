//! Does the work, and inspects what a cut left. Works on a mounted root and does not know the disk below.
//! In: a [`Work`], a root, and a [`Question`]. Out: marks, and what was [`Seen`].
//!
//! Runs in this process, or in a process next to a remote stage.

use super::campaign::Work;
use super::diary::Diary;
use super::kept::Proof;
use super::program::Program;
use super::promise_work::PromiseWork;
use super::promises::Finding;
use crate::error::ReliabilityError;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Receives marks of returned calls, and can stop the work.
pub(crate) trait Marker: Send {
    /// Marks that a call has returned.
    fn mark(&mut self, word: u64) -> Result<(), ReliabilityError>;

    /// An error if the run was stopped.
    fn go_on(&mut self) -> Result<(), ReliabilityError>;
}

/// What to inspect in a mounted state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Each is inspected by itself.
    pub proofs: Vec<Proof>,
    /// Written entries of the diary.
    pub diary: u32,
}

/// Findings in a state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// One for each proof.
    pub findings: Vec<Finding>,
    /// The first lost entry of the diary.
    pub first_lost: Option<u32>,
}

/// A work with its initial files.
pub(crate) enum Hands {
    Promises(Box<PromiseWork>),
    Program { program: Program, root: PathBuf },
}

impl Hands {
    /// Writes the initial files, before the power may fail.
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

    /// Does the work, and marks returned calls. Returns a program's lines, each of which is one mark.
    pub fn work(&mut self, marker: &mut dyn Marker) -> Result<Vec<String>, ReliabilityError> {
        match self {
            Hands::Promises(work) => work.work(marker).map(|()| Vec::new()),
            Hands::Program { program, root } => program.work(root, marker),
        }
    }
}

/// Inspects the files below a root.
pub(crate) fn look(root: &Path, question: &Question) -> Seen {
    let findings = question.proofs.iter().map(|proof| proof.look(root)).collect();
    Seen { findings, first_lost: Diary::of(root).first_lost(question.diary) }
}
