//! Chips that no board file describes, and names for what boards do not model.

use super::waits::{self, load};
use crate::common::figures::*;
use crate::common::{prebuilt, root, strobe};

fn svd(name: &str) -> String {
    root().join("crates/strobe/tests/svd").join(name).display().to_string()
}

/// hello-uart switches to its PLL and waits for its serial port; neither is there.
#[test]
fn unlisted_chip_runs_as_far_as_registers_allow() {
    let part = svd("part.svd");
    let (code, ran) = run(&[&prebuilt("hello-uart"), "--svd", &part, "--until", "finished"]);
    assert_eq!(code, 0, "{:?}", ran.findings);
    assert_eq!(board(&ran), Some("PARTF070"));
    assert_eq!(core(&ran), Some("Cortex-M0"));
    assert_eq!(ended(&ran), "reached");
    let touched = texts(&ran, "unmodelled", "register");
    for name in ["RCC.CR", "RCC.CFGR", "FLASH.ACR", "USART1.CR1", "USART1.ISR", "USART1.TDR"] {
        assert!(touched.contains(&name), "{name}: {touched:?}");
    }
    let warnings = warnings(&ran).concat();
    assert!(warnings.contains("no board file describes PARTF070"), "{warnings}");
    assert!(
        warnings.contains("flash 0x08000000..0x08100000, ram 0x20000000..0x20004000"),
        "{warnings}"
    );
    assert!(warnings.contains("USART1.BRR at 0x4001380c is read-only"), "{warnings}");
}

/// Registers that the SVD file has are the named chip's: that a board has devices there shows
/// nothing.
#[test]
fn a_chip_that_is_named_is_not_advised_against() {
    // ldr r0, =USART1; back: ldr r1, [r0, #0x1c]; cmp r1, #1; bne back; b .
    let code = [load(0, 0), 0x69c1, 0x2901, 0xd1fc, 0xe7fe, 0x4770];
    let functions = [("main", 0, 10), ("other", 10, 2)];
    let elf = waits::at(0x0800_0000, &code, &functions, &[0x4001_3800]);
    let until = ["--until", "200000c"];
    let named = waits::run(&elf, &[&["--svd", &svd("part.svd")], &until[..]].concat());
    let text = warnings(&named).concat();
    assert!(text.contains("waits for a register that is not modelled"), "{text}");
    assert!(text.contains("devices that the SVD file describes are not modelled"), "{text}");
    assert!(!text.contains("--board"), "{text}");
}

/// A flag of a clock that nobody switched on, or of a device that is not there, until a count runs
/// out: the firmware goes another way then than on the chip.
#[test]
fn register_awaited_in_vain_is_named_after_giving_up() {
    // ldr r0, =BLOCK; ldr r2, =20000
    // back: ldr r1, [r0, #0x24]; lsls r3, r1, #30; bmi on; subs r2, #1; bne back
    // on: str r2, [r0, #0x18]; ldr r2, =20000; less: subs r2, #1; bne less; b .
    let code = [
        load(0, 0),
        load(2, 1),
        0x6a41,
        0x078b,
        0xd401,
        0x3a01,
        0xd1fa,
        0x6182,
        load(2, 1),
        0x3a01,
        0xd1fd,
        0xe7fe,
        0x4770,
    ];
    let functions = [("main", 0, 24), ("other", 24, 2)];
    let words = |block: u32, turns: u32| {
        let elf = waits::at(0x0800_0000, &code, &functions, &[block, turns]);
        let measurement = waits::run(&elf, &["--board", "stm32f070cb", "--until", "400000c"]);
        warnings(&measurement).concat()
    };
    let flag = words(0x4002_1000, 20_000);
    let named = ["in vain and went on: ", "read RCC at 0x40021024 20,000 times"];
    assert!(named.iter().all(|words| flag.contains(words)), "{flag}");
    let absent = words(0x4000_7400, 20_000);
    assert!(absent.contains("0x40007424 20,000 times"), "{absent}");
    let few = words(0x4002_1000, 200);
    assert!(!few.contains("in vain"), "{few}");
}

#[test]
fn options_describing_the_chip_take_effect() {
    let (code, ran) = run(&[
        &prebuilt("loop-0ws"),
        "--memory",
        "flash=0x08000000:128K,ram=0x20000000:0x4000",
        "--clock",
        "24MHz",
        "--until",
        "finished",
    ]);
    assert_eq!(code, 0);
    assert_eq!(hertz(&ran)[0], 24_000_000);
    let warnings = warnings(&ran).concat();
    assert!(warnings.contains("as given by --memory"), "{warnings}");
}

#[test]
fn svd_names_unmodelled_registers_of_a_listed_board() {
    let part = svd("part.svd");
    let arguments = [&prebuilt("hello-uart"), "--svd", &part, "--until", "210ms"];
    let (code, ran) = run(&[&arguments[..], &["--board", "stm32f070cb"]].concat());
    assert_eq!(code, 0);
    assert_eq!(board(&ran), Some("stm32f070cb"));
    assert!(ran.section("unmodelled").is_none(), "the board models all that it uses");
}

#[test]
fn invalid_svd_files_are_refused_with_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("broken.svd");
    std::fs::write(
        &path,
        "<device>\n<name>X</name>\n<peripherals>\n<peripheral/>\n</peripherals></device>",
    )
    .unwrap();
    let path = path.display().to_string();
    let ran = strobe(&["run", &prebuilt("hello-uart"), "--svd", &path]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert!(ran.stderr.contains("broken.svd: SVD file: "), "{}", ran.stderr);
    assert!(ran.stderr.contains("at line 4, column"), "{}", ran.stderr);
    let ran = strobe(&["run", &prebuilt("hello-uart"), "--svd", "nowhere.svd"]);
    assert_eq!(ran.code, 66, "{}", ran.stderr);
    let ran = strobe(&["run", &prebuilt("hello-uart"), "--memory", "rom=0:1"]);
    assert_eq!(ran.code, 64, "{}", ran.stderr);
}
