//! Writes a trace in Common Trace Format to a directory: what `docs/benchmarks.md` times
//! `strobe report` of a trace on.
//!
//! `cargo run -p strobe-synth --example ctf_stream -- 3000000 trace` writes 44 MB of events as an
//! RTOS sends them: threads that switch, handlers, blocks of the heap, marks.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use strobe_synth::Rng;

const METADATA: &str = "/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 16; align = 8; signed = false; } := u16;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
typealias integer { size = 8; align = 8; encoding = UTF8; } := char_t;
trace { major = 1; minor = 8; byte_order = le;
    packet.header := struct { u32 magic; u32 stream_id; }; };
clock { name = cycles; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.cycles.value; } := time_t;
stream { id = 0;
    packet.context := struct {
        time_t timestamp_begin; time_t timestamp_end;
        u32 content_size; u32 packet_size; u32 events_discarded;
    };
    event.header := struct { u16 id; time_t timestamp; }; };
event { name = thread_switched_in; id = 0; stream_id = 0;
    fields := struct { u32 thread_id; char_t name[8]; }; };
event { name = thread_switched_out; id = 1; stream_id = 0;
    fields := struct { u32 thread_id; char_t name[8]; }; };
event { name = isr_enter; id = 2; stream_id = 0; fields := struct { u8 irq; }; };
event { name = isr_exit; id = 3; stream_id = 0; fields := struct { u8 irq; }; };
event { name = heap_alloc; id = 4; stream_id = 0; fields := struct {
    u16 pid; u32 address; u32 user_alloc; u32 user_req; u32 fn1; u32 fn2; u32 fn3; u32 fn4; }; };
event { name = heap_free; id = 5; stream_id = 0; fields := struct { u16 pid; u32 address; }; };
event { name = mark_begin; id = 6; stream_id = 0; fields := struct { u8 track; }; };
event { name = mark_end; id = 7; stream_id = 0; fields := struct { u8 track; }; };
event { name = counter; id = 8; stream_id = 0; fields := struct { u32 value; u16 line; }; };
";

/// Bytes of events in a packet.
const PACKET: usize = 32 << 10;
const HEADER: usize = 8 + 16 + 12;

fn main() -> std::io::Result<()> {
    let events = std::env::args().nth(1).and_then(|n| n.parse::<usize>().ok());
    let (Some(events), Some(folder)) = (events, std::env::args().nth(2)) else {
        eprintln!("usage: ctf_stream EVENTS DIRECTORY");
        std::process::exit(64);
    };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("metadata"), METADATA)?;
    let mut tracer = Tracer::new(BufWriter::new(File::create(folder.join("stream"))?));
    while tracer.events < events {
        tracer.round()?;
    }
    tracer.flush()?;
    tracer.out.flush()
}

struct Tracer {
    out: BufWriter<File>,
    rng: Rng,
    now: u64,
    begin: u64,
    packet: Vec<u8>,
    events: usize,
    thread: u32,
    blocks: Vec<u32>,
}

impl Tracer {
    fn new(out: BufWriter<File>) -> Tracer {
        let (packet, blocks) = (Vec::with_capacity(PACKET), Vec::new());
        Tracer { out, rng: Rng::new(1), now: 0, begin: 0, packet, events: 0, thread: 0, blocks }
    }

    /// What happens between two switches of threads.
    fn round(&mut self) -> std::io::Result<()> {
        self.switch(1)?;
        self.thread = self.rng.below(8);
        self.switch(0)?;
        for _ in 0..self.rng.below(4) {
            let irq = [16 + self.rng.below(20) as u8];
            self.event(2, &irq)?;
            self.event(3, &irq)?;
        }
        let track = [self.thread as u8];
        self.event(6, &track)?;
        if self.rng.one_in(4) {
            self.block()?;
        }
        let value = self.rng.next_u32().to_le_bytes();
        self.event(8, &[&value[..], &[1, 2]].concat())?;
        self.event(7, &track)
    }

    fn switch(&mut self, id: u16) -> std::io::Result<()> {
        let mut name = *b"worker0\0";
        name[6] += self.thread as u8;
        self.event(id, &[&self.thread.to_le_bytes()[..], &name].concat())
    }

    /// Takes a block or frees one: some dozens are in use.
    fn block(&mut self) -> std::io::Result<()> {
        let pid = (self.thread as u16).to_le_bytes();
        if self.blocks.len() > 20 + self.rng.below(40) as usize {
            let address = self.blocks.swap_remove(self.rng.below(20) as usize);
            return self.event(5, &[&pid[..], &address.to_le_bytes()].concat());
        }
        let address = 0x2000_0000 + self.rng.below(1 << 16) * 8;
        if self.blocks.contains(&address) {
            return Ok(());
        }
        self.blocks.push(address);
        let bytes = 8 + self.rng.below(256);
        let caller = 0x0800_0000 + self.rng.below(16) * 32;
        let words = [address, bytes, bytes, caller, 0x0800_1000, 0, 0];
        let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.event(4, &[&pid[..], &words].concat())
    }

    fn event(&mut self, id: u16, fields: &[u8]) -> std::io::Result<()> {
        if self.packet.len() + 10 + fields.len() > PACKET {
            self.flush()?;
        }
        self.now += 100 + u64::from(self.rng.below(3000));
        if self.packet.is_empty() {
            self.begin = self.now;
        }
        self.packet.extend_from_slice(&id.to_le_bytes());
        self.packet.extend_from_slice(&self.now.to_le_bytes());
        self.packet.extend_from_slice(fields);
        self.events += 1;
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.packet.is_empty() {
            return Ok(());
        }
        let bits = ((HEADER + self.packet.len()) * 8) as u32;
        let words = [0xc1fc_1fc1, 0].map(u32::to_le_bytes);
        self.out.write_all(words.as_flattened())?;
        self.out.write_all([self.begin, self.now].map(u64::to_le_bytes).as_flattened())?;
        self.out.write_all([bits, bits, 0].map(u32::to_le_bytes).as_flattened())?;
        self.out.write_all(&self.packet)?;
        self.packet.clear();
        Ok(())
    }
}
