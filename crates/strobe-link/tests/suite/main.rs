//! Links from outside, against peers that the tests play.
//!
//! One binary: every further one would link the crates anew.

mod links;
