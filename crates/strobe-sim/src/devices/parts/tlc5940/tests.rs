//! A chain bit by bit, against its data sheet.

use proptest::prelude::*;

use crate::boards::{Board, PartEntry};
use crate::kernel::bus::Bus;
use crate::kernel::device::part::Picture;

/// Two drivers with three layers of two rows of three LEDs each; GSCLK has one clock for two of the
/// core's.
const OPTIONS: &str = "count = 2, sin = 'PB3', sclk = 'PB5', xlat = 'PB1', blank = 'PB2', gsclk_hz \
                       = 8_000_000, \
                       columns = 3, rows = 2, serpentine = true, layers = ['PC0', 'PC1', 'PC2']";

fn board(options: &str) -> Result<Board, String> {
    let entry = format!("name = 'LEDS'\nmodel = 'tlc5940'\noptions = {{ {options} }}");
    let entry: PartEntry = toml::from_str(&entry).expect("the test's TOML");
    Board::builtin("arduino-uno").unwrap().with_parts([entry]).map_err(|error| error.to_string())
}

struct Host {
    bus: Bus,
}

impl Host {
    fn new() -> Self {
        Self { bus: board(OPTIONS).unwrap().build().unwrap() }
    }

    fn set(&mut self, pin: &str, level: bool) {
        let pin = self.bus.signals.find(pin).unwrap();
        self.bus.set_signal(pin, level);
        self.bus.settle();
    }

    fn pulse(&mut self, pin: &str) {
        self.set(pin, true);
        self.bus.now += 1;
        self.set(pin, false);
        self.bus.now += 1;
    }

    /// Shifts out values for outputs 31 to 0.
    fn shift(&mut self, value: impl Fn(usize) -> u16) {
        for output in (0..32).rev() {
            for bit in (0..12).rev() {
                self.set("PB3", value(output) >> bit & 1 != 0);
                self.pulse("PB5");
            }
        }
    }

    /// Shows what was shifted out on a layer that takes over from another, for `cycles`.
    fn show(&mut self, layer: usize, cycles: u64) {
        self.set("PB2", true);
        self.pulse("PB1");
        ["PC0", "PC1", "PC2"].iter().enumerate().for_each(|(i, pin)| self.set(pin, i == layer));
        self.set("PB2", false);
        self.bus.now += cycles;
    }

    fn pictures(&mut self) -> Vec<Picture> {
        self.bus.take_pictures().into_iter().map(|shown| shown.picture).collect()
    }

    fn warnings(&self) -> String {
        self.bus.warnings.iter().map(|(text, _)| format!("{text}\n")).collect()
    }
}

/// The pictures' gray, row by row.
fn gray(picture: &Picture) -> Vec<Vec<u8>> {
    let rows = picture.rgb.chunks(3 * usize::from(picture.width));
    rows.map(|row| row.chunks(3).map(|pixel| pixel[0]).collect()).collect()
}

#[test]
fn a_full_refresh_is_a_picture_of_all_layers() {
    let mut host = Host::new();
    for layer in 0..3 {
        host.shift(|output| if output == layer { 4095 } else { 1 << layer });
        host.show(layer, 8192);
    }
    assert_eq!(host.pictures(), []);
    host.shift(|_| 0);
    host.show(0, 8192);
    let pictures = host.pictures();
    assert_eq!(pictures.len(), 1);
    assert_eq!((pictures[0].width, pictures[0].height), (7, 5), "two by two tiles and the gaps");
    // The roots of 1, 2 and 4 in 4096 are 4, 5.6 and 8 in 255; the second row of a layer runs
    // backwards.
    let expected: [[u8; 7]; 5] = [
        [255, 4, 4, 0, 6, 255, 6],
        [4, 4, 4, 0, 6, 6, 6],
        [0; 7],
        [8, 8, 255, 0, 0, 0, 0],
        [8, 8, 8, 0, 0, 0, 0],
    ];
    assert_eq!(gray(&pictures[0]), expected);
    assert_eq!(host.warnings(), "");
}

#[test]
fn a_serpentine_turns_round_at_each_row() {
    let mut host = Host::new();
    host.shift(|output| if output == 3 { 4095 } else { 0 });
    (0..4).for_each(|turn| host.show(turn % 3, 8192));
    assert_eq!(gray(&host.pictures()[0])[1][..3], [0, 0, 255], "the fourth LED is below the third");
}

/// BLANK cuts off what is brighter than there is time for, and begins the cycle anew.
#[test]
fn brightness_is_the_time_that_an_led_was_lit() {
    let mut host = Host::new();
    host.shift(|output| [4095, 1024, 256, 0, 0, 0][output % 6]);
    for layer in 0..3 {
        host.show(layer, 2 * 512);
    }
    host.show(0, 10);
    let pictures = host.pictures();
    // 512 clocks, 512 and 256.
    assert_eq!(gray(&pictures[0])[0][..3], [90, 90, 64]);
    // Blank twice as often in the same time lights twice what ends before.
    let mut host = Host::new();
    host.shift(|_| 256);
    for layer in 0..3 {
        host.show(layer, 2 * 512);
        host.set("PB2", true);
        host.set("PB2", false);
        host.bus.now += 2 * 512;
    }
    host.show(0, 10);
    assert_eq!(gray(&host.pictures()[0])[0][..3], [90; 3]);
}

#[test]
fn what_the_part_would_not_like_is_reported() {
    let mut host = Host::new();
    host.shift(|_| 4095);
    host.show(0, 100);
    assert_eq!(host.warnings(), "");
    host.pulse("PB1");
    assert!(host.warnings().contains("LEDS: XLAT while BLANK is low"), "{}", host.warnings());
    host.set("PC1", true);
    assert!(host.warnings().contains("LEDS: a layer is switched while outputs are on"));
    host.pulse("PB5");
    host.set("PB2", true);
    host.pulse("PB1");
    assert!(host.warnings().contains("XLAT after 1 bits, where the chain takes 384"));
    // Two rising edges in the same cycle are faster than anything.
    (0..2).for_each(|_| ["", "x"].iter().for_each(|level| host.set("PB5", level.is_empty())));
    assert!(host.warnings().contains("SCLK is faster than 30 MHz"), "{}", host.warnings());
}

#[test]
fn options_that_cannot_be_are_refused() {
    for (from, to, expected) in [
        ("count = 2", "count = 0", "count: 1 to 40"),
        ("columns = 3", "columns = 17", "1 to 32 LEDs"),
        ("gsclk_hz = 8_000_000", "gsclk_hz = 0", "gsclk_hz: 1 to 30000000"),
        ("rows = 2", "rows = 2, across = 0", "across: at least 1"),
        ("'PC2'", "'PC9'", "the chip has no pin PC9"),
        ("rows = 2", "rows = 2, colour = 1", "unknown field `colour`"),
    ] {
        let error = board(&OPTIONS.replace(from, to)).unwrap_err();
        assert!(error.contains("part LEDS: options") && error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn no_sequence_of_edges_panics(
        edges in prop::collection::vec((0usize..7, any::<bool>(), 0u64..10_000), 0..300),
    ) {
        let mut host = Host::new();
        for (pin, level, later) in edges {
            host.set(["PB1", "PB2", "PB3", "PB5", "PC0", "PC1", "PC2"][pin], level);
            host.bus.now += later;
        }
        prop_assert!(host.pictures().iter().all(|picture| picture.rgb.len() == 3 * 7 * 5));
    }
}
