//! Archives built by hand, whose every figure must be in their measurements.
