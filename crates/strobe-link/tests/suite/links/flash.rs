//! Firmware on its way into flash: through an OpenOCD that the tests play, with faults, through the
//! real one with a flash that it makes up itself, and through any programmer.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use strobe_link::trace::flash::{self, Error, Image, Observer, Programmer, Step, compare};
use strobe_link::trace::link;
use strobe_link::trace::openocd::program_flash;
use strobe_link::trace::program::Registers;
use strobe_symbols::{Firmware, write_hex};
use strobe_synth::ElfBuilder;

use super::LONGEST;

const FLASH: u32 = 0x0800_0000;

/// What goes wrong.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Flash at this address cannot be written.
    Worn(u32),
    /// The byte at this address keeps its value.
    Stuck(u32),
    /// The connection ends at the command that begins with this.
    HangsUp(&'static str),
    /// The command that begins with this has no answer.
    Mute(&'static str),
    /// OpenOCD cannot compare on this target.
    NoCompare,
    /// OpenOCD is elsewhere: it has no such file.
    NoFile,
}

/// A chip behind OpenOCD.
struct Chip {
    fault: Fault,
    bank: Range<u32>,
    bytes: BTreeMap<u32, u8>,
    /// Commands, without the wrapping.
    log: Vec<String>,
    /// Files that were read.
    files: Vec<std::path::PathBuf>,
}

#[derive(Clone)]
struct Peer(Arc<Mutex<Chip>>);

impl Peer {
    fn new(fault: Fault) -> Self {
        let (bytes, bank) = (BTreeMap::new(), FLASH..FLASH + (1 << 20));
        Peer(Arc::new(Mutex::new(Chip { fault, bank, bytes, log: Vec::new(), files: Vec::new() })))
    }

    /// Serves one connection.
    fn serve(&self) -> String {
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = server.local_addr().expect("an address").to_string();
        let chip = Arc::clone(&self.0);
        thread::spawn(move || {
            let (stream, _) = server.accept().expect("a call");
            talk(&chip, stream);
        });
        address
    }

    fn program(&self, image: &Image) -> Result<strobe_decode::container::Flashed, link::Error> {
        program_flash(&self.serve(), image, LONGEST, &mut ())
    }

    fn log(&self) -> Vec<String> {
        self.0.lock().expect("ours").log.clone()
    }

    fn holds(&self, image: &Image) -> bool {
        let chip = self.0.lock().expect("ours");
        image.pieces().all(|(address, bytes)| {
            (address..).zip(bytes).all(|(at, byte)| chip.bytes.get(&at) == Some(byte))
        })
    }
}

fn talk(chip: &Mutex<Chip>, mut stream: TcpStream) {
    let lines = BufReader::new(stream.try_clone().expect("a stream")).split(0x1a);
    for line in lines.map_while(Result::ok) {
        let line = String::from_utf8(line).expect("text");
        // The innermost command.
        let command = line.rsplit_once("[catch {").expect("every command is caught").1;
        let command = command.split_once("} strobe_").expect("and its result kept").0;
        let mut chip = chip.lock().expect("ours");
        chip.log.push(command.to_owned());
        match chip.fault {
            Fault::HangsUp(begin) if command.starts_with(begin) => return,
            Fault::Mute(begin) if command.starts_with(begin) => continue,
            _ => {}
        }
        let answer = match chip.run(command) {
            Ok(result) => format!("ok {result}\x1a"),
            Err(why) => format!("bad {why}\x1a"),
        };
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// A command's words; a backslash takes a character's meaning, as in Tcl.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' => words.push(String::new()),
            '\\' => words.last_mut().expect("one").extend(characters.next()),
            other => words.last_mut().expect("one").push(other),
        }
    }
    words
}

impl Chip {
    fn run(&mut self, command: &str) -> Result<String, String> {
        let words = words(command);
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["version"] => Ok("Open On-Chip Debugger 0.12.0".to_owned()),
            ["reset", "init" | "run"] => Ok(String::new()),
            ["flash", "write_image", "erase", file, "0", "ihex"] => self.write(file),
            ["verify_image", _, "0", "ihex"] if self.fault == Fault::NoCompare => {
                Err("Target chip.cpu doesn't support checksum_memory".to_owned())
            }
            ["verify_image", file, "0", "ihex"] => {
                let image = self.image(file)?;
                let same = |(at, byte): (u32, u8)| self.bytes.get(&at) == Some(&byte);
                if image.into_iter().all(same) {
                    Ok("verified".into())
                } else {
                    Err("differs".into())
                }
            }
            ["read_memory", address, "32", count] => {
                let address = u32::from_str_radix(&address[2..], 16).expect("hexadecimal");
                let byte = |at: u32| self.bytes.get(&at).copied().unwrap_or(0xff);
                let word = |at: u32| u32::from_le_bytes([0, 1, 2, 3].map(|n| byte(at + n)));
                let words = (address..).step_by(4).map(|at| format!("{:#x}", word(at)));
                let words: Vec<String> = words.take(count.parse().expect("a count")).collect();
                Ok(words.join(" "))
            }
            _ => Err(format!("invalid command name \"{}\"", words[0])),
        }
    }

    fn image(&mut self, file: &str) -> Result<Vec<(u32, u8)>, String> {
        let path = std::path::PathBuf::from(file.replace('\\', ""));
        if self.fault == Fault::NoFile {
            return Err(format!("auto erase enabled\ncouldn't open {}", path.display()));
        }
        let firmware = Firmware::parse(std::fs::read(&path).expect("it is there"));
        let firmware = firmware.expect("Intel HEX");
        self.files.push(path);
        let bytes = firmware.segments().iter().flat_map(|segment| {
            (segment.load_address.0..).zip(segment.data().to_vec()).collect::<Vec<_>>()
        });
        Ok(bytes.collect())
    }

    fn write(&mut self, file: &str) -> Result<String, String> {
        let mut written = 0;
        for (at, byte) in self.image(file)? {
            match self.fault {
                Fault::Worn(worn) if worn == at => {
                    return Err(format!(
                        "auto erase enabled\nerror writing to flash at address {at:#010x} at \
                         offset 0x0"
                    ));
                }
                Fault::Stuck(stuck) if stuck == at => drop(self.bytes.insert(at, !byte)),
                _ if self.bank.contains(&at) => drop(self.bytes.insert(at, byte)),
                _ => continue,
            }
            written += 1;
        }
        Ok(format!("auto erase enabled\nwrote {written} bytes from file x in 0.1s (1.0 KiB/s)"))
    }
}

/// Notes what is reported, and stops at a step if asked.
#[derive(Default)]
struct Watcher {
    steps: Vec<(Step, Option<u64>)>,
    done: Vec<u64>,
    stops_at: Option<Step>,
}

impl Observer for Watcher {
    fn begin(&mut self, step: Step, bytes: Option<u64>) {
        self.steps.push((step, bytes));
        self.done.push(0);
    }

    fn advance(&mut self, bytes: u64) {
        *self.done.last_mut().expect("a step has begun") += bytes;
    }

    fn goes_on(&mut self) -> bool {
        self.stops_at.is_none() || self.steps.last().map(|(step, _)| *step) != self.stops_at
    }
}

/// Vectors, code behind a gap, and an odd end.
fn image() -> Image {
    let code: Vec<u8> = (0..9001u32).map(|n| ((n * 31) >> 3) as u8).collect();
    let mut elf = ElfBuilder::new();
    elf.code(FLASH, &[0x5a; 64]).code(FLASH + 0x1_0100, &code);
    Image::of(&Firmware::parse(elf.build()).expect("an ELF file")).expect("for Arm")
}

#[test]
fn firmware_is_written_verified_and_started() {
    let (peer, image) = (Peer::new(Fault::None), image());
    let mut watcher = Watcher::default();
    let flashed = program_flash(&peer.serve(), &image, LONGEST, &mut watcher);
    let flashed = flashed.expect("a sound chip");
    assert!(peer.holds(&image));
    assert_eq!((flashed.bytes, flashed.verified), (9065, true));
    assert_eq!(flashed.by, "OpenOCD 0.12.0");
    let steps = [Step::Halt, Step::Write, Step::Verify, Step::Start];
    assert_eq!(watcher.steps.iter().map(|(step, _)| *step).collect::<Vec<_>>(), steps);
    assert_eq!(watcher.done, [0, 9065, 9065, 0]);
    let log = peer.log();
    let verbs: Vec<&str> = log.iter().filter_map(|c| c.split_once(' ')).map(|(v, _)| v).collect();
    assert_eq!(verbs, ["reset", "flash", "verify_image", "reset"], "{log:?}");
    assert_eq!((log[1].as_str(), log[4].as_str()), ("reset init", "reset run"));
    let files = peer.0.lock().expect("ours").files.clone();
    assert!(files.iter().all(|file| !file.exists()), "nothing is left behind: {files:?}");
}

#[test]
fn intel_hex_gives_the_same_flash_as_elf() {
    let elf = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt/trace.elf");
    let elf = Firmware::parse(std::fs::read(elf).expect("a bundled program")).expect("firmware");
    let image = Image::of(&elf).expect("for Arm");
    let hex = Firmware::parse(image.hex().into_bytes()).expect("Intel HEX");
    let peer = Peer::new(Fault::None);
    peer.program(&Image::of(&hex).expect("for Arm")).expect("a sound chip");
    assert!(peer.holds(&image) && image.bytes() > 500);
}

#[test]
fn failed_programming_is_reported_and_nothing_runs() {
    let at = FLASH + 0x1_0100 + 5;
    let cases: [(Fault, &[&str]); 7] = [
        (Fault::Worn(at), &["writing flash failed", "flash at address 0x08010105", "a part of"]),
        (Fault::Stuck(at), &["verification failed at 0x08010105", "1 of 9065 bytes differ"]),
        (Fault::HangsUp("flash"), &["writing flash failed", "closed the connection", "a part of"]),
        (Fault::HangsUp("verify_image"), &["verifying flash failed", "closed the connection"]),
        (Fault::HangsUp("reset init"), &["halting the core failed", "closed the connection"]),
        (Fault::HangsUp("reset run"), &["starting the core failed"]),
        (Fault::NoFile, &["couldn't open /", "must run on this machine"]),
    ];
    for (fault, words) in cases {
        let peer = Peer::new(fault);
        let error = peer.program(&image()).expect_err("it goes wrong").to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{words:?}: {error}");
        assert!(!error.contains("strobe_"), "the wrapping is nobody's business: {error}");
        let ran = peer.log().iter().any(|command| command == "reset run");
        assert_eq!(ran, fault == Fault::HangsUp("reset run"), "{:?}", peer.log());
    }
}

#[test]
fn the_bytes_that_differ_are_shown() {
    let at = FLASH + 0x1_0100 + 9000;
    let error = Peer::new(Fault::Stuck(at)).program(&image()).expect_err("a byte is stuck");
    let byte = ((9000u32 * 31) >> 3) as u8;
    let (expected, found) = (vec![byte], vec![!byte]);
    let differs = Error::Differs { address: at, expected, found, different: 1, compared: 9065 };
    assert_eq!(error, link::Error::Flash(differs));
}

/// OpenOCD leaves out what is in no flash bank, and calls that a success.
#[test]
fn data_outside_flash_is_an_error() {
    let mut elf = ElfBuilder::new();
    elf.code(FLASH, &[1; 100]).code(0x2000_0000, &[2; 28]);
    let image = Image::of(&Firmware::parse(elf.build()).expect("an ELF file")).expect("for Arm");
    let error = Peer::new(Fault::None).program(&image).expect_err("28 bytes are for RAM");
    assert!(matches!(error, link::Error::Flash(Error::Elsewhere { .. })), "{error}");
    assert!(error.to_string().contains("wrote 100 of 128 bytes"), "{error}");
}

#[test]
fn where_openocd_cannot_compare_every_byte_is_read() {
    let (peer, image) = (Peer::new(Fault::NoCompare), image());
    let flashed = peer.program(&image).expect("it is read word by word");
    let reads = peer.log().iter().filter(|command| command.starts_with("read_memory")).count();
    assert!(flashed.verified && reads >= 9065 / 1024, "{reads} reads");
}

#[test]
fn an_answer_that_does_not_come_is_given_up() {
    let peer = Peer::new(Fault::Mute("flash"));
    let longest = Duration::from_millis(200);
    let error = program_flash(&peer.serve(), &image(), longest, &mut ()).expect_err("no answer");
    let error = error.to_string();
    assert!(
        error.contains("no answer to `flash write_image") && error.contains("0.2 s"),
        "{error}"
    );
    let long = image().longest();
    assert!(long > Duration::from_secs(60) && long < Duration::from_secs(120));
}

#[test]
fn it_can_be_stopped_while_flash_is_written() {
    let peer = Peer::new(Fault::Mute("flash"));
    let mut watcher = Watcher { stops_at: Some(Step::Write), ..Watcher::default() };
    let stopped = program_flash(&peer.serve(), &image(), LONGEST, &mut watcher);
    let interrupted = Error::Interrupted { step: Step::Write };
    assert_eq!(stopped, Err(link::Error::Flash(interrupted)));
}

#[test]
fn firmware_of_another_machine_is_refused() {
    let avr = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt/loop-avr.elf");
    let avr = Firmware::parse(std::fs::read(avr).expect("a bundled program")).expect("firmware");
    assert_eq!(Image::of(&avr), Err(Error::Machine));
}

/// A memory, and a programmer that notes what it is asked for.
struct Fake {
    bytes: BTreeMap<u32, u8>,
    asked: Vec<Step>,
    fails_at: Option<Step>,
}

impl Fake {
    fn ask(&mut self, step: Step) -> Result<(), Error> {
        self.asked.push(step);
        let why = "unplugged".to_owned();
        if self.fails_at == Some(step) { Err(Error::Step { step, why }) } else { Ok(()) }
    }
}

impl Registers for Fake {
    fn read_word(&mut self, address: u32) -> Result<u32, link::Error> {
        assert_eq!(address % 4, 0, "words are read at their addresses");
        let byte = |at: u32| self.bytes.get(&at).copied().unwrap_or(0xff);
        Ok(u32::from_le_bytes([0, 1, 2, 3].map(|n| byte(address + n))))
    }

    fn write_word(&mut self, _: u32, _: u32) -> Result<(), link::Error> {
        panic!("nothing is written to compare")
    }
}

impl Programmer for Fake {
    fn name(&self) -> String {
        "a fake".to_owned()
    }

    fn halt(&mut self, _: &mut dyn Observer) -> Result<(), Error> {
        self.ask(Step::Halt)
    }

    fn write(&mut self, image: &Image, _: &mut dyn Observer) -> Result<(), Error> {
        self.ask(Step::Write)?;
        let bytes = image.pieces().flat_map(|(address, bytes)| (address..=u32::MAX).zip(bytes));
        self.bytes.extend(bytes.map(|(at, byte)| (at, *byte)));
        Ok(())
    }

    fn verify(&mut self, image: &Image, observer: &mut dyn Observer) -> Result<(), Error> {
        self.ask(Step::Verify)?;
        compare(self, image, observer)
    }

    fn start(&mut self, _: &mut dyn Observer) -> Result<(), Error> {
        self.ask(Step::Start)
    }
}

#[test]
fn no_step_is_taken_after_one_that_failed() {
    let steps = [Step::Halt, Step::Write, Step::Verify, Step::Start];
    for (n, step) in steps.into_iter().enumerate() {
        let mut fake = Fake { bytes: BTreeMap::new(), asked: Vec::new(), fails_at: Some(step) };
        let failed = flash::program(&mut fake, &image(), &mut ());
        assert_eq!(failed, Err(Error::Step { step, why: "unplugged".to_owned() }));
        assert_eq!(fake.asked, steps[..=n]);
    }
}

proptest! {
    /// Whatever is programmed compares equal; with bytes changed, the first of them is named, and
    /// all are counted.
    #[test]
    fn every_byte_is_compared(
        pieces in proptest::collection::vec((1u32..40, 65usize..2500), 1..5),
        ends_at_the_top in any::<bool>(),
        changed in proptest::collection::vec(any::<proptest::sample::Index>(), 0..4),
    ) {
        let mut all: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut from = FLASH;
        for (n, (gap, size)) in pieces.into_iter().enumerate() {
            from += 64 + gap;
            all.push((from, (0..size).map(|i| (i * 13 + n) as u8).collect()));
            from += size as u32;
        }
        if ends_at_the_top {
            all.push((u32::MAX - 70, vec![0x5a; 71]));
        }
        let hex = write_hex(all.iter().map(|(address, bytes)| (*address, &bytes[..])));
        let image = Image::of(&Firmware::parse(hex.into_bytes()).expect("Intel HEX"));
        let image = image.expect("for Arm");
        let mut fake = Fake { bytes: BTreeMap::new(), asked: Vec::new(), fails_at: None };
        prop_assert!(flash::program(&mut fake, &image, &mut ()).is_ok());
        let addresses: Vec<u32> = fake.bytes.keys().copied().collect();
        prop_assert_eq!(addresses.len() as u64, image.bytes());
        let wrong: std::collections::BTreeSet<u32> =
            changed.iter().map(|index| *index.get(&addresses)).collect();
        for at in &wrong {
            *fake.bytes.get_mut(at).expect("it was written") ^= 0x80;
        }
        match (compare(&mut fake, &image, &mut ()), wrong.first()) {
            (Ok(()), None) => {}
            (Err(Error::Differs { address, expected, found, different, compared }), Some(at)) => {
                prop_assert_eq!(address, *at);
                prop_assert_eq!(expected[0] ^ found[0], 0x80);
                prop_assert_eq!((different, compared), (wrong.len() as u64, image.bytes()));
            }
            (result, wrong) => prop_assert!(false, "{result:?} {wrong:?}"),
        }
    }
}
