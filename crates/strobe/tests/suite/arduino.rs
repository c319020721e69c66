//! Unmodified Arduino sketches with Arduino's own core: `cargo xtask subjects` builds them.

use std::fs;

use crate::common::figures::*;
use crate::common::root;

fn built(name: &str) -> String {
    let path = root().join("target/subjects").join(name).with_extension("elf");
    assert!(path.exists(), "{} is missing: run `cargo xtask subjects`", path.display());
    path.display().to_string()
}

/// Cycles of a second, and those that `micros()` counts in one step of Timer0.
const SECOND: u64 = 16_000_000;
const STEP: u64 = 64;

/// A second by `delay` is a second: counted in steps of four microseconds, from wherever in a step
/// it begins, with what `digitalWrite` and the loop around take.
#[test]
fn blink_blinks_and_prints_the_time() {
    for (name, board, pin) in
        [("arduino-blink", "arduino-uno", "PB5"), ("arduino-blink-mega", "arduino-mega", "PB7")]
    {
        let directory = tempfile::tempdir().unwrap();
        let text = directory.path().join("printed.txt").display().to_string();
        let line = format!("USART0=file:{text}");
        let arguments = ["--board", board, "--until", "6500ms", "--mark", "LED", "--uart", &line];
        let (code, ran) = run(&[&[built(name).as_str()], &arguments[..]].concat());
        assert_eq!(code, 0);
        let printed = fs::read_to_string(&text).expect("what it printed");
        assert_eq!(printed, "blink\r\nmillis 1999\r\nmillis 3999\r\nmillis 6000\r\n");
        let high = widths(&ran, &format!("{pin} high"));
        assert_eq!(high.len(), 3);
        let most = SECOND + 5 * STEP;
        assert!(high.iter().all(|&n| (SECOND..most).contains(&n)), "{name}: {high:?}");
        assert!(ran.section("unmodelled").is_none());
        assert_exact(&ran);
    }
}

/// The converter, a tone, PWM, an external interrupt, the serial port both ways, and an EEPROM on
/// the I2C bus.
#[test]
fn the_cores_services_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let board = "base = 'arduino-uno'\nname = 'bench'\ndescription = 'an Uno with an EEPROM'\n\
                 [[part]]\nname = 'MEMORY'\nmodel = 'i2c-eeprom'\n\
                 options = { sda = 'A4', scl = 'A5', size = 4096, page = 32 }\n\
                 [[part]]\nname = 'LOOP'\nmodel = 'wire'\noptions = { from = 'D8', to = 'D2' }\n";
    fs::write(path("bench.toml"), board).unwrap();
    fs::write(path("a1.csv"), "seconds,value\n0,7\n10,8\n").unwrap();
    fs::write(path("in.txt"), "typed").unwrap();
    let arguments = [
        built("arduino-instruments"),
        "--board".to_owned(),
        path("bench.toml"),
        "--until=200ms".to_owned(),
        "--mark=D8,D5".to_owned(),
        "--adc=ADC0=100".to_owned(),
        format!("--adc=ADC1=file:{}", path("a1.csv")),
        format!("--uart=USART0=file:{}", path("out.txt")),
        format!("--uart-input=USART0=file:{}", path("in.txt")),
        "--uart-input-after=120ms".to_owned(),
    ];
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (code, ran) = run(&arguments);
    assert_eq!(code, 0);
    let printed = fs::read_to_string(path("out.txt")).unwrap();
    let expected = "written 0\r\nit was busy\r\nread kept\r\nanalog 100 7\r\nedges 21\r\nTYPED";
    assert_eq!(printed, expected);
    // 1 kHz for 20 ms, from an interrupt: two for each period.
    let low = widths(&ran, "PB0 low");
    assert_eq!(low.len(), 20);
    assert!(low.iter().all(|&n| n.abs_diff(8000) < 150), "{low:?}");
    // analogWrite of 64 on Timer0, which counts 65 of 256 steps high.
    assert!(widths(&ran, "PD5 high").iter().all(|&n| n == 65 * STEP));
}
