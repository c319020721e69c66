//! Which device's registers lie at an address, found without a search.
//!
//! A table with one entry for each kilobyte in which registers lie, at a place that the address
//! gives. Where two of them come to the same place only the first has it, and for the other the
//! answer is `None`: the caller then searches. Registers overlap neither memories nor alias windows
//! (board files are checked for that), so an address found here needs no look at those.

/// Bytes of address space that share an entry, as a power of two: the usual size of a peripheral.
const GRANULE: u32 = 10;
/// Entries: the peripherals of most parts lie within a megabyte.
const ENTRIES: usize = 1024;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    base: u32,
    /// Bytes; 0 in a free entry.
    size: u32,
    slot: u8,
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Places(Vec<Entry>);

/// The entry for an address. The upper bits keep buses apart whose addresses differ in them only.
fn index(address: u32) -> usize {
    ((address >> GRANULE ^ address >> 21) as usize) % ENTRIES
}

impl Places {
    /// Puts a device's registers into the table.
    pub(crate) fn add(&mut self, base: u32, size: u32, slot: usize) {
        let Ok(slot) = u8::try_from(slot) else { return };
        self.0.resize(ENTRIES, Entry::default());
        let granules = (base >> GRANULE)..=(base.saturating_add(size.saturating_sub(1)) >> GRANULE);
        for granule in granules.take(ENTRIES).filter(|_| size > 0) {
            let entry = &mut self.0[index(granule << GRANULE)];
            if entry.size == 0 {
                *entry = Entry { base, size, slot };
            }
        }
    }

    /// Forgets everything, so that all addresses are searched for.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// The device whose registers are at an address, if the table has it.
    #[inline]
    pub(crate) fn find(&self, address: u32) -> Option<usize> {
        let entry = self.0.get(index(address))?;
        (address.wrapping_sub(entry.base) < entry.size).then_some(usize::from(entry.slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers of devices as (base, size): of a kilobyte, of less, across granules, and at places
    /// that others have taken.
    const DEVICES: [(u32, u32); 6] = [
        (0x4000_0000, 0x400),
        (0x4000_0400, 0x80),
        (0x4000_1000, 0x1000),
        (0x4010_0000, 0x400),
        (0x4020_0400, 0x400),
        (0xe000_0000, 0),
    ];

    #[test]
    fn table_agrees_with_search() {
        let mut places = Places::default();
        for (slot, (base, size)) in DEVICES.into_iter().enumerate() {
            places.add(base, size, slot);
        }
        let mut found = 0;
        for (base, size) in DEVICES {
            for address in (base..base + size).step_by(64).chain([base + size]) {
                let search = DEVICES.iter().position(|d| address.wrapping_sub(d.0) < d.1);
                let place = places.find(address);
                assert!(place.is_none() || place == search, "{address:#x}");
                found += usize::from(place.is_some());
            }
        }
        assert!(found > 64, "{found}");
    }
}
