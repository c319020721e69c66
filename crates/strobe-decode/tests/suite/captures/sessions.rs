//! Sessions of sigrok: archives of metadata and samples, whole, damaged and hostile.

use std::io::Cursor;

use strobe_decode::capture::Level::{High, Low};
use strobe_decode::capture::{self, Format, Options};

use super::{edges, read, refused, session};
use crate::common::exercise;

const METADATA: &str = "[device 1]\ncapturefile=logic-1\ntotal probes=9\nsamplerate=1 MHz\n\
                        probe1=RX\nprobe9=IRQ\nunitsize=2\n";

#[test]
fn sessions_in_several_chunks_of_several_bytes() {
    let capture = session(METADATA, &[("logic-1-1", &[1, 0, 1, 0]), ("logic-1-2", &[1, 1, 0, 1])]);
    let (format, capture) = read(&capture).unwrap();
    exercise::check(&capture);
    assert_eq!(format, Format::Sigrok);
    assert_eq!(capture.channels[1].name, "IRQ");
    assert_eq!((capture.channels[0].initial, edges(&capture.channels[0])), (High, vec![(3, Low)]));
    assert_eq!((capture.channels[1].initial, edges(&capture.channels[1])), (Low, vec![(2, High)]));
    assert_eq!(capture.end, 3);
}

/// sigrok writes all probes of a device, recorded or not, and reads by the size of a sample.
#[test]
fn sessions_with_probes_beyond_the_samples_have_those_within() {
    for (was, is) in [
        ("unitsize=2", "unitsize=1"),
        ("total probes=9\n", "total probes=32\n"),
        ("total probes=9\n", ""),
        ("total probes=9", "total probes=2"),
        ("[device 1]", "[device 7]"),
    ] {
        let bytes = session(&METADATA.replace(was, is), &[("logic-1-1", &[1, 0, 0, 0])]);
        let (_, capture) = read(&bytes).unwrap();
        exercise::check(&capture);
        assert_eq!((capture.channels[0].name.as_str(), capture.channels[0].initial), ("RX", High));
        let (channels, notes) = (capture.channels.len(), capture.notes.len());
        assert_eq!((channels, notes), if is == "unitsize=1" { (1, 1) } else { (2, 0) }, "{is}");
    }
}

#[test]
fn sessions_that_are_not_sound_report_where() {
    let odd = session(METADATA, &[("logic-1-1", &[1, 0, 1])]);
    assert!(refused(&odd).contains("logic-1-1, byte 2"), "{}", refused(&odd));
    let gap = session(METADATA, &[("logic-1-1", &[1, 0]), ("logic-1-3", &[1, 0])]);
    assert!(refused(&gap).contains("logic-1-2 is missing"), "{}", refused(&gap));
    let cases = [
        ("unitsize=2", "unitsize=0", "samples of 0 bytes"),
        ("unitsize=2", "unitsize=99999999999", "samples of 99999999999 bytes"),
        ("unitsize=2", "unitsize=-1", "no number"),
        ("samplerate=1 MHz", "samplerate=fast", "no frequency"),
        ("samplerate=1 MHz\n", "", "--samplerate"),
        ("total probes=9", "total probes=4000000000", "probes"),
        ("probe1=RX\nprobe9=IRQ\nunitsize=2", "probe9=IRQ\nunitsize=1", "no bit of any probe"),
        (
            "total probes=9\nsamplerate=1 MHz\nprobe1=RX\nprobe9=IRQ\nunitsize=2",
            "samplerate=1 MHz\ntotal analog=1\nanalog1=A0",
            "analogue channels only",
        ),
    ];
    for (was, is, wanted) in cases {
        let message = refused(&session(&METADATA.replace(was, is), &[("logic-1-1", &[1, 0])]));
        assert!(message.contains(wanted), "{is}: {message}");
    }
    let whole = session(METADATA, &[("logic-1-1", &[0; 5000])]);
    for n in [4, 30, whole.len() / 2, whole.len() - 1] {
        assert!(!refused(&whole[..n]).is_empty());
    }
    let mut broken = whole.clone();
    let at = broken.windows(9).position(|w| w == b"logic-1-1").unwrap() + 10;
    broken[at] ^= 0xff;
    assert!(refused(&broken).contains("member logic-1-1"), "{}", refused(&broken));
}

#[test]
fn a_bomb_is_stopped_by_the_limits() {
    let bomb = session(METADATA, &[("logic-1-1", &vec![0; 8 << 20])]);
    let options = Options { max_sample_bytes: 1 << 20, ..Options::default() };
    let error = capture::read(&mut Cursor::new(&bomb), &options).unwrap_err().to_string();
    assert!(error.contains("more than 1048576 bytes of samples"), "{error}");
    let toggling: Vec<u8> = (0..4096u32).map(|n| (n / 2 % 2) as u8).collect();
    let options = Options { max_edges: 100, ..Options::default() };
    let busy = session(METADATA, &[("logic-1-1", &toggling)]);
    let error = capture::read(&mut Cursor::new(&busy), &options).unwrap_err().to_string();
    assert!(error.contains("more than 100 edges") && error.contains("logic-1-1"), "{error}");
}

#[test]
fn a_size_that_lies_takes_no_memory() {
    let mut claims = session(METADATA, &[("logic-1-1", &[1, 0, 1, 0])]);
    let at = claims.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    claims[at + 24..at + 28].copy_from_slice(&0xffff_fff0u32.to_le_bytes());
    // The actual size counts, whether or not the reader rejects the claimed one.
    if let Ok((_, capture)) = read(&claims) {
        assert_eq!(capture.end, 1);
    }
}

#[test]
fn long_rests_are_counted_sample_by_sample() {
    for (unit, probes) in [(1, 3), (2, 9), (3, 17)] {
        for length in [1usize, 4095, 4096, 4097, 70_000] {
            let mut samples = vec![0u8; unit * (2 * length + 1)];
            samples[unit * length] = 1;
            let metadata =
                format!("[device 1]\ntotal probes={probes}\nsamplerate=1 MHz\nunitsize={unit}\n");
            let (_, capture) = read(&session(&metadata, &[("logic-1-1", &samples)])).unwrap();
            let length = length as u64;
            assert_eq!(edges(&capture.channels[0]), [(length, High), (length + 1, Low)]);
            assert_eq!(capture.end, 2 * length);
        }
    }
}
