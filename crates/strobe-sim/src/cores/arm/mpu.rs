//! The memory protection unit (PMSAv7, DDI 0403 B3.5), and which addresses may be what without it
//! (B3.1).

use std::ops::Range;

/// The most regions that this models; parts have eight or none.
const MOST_REGIONS: usize = 8;

/// What an access is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// An instruction fetch.
    Fetch,
    /// A load.
    Load,
    /// A store.
    Store,
}

/// On whose behalf an access is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Rights {
    pub(crate) privileged: bool,
    /// The priority is that of HardFault or NMI: without CTRL.HFNMIENA there is no protection
    /// then.
    pub(crate) unprotected: bool,
}

/// What may be done at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) load: bool,
    pub(crate) store: bool,
    pub(crate) fetch: bool,
}

impl Permission {
    const ALL: Permission = Permission { load: true, store: true, fetch: true };
    const NONE: Permission = Permission { load: false, store: false, fetch: false };

    fn and(self, other: Permission) -> Permission {
        Permission {
            load: self.load && other.load,
            store: self.store && other.store,
            fetch: self.fetch && other.fetch,
        }
    }

    /// Whether that is enough for a purpose.
    pub(crate) fn allows(self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Fetch => self.fetch,
            Purpose::Load => self.load,
            Purpose::Store => self.store,
        }
    }
}

/// Addresses at which the default memory map never allows execution (B3.1.1): devices and the
/// system.
fn never_executes(address: u32) -> bool {
    matches!(address >> 29, 2 | 5 | 6 | 7)
}

/// The private peripheral bus, which no region applies to.
fn is_ppb(address: u32) -> bool {
    address >> 20 == 0xe00
}

/// The default memory map.
fn default_permission(address: u32) -> Permission {
    Permission { fetch: !never_executes(address), ..Permission::ALL }
}

#[derive(Debug, Clone, Copy, Default)]
struct Region {
    /// MPU_RBAR.ADDR.
    base: u32,
    /// MPU_RASR.
    attributes: u32,
}

impl Region {
    /// Its size as a power of two, if it is enabled and that is valid.
    fn log2_size(self) -> Option<u32> {
        let size = (self.attributes >> 1 & 31) + 1;
        (self.attributes & 1 != 0 && size >= 5).then_some(size)
    }

    /// Whether it decides about an address.
    fn covers(self, address: u32) -> bool {
        let Some(size) = self.log2_size() else { return false };
        if u64::from(address ^ self.base) >> size != 0 {
            return false;
        }
        // Regions of 256 bytes and more have eight subregions.
        size < 8 || self.attributes >> (8 + (address >> (size - 3) & 7)) & 1 == 0
    }

    /// Access permissions (B3.5.9, AP) for one privilege.
    fn permission(self, privileged: bool) -> Permission {
        let (load, store) = match (self.attributes >> 24 & 7, privileged) {
            (1..=3, true) | (3, false) => (true, true),
            (2, false) | (5, true) | (6 | 7, _) => (true, false),
            _ => (false, false),
        };
        Permission { load, store, fetch: load && self.attributes >> 28 & 1 == 0 }
    }

    /// The addresses at which its permissions may change.
    fn edges(self) -> impl Iterator<Item = u64> {
        let (start, step, count) = match self.log2_size() {
            None => (0, 0, 0),
            Some(size) => {
                let start = u64::from(self.base) >> size << size;
                if size < 8 { (start, 1 << size, 2) } else { (start, 1 << (size - 3), 9) }
            }
        };
        (0..count).map(move |i| start + i * step)
    }
}

/// The unit's registers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mpu {
    /// Regions that the chip has.
    count: usize,
    /// MPU_CTRL.
    control: u32,
    /// MPU_RNR.
    number: usize,
    regions: [Region; MOST_REGIONS],
    /// Counts changes of any of this.
    pub(crate) generation: u32,
}

impl Mpu {
    pub(crate) fn new(regions: u8) -> Self {
        Mpu { count: usize::from(regions).min(MOST_REGIONS), ..Mpu::default() }
    }

    pub(crate) fn reset(&mut self) {
        let generation = self.generation.wrapping_add(1);
        *self = Mpu { count: self.count, generation, ..Mpu::default() };
    }

    /// MPU_CTRL.ENABLE.
    pub(crate) fn is_on(&self) -> bool {
        self.control & 1 != 0
    }

    fn applies(&self, rights: Rights) -> bool {
        self.is_on() && (!rights.unprotected || self.control & 2 != 0)
    }

    /// What may be done at an address (ValidateAddress, B3.5.3).
    pub(crate) fn permission(&self, address: u32, rights: Rights) -> Permission {
        if is_ppb(address) || !self.applies(rights) {
            return default_permission(address);
        }
        let region = self.regions.iter().rev().find(|region| region.covers(address));
        let permission = match region {
            Some(region) => region.permission(rights.privileged),
            // PRIVDEFENA.
            None if rights.privileged && self.control & 4 != 0 => default_permission(address),
            None => Permission::NONE,
        };
        // Nothing makes the system's own space executable.
        Permission { fetch: permission.fetch && address < 0xe000_0000, ..permission }
    }

    /// What may be done at every address of a range that is not empty.
    pub(crate) fn permission_throughout(&self, range: &Range<u32>, rights: Rights) -> Permission {
        let mut all = self.permission(range.start, rights);
        if self.applies(rights) {
            let edges = self.regions.iter().flat_map(|region| region.edges());
            for edge in edges.filter_map(|edge| u32::try_from(edge).ok()) {
                if range.contains(&edge) {
                    all = all.and(self.permission(edge, rights));
                }
            }
        }
        all
    }

    /// Whether a store there goes through the write buffer, so that the core goes on before it is
    /// done.
    ///
    /// Without protection by the default map: everything but code and the system's own space. Else
    /// by the region's B bit (B3.5.9).
    pub(crate) fn buffers(&self, address: u32, rights: Rights) -> bool {
        let region = self.regions.iter().rev().find(|region| region.covers(address));
        match region.filter(|_| self.applies(rights) && !is_ppb(address)) {
            // TEX 4 to 7 give outer and inner policies of their own.
            Some(region) if region.attributes >> 21 & 1 != 0 => region.attributes >> 19 & 1 != 0,
            Some(region) => region.attributes >> 16 & 1 != 0,
            None => address >= 0x2000_0000 && !is_ppb(address),
        }
    }

    /// Reads a register by its offset in the system control space.
    pub(crate) fn read(&self, offset: u32) -> u32 {
        match offset {
            0xd90 => (self.count as u32) << 8,
            0xd94 => self.control,
            0xd98 => self.number as u32,
            0xd9c | 0xda4 | 0xdac | 0xdb4 => self.regions[self.number].base | self.number as u32,
            _ => self.regions[self.number].attributes,
        }
    }

    /// Writes a register by its offset in the system control space.
    pub(crate) fn write(&mut self, offset: u32, value: u32) {
        if self.count == 0 {
            return;
        }
        self.generation = self.generation.wrapping_add(1);
        match offset {
            0xd90 => {}
            0xd94 => self.control = value & 7,
            0xd98 => self.number = (value as usize & 0xff).min(self.count - 1),
            0xd9c | 0xda4 | 0xdac | 0xdb4 => {
                // VALID: the region's number comes with the address.
                if value & 0x10 != 0 {
                    self.number = (value as usize & 15).min(self.count - 1);
                }
                self.regions[self.number].base = value & !31;
            }
            _ => self.regions[self.number].attributes = value & 0x173f_ff3f,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVILEGED: Rights = Rights { privileged: true, unprotected: false };
    const USER: Rights = Rights { privileged: false, unprotected: false };

    fn with(control: u32, regions: &[(u32, u32)]) -> Mpu {
        let mut mpu = Mpu::new(8);
        for (number, &(base, attributes)) in (0u32..).zip(regions) {
            mpu.write(0xd9c, base | 0x10 | number);
            mpu.write(0xda0, attributes);
        }
        mpu.write(0xd94, control);
        mpu
    }

    /// RASR of a region of 2^size bytes.
    fn region(size: u32, access: u32, never: u32, disabled: u32) -> u32 {
        never << 28 | access << 24 | disabled << 8 | (size - 1) << 1 | 1
    }

    fn letters(p: Permission) -> String {
        let pick = |on, letter| if on { letter } else { '-' };
        [pick(p.load, 'r'), pick(p.store, 'w'), pick(p.fetch, 'x')].iter().collect()
    }

    #[test]
    fn the_default_map_forbids_execution_of_devices() {
        let mpu = with(0, &[(0, region(32, 0, 1, 0))]);
        for (address, expected) in [
            (0, "rwx"),
            (0x2000_0000, "rwx"),
            (0x4000_0000, "rw-"),
            (0x6000_0000, "rwx"),
            (0x9fff_ffff, "rwx"),
            (0xa000_0000, "rw-"),
            (0xe000_ed00, "rw-"),
            (0xffff_ffff, "rw-"),
        ] {
            assert_eq!(letters(mpu.permission(address, USER)), expected, "{address:#x}");
        }
    }

    /// B3.5.9, table of AP.
    #[test]
    fn access_permissions_by_privilege() {
        let expected = ["---", "rwx", "rwx", "rwx", "---", "r-x", "r-x", "r-x"];
        let user = ["---", "---", "r-x", "rwx", "---", "---", "r-x", "r-x"];
        for access in 0..8 {
            let mpu = with(1, &[(0x2000_0000, region(12, access, 0, 0))]);
            let at = |rights| letters(mpu.permission(0x2000_0ffc, rights));
            assert_eq!(at(PRIVILEGED), expected[access as usize], "AP {access}");
            assert_eq!(at(USER), user[access as usize], "AP {access}");
        }
        let never = with(1, &[(0x2000_0000, region(12, 3, 1, 0))]);
        assert_eq!(letters(never.permission(0x2000_0000, USER)), "rw-");
    }

    #[test]
    fn the_highest_number_decides_and_disabled_subregions_do_not() {
        let mpu = with(
            1,
            &[(0x2000_0000, region(16, 3, 0, 0)), (0x2000_1000, region(11, 6, 1, 0b0000_0010))],
        );
        let at = |address| letters(mpu.permission(address, USER));
        assert_eq!(at(0x2000_0fff), "rwx");
        assert_eq!(at(0x2000_1000), "r--");
        assert_eq!(at(0x2000_1100), "rwx", "its second subregion is disabled");
        assert_eq!(at(0x2000_1200), "r--");
        assert_eq!(at(0x2000_1800), "rwx");
        assert_eq!(at(0x2001_0000), "---", "no region");
    }

    #[test]
    fn the_background_is_for_the_privileged() {
        let at = |control, rights| letters(with(control, &[]).permission(0x0800_0000, rights));
        assert_eq!((at(1, PRIVILEGED), at(1, USER)), ("---".into(), "---".into()));
        assert_eq!((at(5, PRIVILEGED), at(5, USER)), ("rwx".into(), "---".into()));
    }

    #[test]
    fn hard_fault_and_nmi_are_free_unless_hfnmiena() {
        let rights = Rights { privileged: true, unprotected: true };
        let at = |control| letters(with(control, &[]).permission(0, rights));
        assert_eq!((at(1), at(3)), ("rwx".into(), "---".into()));
        assert_eq!(
            letters(with(3, &[]).permission(0xe000_ed94, rights)),
            "rw-",
            "its own registers"
        );
    }

    #[test]
    fn a_range_has_what_all_its_parts_have() {
        let guard = (0x2000_0400, region(5, 6, 1, 0));
        let mpu = with(1, &[(0x2000_0000, region(12, 3, 1, 0)), guard]);
        let throughout = |range: Range<u32>| letters(mpu.permission_throughout(&range, USER));
        assert_eq!(throughout(0x2000_0000..0x2000_0400), "rw-");
        assert_eq!(throughout(0x2000_0000..0x2000_1000), "r--");
        assert_eq!(throughout(0x2000_0420..0x2000_1000), "rw-");
        assert_eq!(throughout(0x2000_0800..0x2000_1001), "---");
    }

    #[test]
    fn a_region_may_be_everything() {
        let mpu = with(1, &[(0, region(32, 3, 0, 0b0001_0000))]);
        assert_eq!(letters(mpu.permission(0x7fff_ffff, USER)), "rwx");
        assert_eq!(letters(mpu.permission(0x8000_0000, USER)), "---");
        assert_eq!(letters(mpu.permission_throughout(&(0..0x9000_0000), USER)), "---");
    }

    #[test]
    fn registers_read_back_through_their_aliases() {
        let mut mpu = with(0, &[(0x2000_0000, region(12, 3, 0, 0))]);
        mpu.write(0xd98, 3);
        mpu.write(0xdac, 0x1234_5678 & !0x10);
        assert_eq!((mpu.read(0xd98), mpu.read(0xd9c)), (3, 0x1234_5663));
        mpu.write(0xdac, 0x2000_0015);
        assert_eq!((mpu.read(0xd98), mpu.read(0xdb4)), (5, 0x2000_0005));
        assert_eq!(mpu.read(0xd90), 0x800);
        let mut none = Mpu::new(0);
        none.write(0xd94, 1);
        assert_eq!((none.read(0xd90), none.is_on()), (0, false));
    }
}
