//! Leaders of moving networks: the most central node of each connected component.

pub mod paper;
