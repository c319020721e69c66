//! What the timing model of a core may be off, and what waits leave open: in every report, and
//! nowhere where it is known better.

use strobe_model::measurement::{CORE_TIMING, Cell, Content, Measurement, ON_A_CHIP, Trust};

use super::waits::{load, run, ticking, with_functions};
use crate::common::{figures, measured, prebuilt, strobe};

/// `main` waits for fifty ticks, in a loop on a variable; then it stays at `END`.
const WAIT: [u16; 3] = [0x6813, 0x2b32, 0xd1fc];
const END: &str = "0xd6";
const BARE: [&str; 2] = ["--board", "cortex-m3"];
const UNBOUNDED: [&str; 4] = ["--board", "cortex-m3", "--bounds", "none"];

fn ran(elf: &[u8], until: &str) -> Measurement {
    run(elf, &[&BARE[..], &["--until", until]].concat())
}

/// The least, the likely and the most.
fn chip(measurement: &Measurement) -> [u64; 3] {
    let total = measurement.total(ON_A_CHIP).expect("an M3 has it");
    let value = total.value().expect("it is known");
    let (low, high) = total.trust().bounds().unwrap_or((value, value));
    [low, value, high].map(|number| number.as_u64())
}

#[test]
fn waiting_for_a_timer_adds_no_core_error() {
    let [low, likely, high] = chip(&ran(&ticking(&WAIT), END));
    assert!(likely > 45_000, "{likely}");
    // A tenth of what the handlers take and the little that is around the loop.
    assert!(low < likely && likely < high, "{low} {likely} {high}");
    assert!(high - likely < likely / 50, "{low} {likely} {high}");
}

#[test]
fn run_to_a_time_takes_it_on_chips_too() {
    // Also if it works all the time.
    for (elf, until) in [(ticking(&WAIT), "100000c"), (counting(), "10000c")] {
        let ran = ran(&elf, until);
        let ([low, likely, high], total) = (chip(&ran), figures::total(&ran, "cycles"));
        // Each model ends at the first instruction after the time.
        assert_eq!((likely, high), (total, total));
        assert!(total - low < 20, "{low} {total}");
    }
}

/// ldr r3, =20,000; back: subs r3, #1; bne back; b .
fn counting() -> Vec<u8> {
    let code = [load(3, 0), 0x3b01, 0xd1fd, 0xe7fe, 0x4770];
    with_functions(&code, &[("main", 0, 8), ("other", 8, 2)], &[20_000])
}

/// What a delay by counting takes is the core's own.
#[test]
fn counting_has_the_error_of_the_core() {
    let [low, likely, high] = chip(&ran(&counting(), "0xc6"));
    let part = |mille: u64| likely * mille / 1000;
    assert!(low <= likely - part(23) && high >= likely + part(100), "{low} {likely} {high}");
}

fn timing(measurement: &Measurement) -> (f64, f64) {
    let mut facts = measurement.subject.facts.iter();
    let fact = facts.find(|fact| fact.name == CORE_TIMING).expect("it is stated");
    let bounds = fact.figure.as_ref().and_then(|figure| figure.trust().bounds());
    let (low, high) = bounds.expect("it has bounds");
    (low.as_f64(), high.as_f64())
}

#[test]
fn every_report_of_an_inferred_core_states_its_band() {
    let elf = prebuilt("generic-c-m3");
    let board = ["--board", "cortex-m3", "--until", "1ms"];
    let all: [&[&str]; 5] = [
        &["run", &elf],
        &["cycles", &elf, "main", "--run"],
        &["stack", &elf, "--run"],
        &["heap", &elf],
        &["pins", &elf],
    ];
    for arguments in all {
        let arguments = [arguments, &board].concat();
        let (_, measurement) = measured(&arguments);
        assert_eq!(timing(&measurement), (97.5, 110.1), "{arguments:?}");
        let text = strobe(&arguments).stdout;
        assert!(text.contains("core timing"), "{text}");
        assert!(text.contains("published figures of real parts"), "{text}");
    }
    let explained = measured(&["cycles", &elf, "main", "--board", "cortex-m4"]).1;
    assert_eq!(timing(&explained), (99.3, 110.4));
    // That of a Cortex-M0 follows its manual.
    let m0 = measured(&["run", &prebuilt("blink"), "--board", "stm32f070cb", "--until", "1ms"]).1;
    assert!(m0.subject.facts.iter().all(|fact| fact.name != CORE_TIMING));
}

/// Its own cycles in a run, from the first instruction to the last.
#[test]
fn an_explained_functions_cycles_have_the_band() {
    let elf = prebuilt("generic-c-m3");
    let arguments = ["cycles", &elf, "main", "--run", "--board", "cortex-m3", "--until", "1ms"];
    let (_, measurement) = measured(&arguments);
    let [low, likely, high] = chip(&measurement);
    assert_eq!(likely, figures::total(&measurement, "cycles"));
    assert!(low < likely && high >= likely + likely / 10, "{low} {likely} {high}");
    assert_eq!(measurement.window.ended.kind, "limit");
}

#[test]
fn thread_report_marks_every_figure_of_the_whole_run() {
    let all = ["--until", "100000c", "--thread", "SysTick"];
    let ran = run(&ticking(&WAIT), &[&BARE[..], &all].concat());
    let cycles = figures::total(&ran, "cycles");
    assert!(cycles < 10_000, "{cycles}");
    let [low, likely, high] = chip(&ran);
    assert_eq!(likely, cycles);
    assert!(low < likely && high >= likely + likely / 10, "{low} {likely} {high}");
    assert!(ran.total("waiting").is_none());
    for section in &ran.sections {
        let is_own = match section.content {
            Content::Profile(_) | Content::Timeline(_) => true,
            _ => section.id == "causes",
        };
        assert_eq!(section.title.starts_with("whole run: "), !is_own, "{}", section.title);
    }
    let causes = figures::column(&ran, "causes", "cycles").iter().map(figures::number);
    assert_eq!(causes.sum::<u64>(), cycles);
}

fn is_about(trust: &Trust) -> bool {
    matches!(trust, Trust::Modelled { low, high, .. } if low == high)
}

/// A handler's exit takes what no manual states, and so the loop that waits goes round more or less
/// often.
#[test]
fn how_often_a_wait_goes_round_is_not_exact() {
    let ran = run(&ticking(&WAIT), &[&UNBOUNDED[..], &["--until", "100000c"]].concat());
    let total = ran.total("instructions").expect("they are counted");
    assert!(is_about(total.trust()), "{total:?}");
    let rounds = &figures::column(&ran, "waiting", "rounds")[0];
    assert!(matches!(rounds, Cell::Figure { trust, .. } if is_about(trust)), "{rounds:?}");
    let load_store = figures::cell(&ran, "causes", "load-store", "cycles");
    assert!(matches!(load_store, Cell::Figure { trust, .. } if is_about(trust)), "{load_store:?}");
    // How often a handler ran is one figure in all tables.
    let entered = figures::cell(&ran, "interrupts", "SysTick", "count");
    assert!(matches!(entered, Cell::Figure { trust, .. } if is_about(trust)), "{entered:?}");
    assert_eq!(figures::cell(&ran, "threads", "SysTick", "runs"), entered);
    // Of code that waits for nothing they are.
    let ran = ran_counting();
    assert_eq!(ran.total("instructions").map(|total| total.trust()), Some(&Trust::Exact));
}

/// movs r4, #0; back: ldr r3, [r2]; cmp r3, #50; beq done; subs r4, #1; bne back; done:
#[test]
fn rounds_of_a_wait_with_timeout_are_not_exact() {
    let wait = [0x2400, 0x6813, 0x2b32, 0xd001, 0x3c01, 0xd1fa];
    let ran = run(&ticking(&wait), &[&UNBOUNDED[..], &["--until", "0xdc"]].concat());
    let rounds = &figures::column(&ran, "waiting", "rounds")[0];
    assert!(matches!(rounds, Cell::Figure { trust, .. } if is_about(trust)), "{rounds:?}");
}

fn ran_counting() -> Measurement {
    ran(&counting(), "0xc6")
}

#[test]
fn single_calls_are_exact_only_where_they_are() {
    let elf = prebuilt("hello-uart");
    let calls = |bounds: &str| {
        let board = ["--board", "stm32f070cb", "--until", "20ms", "--terse", "--quiet"];
        let asked = ["run", &elf, "--calls", "usart1_send", "--bounds", bounds];
        let text = strobe(&[&asked[..], &board].concat()).stdout;
        let measurement = measured(&[&asked[..], &board[..4]].concat()).1;
        let spread = figures::spread(&measurement, "calls", "usart1_send with callees");
        (text, spread.clone())
    };
    let no_bounds = "Figures marked ~ have no bounds";
    let (text, unbounded) = calls("none");
    assert!(unbounded.why.is_some() && unbounded.low.is_none(), "{unbounded:?}");
    assert!(text.contains(no_bounds), "{text}");
    let row = text.lines().find(|line| line.ends_with("usart1_send with callees"));
    assert!(row.is_some_and(|row| row.contains('~')), "{text}");
    let (text, bounded) = calls("runs");
    assert!(bounded.why.is_none() || bounded.low.is_some(), "{bounded:?}");
    assert!(!text.contains(no_bounds), "{text}");
}
