//! Registers, memory and flags in each of the next turns of a loop, at one instruction of the turn.

use super::chain::Chain;
use super::wide::{Shorter, Wide};

/// A place in the data space: a register below 32, else RAM.
pub(super) type Address = u16;

/// One byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// The same in all turns.
    Fixed,
    /// The same in all turns, because this place does not change.
    Head(Address),
    /// These bits may change.
    Bits(u8),
    /// A byte of a number.
    Byte { wide: u16, at: u8 },
}

/// One flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flag {
    Fixed,
    /// As at the beginning of a turn.
    Head,
    Unknown,
    /// As a chain of arithmetic has left it.
    Chain(u16),
}

/// Why further turns are not the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disproof {
    /// They are up to this one.
    Shorter(u64),
    /// The place is the next byte of a counter.
    Adopt {
        counter: u16,
        next: Address,
    },
    Other,
}

impl From<Shorter> for Disproof {
    fn from(Shorter(last): Shorter) -> Self {
        Disproof::Shorter(last)
    }
}

/// A number that changes by the same from turn to turn, and that lies in places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Counter {
    /// Low byte first.
    pub(super) places: Vec<Address>,
    pub(super) first: i64,
    pub(super) step: i64,
}

/// Bits of a set of 32 registers.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Registers(u32);

impl Registers {
    fn has(self, at: u8) -> bool {
        self.0 >> (at & 31) & 1 != 0
    }

    fn insert(&mut self, at: u8) {
        self.0 |= 1 << (at & 31);
    }
}

/// Everything at one instruction.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    pub(super) counters: &'a [Counter],
    /// Adoptions that have been tried.
    pub(super) refused: &'a [(u16, Address)],
    /// One that would lift the limit that was met last.
    pub(super) suggested: Option<(u16, Address)>,
    /// The turn up to which all this is about.
    pub(super) last: u64,
    /// Numbers; those of counters come first.
    pub(super) wides: Vec<Wide>,
    pub(super) chains: Vec<Chain>,
    registers: [Cell; 32],
    written: Registers,
    live: Registers,
    /// Bytes of RAM that have been accessed, and whether they were read first.
    memory: Vec<(Address, Cell, bool)>,
    flags: [Flag; 8],
    /// Flags that were read before they were set.
    live_flags: u8,
}

impl<'a> Cells<'a> {
    /// The beginning of a turn that changes the flags `changed`.
    pub(super) fn new(
        counters: &'a [Counter],
        refused: &'a [(u16, Address)],
        last: u64,
        changed: u8,
    ) -> Self {
        let wides = counters.iter().map(|c| Wide::linear(c.first, c.step, last)).collect();
        let mut cells = Cells {
            counters,
            refused,
            suggested: None,
            last,
            wides,
            chains: Vec::new(),
            registers: [Cell::Fixed; 32],
            written: Registers::default(),
            live: Registers::default(),
            memory: Vec::new(),
            flags: [Flag::Head; 8],
            live_flags: 0,
        };
        for at in 0..32 {
            cells.registers[at] = cells.at_head(at as Address);
        }
        for (bit, flag) in cells.flags.iter_mut().enumerate() {
            if changed >> bit & 1 != 0 {
                *flag = Flag::Unknown;
            }
        }
        cells
    }

    fn at_head(&self, place: Address) -> Cell {
        for (wide, counter) in (0..).zip(self.counters) {
            if let Some(at) = counter.places.iter().position(|&p| p == place) {
                return Cell::Byte { wide, at: at as u8 };
            }
        }
        Cell::Head(place)
    }

    pub(super) fn register(&mut self, at: u8) -> Cell {
        if !self.written.has(at) {
            self.live.insert(at);
        }
        self.registers[usize::from(at & 31)]
    }

    pub(super) fn set_register(&mut self, at: u8, cell: Cell) {
        self.written.insert(at);
        self.registers[usize::from(at & 31)] = cell;
    }

    pub(super) fn load(&mut self, address: Address) -> Cell {
        if let Some((_, cell, _)) = self.memory.iter().find(|(at, ..)| *at == address) {
            return *cell;
        }
        let cell = self.at_head(address);
        self.memory.push((address, cell, true));
        cell
    }

    pub(super) fn store(&mut self, address: Address, value: Cell) {
        match self.memory.iter_mut().find(|(at, ..)| *at == address) {
            Some((_, cell, _)) => *cell = value,
            None => self.memory.push((address, value, false)),
        }
    }

    /// Adds a number.
    pub(super) fn number(&mut self, wide: Wide) -> u16 {
        self.wides.push(wide);
        (self.wides.len() - 1) as u16
    }

    /// Which bits of a byte may change.
    pub(super) fn varying(&self, cell: Cell) -> u8 {
        match cell {
            Cell::Fixed | Cell::Head(_) => 0,
            Cell::Bits(bits) => bits,
            Cell::Byte { wide, at } => self.wides[usize::from(wide)].varying_bits(at),
        }
    }

    /// Shows that one bit of a byte is the same in all turns.
    pub(super) fn keeps_bit(&self, cell: Cell, bit: u8) -> Result<(), Disproof> {
        if self.varying(cell) >> (bit & 7) & 1 == 0 {
            return Ok(());
        }
        match cell {
            Cell::Byte { wide, at } => {
                let bit = 8 * u32::from(at) + u32::from(bit & 7);
                Ok(self.wides[usize::from(wide)].keeps_from(bit)?)
            }
            _ => Err(self.fewer()),
        }
    }

    /// It is unknown how many turns are the same; perhaps fewer are.
    pub(super) fn fewer(&self) -> Disproof {
        Disproof::Shorter(self.last / 16)
    }

    pub(super) fn flag(&mut self, bit: u8) -> Flag {
        let flag = self.flags[usize::from(bit & 7)];
        if flag == Flag::Head {
            self.live_flags |= 1 << (bit & 7);
        }
        flag
    }

    pub(super) fn set_flags(&mut self, mask: u8, flag: Flag) {
        for bit in (0..8).filter(|bit| mask >> bit & 1 != 0) {
            self.flags[bit] = flag;
        }
    }

    /// Shows that a flag is the same in all turns.
    pub(super) fn keeps_flag(&mut self, bit: u8) -> Result<(), Disproof> {
        match self.flag(bit) {
            Flag::Fixed | Flag::Head => Ok(()),
            Flag::Unknown => Err(self.fewer()),
            Flag::Chain(at) => Ok(self.chains[usize::from(at)].keeps(bit, &self.wides)?),
        }
    }

    /// Which flags may change.
    pub(super) fn varying_flags(&mut self) -> u8 {
        (0..8).filter(|&bit| self.keeps_flag(bit).is_err()).fold(0, |all, bit| all | 1 << bit)
    }

    /// Shows that the next turn begins as this one has begun, one turn later.
    pub(super) fn close(&mut self) -> Result<(), Disproof> {
        let registers = (0..32).filter(|&at| self.live.has(at));
        let registers = registers.map(|at| (Address::from(at), self.registers[usize::from(at)]));
        let memory = self.memory.iter().filter(|(.., read)| *read).map(|&(at, cell, _)| (at, cell));
        for (place, cell) in registers.chain(memory) {
            self.returns(place, cell)?;
        }
        let live = self.live_flags;
        let mut flags = (0..8).filter(|bit| live >> bit & 1 != 0);
        flags.try_for_each(|bit| self.keeps_flag(bit))
    }

    fn returns(&self, place: Address, cell: Cell) -> Result<(), Disproof> {
        let counter = match self.at_head(place) {
            Cell::Byte { wide, at } => Some((wide, at)),
            _ => None,
        };
        match (counter, cell) {
            (None, Cell::Fixed | Cell::Head(_)) => Ok(()),
            (None, cell) if self.varying(cell) == 0 => Ok(()),
            (None, _) => Err(self.fewer()),
            (Some((wide, at)), Cell::Byte { wide: end, at: end_at }) if at == end_at => {
                let counter = &self.counters[usize::from(wide)];
                let (begin, end) = (self.wides[usize::from(wide)], self.wides[usize::from(end)]);
                let bits = 8 * counter.places.len() as u32;
                let moved = end.first.wrapping_sub(begin.first + counter.step);
                let follows = moved & ((1 << bits) - 1) == 0 && end.step == begin.step;
                if follows { Ok(()) } else { Err(Disproof::Other) }
            }
            _ => Err(Disproof::Other),
        }
    }
}
