//! Walks any stack window with any registers. Shared with the fuzz target, which includes this
//! file.

use strobe_symbols::{Firmware, Registers, StackFrameKind, StackWindow, UnwindEnd};

/// Reads registers and a stack window from bytes and walks them: whatever they are, the walk ends,
/// each frame is in code, and callers' frames lie further up. Must never panic or hang.
pub(crate) fn walk(firmware: &Firmware, bytes: &[u8]) {
    let mut words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let mut core = [0; 16];
    core.iter_mut().for_each(|register| *register = words.next().unwrap_or_default());
    let functions = firmware.functions();
    if let (Some(pc), false) = (words.next(), functions.is_empty()) {
        // Any place in any function, so that most bytes lead somewhere.
        let function = &functions[core[15] as usize % functions.len()];
        core[15] = (function.start + pc % function.size.max(1)) & !1;
    }
    let stack = bytes.get(68..).unwrap_or_default();
    core[13] &= !3;
    let registers = Registers {
        core,
        main_stack_pointer: (core[1] & 1 == 1).then_some(core[13].wrapping_add(64)),
        process_stack_pointer: (core[0] & 1 == 1).then_some(core[13].wrapping_add(128)),
    };
    let trace = firmware.backtrace_of(&registers, StackWindow { address: core[13], bytes: stack });
    assert!(!trace.frames.is_empty() && trace.frames.len() <= 256);
    assert_eq!(trace.frames[0].kind, StackFrameKind::Current);
    for two in trace.frames.windows(2) {
        assert_ne!((two[0].pc, two[0].sp), (two[1].pc, two[1].sp), "the same frame twice");
        // Of two stacks either may lie further up.
        let is_one =
            registers.main_stack_pointer.is_none() && registers.process_stack_pointer.is_none();
        if is_one && two[1].kind == StackFrameKind::Caller {
            assert!(two[1].sp >= two[0].sp, "the stack shrinks: {trace:?}");
        }
    }
    if let UnwindEnd::TooDeep = trace.end {
        assert_eq!(trace.frames.len(), 256);
    }
    // A walk depends on nothing else.
    let again = firmware.backtrace_of(&registers, StackWindow { address: core[13], bytes: stack });
    assert_eq!(again, trace);
}
