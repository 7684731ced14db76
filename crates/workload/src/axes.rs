//! Axes: sets of values whose product is compared (`mkfs.rmapbt = [0, 1]`, `scheduler = ["none", "bfq"]`).
//! In: contenders and axes. Out: one contender for each combination, with readable labels and its place on each axis.
//! The product is limited, so that a slip in a plan does not ask for a year of work.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Values of each axis; an axis without values is not one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Axes {
    /// mkfs settings by name.
    pub mkfs: BTreeMap<String, Vec<String>>,
    /// Mount options by name; the value `on` stands for the bare word, `off` for its absence.
    pub mount: BTreeMap<String, Vec<String>>,
    /// I/O schedulers.
    pub scheduler: Vec<String>,
    /// Settings of the device's queue by name.
    pub device: BTreeMap<String, Vec<String>>,
    /// Kernels.
    pub kernel: Vec<String>,
    /// Ages.
    pub age: Vec<String>,
    /// Fills, as shares of 1.
    pub fill: Vec<f64>,
}
