//! The LED cube (firmware/cube): its budget, its serial line, and what it shows.

use std::collections::BTreeMap;
use std::path::Path;

use crate::common::figures::*;
use crate::common::{array, measured, prebuilt, root, strobe};
use serde_json::Value;
use strobe_model::measurement::{Content, Measurement};
use strobe_synth::{CardLayout, CubeFrame, PACKET_BYTES, SIDE, animation_file, card_image};
use tempfile::TempDir;

/// Cycles from one layer to the next, and nanoseconds from one refresh of all to the next: 177.6
/// Hz.
const LAYER_CYCLES: u64 = 8192;
const REFRESH_NS: u64 = 11 * LAYER_CYCLES * 1_000_000_000 / 16_000_000;

/// Writes a file into a directory and returns its path.
fn file(directory: &TempDir, name: &str, contents: &[u8]) -> String {
    let path = directory.path().join(name);
    std::fs::write(&path, contents).unwrap();
    path.display().to_string()
}

/// The cube alone, given bytes on its serial line. Returns what was measured and what it answered.
fn cube_alone(program: &str, bytes: &[u8], more: &[&str]) -> (Measurement, String) {
    let directory = tempfile::tempdir().unwrap();
    let input = format!("USART0=file:{}", file(&directory, "in", bytes));
    let answers = directory.path().join("out");
    let output = format!("USART0=file:{}", answers.display());
    let program = prebuilt(program);
    let fixed =
        [&program, "--board", "arduino-uno", "--uart-input", input.as_str(), "--uart", &output];
    let (code, ran) = run(&[&fixed, more].concat());
    // A test point that never changes ends the run with a code of its own.
    let never = warnings(&ran).concat().contains("--mark");
    assert_eq!(code, if never { 122 } else { 0 });
    (ran, std::fs::read_to_string(answers).unwrap())
}

/// Packets at fifty in a second: 672 bytes, then 328 that are not looked at.
fn paced(packets: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let pause = [0; 1000 - PACKET_BYTES];
    packets.into_iter().flat_map(|packet| [&packet[..], &pause].concat()).collect()
}

fn packets(count: u16) -> Vec<Vec<u8>> {
    (0..count).map(|n| CubeFrame::animation(n.into()).packet(n)).collect()
}

/// The longest latency of an interrupt, in cycles.
fn latency(ran: &Measurement, name: &str) -> u64 {
    figure(ran, "interrupts", name, "latency-max")
}

/// How many widths of that name there are: pulses of a test point.
fn pulses(ran: &Measurement, name: &str) -> usize {
    let Some(section) = ran.section("pins") else { return 0 };
    let Content::Distributions(all) = &section.content else { panic!("{section:?}") };
    let found = all.distributions.iter().find(|series| series.name == name);
    found.map_or(0, |series| series.values.len())
}

/// How often a pin changed, of whose n edges there are n - 1 widths.
fn edges(ran: &Measurement, pin: &str) -> usize {
    let widths: usize =
        ["high", "low"].iter().map(|level| pulses(ran, &format!("{pin} {level}"))).sum();
    if widths == 0 { 0 } else { widths + 1 }
}

/// What a run of the whole rig gave.
struct Shown {
    chips: BTreeMap<String, Measurement>,
    /// (gray by row, first and last nanosecond, how often in a row).
    pictures: Vec<(Vec<u8>, u64, u64, u64)>,
}

/// Runs the rig with a card in it.
fn play(card: &[u8], until: &str, more: &[&str]) -> Shown {
    let directory = tempfile::tempdir().unwrap();
    let rig = root().join("firmware/cube/cube.toml").display().to_string();
    let card = format!("card={}", file(&directory, "card.img", card));
    let folder = directory.path().join("pictures");
    let path = folder.display().to_string();
    let fixed = ["run", "--rig", &rig, "--insert", &card, "--until", until, "--pictures", &path];
    let (code, rig) = measured(&[&fixed[..], more].concat());
    assert_eq!(code, 0, "{:?}", rig.findings);
    let chips = rig.parts.into_iter().map(|chip| {
        assert_balanced(&chip.measurement);
        (chip.name, chip.measurement)
    });
    let list = std::fs::read_to_string(folder.join("pictures.json")).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    let pictures = array(&list["pictures"]).iter().map(|entry| {
        let at = |key: &str| entry[key].as_u64().expect("a number");
        let gray = gray(&folder.join(entry["file"].as_str().unwrap()));
        (gray, at("first_ns"), at("last_ns"), at("times"))
    });
    Shown { chips: chips.collect(), pictures: pictures.collect() }
}

/// Runs the rig with the first `frames` of the animation on a card of that layout.
fn animated(layout: CardLayout, frames: u16, until: &str) -> Shown {
    play(&card_image(layout, "CUBE.ANI", &animation_file(frames)).unwrap(), until, &[])
}

/// The pixels of a picture file of the cube.
fn gray(path: &Path) -> Vec<u8> {
    gray_of(path, 47, 35)
}

/// The pixels of a picture file of so many columns and rows, whose colours are all gray.
fn gray_of(path: &Path, columns: usize, rows: usize) -> Vec<u8> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = png::Decoder::new(file).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let zoom = info.width as usize / columns;
    assert_eq!((info.width, info.height), ((zoom * columns) as u32, (zoom * rows) as u32));
    assert_eq!(info.color_type, png::ColorType::Rgb);
    assert!(pixels.chunks(3).all(|p| p[0] == p[1] && p[1] == p[2]));
    let rows = pixels.chunks(3 * zoom * columns).step_by(zoom);
    rows.flat_map(|row| row.chunks(3).step_by(zoom).map(|p| p[0])).collect()
}

/// What a frame should look like: layers four in a row with gaps of a pixel, each LED by the root
/// of the share of 4096 grayscale clocks that the firmware's table, 4000 (v / 15) ^ 2.2, gives it.
fn expected(frame: &CubeFrame) -> Vec<u8> {
    let mut pixels = vec![0; 47 * 35];
    for (led, &value) in frame.leds().iter().enumerate() {
        let (x, y, layer) = (led % SIDE, led / SIDE % SIDE, led / SIDE / SIDE);
        let clocks = (4000.0 * (f64::from(value) / 15.0).powf(2.2)).round();
        let at = (layer / 4 * (SIDE + 1) + y) * 47 + layer % 4 * (SIDE + 1) + x;
        pixels[at] = (255.0 * (clocks / 4096.0).sqrt()).round() as u8;
    }
    pixels
}

/// Which frame of the animation each picture shows, but those before the first.
fn frames_shown(shown: &Shown, count: u16) -> Vec<usize> {
    let frames: Vec<Vec<u8>> =
        (0..count).map(|n| expected(&CubeFrame::animation(n.into()))).collect();
    let lit = shown.pictures.iter().skip_while(|(gray, ..)| gray.iter().all(|&pixel| pixel == 0));
    let find = |gray: &Vec<u8>| frames.iter().position(|frame| frame == gray);
    lit.map(|(gray, first, ..)| find(gray).unwrap_or_else(|| panic!("no frame at {first} ns")))
        .collect()
}

#[test]
fn cube_shows_the_cards_content_by_frame() {
    let shown = animated(CardLayout::PLAIN, 40, "800ms");
    // The last picture need not have been seen by the end.
    assert_eq!(frames_shown(&shown, 40)[..34], (0..34).collect::<Vec<_>>());
    for (_, first, last, times) in &shown.pictures {
        // 177.6 times in a second; one that an interrupt delays is late by up to 12 us.
        assert!((last - first).abs_diff((times - 1) * REFRESH_NS) < 12_000, "at {first} ns");
    }
    // Twenty milliseconds are three refreshes and a half.
    assert!(shown.pictures[1..34].iter().all(|&(.., times)| (3..=4).contains(&times)));
    for (name, chip) in &shown.chips {
        assert_eq!(warnings(chip), [""; 0], "{name}");
        assert_exact(chip);
    }
}

/// RAM: what is linked and the deepest stack seen must leave room.
#[test]
fn both_chips_have_ram_to_spare() {
    let shown = animated(CardLayout::PLAIN, 5, "300ms");
    for (chip, ram, room) in [("cube", 2048, 400), ("player", 512, 200)] {
        let ran = &shown.chips[chip];
        let linked = ran.subject.facts.iter().find(|fact| fact.name == "RAM");
        let linked = linked.and_then(|fact| fact.figure.as_ref()?.value()).expect("RAM").as_u64();
        let stack = number(&column(ran, "stacks", "used")[0]);
        let used = linked + stack;
        assert!(stack > 0 && used + room < ram, "{chip}: {linked}, {used} of {ram}");
    }
}

/// On the clock's pin: eight clocks of two cycles, then low until the next byte.
#[test]
fn bytes_go_out_22_22_and_23_cycles_apart() {
    let program = prebuilt("cube");
    let (_, ran) =
        run(&[&program, "--board", "arduino-uno", "--until", "3ms", "--mark", "PB5,pair"]);
    let low = widths(&ran, "PB5 low");
    let layers: Vec<&[u64]> = low.split(|&width| width > 100).collect();
    let whole = layers.iter().filter(|layer| layer.len() == 192 * 8 - 1);
    assert!(whole.clone().count() >= 4);
    for layer in whole {
        let pauses: Vec<u64> = layer.iter().skip(7).step_by(8).map(|low| low + 15).collect();
        assert_eq!(pauses.len(), 191);
        for (i, pause) in pauses.iter().enumerate() {
            assert_eq!(*pause, [22, 22, 23][i % 3], "behind byte {i}");
        }
    }
    // Two outputs in 67 cycles, all 128 in 4288, 52.3 % of 8192.
    let pairs = widths(&ran, "pair to pair");
    assert_eq!(pairs.iter().filter(|&&cycles| cycles == 67).count(), 4 * 63);
}

/// The source states what each line costs, counted by hand: 63 cycles for two outputs. What is
/// wrong shows beside it.
#[test]
fn hand_count_slip_is_found_by_line() {
    let program = prebuilt("cube");
    let root = root().display().to_string();
    let ran = strobe(&[
        "run",
        &program,
        "--board",
        "arduino-uno",
        "--until",
        "20ms",
        "--annotate",
        "shift_out",
        "--source",
        &root,
    ]);
    let lines = ran.stdout.lines().skip_while(|line| !line.starts_with("shift_out: "));
    let lines = lines.skip_while(|line| !line.contains(" cycles ")).skip(1);
    let mut rows: Vec<(u64, Option<u64>, String)> = Vec::new();
    for line in lines.take_while(|line| line.contains("refresh.S:")) {
        let (cycles, text) = line.trim_start().split_once(' ').unwrap();
        let cycles = cycles.replace(',', "").parse().unwrap();
        let text = text.split_once("refresh.S:").unwrap().1;
        let code = text.split_once("  ").map_or(text, |(_, code)| code);
        match code.split_once("; | ") {
            Some((code, comment)) => {
                let hand = comment.split_whitespace().next().unwrap().parse().unwrap();
                rows.push((cycles, Some(hand), code.trim().to_owned()));
            }
            // SWAP belongs to the line before: together they are two cycles either way.
            None if code.starts_with("swap") => rows.last_mut().unwrap().0 += cycles,
            None => rows.push((cycles, None, code.to_owned())),
        }
    }
    let turns = rows.iter().find(|(.., code)| code.starts_with("dec r23")).unwrap().0;
    // All lines are run as often as DEC, but for the turn that the end of the run cut and BRNE's
    // last cycle.
    let each = |cycles: u64| (cycles + turns / 2) / turns;
    let counted =
        rows.iter().filter_map(|(cycles, hand, code)| hand.map(|h| (each(*cycles), h, code)));
    let counted: Vec<(u64, u64, &String)> = counted.collect();
    assert_eq!(counted.iter().map(|(_, hand, _)| hand).sum::<u64>(), 63);
    assert_eq!(counted.iter().map(|(seen, ..)| seen).sum::<u64>(), 67);
    let wrong = counted.iter().filter(|(seen, hand, _)| seen != hand);
    let wrong: Vec<(u64, u64, &str)> =
        wrong.map(|(seen, hand, code)| (*seen, *hand, code.as_str())).collect();
    let through_x = |register: &'static str| (2, 1, register);
    assert_eq!(
        wrong,
        ["ld r25, X", "ld r18, X", "ld r25, X", "ld r25, X"].map(through_x),
        "loads through X take two cycles"
    );
}

/// Byte times of 320 cycles and refreshes of 8192 have all places to one another in 40960 cycles,
/// for each of 64 beginnings.
#[test]
fn every_byte_is_read_before_the_next_arrives() {
    let bytes = paced(packets(2));
    let mut worst = (0, 0);
    for start in 0..64u64 {
        let after = format!("{}ns", 1_000_000 + (start * 125).div_ceil(2));
        let more = ["--uart-input-after", &after, "--until", "18ms"];
        let (ran, answers) = cube_alone("cube", &bytes, &more);
        assert_eq!(answers, "");
        let latest = |name: &str| latency(&ran, name);
        worst = (worst.0.max(latest("USART_RX")), worst.1.max(latest("TIMER1_COMPA")));
    }
    let (byte, refresh) = worst;
    // Worst for a byte is the head of the refresh, for that the end of a frame's part.
    assert!((30..60).contains(&byte), "{byte} cycles");
    assert!(
        (100..192).contains(&refresh),
        "{refresh} cycles: more would take light from the brightest LEDs"
    );
}

#[test]
fn bad_frames_are_answered_and_the_next_shown() {
    let good = packets(9);
    let mut bytes = paced(good[..2].to_vec());
    let damaged = |n: usize, damage: &dyn Fn(&mut Vec<u8>)| {
        let mut packet = good[n].clone();
        damage(&mut packet);
        paced([packet])
    };
    bytes.extend(damaged(2, &|packet| packet[300] ^= 0x10));
    bytes.extend(damaged(3, &|packet| {
        packet.remove(400);
    }));
    bytes.extend(paced(good[4..5].to_vec()));
    bytes.extend(damaged(5, &|packet| packet[671] = 0));
    // Two without a pause: the second finds no room.
    bytes.extend(&good[6]);
    bytes.extend(paced(good[7..8].to_vec()));
    bytes.extend(paced(good[8..9].to_vec()));
    // Breaks off.
    bytes.extend(&good[0][..100]);
    let (ran, answers) = cube_alone("cube", &bytes, &["--until", "250ms", "--mark", "PD7"]);
    // Which of two is refused depends on when the refresh took the one before over; here it is the
    // second.
    assert_eq!(answers, "SSEBT");
    assert_eq!(pulses(&ran, "PD7 high"), 5, "frames 0, 1, 4, 6 and 8");
}

/// The experiment: the refresh keeps serial bytes waiting on purpose. By more than a byte's time
/// nothing is lost, for the receiver holds two and a third in its shift register; by more than
/// that, every frame is.
#[test]
fn frames_are_lost_when_the_interrupt_is_too_late() {
    let bytes = paced(packets(20));
    let lit_by = |program: &str| {
        let (ran, answers) = cube_alone(program, &bytes, &["--until", "420ms", "--mark", "PD7"]);
        (pulses(&ran, "PD7 high"), answers, latency(&ran, "USART_RX"), ran)
    };
    let (taken, answers, latency, ran) = lit_by("cube-late");
    assert_eq!((taken, answers.as_str()), (20, ""));
    assert!(latency > 320, "{latency}");
    assert_eq!(warnings(&ran), [""; 0]);
    let (taken, answers, _, ran) = lit_by("cube-too-late");
    assert_eq!(taken, 0);
    assert!(answers.len() >= 15 && answers.chars().all(|c| c == 'S'), "{answers}");
    let warnings = warnings(&ran).concat();
    let overrun = "USART0: bytes came in before the firmware took those before";
    assert!(warnings.contains(overrun) && warnings.contains("--mark PD7"), "{warnings}");
}

/// The whole rig with that cube: the player counts the complaints with its LED and goes on.
#[test]
fn the_player_goes_on_when_the_cube_complains() {
    let late = format!("cube={}", prebuilt("cube-too-late"));
    let card = card_image(CardLayout::PLAIN, "CUBE.ANI", &animation_file(30)).unwrap();
    let more = ["--load", &late, "--chip", "player", "--mark", "TXLED,RXLED"];
    let shown = play(&card, "500ms", &more);
    let player = &shown.chips["player"];
    let (sent, complaints) = (edges(player, "PD5"), edges(player, "PD4"));
    assert!(sent >= 23 && complaints + 2 >= sent && complaints <= sent, "{complaints} of {sent}");
}

#[test]
fn the_reader_follows_fat16_and_fat32_chains() {
    let fat16 =
        CardLayout { fat32: false, cluster_bytes: 1024, partitioned: false, fragmented: true };
    let fat32 = CardLayout { fat32: true, cluster_bytes: 512, partitioned: true, fragmented: true };
    for (name, layout) in [("fat16", fat16), ("fat32", fat32)] {
        // After twelve frames the file begins anew.
        let shown = animated(layout, 12, "450ms");
        let frames = frames_shown(&shown, 12);
        assert!(frames.len() >= 16, "{name}: {frames:?}");
        let in_order: Vec<usize> = (0..frames.len()).map(|n| n % 12).collect();
        assert_eq!(frames, in_order, "{name}");
        for (chip, ran) in &shown.chips {
            assert_eq!(warnings(ran), [""; 0], "{name}: {chip}");
        }
    }
}

#[test]
fn cards_without_the_file_leave_the_cube_dark() {
    let no_file = card_image(CardLayout::PLAIN, "OTHER.ANI", &animation_file(3)).unwrap();
    for (name, card) in
        [("no-file", no_file), ("blank", vec![0; 4096]), ("noise", vec![0xa5; 70_000])]
    {
        let shown = play(&card, "250ms", &["--chip", "player", "--mark", "TXLED"]);
        let player = &shown.chips["player"];
        assert_eq!(edges(player, "PD5"), 0, "{name}");
        assert_eq!(ended(player), "limit");
        assert!(shown.pictures.iter().all(|(gray, ..)| gray.iter().all(|&p| p == 0)), "{name}");
    }
}

/// Two drivers with dot correction 63, 62, 61 ... by output, which the firmware reads back, an open
/// LED, which it finds, and layers that low levels switch on: a ramp of brightness on each.
#[test]
fn dot_correction_is_read_back_and_seen() {
    let directory = tempfile::tempdir().unwrap();
    let rig = root().join("firmware/dots/dots.toml").display().to_string();
    let said = directory.path().join("said");
    let uart = format!("USART0=file:{}", said.display());
    let folder = directory.path().join("pictures");
    let pictures = folder.display().to_string();
    let (code, ran) = measured(&[
        "run",
        "--rig",
        &rig,
        "--until",
        "20ms",
        "--uart",
        &uart,
        "--pictures",
        &pictures,
    ]);
    assert_eq!(code, 0, "{:?}", ran.findings);
    assert_eq!(warnings(&ran.parts[0].measurement), [""; 0]);
    let said = std::fs::read_to_string(said).unwrap();
    assert_eq!(said, "dot correction ok\nopen LEDs: 17 30 31\n");
    let list = std::fs::read_to_string(folder.join("pictures.json")).unwrap();
    let list: Value = serde_json::from_str(&list).unwrap();
    let last = array(&list["pictures"]).last().expect("a picture");
    let picture = gray_of(&folder.join(last["file"].as_str().unwrap()), 32, 3);
    // An LED of output n is lit for 132 n of 4096 grayscale clocks, with (63 - n) / 63 of the
    // current.
    let lit = |output: usize| {
        let share = (132 * output) as f64 / 4096.0 * (63 - output) as f64 / 63.0;
        if output == 17 { 0 } else { (255.0 * share.sqrt()).round() as u8 }
    };
    for (at, &pixel) in picture.iter().enumerate() {
        let (x, y) = (at % 32 % 11, at / 32);
        // Three rows to a column, every second one upwards; a gap behind ten columns.
        let output = 3 * x + if x % 2 == 0 { y } else { 2 - y };
        assert_eq!(pixel, if x == 10 { 0 } else { lit(output) }, "column {x}, row {y}");
    }
}
