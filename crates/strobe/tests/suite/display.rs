//! The display demo: three drivers draw the same picture, and `strobe bus` shows what each of them
//! takes.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use strobe_report::file;

use crate::common::figures::warnings;

const WIDTH: usize = 240;
const HEIGHT: usize = 320;
const PIXELS: u64 = (WIDTH * HEIGHT) as u64;
const BOARD: &str = "firmware/display/board.toml";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn strobe(arguments: &[&str]) -> (String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe"));
    command.args(arguments).current_dir(root()).env_remove("COLUMNS").env_remove("CLICOLOR_FORCE");
    let output = command.output().expect("strobe starts");
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{arguments:?}: {messages}");
    (String::from_utf8(output.stdout).expect("UTF-8"), messages)
}

fn firmware(driver: &str) -> String {
    format!("firmware/prebuilt/display-{driver}.elf")
}

/// What the firmware paints, worked out here: five bits of red, six of green, five of blue, widened
/// to eight as the display does it.
fn painted(x: usize, y: usize) -> [u8; 3] {
    let (red, green, blue) = ((x ^ y) & 31, (x + y) & 63, y & 31);
    let six = [red << 1 | red >> 4, green, blue << 1 | blue >> 4];
    six.map(|six| (six << 2 | six >> 4) as u8)
}

#[test]
fn each_driver_draws_every_pixel_and_reads_some_back() {
    let expected = std::fs::read_to_string(root().join("firmware/display/expected.txt")).unwrap();
    for driver in ["bitbang", "spi", "dma"] {
        let directory = tempfile::tempdir().unwrap();
        let pictures = directory.path().to_str().unwrap();
        let elf = firmware(driver);
        let run = ["run", &elf, "--board", BOARD, "--until", "finished", "--format", "json"];
        let (measurement, printed) = strobe(&[&run[..], &["--pictures", pictures]].concat());
        assert_eq!(printed, expected, "{driver}");
        let measurement = match file::read(measurement.as_bytes()) {
            Ok(measurement) => measurement,
            other => panic!("{driver}: {other:?}"),
        };
        assert_eq!(warnings(&measurement), [""; 0], "{driver}");

        let list = std::fs::read_to_string(directory.path().join("pictures.json")).unwrap();
        let list: Value = serde_json::from_str(&list).unwrap();
        let last = list["pictures"].as_array().unwrap().last().unwrap()["file"].as_str().unwrap();
        let file = std::fs::File::open(directory.path().join(last)).unwrap();
        let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut rgb).unwrap();
        assert_eq!((info.width as usize, info.height as usize), (WIDTH, HEIGHT));
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                let at = 3 * (y * WIDTH + x);
                assert_eq!(rgb[at..at + 3], painted(x, y), "{driver}: {x}, {y}");
            }
        }
    }
}

/// Pixels in a second, share of the time in which words are under way, share in which the core is
/// awake.
struct Figures {
    pixels: f64,
    busy: f64,
    awake: f64,
    span_ps: f64,
}

fn figures(driver: &str) -> Figures {
    let elf = firmware(driver);
    let run = ["bus", &elf, "--board", BOARD, "--trigger", "draw", "--until", "drawn", "-q"];
    let decoder = ["-P", "spi:clk=SCL:mosi=SDA:cs=CS:dc=bit", "--unit", "pixel=2"];
    let more = ["--errors-only", "--format", "json"];
    let (report, _) = strobe(&[&run[..], &decoder, &more].concat());
    let report: Value = serde_json::from_str(&report).unwrap();
    let cell = |table: &str, column: &str| {
        let sections = report["sections"].as_array().expect("sections");
        let table = sections.iter().find(|section| section["id"] == table).expect("its table");
        let columns = table["content"]["table"]["columns"].as_array().expect("columns");
        let column = columns.iter().find(|other| other["id"] == column).expect("its column");
        let cell = &column["cells"][0];
        // One with bounds is an object.
        cell.as_f64().or_else(|| cell["value"].as_f64()).expect("a number")
    };
    let total = |id: &str| {
        let totals = report["totals"].as_array().expect("totals");
        let total = totals.iter().find(|total| total["id"] == id).expect("a total");
        total["value"].as_f64().expect("its value")
    };
    assert_eq!(total("faults"), 0.0, "{driver}");
    // Two words a pixel; the window is two commands with four parameters each, and one more command
    // begins the pixels.
    assert_eq!(total("words"), (2 * PIXELS + 11) as f64, "{driver}");
    Figures {
        pixels: total("unit-rate"),
        busy: cell("lines", "busy") / cell("lines", "span"),
        awake: cell("core", "awake") / cell("core", "cycles"),
        span_ps: cell("lines", "span"),
    }
}

#[test]
fn each_driver_costs_the_expected_time() {
    let [bitbang, spi, dma] = ["bitbang", "spi", "dma"].map(figures);
    // 18 bits at 12 MHz are 1.5 us: no driver can do better, and DMA comes close.
    let limit = 12e6 / 18.0;
    assert!(dma.pixels <= limit * 1.0001 && dma.pixels > 0.99 * limit, "{}", dma.pixels);
    assert!(dma.busy > 0.99 && dma.busy <= 1.0, "{}", dma.busy);
    // SPI waits while a row is made, DMA does not: what it takes longer is 320 rows.
    assert!(spi.pixels < 0.9 * dma.pixels && spi.pixels > 0.5 * dma.pixels, "{}", spi.pixels);
    assert!(spi.busy < dma.busy && spi.busy > 0.5, "{}", spi.busy);
    // By hand a bit takes two stores of two cycles at least, and never less than 4 / 48 us.
    assert!(bitbang.pixels < 48e6 / (18.0 * 4.0) / 2.0, "{}", bitbang.pixels);
    assert!(bitbang.pixels < 0.5 * spi.pixels, "{}", bitbang.pixels);
    // Who feeds the wires is never asleep; with DMA the core makes rows, which is some of the time,
    // and sleeps.
    assert_eq!((bitbang.awake, spi.awake), (1.0, 1.0));
    assert!(dma.awake > 0.2 && dma.awake < 0.5, "{}", dma.awake);
    // Whole picture: so many pixels at that rate.
    for figures in [bitbang, spi, dma] {
        let pixels = figures.pixels * figures.span_ps / 1e12;
        assert!((pixels - PIXELS as f64).abs() < 8.0, "{pixels}");
    }
}
