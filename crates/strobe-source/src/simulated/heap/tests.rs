//! Tests of the replay.
