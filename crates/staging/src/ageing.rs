//! Ageing: contenders that were used before they are measured, kept as images and set up again for each trial.
//! In: a contender and a recipe for its past. Out: aged stages, and the cache of their images.

pub(crate) mod aged_stage;
pub(crate) mod git_checkout;
pub(crate) mod image_cache;
