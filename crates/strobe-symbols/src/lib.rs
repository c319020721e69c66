//! Part of Stroboscope.
