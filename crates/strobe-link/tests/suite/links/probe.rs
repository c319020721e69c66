//! A probe that grants other bit rates, overruns, and is unplugged.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use strobe_decode::container::Note;
use strobe_decode::trace_settings::Line;
use strobe_link::trace::link::{Error, Link, ReadOutcome};
use strobe_link::trace::probe::{DebugPort, Poller, Polling, Probe};
use strobe_link::trace::program::Registers;
use strobe_link::trace::target::find;

use super::target::{Chip, DWT_CTRL};
use super::{listen, settings};

const PCSR: u32 = 0xe000_101c;

struct Fake {
    chip: Chip,
    /// What reads of the pin bring, and whether the probe has overrun before.
    heard: VecDeque<(Vec<u8>, bool)>,
    granted: Option<u32>,
    /// So many accesses until the probe is gone.
    left: u32,
    log: Vec<&'static str>,
    pcs: VecDeque<u32>,
}

/// Shared, so that a test sees what became of the chip.
#[derive(Clone)]
struct Port(Rc<RefCell<Fake>>);

fn port() -> Port {
    let (chip, heard, pcs) = (Chip::new(), VecDeque::new(), VecDeque::new());
    let fake = Fake { chip, heard, granted: None, left: u32::MAX, log: Vec::new(), pcs };
    Port(Rc::new(RefCell::new(fake)))
}

impl Port {
    fn used(&self) -> Result<(), Error> {
        let mut fake = self.0.borrow_mut();
        fake.left = fake.left.saturating_sub(1);
        if fake.left == 0 { Err(Error::failed("the probe", "unplugged")) } else { Ok(()) }
    }

    fn log(&self, what: &'static str) {
        self.0.borrow_mut().log.push(what);
    }
}

impl Registers for Port {
    fn read_word(&mut self, address: u32) -> Result<u32, Error> {
        self.used()?;
        let mut fake = self.0.borrow_mut();
        if address == PCSR {
            return Ok(fake.pcs.pop_front().unwrap_or_default());
        }
        Ok(fake.chip.read(address))
    }

    fn write_word(&mut self, address: u32, value: u32) -> Result<(), Error> {
        self.used()?;
        self.0.borrow_mut().chip.write(address, value);
        Ok(())
    }
}

impl DebugPort for Port {
    fn swo_start(&mut self, line: &Line) -> Result<u32, Error> {
        self.used()?;
        self.log("start");
        Ok(self.0.borrow().granted.unwrap_or(line.baud()))
    }

    fn swo_read(&mut self, into: &mut Vec<u8>) -> Result<bool, Error> {
        self.used()?;
        let (bytes, overrun) = self.0.borrow_mut().heard.pop_front().unwrap_or_default();
        into.extend(bytes);
        Ok(overrun)
    }

    fn swo_stop(&mut self) -> Result<(), Error> {
        self.log("stop");
        self.used()
    }

    fn reset(&mut self) -> Result<(), Error> {
        self.log("reset");
        self.used()
    }

    fn halted_pc(&mut self) -> Result<u32, Error> {
        self.used()?;
        std::thread::sleep(Duration::from_millis(2));
        Ok(self.0.borrow_mut().pcs.pop_front().unwrap_or(0x0800_0100))
    }
}

fn open(port: &Port) -> Result<(Probe<Port>, strobe_decode::trace_settings::TraceSettings), Error> {
    Probe::open(port.clone(), &settings(), find("generic").expect("a family"), false)
}

#[test]
fn bytes_and_overruns_are_ordered_and_chip_left_quiet() {
    let port = port();
    let (mut link, used) = open(&port).expect("a sound chip");
    assert_eq!(used, settings());
    port.0.borrow().chip.is_tracing();
    port.0.borrow_mut().heard =
        [(vec![], false), (vec![1, 2], false), (vec![3], true), (vec![4], false)].into();
    let heard = listen(&mut link, |heard| heard.bytes.len() == 4);
    assert_eq!(heard.bytes, [1, 2, 3, 4]);
    assert_eq!(heard.notes, [Note::Overrun { bytes: None, by: "the probe".to_owned() }]);
    assert_eq!(link.close(), Ok(None));
    port.0.borrow().chip.is_quiet();
    assert_eq!(port.0.borrow().log, ["start", "stop"]);
}

#[test]
fn another_granted_bit_rate_is_used_or_refused() {
    let granting = port();
    granting.0.borrow_mut().granted = Some(500_000);
    let (_, used) = open(&granting).expect("a rate that the divider has");
    assert_eq!((used.line.baud(), granting.0.borrow().chip.read(0xe004_0010)), (500_000, 31));
    let off = port();
    off.0.borrow_mut().granted = Some(11_000_000);
    let error = open(&off).err().expect("16 MHz has no divider for it").to_string();
    assert!(error.contains("11000000 baud") && error.contains("+45.5 %"), "{error}");
}

#[test]
fn registers_that_do_not_take_a_value_are_named() {
    for (address, bits, expected) in [
        (0xe004_0010, 0x7, "TPIU_ACPR"),
        (DWT_CTRL, !0x1000, "DWT_CTRL"),
        (0xe000_0e80, 0, "ITM_TCR"),
        (0xe000_edfc, 0, "DEMCR"),
    ] {
        let port = port();
        port.0.borrow_mut().chip.bits.insert(address, bits);
        let error = open(&port).err().expect("it does not hold");
        assert!(matches!(error, Error::ReadBack { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn chip_without_the_hardware_is_refused_before_set_up() {
    for (ctrl, expected) in [(0x4800_0000u32, "NOTRCPKT"), (0x4200_0000, "NOCYCCNT")] {
        let port = port();
        port.0.borrow_mut().chip.words.insert(DWT_CTRL, ctrl);
        let error = open(&port).err().expect("it cannot").to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(port.0.borrow().log, [""; 0], "the probe does not listen yet");
    }
}

#[test]
fn unplugging_keeps_what_came_before() {
    let port = port();
    let (mut link, _) = open(&port).expect("a sound chip");
    port.0.borrow_mut().heard = [(vec![1, 2, 3], false)].into();
    port.0.borrow_mut().left = 4;
    let heard = listen(&mut link, |_| false);
    assert_eq!(heard.bytes, [1, 2, 3]);
    assert!(heard.error.expect("it is gone").to_string().contains("unplugged"));
    assert!(link.close().is_err());
}

#[test]
fn reset_follows_the_set_up_and_keeps_it() {
    let port = port();
    let generic = find("generic").expect("a family");
    Probe::open(port.clone(), &settings(), generic, true).expect("a sound chip");
    assert_eq!(port.0.borrow().log, ["start", "reset"]);
    port.0.borrow().chip.is_tracing();
}

fn polled(link: &mut dyn Link, n: usize) -> Vec<strobe_link::trace::link::Sample> {
    let mut samples = Vec::new();
    while samples.len() < n {
        match link.read(&mut Vec::new(), Duration::from_millis(30)).expect("it works") {
            ReadOutcome::Samples(more) => samples.extend(more),
            other => assert_eq!(other, ReadOutcome::Nothing),
        }
    }
    samples
}

#[test]
fn the_program_counter_is_asked_for_without_a_halt() {
    let port = port();
    let pcs = (0..100_000).map(|i| 0x0800_0000 + 2 * i);
    port.0.borrow_mut().pcs = pcs.collect();
    let begun = Instant::now();
    let mut link = Poller::open(port.clone(), Polling::Pcsr, Some(1000)).expect("it is there");
    let samples = polled(&mut link, 10);
    assert!(samples.iter().all(|sample| sample.halted.is_zero()));
    let in_order: Vec<u32> = (0..10).map(|i| 0x0800_0000 + 2 * i).collect();
    assert_eq!(samples.iter().take(10).map(|s| s.pc).collect::<Vec<_>>(), in_order);
    // Ten at a thousand a second take nine milliseconds at least; none is taken sooner because one
    // before was late.
    assert!(samples[9].at - begun >= Duration::from_millis(9));
    assert_eq!(port.0.borrow().chip.read(0xe000_edfc), 0x0100_0401);
    let Ok(Some(Note::Intrusion { halted_us: 0, total_us })) = link.close() else {
        panic!(
            "no \
        note"
        )
    };
    assert!(total_us >= 9000);
}

#[test]
fn halting_states_what_it_costs() {
    let mut link = Poller::open(port(), Polling::Halt, Some(100)).expect("it is there");
    let samples = polled(&mut link, 3);
    assert!(samples.iter().all(|sample| sample.halted >= Duration::from_millis(2)));
    let Ok(Some(Note::Intrusion { halted_us, total_us })) = link.close() else { panic!("no note") };
    assert!(halted_us >= 6000 && total_us >= halted_us, "{halted_us} of {total_us}");
}

#[test]
fn a_core_without_the_register_is_reported() {
    let mut link = Poller::open(port(), Polling::Pcsr, None).expect("nobody knows yet");
    let heard = listen(&mut link, |_| false);
    assert!(heard.error.expect("nothing but zeros").to_string().contains("DWT_PCSR"));
}
