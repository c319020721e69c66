//! The speed of a UART line: found from its pulses, or in doubt.

use strobe_decode::bus::report::BaudOrigin;
use strobe_decode::bus::{baud, uart};
use strobe_synth::{Line, ParityBit, UartWave};

use super::{BIT, sent_at};
use crate::common::lines::capture;

#[test]
fn wrong_speed_causes_faults_and_pulses_reveal_it() {
    let mut wave = UartWave::new(BIT);
    wave.rest(10.0);
    for byte in b"The quick brown fox jumps over the lazy dog" {
        wave.send(u32::from(*byte));
    }
    wave.rest(10.0);
    let capture = capture(24, &[("rx", &wave.line)], wave.now as u64);
    let wrong = uart::decode(&capture, 0, "rx", Default::default(), BIT * 2.0);
    assert!(wrong.faults.len() > 5);
    let baud = baud::estimate(&capture, 0).unwrap();
    assert_eq!((baud.used, baud.origin, baud.sure), (115_200.0, BaudOrigin::NearestUsual, true));
    assert!((baud.measured.unwrap() - 115_200.0).abs() < 100.0, "{baud:?}");
}

/// Messages of MIDI, whose speed is usual there and nowhere else, and short texts.
#[test]
fn speed_of_short_messages_is_right_or_doubtful() {
    let midi: [&[u8]; 5] = [
        &[0x90, 0x3c, 0x40, 0x80, 0x3c, 0x00],
        &[0xfe, 0xfe, 0xfe, 0xfe, 0xfe, 0xfe],
        &[0xf8, 0xf8, 0x90, 0x45, 0x7f, 0xf8],
        &[0xb0, 0x07, 0x64, 0xb0, 0x0a, 0x40],
        &[0xf0, 0x7e, 0x7f, 0x06, 0x01, 0xf7],
    ];
    for message in midi {
        for megahertz in [1, 4, 24] {
            let baud = baud::estimate(&sent_at(31_250.0, megahertz, message, 3.0), 0).unwrap();
            assert!(baud.used == 31_250.0 || !baud.sure, "{message:x?}: {baud:?}");
        }
    }
    for megahertz in [4, 24] {
        let baud = baud::estimate(&sent_at(115_200.0, megahertz, b"OK\n", 1.0), 0).unwrap();
        assert_eq!(baud.used, 115_200.0, "{baud:?}");
    }
}

/// Words that are all alike have pulses of one length; rests of any length between them, which fit
/// some speed or other, make none sure.
#[test]
fn lengths_of_chance_give_no_sure_speed() {
    let (mut rng, mut right) = (strobe_synth::Rng::new(5), 0);
    for word in [0x00, 0x55, 0xf0, 0xff] {
        for n in 0..60 {
            let bit = [1e9 / 62_500.0, 1e9 / 19_200.0, 1e9 / 750_000.0][n % 3];
            let mut wave = UartWave::new(bit);
            wave.rest(12.0);
            for _ in 0..6 + n % 20 {
                wave.send(word);
                wave.rest(f64::from(rng.below(3000)) / 100.0);
            }
            let capture = capture(1000, &[("rx", &wave.line)], wave.now.round() as u64);
            let Some(baud) = baud::estimate(&capture, 0) else { continue };
            let is_right = (baud.used * bit / 1e9 - 1.0).abs() < 0.03;
            assert!(is_right || !baud.sure, "{word:#x} {bit}: {baud:?}");
            right += u32::from(is_right);
        }
    }
    assert!(right > 0);
}

/// Pulses that are all one bit long are whole numbers of many bits, and those of a short text are
/// so at twice its speed, which may be nearer to a usual one.
#[test]
fn speed_unsettled_by_pulses_is_uncertain() {
    let found = |baud: f64, words: &[u8], (parity, stop_bits): (ParityBit, f64), rest: f64| {
        let mut wave = UartWave { parity, stop_bits, ..UartWave::new(1e6 / baud) };
        wave.rest(12.0);
        for (n, word) in words.iter().enumerate() {
            wave.send(u32::from(*word));
            wave.rest(rest * ((n * 7) % 5) as f64);
        }
        wave.rest(12.0);
        let capture = capture(1, &[("rx", &wave.line)], wave.now as u64);
        baud::estimate(&capture, 0).expect("there are pulses")
    };
    let text = found(1176.0, b"OK\r\n", (ParityBit::Odd, 2.0), 0.0);
    assert!((text.used / 1176.0 - 1.0).abs() < 0.03, "{text:?}");
    for baud in [1200.0, 2352.0, 18_816.0, 19_200.0, 38_400.0] {
        for rest in [0.0, 0.11, 0.25, 0.5, 1.3] {
            let same = found(baud, &[0x55; 20], (ParityBit::None, 1.0), rest);
            assert!(!same.sure, "{baud}, {rest}: {same:?}");
        }
    }
}

#[test]
fn hardly_any_pulses_give_no_sure_speed() {
    let mut wave = UartWave::new(BIT);
    wave.rest(10.0);
    wave.send(0x00);
    wave.send(0x00);
    wave.rest(10.0);
    let capture = capture(24, &[("rx", &wave.line)], wave.now as u64);
    assert!(!baud::estimate(&capture, 0).unwrap().sure);
    let still = crate::common::lines::capture(24, &[("rx", &Line::new(true))], 1000);
    assert_eq!(baud::estimate(&still, 0), None);
    assert_eq!(uart::decode(&still, 0, "rx", Default::default(), BIT).lanes[0].words, []);
}
