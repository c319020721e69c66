//! Stacks laid out by hand, word by word, as the fixture's instructions and the hardware would do.

use std::collections::HashMap;

use crate::common::build::Workshop;
use crate::common::window;
use strobe_symbols::{Firmware, Registers, StackFrameKind, StackWindow, UnwindEnd};

/// A firmware with known frames, its memory and its registers.
struct Scene {
    firmware: Firmware,
    memory: HashMap<u32, u32>,
    registers: Registers,
}

impl Scene {
    fn new() -> Self {
        Scene::of("stack.elf", "stack.S")
    }

    fn of(elf: &str, source: &str) -> Self {
        let workshop = Workshop::new();
        let elf = workshop.assembly(elf, source);
        let firmware =
            Firmware::parse(std::fs::read(elf).expect("the ELF file")).expect("a firmware image");
        let registers =
            Registers { core: [0; 16], main_stack_pointer: None, process_stack_pointer: None };
        Scene { firmware, memory: HashMap::new(), registers }
    }

    fn at(&self, label: &str) -> u32 {
        self.firmware.symbol(label).unwrap_or_else(|error| panic!("{error}")).address
    }

    /// A return address as `bl` leaves it.
    fn return_to(&self, label: &str) -> u32 {
        self.at(label) | 1
    }

    /// Stores words upwards from an address.
    fn store(&mut self, address: u32, words: &[u32]) {
        for (n, &word) in words.iter().enumerate() {
            self.memory.insert(address + 4 * n as u32, word);
        }
    }

    /// The stack of `leaf` called by `middle`, `outer` and `Reset_Handler`, which started with SP
    /// at `top`. Returns SP and R7 inside `leaf`.
    fn calls(&mut self, top: u32) -> (u32, u32) {
        let (in_reset, in_outer) = (self.return_to("in_reset"), self.return_to("in_outer"));
        self.store(top - 8, &[0x4444, in_reset]); // outer: push {r4, lr}
        self.store(top - 24, &[0x7777, in_outer]); // middle: push {r7, lr}
        (top - 48, top - 24)
    }

    /// The frame that the hardware pushes.
    fn exception_frame(&mut self, at: u32, lr: u32, pc: u32, status: u32) {
        self.store(at, &[0x100, 0x101, 0x102, 0x103, 0x10c, lr, pc, status]);
    }

    fn set(&mut self, sp: u32, r7: u32, lr: u32, pc: u32) {
        self.registers.core[7] = r7;
        (self.registers.core[13], self.registers.core[14], self.registers.core[15]) = (sp, lr, pc);
    }

    /// The backtrace as names, kinds and whether each was guessed, with its end.
    fn walk(&self) -> (Vec<(String, StackFrameKind, bool)>, UnwindEnd) {
        let trace =
            self.firmware.backtrace(&self.registers, |address| self.memory.get(&address).copied());
        let name = |address| {
            let frames = self.firmware.frames(address).frames;
            frames.first().and_then(|frame| frame.name).unwrap_or("?").to_owned()
        };
        let frames =
            trace.frames.iter().map(|f| (name(f.lookup_address()), f.kind, f.guessed)).collect();
        (frames, trace.end)
    }
}

fn frame(name: &str, kind: StackFrameKind) -> (String, StackFrameKind, bool) {
    (name.to_owned(), kind, false)
}

fn callers() -> [(String, StackFrameKind, bool); 3] {
    ["middle", "outer", "Reset_Handler"].map(|name| frame(name, StackFrameKind::Caller))
}

#[test]
fn calls_are_unwound_to_the_reset_handler() {
    let mut scene = Scene::new();
    let (sp, r7) = scene.calls(0x2000_1000);
    scene.set(sp, r7, scene.return_to("in_middle"), scene.at("in_leaf"));
    let (frames, end) = scene.walk();
    assert_eq!(frames[0], frame("leaf", StackFrameKind::Current));
    assert_eq!(frames[1..], callers());
    assert_eq!(end, UnwindEnd::Bottom);
}

#[test]
fn an_exception_leads_back_to_what_it_interrupted() {
    for (padding, status) in [(0, 0x0100_0000), (4, 0x0100_0200)] {
        let mut scene = Scene::new();
        let (sp, r7) = scene.calls(0x2000_1000);
        let (lr, pc) = (scene.return_to("in_middle"), scene.at("in_leaf"));
        let exception = sp - padding - 32;
        scene.exception_frame(exception, lr, pc, status);
        scene.store(exception - 8, &[0x4004, 0xffff_fff9]); // push {r4, lr}
        scene.set(exception - 8, r7, 0xffff_fff9, scene.at("in_handler"));
        let (frames, end) = scene.walk();
        assert_eq!(frames[0], frame("HardFault_Handler", StackFrameKind::Current));
        assert_eq!(frames[1], frame("leaf", StackFrameKind::Interrupted));
        assert_eq!(frames[2..], callers());
        assert_eq!(end, UnwindEnd::Bottom);
    }
}

#[test]
fn a_handler_over_a_thread_needs_the_process_stack() {
    let mut scene = Scene::new();
    let (sp, r7) = scene.calls(0x2000_3000);
    let (lr, pc) = (scene.return_to("in_middle"), scene.at("in_leaf"));
    scene.exception_frame(sp - 32, lr, pc, 0x0100_0000);
    scene.store(0x2000_0ff8, &[0x4004, 0xffff_fffd]);
    scene.set(0x2000_0ff8, r7, 0xffff_fffd, scene.at("in_handler"));
    assert_eq!(scene.walk().1, UnwindEnd::NoProcessStackPointer);

    scene.registers.process_stack_pointer = Some(sp - 32);
    let (frames, end) = scene.walk();
    assert_eq!(frames[1], frame("leaf", StackFrameKind::Interrupted));
    assert_eq!(frames[2..], callers());
    assert_eq!(end, UnwindEnd::Bottom);
}

#[test]
fn a_jump_into_nowhere_is_guessed_from_lr() {
    let mut scene = Scene::new();
    let (sp, r7) = scene.calls(0x2000_1000);
    scene.set(sp, r7, scene.return_to("in_middle"), 0x4000_0000);
    let (frames, end) = scene.walk();
    assert_eq!(frames[0], frame("?", StackFrameKind::Current));
    assert_eq!(frames[1], ("middle".to_owned(), StackFrameKind::Caller, true));
    assert_eq!(frames[2..], callers()[1..]);
    assert_eq!(end, UnwindEnd::Bottom);

    scene.set(sp, r7, 0, 0x4000_0000);
    assert_eq!(scene.walk().1, UnwindEnd::OutsideCode { pc: 0x4000_0000 });
}

#[test]
fn without_unwind_information_the_walk_reports_it() {
    let mut scene = Scene::new();
    // Called from itself, so that the second frame is a caller without information.
    scene.set(0x2000_0f00, 0, scene.return_to("in_bare"), scene.at("in_bare"));
    scene.registers.core[15] -= 2;
    let (frames, end) = scene.walk();
    assert_eq!(frames[1], ("bare".to_owned(), StackFrameKind::Caller, true));
    assert_eq!(end, UnwindEnd::NoUnwindInfo { pc: scene.at("in_bare") });
}

/// Frames that only `.ARM.exidx` and `.ARM.extab` describe: short entries, a frame pointer, a large
/// frame in a table of its own. Where the processor is, only the return is left.
#[test]
fn exception_index_tables_lead_to_the_reset_handler() {
    let mut scene = Scene::of("index.elf", "index.S");
    let top = 0x2000_3000;
    let (in_reset, in_outer) = (scene.return_to("in_reset"), scene.return_to("in_outer"));
    let (in_middle, in_wide) = (scene.return_to("in_middle"), scene.return_to("in_wide"));
    scene.store(top - 8, &[0x4444, in_reset]);
    scene.store(top - 24, &[0x7777, in_outer]);
    let sp = top - 24 - 776 - 16 - 12 - 1024;
    scene.store(sp + 1024, &[0x4141, 0x6161, in_middle]);
    scene.set(sp, top - 24, in_wide, scene.at("in_leaf"));
    let (frames, end) = scene.walk();
    assert_eq!(frames[0], frame("leaf", StackFrameKind::Current));
    assert_eq!(frames[1], frame("wide", StackFrameKind::Caller));
    assert_eq!(frames[2..], callers());
    assert_eq!(end, UnwindEnd::Marked { pc: scene.at("in_reset") });

    // Who unwinds needs them, and nothing else does; both are at one address.
    assert_eq!(scene.firmware.unwind_routines(), [scene.at("__aeabi_unwind_cpp_pr0")]);

    // A table that has been overwritten is refused, not followed.
    scene.memory.clear();
    assert!(matches!(scene.walk().1, UnwindEnd::Unreadable { .. }));
}

/// What returns has been called: anything else that looks like code is none of the stack's.
#[test]
fn a_return_address_is_behind_a_call() {
    let mut scene = Scene::new();
    let (sp, r7) = scene.calls(0x2000_1000);
    let inside = scene.at("in_leaf");
    scene.set(sp, r7, inside | 1, scene.at("in_leaf"));
    assert_eq!(scene.walk().1, UnwindEnd::NotACall { pc: inside });
    // Without the Thumb bit nothing returns.
    scene.set(sp, r7, scene.at("in_middle"), scene.at("in_leaf"));
    assert_eq!(scene.walk().1, UnwindEnd::NotACall { pc: scene.at("in_middle") });
    // A kernel has a thread return to the function that ends it.
    scene.set(sp, r7, scene.at("HardFault_Handler") | 1, scene.at("in_leaf"));
    assert_eq!(scene.walk().1, UnwindEnd::Bottom);
}

/// The part of a stack that a capture holds is enough for the frames in it.
#[test]
fn a_captured_window_is_walked_to_its_end() {
    let mut scene = Scene::new();
    let (sp, r7) = scene.calls(0x2000_1000);
    scene.set(sp, r7, scene.return_to("in_middle"), scene.at("in_leaf"));
    let word = |at: u32| scene.memory.get(&at).copied().unwrap_or_default().to_le_bytes();
    let bytes: Vec<u8> = (sp..0x2000_1000).step_by(4).flat_map(word).collect();
    let walk = |length: usize| {
        let stack = StackWindow { address: sp, bytes: &bytes[..length] };
        scene.firmware.backtrace_of(&scene.registers, stack)
    };
    let whole = walk(bytes.len());
    assert_eq!((whole.frames.len(), whole.end), (4, UnwindEnd::Bottom));
    for length in 0..bytes.len() {
        let part = walk(length);
        assert_eq!(part.frames, whole.frames[..part.frames.len()], "{length} bytes");
        assert!(matches!(part.end, UnwindEnd::Unreadable { .. }), "{length} bytes: {:?}", part.end);
    }
}

#[test]
fn a_broken_stack_ends_the_walk() {
    let mut scene = Scene::new();
    scene.set(0x2000_0fd0, 0x2000_0fe8, scene.return_to("in_middle"), scene.at("in_leaf"));
    assert_eq!(scene.walk().1, UnwindEnd::Unreadable { address: 0x2000_0fe8 });

    // A frame that is its own caller.
    let (sp, in_middle) = (0x2000_0f00, scene.return_to("in_middle"));
    scene.store(sp, &[sp - 8, in_middle]);
    scene.store(sp - 8, &[sp, in_middle]);
    scene.set(sp, sp, in_middle, scene.at("in_leaf"));
    assert!(matches!(scene.walk().1, UnwindEnd::NoProgress { .. }), "{:?}", scene.walk());
}

/// Whatever a board has sent as its registers and stack: fixed seeds of the fuzz target `unwind`.
#[test]
fn any_window_is_walked() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/prebuilt");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    for name in ["generic-c-m3", "threads", "crc-rs", "numbers-m4f"] {
        let elf = std::fs::read(root.join(format!("{name}.elf"))).expect("bundled firmware");
        let firmware = Firmware::parse(elf).expect("a firmware image");
        let starts: Vec<u32> = firmware.functions().iter().map(|f| f.start).collect();
        for _ in 0..1000 {
            let mut next = || {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random as u32
            };
            let words = (0..64 + next() % 64).map(|_| match next() % 4 {
                0 => (starts[next() as usize % starts.len()] + (next() & 0x3e)) | 1,
                1 => 0xffff_fff1 | next() & 12,
                2 => 0x2000_0000 | next() & 0xfff,
                _ => next(),
            });
            let mut words: Vec<u32> = words.collect();
            words[13] = 0x2000_0000 | words[13] & 0xffc;
            words[7] = words[13] + (words[7] & 0x7c);
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            window::walk(&firmware, &bytes);
        }
    }
}
