//! Watched memory: which comparator of the DWT (ARMv7-M C1.8) reports which accesses, and what of
//! them.

use serde::{Deserialize, Serialize};

use super::Unsupported;

/// What a watch reports when its address is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WatchWhat {
    /// What was read or written.
    #[serde(rename = "value")]
    Value,
    /// The instruction's address; of reads and writes alike.
    #[serde(rename = "pc")]
    Pc,
    /// Both.
    #[serde(rename = "pc+value")]
    PcAndValue,
    /// The low half of the data's address, and what was read or written.
    #[serde(rename = "address+value")]
    AddressAndValue,
}

/// Which accesses a watch reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WatchAccess {
    /// Reads.
    #[serde(rename = "r")]
    Read,
    /// Writes.
    #[serde(rename = "w")]
    Write,
    /// Both.
    #[serde(rename = "rw")]
    ReadWrite,
}

/// A watched piece of memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RawWatch", into = "RawWatch")]
pub struct Watch {
    name: String,
    comparator: u8,
    address: u32,
    bytes: u32,
    what: WatchWhat,
    access: WatchAccess,
}

#[derive(Clone, Serialize, Deserialize)]
struct RawWatch {
    name: String,
    comparator: u8,
    #[serde(with = "address_text")]
    address: u32,
    bytes: u32,
    what: WatchWhat,
    access: WatchAccess,
}

/// Addresses as `0x08000123`.
mod address_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(address: &u32, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{address:#010x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let text = String::deserialize(from)?;
        let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(|| {
            D::Error::custom(format_args!("`{text}` is not an address such as 0x08000123"))
        })
    }
}

/// The largest range that a comparator covers: DWT_MASK has up to fifteen bits that it leaves out.
const MAX_WATCH_BYTES: u32 = 1 << 15;
/// Comparators that a packet can name.
const COMPARATORS: u8 = 4;

impl Watch {
    /// Watches `bytes` bytes, a power of two, at an address that is a multiple of it.
    pub fn new(
        name: impl Into<String>,
        comparator: u8,
        (address, bytes): (u32, u32),
        what: WatchWhat,
        access: WatchAccess,
    ) -> Result<Watch, Unsupported> {
        let name = name.into();
        let no = |why: String| Err(Unsupported::new(format!("watching {name}: {why}")));
        if comparator >= COMPARATORS {
            return no(format!("comparator {comparator}; they are 0 to {}", COMPARATORS - 1));
        }
        if !bytes.is_power_of_two() || bytes > MAX_WATCH_BYTES {
            let most = MAX_WATCH_BYTES;
            return no(format!("{bytes} bytes; a power of two up to {most} can be watched"));
        }
        if !address.is_multiple_of(bytes) {
            return no(format!("{bytes} bytes at {address:#010x}, which is no multiple of them"));
        }
        if what == WatchWhat::Pc && access != WatchAccess::ReadWrite {
            return no("the instruction alone is reported for reads and writes alike".to_owned());
        }
        Ok(Watch { name, comparator, address, bytes, what, access })
    }

    /// What it is called, usually a variable's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which comparator does it, 0 to 3.
    pub fn comparator(&self) -> u8 {
        self.comparator
    }

    /// Where it begins.
    pub fn address(&self) -> u32 {
        self.address
    }

    /// How many bytes it has, a power of two.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// What is reported.
    pub fn what(&self) -> WatchWhat {
        self.what
    }

    /// Of which accesses.
    pub fn access(&self) -> WatchAccess {
        self.access
    }
}

impl TryFrom<RawWatch> for Watch {
    type Error = Unsupported;

    fn try_from(raw: RawWatch) -> Result<Self, Unsupported> {
        Watch::new(raw.name, raw.comparator, (raw.address, raw.bytes), raw.what, raw.access)
    }
}

impl From<Watch> for RawWatch {
    fn from(watch: Watch) -> RawWatch {
        let Watch { name, comparator, address, bytes, what, access } = watch;
        RawWatch { name, comparator, address, bytes, what, access }
    }
}

/// Watches, each with a comparator of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<Watch>", into = "Vec<Watch>")]
pub struct Watches(Vec<Watch>);

impl Watches {
    /// The watches, which may not share comparators.
    pub fn new(watches: Vec<Watch>) -> Result<Self, Unsupported> {
        let mut taken = [false; COMPARATORS as usize];
        for watch in &watches {
            let taken = &mut taken[usize::from(watch.comparator)];
            if std::mem::replace(taken, true) {
                let (name, which) = (&watch.name, watch.comparator);
                return Err(Unsupported::new(format!(
                    "watching {name}: comparator {which} is taken; there are {COMPARATORS}"
                )));
            }
        }
        Ok(Watches(watches))
    }
}

impl std::ops::Deref for Watches {
    type Target = [Watch];

    fn deref(&self) -> &[Watch] {
        &self.0
    }
}

impl TryFrom<Vec<Watch>> for Watches {
    type Error = Unsupported;

    fn try_from(watches: Vec<Watch>) -> Result<Self, Unsupported> {
        Watches::new(watches)
    }
}

impl From<Watches> for Vec<Watch> {
    fn from(watches: Watches) -> Vec<Watch> {
        watches.0
    }
}
