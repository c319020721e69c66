//! Samples that come at other times than their period: damage, sampling that was off, or another
//! period.

use strobe_decode::swo::reader::Framing;
use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Quantity, Trust};
use strobe_synth::swo::Stream;

use super::super::super::Settings;
use super::{TICKS, column, flipped, is_honest, measured, sent, settings, within};

/// A timestamp that is too long has time in which no sample came, and no packet shows a loss.
#[test]
fn a_timestamp_that_samples_speak_against_is_damage() {
    let truth = sent(2000, 7);
    // Ticks behind a sample, and behind the end of a handler: at the end of these bytes.
    let (sample, thread) = ([0x08, 0xc0, 10], [0x0e, 0x00, 0x30, 0xc0]);
    let behind = |packets: &[u8]| {
        let mut all = truth.bytes.windows(packets.len()).enumerate().skip(3000);
        let found = all.find(|(_, bytes)| *bytes == packets);
        found.expect("there are many").0 + packets.len()
    };
    for at in [behind(&sample) - 1, behind(&thread)] {
        // One byte more: 128 ticks and more, up to those of three bytes.
        for more in [&[0x04][..], &[0x40], &[0x80, 0x40]] {
            let mut bytes = truth.bytes.clone();
            bytes[at] |= 0x80;
            bytes.splice(at + 1..at + 1, more.iter().copied());
            let out = measured(&bytes, Framing::Bare);
            is_honest(&out, &truth);
            assert_eq!(out.findings.first().map(|f| f.code.as_str()), Some("damaged"), "{more:?}");
        }
    }
}

/// A firmware may switch sampling off and on again: other packets go on, and no bit is wrong.
#[test]
fn sampling_that_was_off_is_no_damage() {
    let mut stream = Stream::new();
    for n in 0..4000 {
        if n % 800 == 0 {
            stream.sync();
        }
        let is_on = !(1000..1400).contains(&n);
        if is_on {
            stream.pc_sample(0x0800_0100).local_timestamp(10, 0);
        }
        stream.exception(15, 1).local_timestamp(if is_on { 5 } else { 15 }, 0);
        stream.exception(15, 2).local_timestamp(20, 0);
        stream.exception(0, 3).local_timestamp(TICKS - 35, 0);
    }
    let out = measured(&stream.bytes, Framing::Bare);
    let text = |code: &str| out.findings.iter().find(|f| f.code == code).map(|f| f.text.as_str());
    assert_eq!(text("damaged"), None);
    let paused = text("sampling-paused").expect("it is stated");
    assert!(paused.contains("from 255.784 to 358.440 ms"), "{paused}");
    let lost = out.coverage.lost.as_ref().expect("samples can be lost");
    let Trust::Unknown { why } = lost.trust() else { panic!("{lost:?}") };
    assert!(why.contains("sampling was off"), "{why}");
    let entered = column(&out, "interrupts", "entered");
    assert!(matches!(entered[..], [Cell::Exact(n)] if n.as_u64() == 4000), "{entered:?}");
    assert_eq!(out.total(ids::total::SAMPLES).and_then(Quantity::value), Some(3600u64.into()));
    // Beside other signs of wrong bits it may be one as well.
    let out = measured(&flipped(&stream.bytes, 1000, 1), Framing::Bare);
    assert_eq!(out.findings.first().map(|f| f.code.as_str()), Some("damaged"));
    assert!(!out.findings.iter().any(|finding| finding.code == "sampling-paused"));
}

/// Where all samples speak against the timestamps, the period may be wrong as well.
#[test]
fn a_wrong_period_is_no_loss() {
    let truth = sent(2000, 7);
    for period_cycles in [2048, 8192] {
        let settings = Settings { period_cycles: Some(period_cycles), ..settings() };
        let out = within(&truth.bytes, Framing::Bare, &settings);
        let lost = out.coverage.lost.as_ref().expect("samples can be lost");
        let Trust::Unknown { why } = lost.trust() else { panic!("{lost:?}") };
        assert!(why.contains("the period or the tick may be another one"), "{why}");
        let cycles = out.total(ids::total::CYCLES).expect("there are timestamps");
        assert_eq!(cycles.trust(), &Trust::AtLeast);
        is_honest(&out, &truth);
        assert!(!out.findings.iter().any(|finding| finding.code == "damaged"));
    }
}
