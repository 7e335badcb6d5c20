//! See mod.
