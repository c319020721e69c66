//! What an operating system keeps of its threads, as plain addresses: where the running thread's
//! structure is, and where in it name, priority and stack are.
//!
//! Whoever knows the firmware's symbols and types makes a [`Layout`]; here it is only followed, by
//! looking at memory without side effects. Nothing here knows an operating system by name.

use crate::kernel::bus::Bus;
use crate::kernel::device::Size;

/// One step from an address towards a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// So many bytes further on.
    Add(u32),
    /// What is here is a pointer: go where it points.
    Load,
}

/// How to read what stands at the end of a [`Walk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The address itself.
    Address,
    /// A number of 1 to 4 bytes.
    Number {
        /// Bytes.
        bytes: u8,
        /// Two's complement.
        signed: bool,
    },
    /// Characters up to a zero, at most so many.
    Text {
        /// Bytes that there are.
        bytes: u32,
    },
}

/// The way from an address to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walk {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// What is at the end.
    pub form: Form,
}

/// Longest name kept.
const MAX_NAME: u32 = 64;

impl Walk {
    /// The address that the walk ends at; `None` where a pointer on the way is null or leads out of
    /// memory.
    fn end(&self, from: u32, bus: &Bus) -> Option<u32> {
        self.steps.iter().try_fold(from, |at, step| match step {
            Step::Add(bytes) => Some(at.wrapping_add(*bytes)),
            Step::Load => bus.peek(at, Size::Word).filter(|pointer| *pointer != 0),
        })
    }

    /// How far the value is from the start, if no pointer has to be followed.
    pub(super) fn fixed(&self) -> Option<u32> {
        self.steps.iter().try_fold(0u32, |sum, step| match step {
            Step::Add(bytes) => Some(sum.wrapping_add(*bytes)),
            Step::Load => None,
        })
    }

    /// The number there.
    fn number(&self, from: u32, bus: &Bus) -> Option<i64> {
        let at = self.end(from, bus)?;
        let Form::Number { bytes, signed } = self.form else { return Some(i64::from(at)) };
        let whole = match bytes {
            1 => bus.peek(at, Size::Byte),
            2 => bus.peek(at, Size::Half),
            4 => bus.peek(at, Size::Word),
            _ => None,
        };
        let byte = |i: u32| bus.peek(at.wrapping_add(i), Size::Byte);
        let bytewise =
            || (0..u32::from(bytes.min(4))).rev().try_fold(0, |v, i| Some(v << 8 | byte(i)?));
        let value = i64::from(whole.or_else(bytewise)?);
        let unused = 64 - 8 * u32::from(bytes.min(4));
        Some(if signed { value << unused >> unused } else { value })
    }

    /// The text there, up to a zero.
    fn text(&self, from: u32, bus: &Bus) -> Option<String> {
        let at = self.end(from, bus)?;
        let Form::Text { bytes } = self.form else { return None };
        let characters = (0..bytes.min(MAX_NAME)).map(|i| bus.peek(at.wrapping_add(i), Size::Byte));
        let text: Vec<u8> =
            characters.map_while(|c| c.map(|c| c as u8).filter(|c| *c != 0)).collect();
        Some(String::from_utf8_lossy(&text).into_owned())
    }
}

/// When a thread is ready to run, by its structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// From the thread's structure to the value that shows it.
    pub state: Walk,
    /// How it shows it.
    pub test: Test,
}

/// What a thread's state is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// Under the mask it is one of these.
    OneOf {
        /// Bits that count.
        mask: u32,
        /// Values of a thread that is ready (or runs).
        values: Vec<u32>,
    },
    /// It points into one of these ranges (the ready lists).
    Inside(Vec<std::ops::Range<u32>>),
}

/// Where an operating system keeps its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// From address 0 to the structure of the thread that runs.
    pub running: Walk,
    /// How many bytes that structure takes.
    pub bytes: Option<u32>,
    /// From the structure to the name.
    pub name: Option<Walk>,
    /// To the priority.
    pub priority: Option<Walk>,
    /// To the number that the system gave it.
    pub id: Option<Walk>,
    /// To the lowest address of its stack.
    pub stack: Option<Walk>,
    /// Any of these means that it could run.
    pub ready: Vec<Ready>,
}

impl Layout {
    /// The structure of the thread that runs now, once there is one.
    pub fn running(&self, bus: &Bus) -> Option<u32> {
        let at = self.running.end(0, bus)?;
        bus.peek(at, Size::Byte).map(|_| at)
    }

    /// A thread's name; empty if it has none.
    pub fn name(&self, thread: u32, bus: &Bus) -> String {
        let name = self.name.as_ref().and_then(|walk| walk.text(thread, bus));
        name.unwrap_or_default()
    }

    /// A thread's priority, as the system counts it.
    pub fn priority(&self, thread: u32, bus: &Bus) -> Option<i64> {
        self.priority.as_ref()?.number(thread, bus)
    }

    /// The number that the system gave a thread.
    pub fn id(&self, thread: u32, bus: &Bus) -> Option<i64> {
        self.id.as_ref()?.number(thread, bus)
    }

    /// The lowest address of a thread's stack.
    pub fn stack(&self, thread: u32, bus: &Bus) -> Option<u32> {
        self.stack.as_ref()?.number(thread, bus).map(|base| base as u32)
    }

    /// Whether everything that [`Layout::is_ready`] depends on lies in the thread's structure
    /// itself.
    pub(super) fn states_are_inside(&self) -> bool {
        self.ready.iter().all(|ready| ready.state.fixed().is_some())
    }

    /// Whether a thread could run now; `None` where that is unknown.
    pub fn is_ready(&self, thread: u32, bus: &Bus) -> Option<bool> {
        let any = |ready: &Ready| ready.holds(thread, bus);
        (!self.ready.is_empty()).then(|| self.ready.iter().any(any))
    }
}

impl Ready {
    /// A null pointer on the way is in no list and has no state.
    fn holds(&self, thread: u32, bus: &Bus) -> bool {
        let Some(state) = self.state.number(thread, bus).map(|state| state as u32) else {
            return false;
        };
        match &self.test {
            Test::OneOf { mask, values } => values.contains(&(state & mask)),
            Test::Inside(ranges) => ranges.iter().any(|range| range.contains(&state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::memory::{Memory, MemoryKind};

    const RAM: u32 = 0x2000_0000;

    fn memory(name: &str, kind: MemoryKind, base: u32) -> Memory {
        Memory::new(name, kind, base, 256)
    }

    fn bus(words: &[(u32, u32)]) -> Bus {
        let mut bus = Bus::new(
            memory("flash", MemoryKind::Flash, 0),
            memory("ram", MemoryKind::Ram, RAM),
            8_000_000,
        );
        for (at, word) in words {
            bus.load(*at, &word.to_le_bytes()).expect("it fits");
        }
        bus
    }

    fn member(at: u32, bytes: u8, signed: bool) -> Walk {
        Walk { steps: vec![Step::Add(at)], form: Form::Number { bytes, signed } }
    }

    fn layout() -> Layout {
        Layout {
            running: Walk { steps: vec![Step::Add(RAM), Step::Load], form: Form::Address },
            bytes: Some(32),
            name: Some(Walk { steps: vec![Step::Add(4)], form: Form::Text { bytes: 4 } }),
            priority: Some(member(8, 1, true)),
            id: None,
            stack: Some(member(12, 4, false)),
            ready: vec![Ready {
                state: member(16, 4, false),
                test: Test::Inside(vec![RAM + 40..RAM + 44, RAM + 64..RAM + 72]),
            }],
        }
    }

    #[test]
    fn a_thread_is_read_through_its_pointer() {
        let thread = RAM + 32;
        let bus = bus(&[
            (RAM, thread),
            (thread + 4, u32::from_le_bytes(*b"abcd")),
            (thread + 8, 0xfe),
            (thread + 12, RAM + 128),
            (thread + 16, RAM + 68),
        ]);
        let layout = layout();
        assert_eq!(layout.running(&bus), Some(thread));
        assert_eq!(layout.name(thread, &bus), "abcd", "no zero ends a name that fills its array");
        assert_eq!(layout.priority(thread, &bus), Some(-2));
        assert_eq!(layout.stack(thread, &bus), Some(RAM + 128));
        assert_eq!(layout.is_ready(thread, &bus), Some(true));
    }

    #[test]
    fn pointers_that_lead_nowhere_are_not_followed() {
        assert_eq!(layout().running(&bus(&[])), None, "null");
        assert_eq!(layout().running(&bus(&[(RAM, 0x6000_0000)])), None, "outside of all memory");
        assert_eq!(layout().is_ready(0x6000_0000, &bus(&[])), Some(false));
        assert_eq!(layout().name(RAM + 252, &bus(&[])), "");
    }
}
