//! Curve: `x25519-dalek`, long straight multiplications on a core whose multiplier gives 32 bits.

use crate::data::hex;
use core::fmt::{self, Write};
use x25519_dalek::{X25519_BASEPOINT_BYTES, x25519};

/// The first iteration of RFC 7748, section 5.2.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    hex(out, "rfc7748 once", &x25519(X25519_BASEPOINT_BYTES, X25519_BASEPOINT_BYTES))
}
