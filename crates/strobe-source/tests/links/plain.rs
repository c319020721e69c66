//! Files, servers and captures.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use strobe_decode::capture::{Capture, Channel, Edge, Level, Tick};
use strobe_decode::container::Note;
use strobe_source::trace::capture::Captured;
use strobe_source::trace::link::{Came, Error, Link};
use strobe_source::trace::stream::Stream;
use strobe_source::trace::tcp::Tcp;
use strobe_synth::UartWave;

use super::listen;

#[test]
fn a_stream_is_read_to_its_end() {
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i >> 4) as u8).collect();
    let mut link = Stream::new("memory", std::io::Cursor::new(bytes.clone()));
    let heard = listen(&mut link, |_| false);
    assert!(heard.ended && heard.bytes == bytes);
}

/// Something that is read and brings nothing, and later an error.
struct Stuck;

impl Read for Stuck {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        thread::sleep(Duration::from_millis(200));
        Err(std::io::Error::other("stuck"))
    }
}

#[test]
fn a_stream_that_stands_still_keeps_nobody() {
    let mut link = Stream::new("a pipe", Stuck);
    assert_eq!(link.read(&mut Vec::new(), Duration::from_millis(1)), Ok(Came::Nothing));
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.error, Some(Error::failed("a pipe", "stuck")));
}

#[test]
fn a_server_that_comes_back_is_called_again() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let mut link = Tcp::connect(&address).expect("it is there");
    let (mut peer, _) = server.accept().expect("a call");
    peer.write_all(&[0x17, 1, 2, 3, 4]).expect("it takes them");
    assert_eq!(listen(&mut link, |h| h.bytes.len() == 5).bytes, [0x17, 1, 2, 3, 4]);
    peer.write_all(&[5]).expect("it takes it");
    drop(peer);
    let heard = listen(&mut link, |h| !h.notes.is_empty());
    assert_eq!(heard.bytes, [5], "the last byte comes before the gap");
    assert!(matches!(heard.notes[..], [Note::Gap { .. }]));
    let again = thread::spawn(move || {
        let (mut peer, _) = server.accept().expect("a call");
        peer.write_all(&[6, 7]).expect("it takes them");
    });
    let heard = listen(&mut link, |h| h.bytes.len() == 2);
    assert_eq!((&heard.notes[..], &heard.bytes[..]), (&[Note::Reconnected][..], &[6, 7][..]));
    again.join().expect("it has sent");
}

#[test]
fn frames_of_orbuculum_are_refused() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let mut link = Tcp::connect(&address).expect("it is there");
    let (mut peer, _) = server.accept().expect("a call");
    // Two frames: length plus one, tag 1, a byte, and what makes their sum 0.
    peer.write_all(&[4, 1, 0x70, 0x8f, 0, 4, 1, 0x71, 0x8e, 0]).expect("it takes them");
    let error = listen(&mut link, |_| false).error.expect("these are no raw bytes");
    assert!(matches!(error, Error::Speaks { .. }) && error.to_string().contains("3443"), "{error}");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr();
    let address = free.expect("an address").to_string();
    let error = Tcp::connect(&address).err().expect("nobody listens").to_string();
    assert!(error.contains(&address), "{error}");
}

#[test]
fn a_pin_in_a_capture_gives_its_bytes_and_its_errors() {
    let mut uart = UartWave::new(8.5);
    uart.rest(20.0);
    for byte in [0x17, 0x00, 0xff] {
        uart.send(byte);
    }
    uart.send_with(0x55, false, true);
    uart.rest(20.0);
    uart.send(0x70);
    uart.rest(20.0);
    let edge = |&(at, high): &(u64, bool)| Edge::new(at, Level::of(high));
    let channel = Channel {
        name: "SWO".to_owned(),
        initial: Level::of(uart.line.initial),
        edges: uart.line.edges.iter().map(edge).collect(),
    };
    let tick = Tick::from_hz(17_000_000).expect("not zero");
    let end = uart.line.edges.last().map_or(0, |edge| edge.0) + 1000;
    let capture = Capture {
        tick,
        resolution: tick,
        resolution_inferred: false,
        start: 0,
        end,
        channels: vec![channel],
        notes: Vec::new(),
        simulated: None,
    };
    let mut link = Captured::new(&capture, 0, 2_000_000).expect("fast enough");
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.bytes, [0x17, 0x00, 0xff, 0x70]);
    assert_eq!(heard.notes, [Note::LineErrors { count: 1 }]);
    assert!(Captured::new(&capture, 0, 10_000_000).is_err(), "1.7 samples for a bit");
}
