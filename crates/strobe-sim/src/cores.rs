//! The cores that boards can have, one folder each. They share what is in the kernel and nothing
//! else.

pub mod arm;
pub mod avr;
