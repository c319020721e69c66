//! Files, servers and captures.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use strobe_decode::capture::{Capture, Channel, Edge, Level, Tick};
use strobe_decode::container::Note;
use strobe_link::trace::capture::Captured;
use strobe_link::trace::link::{Error, Link, ReadOutcome};
use strobe_link::trace::orbflow::Orbflow;
use strobe_link::trace::stream::Stream;
use strobe_link::trace::tcp::Tcp;
use strobe_synth::{UartWave, orbflow};

use super::listen;

#[test]
fn a_stream_is_read_to_its_end() {
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i >> 4) as u8).collect();
    let mut link = Stream::new("memory", std::io::Cursor::new(bytes.clone()));
    let heard = listen(&mut link, |_| false);
    assert!(heard.ended && heard.bytes == bytes);
}

/// Something that is read and brings nothing, and an error once the other end of the channel is
/// dropped.
struct Stuck(Receiver<()>);

impl Read for Stuck {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        let _ = self.0.recv();
        Err(std::io::Error::other("stuck"))
    }
}

#[test]
fn a_stream_that_stands_still_keeps_nobody() {
    let (release, held) = channel();
    let mut link = Stream::new("a pipe", Stuck(held));
    assert_eq!(link.read(&mut Vec::new(), Duration::from_millis(1)), Ok(ReadOutcome::Nothing));
    drop::<Sender<()>>(release);
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

/// A server that sends this and keeps the connection until the link is dropped.
fn server_with(bytes: Vec<u8>) -> (String, thread::JoinHandle<()>) {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let sends = thread::spawn(move || {
        let (mut peer, _) = server.accept().expect("a call");
        for piece in bytes.chunks(1000) {
            peer.write_all(piece).expect("it takes them");
        }
        // Until the other side is gone.
        let _ = peer.read(&mut [0]);
    });
    (address, sends)
}

fn tcp(address: &str) -> Box<Tcp> {
    Box::new(Tcp::connect(address).expect("it is there"))
}

#[test]
fn frames_of_orbuculum_are_taken_off() {
    let stream = strobe_synth::swo::mixed(3000, 4).bytes;
    let (address, sends) = server_with(orbflow::frames(1, &stream, 300));
    let mut link = Orbflow::detect(tcp(&address), &address);
    let heard = listen(&mut link, |h| h.bytes.len() == stream.len());
    assert!(heard.bytes == stream && heard.notes.is_empty());
    drop(link);
    sends.join().expect("it has sent");
}

#[test]
fn raw_bytes_pass_as_they_are() {
    let stream = strobe_synth::swo::mixed(3000, 4).bytes;
    // Only the end of the bytes shows what it is.
    for stream in [&stream[..], b"\x01H\x01i", &[1; 100]] {
        let (address, sends) = server_with(stream.to_vec());
        let mut link = Orbflow::detect(tcp(&address), &address);
        let heard = listen(&mut link, |h| h.bytes.len() == stream.len());
        assert!(heard.bytes == stream && heard.notes.is_empty());
        drop(link);
        sends.join().expect("it has sent");
        let mut link = Orbflow::detect(
            Box::new(Stream::new("memory", std::io::Cursor::new(stream.to_vec()))),
            "memory",
        );
        let heard = listen(&mut link, |_| false);
        assert!(heard.bytes == stream && heard.ended);
    }
}

/// One frame, and then nothing for a while.
#[test]
fn a_single_frame_is_reported_by_its_tag() {
    let (address, sends) = server_with(orbflow::frames(1, &[0x17, 0, 1, 0, 8], 300));
    let mut link = Orbflow::detect(tcp(&address), &address);
    assert_eq!(listen(&mut link, |h| !h.bytes.is_empty()).bytes, [0x17, 0, 1, 0, 8]);
    drop(link);
    sends.join().expect("it has sent");
}

#[test]
fn damaged_frames_and_other_tags_are_reported_in_place() {
    let mut bytes = orbflow::frames(3, b"first", 9);
    bytes.extend([4, 3, 1, 1, 0]);
    bytes.extend(orbflow::frames(1, b"of the ITM", 3));
    bytes.extend(orbflow::frames(3, b"second", 9));
    let whole = bytes.len();
    bytes.extend(orbflow::frames(3, b"third", 9));
    bytes.truncate(whole + 4);
    let input = Box::new(Stream::new("memory", std::io::Cursor::new(bytes)));
    let mut link = Orbflow::with_tag(input, "memory", 3);
    let heard = listen(&mut link, |h| !h.notes.is_empty());
    assert_eq!(heard.bytes, b"first");
    assert_eq!(
        heard.notes,
        [Note::Gap { why: "a frame of orbuculum came damaged, 5 bytes".to_owned() }]
    );
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.bytes, b"second");
    assert!(
        matches!(&heard.notes[..], [Note::Text { text }, Note::Gap { why }]
        if text.contains("tag 1") && why.contains("4 bytes")),
        "{:?}",
        heard.notes
    );
    assert!(heard.ended);
}

/// What was in a frame when the connection broke is reported, and the next one begins anew.
#[test]
fn broken_connection_loses_only_its_current_frame() {
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = server.local_addr().expect("an address").to_string();
    let mut link = Orbflow::with_tag(tcp(&address), &address, 1);
    let (mut peer, _) = server.accept().expect("a call");
    let frame = orbflow::frames(1, b"whole", 9);
    peer.write_all(&[&frame[..], &frame[..4]].concat()).expect("it takes them");
    drop(peer);
    let heard = listen(&mut link, |h| h.notes.len() == 2);
    assert_eq!(heard.bytes, b"whole");
    assert!(heard.notes.iter().all(|note| matches!(note, Note::Gap { .. })), "{:?}", heard.notes);
    let again = thread::spawn(move || {
        let (mut peer, _) = server.accept().expect("a call");
        peer.write_all(&frame).expect("it takes them");
        let _ = peer.read(&mut [0]);
    });
    let heard = listen(&mut link, |h| h.bytes.len() == 5);
    assert_eq!((&heard.notes[..], &heard.bytes[..]), (&[Note::Reconnected][..], &b"whole"[..]));
    drop(link);
    again.join().expect("it has sent");
}

#[test]
fn source_without_the_requested_frames_is_refused() {
    let (address, sends) = server_with(strobe_synth::swo::mixed(20_000, 4).bytes);
    let mut link = Orbflow::with_tag(tcp(&address), &address, 1);
    let error = listen(&mut link, |_| false).error.expect("these are raw bytes");
    assert!(matches!(error, Error::Speaks { .. }) && error.to_string().contains("tcp:"), "{error}");
    drop(link);
    let _ = sends.join();
}

#[test]
fn a_server_that_is_not_there_is_named() {
    // A port that is taken, by a connection from it: nobody else can come to listen there
    // meanwhile.
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let taken = TcpStream::connect(server.local_addr().expect("an address")).expect("it listens");
    let address = taken.local_addr().expect("an address").to_string();
    let error = Tcp::connect(&address).err().expect("nobody listens").to_string();
    assert!(error.contains(&address), "{error}");
}

#[test]
fn captured_pin_gives_its_bytes_and_errors() {
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
        cut: false,
        simulated: None,
    };
    let mut link = Captured::new(&capture, 0, Some(2_000_000.0)).expect("fast enough");
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.bytes, [0x17, 0x00, 0xff, 0x70]);
    let text = "1 words of the line have no valid stop bit; is 2000000 baud right?".to_owned();
    assert_eq!(heard.notes, [Note::LineErrors { count: 1 }, Note::Text { text }]);
    assert!(Captured::new(&capture, 0, Some(10_000_000.0)).is_err(), "1.7 samples for a bit");
    // What the reader of the capture notes is for whoever reads the bytes, too, and what it did
    // not read is a gap.
    let notes = vec!["line 7: time goes back".to_owned()];
    let cut = Capture { notes: notes.clone(), cut: true, ..capture };
    let mut link = Captured::new(&cut, 0, Some(2_000_000.0)).expect("fast enough");
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.bytes, [0x17, 0x00, 0xff, 0x70]);
    assert_eq!(heard.notes.first(), Some(&Note::Text { text: notes[0].clone() }));
    assert!(matches!(heard.notes.last(), Some(Note::Gap { .. })), "{:?}", heard.notes);
}
