//! A board with other memories or another clock than its file states: the part next to it in the
//! maker's list, without a file of its own.

use super::file::{Kind, MemoryEntry};
use super::{Board, BoardError, Region, check};

impl Board {
    /// The same board with these memories. One that begins inside a memory of its kind, or at an
    /// alias of it, takes that one's place and keeps its aliases; another one is added.
    ///
    /// # Errors
    /// What cannot be, as for board files: memories that overlap something, or of no size.
    pub fn with_memories(self, regions: &[Region]) -> Result<Board, BoardError> {
        let mut board = self;
        let memories = &mut board.file.memory;
        for (n, region) in regions.iter().enumerate() {
            let holds = |m: &MemoryEntry, base: u32| region.base.wrapping_sub(base) < m.size;
            let same = |m: &&mut MemoryEntry| {
                m.kind == region.kind && (holds(m, m.base) || m.windows().any(|at| holds(m, at)))
            };
            match memories.iter_mut().find(same) {
                Some(memory) => resize(memory, *region),
                None => memories.push(added(n, *region)),
            }
        }
        check::check(&board.file)?;
        board.build()?;
        Ok(board)
    }

    /// The same board with another core clock at reset; `None` if a device of its own makes the
    /// clock.
    pub fn with_clock(self, hz: u32) -> Option<Result<Board, BoardError>> {
        let makes_clock =
            |model: &str| ["rcc", "sysctl", "clock"].iter().any(|word| model.contains(word));
        if self.file.device.iter().any(|device| makes_clock(&device.model)) {
            return None;
        }
        let mut board = self;
        board.file.clock_hz = hz;
        let checked = check::check(&board.file).and_then(|()| board.build());
        Some(checked.map(|_| board))
    }
}

fn resize(memory: &mut MemoryEntry, region: Region) {
    if memory.windows().all(|at| at != region.base) {
        memory.base = region.base;
    }
    memory.size = region.size;
    let end = memory.base.saturating_add(memory.size);
    let base = memory.base;
    memory.banks.retain(|bank| bank.from() > base && bank.from() < end);
}

fn added(n: usize, region: Region) -> MemoryEntry {
    let name = match region.kind {
        Kind::Flash => format!("more flash {n}"),
        Kind::Ram => format!("more ram {n}"),
    };
    MemoryEntry::plain(name, &region)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(base: u32, size: u32, kind: Kind) -> Result<Board, BoardError> {
        let board = Board::builtin("stm32f103").expect("comes with the project");
        board.with_memories(&[Region { kind, base, size }])
    }

    #[test]
    fn memory_replaces_the_one_that_it_begins_in() {
        for base in [0x0800_0000, 0] {
            let bus = sized(base, 0x8_0000, Kind::Flash).unwrap().build().unwrap();
            assert_eq!((bus.flash.base, bus.flash.data.len()), (0x0800_0000, 0x8_0000));
            assert!(bus.memory_at(0x7_ffff).is_some(), "the alias grows with it");
        }
        let bus = sized(0x2000_0000, 0x1_0000, Kind::Ram).unwrap().build().unwrap();
        assert_eq!((bus.ram.base, bus.ram.data.len()), (0x2000_0000, 0x1_0000));
        assert_eq!(bus.flash.data.len(), 0x1_0000, "the other stays");
    }

    #[test]
    fn separate_memory_is_added_and_overlapping_memory_refused() {
        let bus = sized(0x6800_0000, 0x1000, Kind::Ram).unwrap().build().unwrap();
        assert!(bus.memory_at(0x6800_0fff).is_some());
        let error = sized(0x4002_1000, 0x1000, Kind::Ram).unwrap_err().to_string();
        assert!(error.contains("overlaps"), "{error}");
    }

    #[test]
    fn a_clock_is_set_where_no_device_makes_it() {
        let board = |name| Board::builtin(name).expect("comes with the project");
        let set = board("cortex-m3").with_clock(64_000_000).expect("nothing makes it").unwrap();
        assert_eq!(set.clock_hz(), 64_000_000);
        assert!(board("stm32f407").with_clock(64_000_000).is_none());
        assert!(board("cortex-m3").with_clock(0).expect("nothing makes it").is_err());
    }
}
