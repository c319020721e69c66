//! A chain bit by bit, against its data sheet.

use proptest::prelude::*;

use crate::boards::{Board, PartEntry};
use strobe_sim::kernel::bus::Bus;
use strobe_sim::kernel::device::part::Picture;

/// Two drivers with three layers of two rows of three LEDs each; GSCLK has one clock for two of the
/// core's.
const OPTIONS: &str = "count = 2, sin = 'PB3', sclk = 'PB5', xlat = 'PB1', blank = 'PB2', gsclk_hz \
                       = 8_000_000, \
                       columns = 3, rows = 2, serpentine = true, layers = ['PC0', 'PC1', 'PC2']";

/// All that the chain has besides: dot correction, its serial output and errors.
fn corrected(more: &str) -> String {
    format!("{OPTIONS}, vprg = 'PD0', sout = 'PD1', xerr = 'PD2', {more}")
}

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
        Self::with(OPTIONS)
    }

    fn with(options: &str) -> Self {
        Self { bus: board(options).unwrap().build().unwrap() }
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
        self.shift_bits(12, value);
    }

    fn shift_bits(&mut self, width: usize, value: impl Fn(usize) -> u16) {
        for output in (0..32).rev() {
            for bit in (0..width).rev() {
                self.set("PB3", value(output) >> bit & 1 != 0);
                self.pulse("PB5");
            }
        }
    }

    /// Dot correction for outputs 31 to 0, back to grayscale values, then those of zero with the
    /// pulse that they need this time.
    fn correct(&mut self, value: impl Fn(usize) -> u16) {
        self.set("PB2", true);
        self.set("PD0", true);
        self.shift_bits(6, value);
        self.pulse("PB1");
        self.set("PD0", false);
        self.shift(|_| 0);
        self.pulse("PB1");
        self.pulse("PB5");
    }

    fn level(&self, pin: &str) -> bool {
        self.bus.signals.level(self.bus.signals.find(pin).unwrap())
    }

    /// What SOUT shows, bit by bit, with zeros shifted in.
    fn read(&mut self, bits: usize) -> String {
        self.set("PB3", false);
        let next = |_| {
            let bit = self.level("PD1");
            self.pulse("PB5");
            if bit { '1' } else { '0' }
        };
        (0..bits).map(next).collect()
    }

    /// Lets time pass, with what happens in it.
    fn pass(&mut self, cycles: u64) {
        let until = self.bus.now + cycles;
        self.bus.run_events(until);
        self.bus.now = until;
        self.bus.settle();
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
fn misuse_of_the_part_is_reported() {
    let mut host = Host::new();
    host.shift(|_| 4095);
    host.show(0, 100);
    assert_eq!(host.warnings(), "");
    host.pulse("PB1");
    assert!(host.warnings().contains("LEDS: XLAT while BLANK is low"), "{}", host.warnings());
    // What that latched was status information.
    host.shift(|_| 4095);
    host.show(0, 100);
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

/// A driver's status information as figure 19 has it: LOD of outputs 15 to 0, TEF, seven reserved
/// bits, dot correction of outputs 15 to 0, 72 reserved bits.
fn status(open: u16, hot: bool, correction: impl Fn(usize) -> u16) -> String {
    let correction: String =
        (0..16).rev().map(|output| format!("{:06b}", correction(output))).collect();
    format!("{open:016b}{}{}{correction}{}", u8::from(hot), "0".repeat(7), "0".repeat(72))
}

#[test]
fn dot_correction_is_read_back_after_the_first_pulse() {
    let mut host = Host::with(&corrected("dcprg = 'high', hot = [0]"));
    let value = |output: usize| (output * 7 % 64) as u16;
    host.set("PB2", true);
    host.set("PD0", true);
    host.shift_bits(6, value);
    host.pulse("PB1");
    // SOUT is bit 95 of the last driver: what went in first.
    assert_eq!(host.level("PD1"), value(31) & 32 != 0);
    host.set("PD0", false);
    host.pulse("PB1");
    // "The first GS data input cycle after dot correction requires an additional SCLK pulse".
    host.pulse("PB5");
    let expected = status(0, false, |at| value(16 + at)) + &status(0, true, value);
    assert_eq!(host.read(384), expected);
    // Zeros came in behind it.
    assert_eq!(host.read(384), "0".repeat(384));
    // From the second time on the first bit is there at once.
    host.pulse("PB1");
    assert_eq!(host.read(384), expected);
    assert_eq!(host.warnings(), "");
}

#[test]
fn dot_correction_register_applies_if_dcprg_is_high() {
    for (dcprg, in_driver) in [("low", 20), ("high", 7), ("PD3", 20)] {
        let mut host = Host::with(&corrected(&format!("dcprg = '{dcprg}', eeprom = 20")));
        host.correct(|_| 7);
        assert_eq!(host.read(192), status(0, false, |_| in_driver), "{dcprg}");
    }
    let mut host = Host::with(&corrected("dcprg = 'PD3', eeprom = 20"));
    host.set("PD3", true);
    host.correct(|_| 7);
    assert_eq!(host.read(192), status(0, false, |_| 7));
}

/// The pulse is taken for status information: if none is sent, the data's first one is lost.
#[test]
fn missing_pulse_loses_a_bit_after_dot_correction() {
    let mut host = Host::with(&corrected(""));
    host.set("PB2", true);
    host.set("PD0", true);
    host.shift_bits(6, |_| 63);
    host.pulse("PB1");
    host.set("PD0", false);
    host.shift(|_| 0);
    host.pulse("PB1");
    assert_eq!(host.warnings(), "");
    host.shift(|_| 1);
    host.pulse("PB1");
    assert!(host.warnings().contains("XLAT after 383 bits, where the chain takes 384"));
}

#[test]
fn surplus_bits_leave_the_chain_at_its_end() {
    let mut host = Host::new();
    (0..8).for_each(|_| host.pulse("PB5"));
    host.shift(|output| if output == 1 { 4095 } else { 0 });
    (0..4).for_each(|turn| host.show(turn % 3, 8192));
    assert_eq!(gray(&host.pictures()[0])[0][..3], [0, 255, 0]);
    assert_eq!(host.warnings(), "");
}

/// I = Imax * DC / 63, and a pixel is the root of that.
#[test]
fn brightness_follows_dot_correction() {
    for (more, expected) in [("", 64), ("full = 16", 127), ("full = 4", 255)] {
        let mut host = Host::with(&corrected(&format!("dcprg = 'high', {more}")));
        host.correct(|output| if output == 0 { 4 } else { 0 });
        host.shift(|_| 4095);
        (0..4).for_each(|turn| host.show(turn % 3, 8192));
        assert_eq!(gray(&host.pictures()[0])[0][..3], [expected, 0, 0], "{more}");
    }
}

/// LOD is noticed 1 us after an output was switched on, while it is on, and kept when XLAT returns
/// to low; XERR is low meanwhile.
#[test]
fn open_leds_are_noticed_while_their_outputs_are_on() {
    let value = |output| if output == 2 || output == 1 { 100 } else { 0 };
    let lit = || {
        let mut host = Host::with(&corrected("open = [2, 17]"));
        host.set("PC0", true);
        host.set("PB2", true);
        host.shift(value);
        host.pulse("PB1");
        // Nothing is on yet. The same values again will keep outputs as they are.
        assert_eq!(host.read(384), status(0, false, |_| 63).repeat(2));
        host.shift(value);
        host.set("PB2", false);
        host
    };
    let mut host = lit();
    assert!(host.level("PD2"));
    host.pass(15);
    assert!(host.level("PD2"));
    host.pass(1);
    assert!(!host.level("PD2"), "1 us is 16 cycles");
    host.pulse("PB1");
    assert_eq!(host.read(384), status(0, false, |_| 63) + &status(1 << 2, false, |_| 63));
    assert_eq!(host.warnings(), "");
    // 100 clocks are 200 cycles.
    let mut host = lit();
    host.pass(199);
    assert!(!host.level("PD2"));
    host.pass(1);
    assert!(host.level("PD2"));
}

#[test]
fn output_without_layer_or_led_is_open() {
    let mut host = Host::with(&corrected(""));
    // Output 6 has no LED, output 5 has one in each layer.
    for (output, layer, ok) in [(6, true, false), (5, true, true), (5, false, false)] {
        host.set("PB2", true);
        host.shift(|at| if at == output { 4095 } else { 0 });
        host.pulse("PB1");
        host.set("PC0", layer);
        host.set("PB2", false);
        host.pass(100);
        assert_eq!(host.level("PD2"), ok, "output {output}, layer {layer}");
    }
}

#[test]
fn hot_driver_is_reported_even_while_blanked() {
    let mut host = Host::with(&corrected("hot = [1]"));
    host.set("PB2", true);
    assert!(!host.level("PD2"));
    host.pulse("PB1");
    assert_eq!(host.read(384), status(0, true, |_| 63) + &status(0, false, |_| 63));
}

#[test]
fn layers_may_be_switched_on_by_low_levels() {
    let mut host = Host::with(&format!("{OPTIONS}, active_low = true"));
    let layers = ["PC0", "PC1", "PC2"];
    // Nobody holds the pins yet, but their pull-up resistors do.
    assert!(layers.iter().all(|pin| host.level(pin)));
    host.set("PB2", true);
    host.shift(|_| 4095);
    for turn in [0, 1, 2, 0] {
        host.set("PB2", true);
        host.pulse("PB1");
        (0..3).for_each(|layer| host.set(layers[layer], layer != turn));
        host.set("PB2", false);
        host.bus.now += if turn == 1 { 2048 } else { 8192 };
        host.shift(|_| 4095);
    }
    let picture = &host.pictures()[0];
    // 1024 of 4096 clocks in the second layer: half in the picture; but shifting out takes its
    // time, too: 2 cycles for each of 384 bits.
    assert_eq!(gray(picture)[0], [255, 255, 255, 0, 150, 150, 150]);
}

#[test]
fn leds_hang_where_the_wiring_says() {
    let options = OPTIONS.replace("serpentine = true", "wiring = [31, 4, 0, 16, 15, 7]");
    let mut host = Host::with(&options);
    host.shift(|output| if output == 31 || output == 15 { 4095 } else { 0 });
    (0..4).for_each(|turn| host.show(turn % 3, 8192));
    let picture = gray(&host.pictures()[0]);
    assert_eq!([&picture[0][..3], &picture[1][..3]], [[255, 0, 0], [0, 255, 0]]);
}

#[test]
fn the_grayscale_clock_may_be_a_pin() {
    let options = OPTIONS.replace("gsclk_hz = 8_000_000", "gsclk = 'PD6'");
    for (clocks, expected) in [(0, 0), (64, 32), (5000, 64)] {
        let mut host = Host::with(&options);
        host.shift(|_| 256);
        for layer in 0..3 {
            host.show(layer, 8192);
            (0..clocks).for_each(|_| host.pulse("PD6"));
        }
        host.show(0, 0);
        // Roots of 0, 1/64 and 1/16.
        assert_eq!(gray(&host.pictures()[0])[0][..3], [expected; 3], "{clocks} clocks");
    }
}

#[test]
fn options_that_cannot_be_are_refused() {
    for (from, to, expected) in [
        ("gsclk_hz = 8_000_000", "gsclk = 'PD6', gsclk_hz = 1", "gsclk or gsclk_hz: one of them"),
        (", gsclk_hz = 8_000_000", "", "gsclk or gsclk_hz: one of them"),
        ("rows = 2", "rows = 2, eeprom = 64", "eeprom: 0 to 63"),
        ("rows = 2", "rows = 2, full = 0", "full: 1 to 63"),
        ("rows = 2", "rows = 2, hot = [2]", "hot: no driver 2, the last one is 1"),
        ("rows = 2", "rows = 2, open = [32]", "no output 32, the last one is 31"),
        ("rows = 2", "rows = 2, wiring = [0, 1, 2, 3, 4, 5]", "wiring or serpentine: one of them"),
        ("serpentine = true", "wiring = [1, 2]", "wiring: an output for each of 6 LEDs, not 2"),
        ("serpentine = true", "wiring = [0, 1, 2, 3, 4, 1]", "wiring: output 1 is given twice"),
        ("rows = 2", "rows = 2, dcprg = 'up'", "the chip has no pin up"),
        ("count = 2", "count = 0", "count: 1 to 40"),
        ("columns = 3", "columns = 17", "1 to 32 LEDs"),
        ("gsclk_hz = 8_000_000", "gsclk_hz = 0", "gsclk_hz: 1 to 30000000"),
        ("rows = 2", "rows = 2, across = 0", "across: at least 1"),
        ("'PC2'", "'PC9'", "the chip has no pin PC9"),
        ("'PC2'", "'PC1'", "pin PC1 is given twice"),
        ("'PC2'", "'PB3'", "pin PB3 is given twice"),
        ("rows = 2", "rows = 2, vprg = 'PC2'", "pin PC2 is given twice"),
        ("rows = 2", "rows = 2, colour = 1", "unknown field `colour`"),
    ] {
        let error = board(&OPTIONS.replace(from, to)).unwrap_err();
        assert!(error.contains("part LEDS: options") && error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn no_sequence_of_edges_panics(
        edges in prop::collection::vec((0usize..10, any::<bool>(), 0u64..10_000), 0..300),
        by_pin in any::<bool>(),
    ) {
        let mut options = corrected("open = [0], dcprg = 'PD3', active_low = true");
        if by_pin {
            options = options.replace("gsclk_hz = 8_000_000", "gsclk = 'PD6'");
        }
        let mut host = Host::with(&options);
        const PINS: [&str; 10] =
            ["PB1", "PB2", "PB3", "PB5", "PC0", "PC1", "PC2", "PD0", "PD3", "PD6"];
        for (pin, level, later) in edges {
            host.set(PINS[pin], level);
            host.pass(later);
        }
        prop_assert!(host.pictures().iter().all(|picture| picture.rgb.len() == 3 * 7 * 5));
    }
}
