//! Marks, timed regions, values and channels that firmware sends to strobe: the Rust form of `strobe_trace.h`, with the same records.
//!
//! ```ignore
//! strobe_trace::name!(FILTER = 1, "filter"); // kept in the ELF file, not in flash
//!
//! let region = strobe_trace::region(FILTER);
//! let level = filter();
//! drop(region);
//! ```
//!
//! A call never waits: what there is no room for is dropped, and the numbers of the records show it. Calls may come from any task and any
//! interrupt that PRIMASK holds back; not from NMI or HardFault, and not from code without privilege.
//!
//! Records go to stimulus port 30 of the ITM and values to port 31; whoever listens enables them. With the feature `rtt` they go to a buffer in
//! RAM that a debug probe reads, with `bytes` to a function of the program's own ([`sink!`]). Then they have times, from the cycle counter
//! ([`start`]) or, with the feature `clock`, from a function of the program's own ([`clock!`]), which a Cortex-M0 needs.
//! See `strobe_trace.c` for why records look as they do.
//!
//! Without the feature `on`, or on a host, nothing of this is in the program.
#![no_std]

#[cfg(all(feature = "rtt", feature = "bytes"))]
compile_error!("records go one way: the feature `rtt` or `bytes`");

#[cfg(not(all(feature = "on", target_arch = "arm")))]
#[path = "off.rs"]
mod kit;
#[cfg(all(feature = "on", target_arch = "arm"))]
#[path = "on.rs"]
mod kit;

/// What a record is about: a number from 0 to 4094, with a name in the ELF file. [`name!`] makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id(u16);

impl Id {
    /// The id of that number, without a name.
    ///
    /// # Panics
    /// When compiled, if the number is too great for 12 bits; 4095 is the kit's own.
    pub const fn new(number: u16) -> Id {
        assert!(number < 4095, "ids are 0 to 4094");
        Id(number)
    }

    const fn head(self, kind: u32) -> u32 {
        kind << 28 | (self.0 as u32) << 16
    }
}

/// Makes an id and leaves its name in the ELF file: `name!(FILTER = 1, "filter");`.
#[cfg(all(feature = "on", target_arch = "arm"))]
#[macro_export]
macro_rules! name {
    ($id:ident = $number:literal, $name:literal) => {
        const $id: $crate::Id = $crate::Id::new($number);
        $crate::__name!($number, $name);
    };
}

/// Makes an id.
#[cfg(not(all(feature = "on", target_arch = "arm")))]
#[macro_export]
macro_rules! name {
    ($id:ident = $number:literal, $name:literal) => {
        const $id: $crate::Id = $crate::Id::new($number);
    };
}

/// The section has no address: linkers keep it out of what is loaded.
#[cfg(all(feature = "on", target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __name {
    ($number:literal, $name:expr) => {
        ::core::arch::global_asm!(
            ".pushsection .strobe_names,\"\",%progbits",
            concat!(".byte ", $number, " & 255, ", $number, " >> 8"),
            concat!(".asciz \"", $name, "\""),
            ".popsection",
            options(raw)
        );
    };
}

/// Tells the host how to read this: version, way, core cycles of a tick.
#[cfg(all(feature = "on", target_arch = "arm", feature = "rtt"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __describe {
    ($cycles:literal) => {
        $crate::__name!(4095, concat!("1 rtt ", $cycles));
    };
}
#[cfg(all(feature = "on", target_arch = "arm", feature = "bytes"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __describe {
    ($cycles:literal) => {
        $crate::__name!(4095, concat!("1 bytes ", $cycles));
    };
}
#[cfg(not(all(feature = "on", target_arch = "arm", any(feature = "rtt", feature = "bytes"))))]
#[doc(hidden)]
#[macro_export]
macro_rules! __describe {
    ($cycles:literal) => {};
}

/// With the feature `clock`, what tells time: `clock!(ticks, 48);` where `fn ticks() -> u32` counts up through all 32 bits, once in 48 cycles of
/// the core. It is called with interrupts off.
#[macro_export]
macro_rules! clock {
    ($function:path, $cycles:literal) => {
        #[cfg(target_arch = "arm")]
        #[unsafe(no_mangle)]
        fn _strobe_trace_clock() -> u32 {
            $function()
        }
        $crate::__describe!($cycles);
    };
}

/// With the feature `bytes`, what takes frames: `sink!(send);` where `fn send(frame: &[u8])` takes all of the 11 or 16 bytes or none. It is called
/// with interrupts off: put them into a buffer and return.
#[macro_export]
macro_rules! sink {
    ($function:path) => {
        #[cfg(target_arch = "arm")]
        #[unsafe(no_mangle)]
        fn _strobe_trace_sink(frame: &[u8]) {
            $function(frame)
        }
    };
}

/// Sets the cycle counter going, if that is what tells time. Once, before the first record.
#[inline(always)]
pub fn start() {
    kit::start();
}

/// Something happened.
#[inline(always)]
pub fn mark(id: Id) {
    kit::record(id.head(1));
}

/// A region that ends when this goes out of scope.
#[must_use = "the region ends when this is dropped"]
#[derive(Debug)]
pub struct Region(Id);

/// A region begins. Regions may nest, also with themselves.
#[inline(always)]
pub fn region(id: Id) -> Region {
    kit::record(id.head(2));
    Region(id)
}

impl Drop for Region {
    #[inline(always)]
    fn drop(&mut self) {
        kit::record(self.0.head(3));
    }
}

/// What a variable is now.
#[inline(always)]
pub fn value(id: Id, value: u32) {
    kit::value(id.head(4), value);
}

/// What a variable with a sign is now.
#[inline(always)]
pub fn signed(id: Id, value: i32) {
    kit::value(id.head(5), value.cast_unsigned());
}

/// Bytes of a channel, four to a record.
#[inline(always)]
pub fn write(id: Id, bytes: &[u8]) {
    for some in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..some.len()].copy_from_slice(some);
        kit::value(id.head(7 + some.len() as u32), u32::from_le_bytes(word));
    }
}

mod bench;
