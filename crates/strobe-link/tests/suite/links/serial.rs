//! A serial port that is the other end of a pseudo-terminal.

use std::fs::File;
use std::io::Write;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::tcgetattr;
use strobe_link::trace::serial::Serial;

use super::listen;

fn pty() -> (File, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&controller).expect("it is ours");
    unlockpt(&controller).expect("it is ours");
    let path = ptsname(&controller, Vec::new()).expect("it has a name");
    (File::from(controller), path.into_string().expect("of text"))
}

#[test]
fn every_byte_comes_through_at_an_unusual_rate() {
    let (mut line, path) = pty();
    let mut link = Serial::open(&path, 2_250_000).expect("a port");
    assert_eq!(tcgetattr(&line).expect("settings").output_speed(), 2_250_000);
    let all: Vec<u8> = (0..=255).collect();
    // In pieces, so that bytes wait for others.
    for piece in all.chunks(100) {
        line.write_all(piece).expect("it takes them");
    }
    let heard = listen(&mut link, |heard| heard.bytes.len() == 256);
    assert_eq!((heard.bytes, heard.notes), (all, vec![]));
}

#[test]
fn removed_port_gives_its_last_byte_first() {
    let (mut line, path) = pty();
    let mut link = Serial::open(&path, 115_200).expect("a port");
    line.write_all(&[1, 2, 3]).expect("it takes them");
    let heard = listen(&mut link, |heard| heard.bytes.len() == 3);
    assert_eq!(heard.bytes, [1, 2, 3]);
    line.write_all(&[4]).expect("it takes it");
    let heard = listen(&mut link, |heard| heard.bytes.len() == 1);
    assert_eq!(heard.bytes, [4]);
    drop(line);
    assert!(listen(&mut link, |_| false).error.is_some());
}

#[test]
fn path_that_is_not_a_port_is_refused() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().display().to_string();
    let error = Serial::open(&path, 9600).err().expect("no port").to_string();
    assert!(error.contains("no serial port"), "{error}");
    let error = Serial::open("/dev/there-is-none", 9600).err().expect("nothing").to_string();
    assert!(error.contains("/dev/there-is-none"), "{error}");
}
