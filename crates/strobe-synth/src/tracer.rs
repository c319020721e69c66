//! Event streams as a small tracer on the target writes them over a serial line, with the expected
//! results of reading them.
//!
//! The format is that of micro-ROS' tracer of 2020: Common Trace Format 1.8 without packets, after
//! a start mark of four bytes, after any other output of the line. Each scenario runs a small model
//! of the target and records its totals, so they are known without parsing the stream. Written from
//! the specification and descriptions of the format, not from the reader.

mod calls;
mod heap;
mod interrupts;
mod stacks;
mod threads;
mod transfers;

pub use calls::{Calls, FunctionCalls, calls};
pub use heap::{Heap, Site, heap};
pub use interrupts::{Handlers, Interrupts, interrupts};
pub use stacks::{Stack, stacks};
pub use threads::{Schedule, threads};
pub use transfers::{Transfers, transfers};

use crate::Rng;
use crate::ctf::CtfEvent;

/// The start mark between the noise and the first event.
pub const MARK: [u8; 4] = [0xbe, 0xbe, 0xde, 0xad];

/// Id, name and fields of each event class.
const KINDS: &[(u8, &str, &str)] = &[
    (0x11, "thread_switched_in", "uint32_t thread_id;"),
    (0x13, "thread_create", "uint32_t thread_id; text_t name[20];"),
    (0x15, "thread_suspend", "uint32_t thread_id;"),
    (0x16, "thread_resume", "uint32_t thread_id;"),
    (0x1a, "thread_name_set", "uint32_t thread_id; text_t name[20];"),
    (0x20, "isr_enter", "uint32_t irq;"),
    (0x21, "isr_exit", "uint32_t irq;"),
    (0x50, "stack_usage", "uint32_t pid; address_t func_ptr; uint32_t usage_bytes;"),
    (0x51, "function_usage", "uint32_t pid; address_t func_ptr; function_exec fe;"),
    (
        0x60,
        "heap_alloc",
        "uint32_t pid; address_t fn1; address_t fn2; address_t fn3; address_t fn4; address_t \
         address; uint32_t real_alloc; uint32_t user_alloc; uint32_t user_req;",
    ),
    (
        0x61,
        "heap_free",
        "uint32_t pid; address_t address; uint32_t real_alloc; uint32_t user_alloc;",
    ),
    (0x70, "com_start", "text_t interface[20]; com_direction recvorsend;"),
    (0x71, "com_finish", "text_t interface[20]; uint32_t pkt_size; com_direction recvorsend;"),
    (0xc0, "measurement_start", ""),
    (0xc1, "measurement_stop", ""),
    (0xf0, "dump_start", ""),
    (0xf1, "dump_stop", ""),
];

/// The metadata of every stream of this module.
pub fn metadata() -> String {
    let mut text = "/* CTF 1.8 */\n".to_owned();
    for bits in [8, 32, 64] {
        text += &format!(
            "typealias integer {{ size = {bits}; align = 8; signed = false; }} := uint{bits}_t;\n"
        );
    }
    text += "typealias integer { size = 8; align = 8; signed = false; encoding = ASCII; } := \
             text_t;\n\
             typealias integer { size = 32; align = 8; signed = 0; base = 16; } := address_t;\n\
             typealias enum : uint8_t { FUNCTION_ENTER = 0, FUNCTION_EXIT = 1, } := \
             function_exec;\n\
             typealias enum : uint8_t { COM_TX = 0, COM_RX = 1, } := com_direction;\n\
             trace { major = 1; minor = 8; byte_order = le; };\n\
             clock { name = timer; freq = 1000000000; precision = 100; };\n\
             struct event_header { uint64_t timestamp; uint8_t id; };\n\
             stream { event.header := struct event_header; };\n";
    for (id, name, fields) in KINDS {
        let fields = if fields.is_empty() {
            String::new()
        } else {
            format!(" fields := struct {{ {fields} }};")
        };
        text += &format!("event {{ name = {name}; id = {id:#x};{fields} }};\n");
    }
    text
}

/// A stream and its expected results.
#[derive(Debug, Clone)]
pub struct Stream<T> {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Bytes before the start mark.
    pub noise: usize,
    /// Bytes of the truncated event at the end.
    pub tail: usize,
    /// The events, in order; fields as babeltrace2 prints them, empty where there are none.
    pub events: Vec<CtfEvent>,
    /// The totals of the model.
    pub truth: T,
}

impl<T> Stream<T> {
    /// The events without noise, mark and tail, for readers that know no mark.
    pub fn whole_events(&self) -> &[u8] {
        &self.bytes[self.noise + MARK.len()..self.bytes.len() - self.tail]
    }

    /// The stream only.
    pub fn bare(self) -> Stream<()> {
        let Stream { bytes, noise, tail, events, .. } = self;
        Stream { bytes, noise, tail, events, truth: () }
    }

    /// Number of events of a class.
    pub fn count(&self, name: &str) -> u64 {
        self.events.iter().filter(|event| event.name == name).count() as u64
    }
}

/// Measurement marks in the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Marks {
    /// Begin marks.
    pub starts: u64,
    /// End marks.
    pub stops: u64,
    /// Redundant marks, which repeat the current state.
    pub repeated: u64,
    /// Time between begin and end marks, in nanoseconds.
    pub total_ns: u64,
}

/// A field's value.
enum Value<'v> {
    Number(u32),
    Address(u32),
    Label(&'static str, u8),
    Text(&'v str),
}

use Value::{Address, Label, Number, Text};

/// The tracer on the target.
struct Tracer {
    rng: Rng,
    /// Nanoseconds; the timer has a resolution of 100.
    now: u64,
    bytes: Vec<u8>,
    noise: usize,
    events: Vec<CtfEvent>,
}

impl Tracer {
    /// A line with some boot output and noise, and then the start mark.
    fn new(seed: u64, noise: usize) -> Self {
        let mut rng = Rng::new(seed);
        let greeting = b"\r\nNuttShell (NSH)\r\nnsh> publisher\r\n\xff\xfe";
        let mut bytes: Vec<u8> = greeting.iter().copied().take(noise).collect();
        while bytes.len() < noise {
            let byte = rng.below(256) as u8;
            // No byte that could begin the mark.
            bytes.push(if byte == MARK[0] { 0 } else { byte });
        }
        bytes.extend_from_slice(&MARK);
        let now = 100 * (1 + u64::from(rng.below(1_000_000)));
        Tracer { rng, now, bytes, noise, events: Vec::new() }
    }

    /// Advances the time by at least 100 ns and less than `below_ns`.
    fn wait(&mut self, below_ns: u32) {
        self.now += 100 * (1 + u64::from(self.rng.below(below_ns / 100)));
    }

    fn event(&mut self, name: &str, fields: &[(&str, Value)]) {
        let kind = KINDS.iter().find(|kind| kind.1 == name);
        let (id, ..) = *kind.unwrap_or_else(|| panic!("no event {name}"));
        self.bytes.extend_from_slice(&self.now.to_le_bytes());
        self.bytes.push(id);
        let mut shown = Vec::new();
        for (field, value) in fields {
            shown.push(format!("{field} = {}", self.put(value)));
        }
        let fields =
            if shown.is_empty() { String::new() } else { format!("{{ {} }}", shown.join(", ")) };
        self.events.push(CtfEvent { name: name.to_owned(), ticks: self.now, fields });
    }

    /// Writes a value; returns it as text.
    fn put(&mut self, value: &Value) -> String {
        match *value {
            Number(number) => {
                self.bytes.extend_from_slice(&number.to_le_bytes());
                number.to_string()
            }
            Address(address) => {
                self.bytes.extend_from_slice(&address.to_le_bytes());
                format!("0x{address:X}")
            }
            Label(label, number) => {
                self.bytes.push(number);
                format!("( \"{label}\" : container = {number} )")
            }
            Text(text) => {
                let mut bytes = [0; 20];
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                self.bytes.extend_from_slice(&bytes);
                format!("\"{text}\"")
            }
        }
    }

    /// A thread that exists, with its name.
    fn thread(&mut self, id: u32, name: &str) {
        self.wait(5000);
        self.event("thread_switched_in", &[("thread_id", Number(id))]);
        self.wait(500);
        self.event("thread_create", &[("thread_id", Number(id)), ("name", Text(name))]);
    }

    /// The line fails in the middle of an event, of which so many bytes have arrived.
    fn finish<T>(mut self, tail: usize, truth: T) -> Stream<T> {
        let cut = [&(self.now + 100).to_le_bytes()[..], &[0x51, 1, 0, 0, 0, 0x35]].concat();
        self.bytes.extend_from_slice(&cut[..tail]);
        Stream { bytes: self.bytes, noise: self.noise, tail, events: self.events, truth }
    }
}
