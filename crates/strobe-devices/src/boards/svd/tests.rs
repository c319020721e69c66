//! Files as vendors write them, and as nobody should.

use proptest::prelude::*;

use super::*;
use strobe_sim::kernel::unmodelled::Known;

/// A small chip with the things that files do: inheritance, arrays, clusters, views of one place.
const CHIP: &str = include_str!("../../../tests/svd/chip.svd");

fn chip() -> Svd {
    Svd::parse(CHIP).unwrap()
}

fn known(svd: &Svd, address: u32) -> &Known {
    svd.description.known.get(&address).unwrap_or_else(|| panic!("nothing known at {address:#x}"))
}

#[test]
fn names_reset_values_and_access() {
    let svd = chip();
    assert_eq!(svd.device, "EXAMPLE407");
    let cpu = svd.cpu.as_ref().unwrap();
    assert_eq!((cpu.name.as_str(), cpu.fpu, cpu.priority_bits), ("CM4", true, Some(4)));
    let cr = known(&svd, 0x4002_3800);
    assert_eq!((cr.name.as_str(), cr.reset), ("RCC.CR", 0x83));
    assert_eq!(cr.read_only, 0x0202_0002, "the ready flags");
    let id = known(&svd, 0x4001_3000);
    assert_eq!((id.name.as_str(), id.reset, id.read_only), ("SPI1.ID", 0x1234, u32::MAX));
    assert_eq!(known(&svd, 0x4001_3004).one_clears, 0b11);
}

#[test]
fn derived_peripherals_have_the_registers_of_their_base() {
    let svd = chip();
    assert_eq!(known(&svd, 0x4000_3800).name, "SPI2.ID");
    assert_eq!(known(&svd, 0x4000_380c).name, "SPI2.EXTRA", "and their own");
    assert_eq!(svd.interrupts()[&35], "SPI1");
    assert_eq!(svd.interrupts()[&36], "SPI2");
}

#[test]
fn arrays_and_clusters_are_counted_out() {
    let svd = chip();
    for (address, name) in [
        (0x4002_6010, "DMA.CH0.CR"),
        (0x4002_6028, "DMA.CH1.CR"),
        (0x4002_602c, "DMA.CH1.COUNT"),
        (0x4002_6100, "DMA.BUFFERA"),
        (0x4002_6108, "DMA.BUFFERC"),
    ] {
        assert_eq!(known(&svd, address).name, name);
    }
    assert_eq!(known(&svd, 0x4002_602c).reset, 7, "derived from its sibling");
    assert_eq!(svd.description.peripheral_at(0x4002_602c).unwrap().name, "DMA");
    assert_eq!(svd.description.peripheral_at(0x4002_6400), None);
}

#[test]
fn views_of_one_place_share_it() {
    let svd = chip();
    let mode = known(&svd, 0x4001_3008);
    assert_eq!(mode.name, "SPI1.MODE_OUT/MODE_IN/STATUS");
    // Two half-words: the lower one is writable in one of its views, the upper one in none.
    assert_eq!((mode.reset, mode.read_only), (0x00ab_0012, 0xffff_0000));
}

#[test]
fn ready_flags_follow_by_name() {
    let svd = chip();
    let rule =
        |address, bit| svd.description.rules.iter().find(|r| r.address == address && r.bit == bit);
    assert_eq!(rule(0x4002_3800, 17).unwrap().follows, Some(16));
    assert_eq!(rule(0x4002_3808, 2).unwrap().follows, Some(0));
    assert_eq!(rule(0x4002_3808, 3).unwrap().follows, Some(1));
    assert_eq!(svd.description.rules.len(), 5);
}

#[test]
fn errors_are_reported_with_their_place() {
    for (from, to, expected) in [
        ("<value>35</value>", "<value>x</value>", "`x` is no number at line"),
        ("<baseAddress>0x40013000</baseAddress>", "", "<peripheral>: has no <baseAddress> at line"),
        ("0x40023800", "0xffffffff", "outside the address space"),
        ("derivedFrom=\"SPI1\"", "derivedFrom=\"SPI9\"", "`SPI9`, which is not there"),
        ("derivedFrom=\"SPI1\"", "derivedFrom=\"SPI2\"", "derives from itself"),
        ("<dim>2</dim>", "<dim>16385</dim>", "an array of 16385"),
        ("<dimIndex>A-C</dimIndex>", "<dimIndex>0-4294967295</dimIndex>", "number of entries"),
        ("[17:17]", "[4294967295:0]", "the bits of `HSERDY`"),
        ("</device>", "</devices>", "expected 'device' tag"),
        ("<device ", "<!DOCTYPE x><device ", "DTD"),
    ] {
        let broken = CHIP.replacen(from, to, 1);
        assert_ne!(broken, CHIP, "{from}");
        let error = Svd::parse(&broken).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(error.contains("line"), "{error}");
    }
    assert!(Svd::parse("").is_err());
    assert!(Svd::parse("<svd/>").unwrap_err().to_string().contains("expected <device>"));
}

/// As of the 22 KiB of coefficients of a sampling rate converter (RA6M1).
#[test]
fn words_of_a_peripherals_ram_are_registers() {
    let text = "<device><name>X</name><peripherals><peripheral><name>RAM</name>\
                <baseAddress>0x40048000</baseAddress><registers><register><dim>5552</dim>\
                <dimIncrement>4</dimIncrement><dimIndex>0-5551</dimIndex><name>F[%s]</name>\
                <addressOffset>0</addressOffset></register></registers></peripheral></peripherals>\
                </device>";
    assert_eq!(Svd::parse(text).unwrap().peripherals()[0].size, 5552 * 4);
}

/// Small files that ask for a lot.
#[test]
fn expansion_of_a_file_is_bounded() {
    let device = |inner: &str| {
        format!(
            "<device><name>X</name><peripherals><peripheral><name>P</name>\
             <baseAddress>0</baseAddress><registers>{inner}</registers>\
             </peripheral></peripherals></device>"
        )
    };
    let array = "<dim>4096</dim><dimIncrement>4</dimIncrement><addressOffset>0</addressOffset>";
    let mut nested = format!("<register><name>R%s</name>{array}</register>");
    for n in 0..3 {
        nested = format!("<cluster><name>C{n}_%s</name>{array}{nested}</cluster>");
    }
    let error = Svd::parse(&device(&nested)).unwrap_err();
    assert!(error.problem.contains("registers"), "{error}");
    let deep = "<cluster><name>C</name><addressOffset>0</addressOffset>".repeat(2_000)
        + &"</cluster>".repeat(2_000);
    let error = Svd::parse(&device(&deep)).unwrap_err();
    assert!(error.problem.contains("deep"), "{error}");
    let junk = format!("<cluster><name>C%s</name>{array}{}</cluster>", "<x/>".repeat(20_000));
    let error = Svd::parse(&device(&junk)).unwrap_err();
    assert!(error.problem.contains("too much"), "{error}");
}

proptest! {
    /// Damage anywhere gives a chip or an error with a place, never a panic.
    #[test]
    fn damaged_files_are_refused_or_read(
        cuts in prop::collection::vec(
            (any::<prop::sample::Index>(), 0usize..12, "[<>/a-z0-9\"=%\\[\\]:x-]{0,6}"), 1..6,
        ),
    ) {
        let mut text = CHIP.to_owned();
        for (at, length, new) in cuts {
            let start = at.index(text.len());
            let end = (start + length).min(text.len());
            if text.is_char_boundary(start) && text.is_char_boundary(end) {
                text.replace_range(start..end, &new);
            }
        }
        if let Err(error) = Svd::parse(&text) {
            prop_assert!(error.line >= 1 && error.column >= 1, "{}", error);
        }
    }

    #[test]
    fn any_numbers_in_it_are_bounded(
        numbers in prop::collection::vec(prop_oneof![0u64..40, any::<u64>()], 6),
    ) {
        let [dim, step, offset, size, lsb, width] = numbers[..] else { unreachable!("six") };
        let text = format!(
            "<device><name>X</name><peripherals><peripheral><name>P</name>\
             <baseAddress>{offset}</baseAddress><registers><register><name>R%s</name>\
             <dim>{dim}</dim><dimIncrement>{step}</dimIncrement>\
             <addressOffset>{offset}</addressOffset><size>{size}</size>\
             <fields><field><name>F</name><bitOffset>{lsb}</bitOffset>\
             <bitWidth>{width}</bitWidth></field></fields></register></registers>\
             </peripheral></peripherals></device>"
        );
        if let Ok(svd) = Svd::parse(&text) {
            prop_assert!(svd.registers() as u64 <= dim);
        }
    }
}
