//! What an instruction does, for both instruction sets, as far as a loop that waits may do it.

use std::rc::Rc;

/// A place that holds a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    Register(u8),
    /// The flags of a comparison.
    Flags,
    /// Memory, at an address or so many bytes from where another place leads.
    Memory(Option<Rc<Location>>, i32),
    /// Memory that the instructions do not show.
    Somewhere,
    /// Which way a turn took.
    Way,
}

/// An AVR's stack pointer, behind its 32 registers.
pub(super) const AVR_STACK: u8 = 32;

impl Location {
    pub(super) fn at(address: u32) -> Self {
        Location::Memory(None, address as i32)
    }
}

/// An address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    Fixed(u32),
    /// What a register holds, with the register of its upper byte on an AVR, and bytes on top.
    Base(u8, Option<u8>, i32),
    /// Made of several registers.
    Computed(Vec<Location>),
}

/// A part of what an instruction does, in their order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    Set(Location, u32),
    /// A copy, with a constant added.
    Move(Location, Location, i32),
    /// A copy with the carry and others added: a further part of a number.
    Carry(Location, Location, Vec<Location>),
    /// A sum, or a difference.
    Sum(Location, Location, Location, bool),
    /// A comparison, or whether any bit of these is set.
    Test(Location, Vec<Location>),
    /// Anything else that is made of these.
    Make(Location, Vec<Location>),
    Load(Location, Address),
    Store(Address, Location),
}

/// Where control goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Next {
    Behind,
    /// Behind or there, as the location decides; `equality`: whether it is, or is not, equal.
    Branch {
        to: u32,
        by: Location,
        equality: bool,
    },
    Jump(u32),
    Call(u32),
    Return,
}

/// An instruction.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub address: u32,
    pub end: u32,
    pub effects: Vec<Effect>,
    pub next: Next,
    /// In an IT block: it may as well do nothing.
    pub conditional: bool,
}

impl Step {
    /// The registers that it writes.
    pub(super) fn writes(&self) -> impl Iterator<Item = u8> {
        self.effects.iter().filter_map(|effect| match effect {
            Effect::Set(Location::Register(to), _)
            | Effect::Move(Location::Register(to), ..)
            | Effect::Carry(Location::Register(to), ..)
            | Effect::Sum(Location::Register(to), ..)
            | Effect::Test(Location::Register(to), _)
            | Effect::Make(Location::Register(to), _)
            | Effect::Load(Location::Register(to), _) => Some(*to),
            _ => None,
        })
    }

    /// Where control may go within the function.
    pub(super) fn successors(&self) -> Vec<u32> {
        match self.next {
            Next::Behind | Next::Call(_) => vec![self.end],
            Next::Branch { to, .. } => vec![self.end, to],
            Next::Jump(to) => vec![to],
            Next::Return => Vec::new(),
        }
    }
}
