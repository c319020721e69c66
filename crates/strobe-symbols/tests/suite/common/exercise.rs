//! Runs every query on a parsed image. Shared with the fuzz target, which includes this file.

use strobe_symbols::{Firmware, Registers};

/// Parses the bytes and, if they are an image, exercises every lookup. Must never panic, hang or
/// allocate without bound.
pub(crate) fn exercise(bytes: &[u8]) {
    let Ok(firmware) = Firmware::parse(bytes) else { return };
    let addresses = interesting_addresses(&firmware);
    let batch = firmware.frames_batch(&addresses);
    for (n, &address) in addresses.iter().enumerate() {
        let frames = firmware.frames(address);
        assert_eq!(batch.get(n), Some(&frames), "batch and single lookup differ at {address:#x}");
        assert!(
            frames.frames.is_empty() == frames.missing.is_some(),
            "no frames and no reason at {address:#x}"
        );
        if let Some(id) = firmware.function_at(address) {
            let function = firmware.function(id);
            let range = u64::from(function.start)..function.end();
            assert!(
                range.contains(&u64::from(address & !1)),
                "{address:#x} is outside its function"
            );
        }
        let _ =
            (firmware.describe(address), firmware.pointee(address), firmware.code_kind(address));
        let items = firmware.listing(address..address.saturating_add(64)).take(64);
        assert!(
            items.map(|item| item.address()).is_sorted(),
            "a listing goes backwards at {address:#x}"
        );
    }
    for function in firmware.functions().iter().take(16) {
        let _ = firmware.symbol(&function.name);
    }
    let _ = firmware.symbol("mian");
    for &address in addresses.iter().take(64) {
        walk(&firmware, address);
    }
    let _ = (firmware.sha256(), firmware.detail_note(), firmware.build_id(), firmware.producers());
    assert!(firmware.code_ranges().all(|range| range.start < range.end), "an empty code range");
}

/// The boundaries of all ranges, and the addresses beside them.
fn interesting_addresses(firmware: &Firmware) -> Vec<u32> {
    let mut borders = vec![0, firmware.entry(), u32::MAX];
    borders.extend(firmware.functions().iter().take(500).flat_map(|f| [f.start, f.end() as u32]));
    borders.extend(firmware.code_ranges().take(500).flat_map(|r| [r.start as u32, r.end as u32]));
    borders
        .extend(firmware.segments().iter().flat_map(|s| [s.run_address, s.run_range().end as u32]));
    borders.extend(firmware.data_symbols().iter().take(100).map(|s| s.address));
    borders
        .iter()
        .flat_map(|&border| [border.wrapping_sub(2), border, border.wrapping_add(1)])
        .collect()
}

fn walk(firmware: &Firmware, pc: u32) {
    for lr in [pc | 1, 0xffff_fff9, 0xffff_fffd] {
        let mut core = [0x2000_0100; 16];
        (core[14], core[15]) = (lr, pc);
        let registers =
            Registers { core, main_stack_pointer: None, process_stack_pointer: Some(0x2000_0200) };
        // Memory in which every word looks like a return address to the same function.
        let _ =
            firmware.backtrace(&registers, |address| (address >= 0x2000_0000).then_some(pc | 1));
    }
}
