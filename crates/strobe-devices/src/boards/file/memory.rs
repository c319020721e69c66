//! Memories, their banks and aliases, and what the factory put there.

use serde::Deserialize;

/// Kinds of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Read-only to the firmware; may have wait states.
    Flash,
    /// Read and write without wait states.
    Ram,
}

/// A memory.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryEntry {
    /// Name in reports.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// First address.
    pub base: u32,
    /// Bytes.
    pub size: u32,
    /// Further addresses at which it appears, one or a list, as boot memory does at 0.
    #[serde(default)]
    pub alias: Aliases,
    /// Whether firmware can write it although its kind is flash: RAM that holds code on FPGA
    /// boards.
    #[serde(default)]
    pub writable: bool,
    /// Only the core reaches it, no other bus master.
    #[serde(default)]
    pub core_only: bool,
    /// Its banks that are slaves of their own, apart from the first, in ascending order.
    #[serde(default)]
    pub banks: Vec<Bank>,
    /// What the factory put there.
    #[serde(default)]
    pub contents: Vec<Contents>,
}

impl MemoryEntry {
    /// The first addresses of its aliases.
    pub(in crate::boards) fn windows(&self) -> impl Iterator<Item = u32> + '_ {
        let all = match &self.alias {
            Aliases::One(address) => std::slice::from_ref(address),
            Aliases::Several(addresses) => addresses,
        };
        all.iter().copied()
    }
}

/// A bank of a memory: where it begins, and what is special about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "an address, or a table with `from` and `first_wait`")]
pub enum Bank {
    /// Nothing is.
    At(u32),
    /// The core waits there.
    Waiting(WaitingBank),
}

/// A bank of RAM for whose first word the core waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitingBank {
    /// Its first address.
    pub from: u32,
    /// Cycles that a load takes more, and a store of several words; a load that overlaps with one
    /// before it does not, nor does a store of one word, behind which the core goes on.
    pub first_wait: u8,
}

impl Bank {
    /// Its first address.
    pub fn from(self) -> u32 {
        match self {
            Bank::At(from) | Bank::Waiting(WaitingBank { from, .. }) => from,
        }
    }
}

/// Addresses at which a memory appears besides its own.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "an address or a list of addresses")]
pub enum Aliases {
    /// One.
    One(u32),
    /// Any number.
    Several(Vec<u32>),
}

impl Default for Aliases {
    fn default() -> Self {
        Aliases::Several(Vec::new())
    }
}

/// Words at an address.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contents {
    /// Address of the first word.
    pub address: u32,
    /// The words, little-endian in memory.
    pub words: Vec<u32>,
}
