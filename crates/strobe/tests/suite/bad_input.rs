//! Whatever it is given, `strobe` reports in one message what is wrong, ends with the documented
//! exit code, and never panics. Where firmware ran at all, there is a report.

mod arguments;
mod boards;
mod faults;
mod files;
mod grammar;
mod output;
mod runs;

use std::fs;

use crate::common::{Ran, command, ran};
use strobe_synth::{Assembler, ElfBuilder};
use tempfile::TempDir;

const FLASH: u32 = 0;
const STM32_FLASH: u32 = 0x0800_0000;
const STACK_TOP: u32 = 0x2000_1000;
/// Where code starts behind the vectors of the sixteen system exceptions.
const CODE_OFFSET: u32 = 0x40;

/// Calls `strobe` in a directory that holds the file `firmware.elf`, so that messages name no other
/// path.
fn with_file(bytes: &[u8], arguments: &[&str]) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("firmware.elf"), bytes).unwrap();
    in_directory(&directory, arguments)
}

fn in_directory(directory: &TempDir, arguments: &[&str]) -> Ran {
    ran(command().args(arguments).current_dir(directory.path()))
}

/// Runs a file that cannot be used and returns the one message about it.
fn refused(bytes: &[u8]) -> String {
    let ran = with_file(bytes, &["run", "firmware.elf"]);
    message(&ran, 65)
}

/// The one message of a call that must fail, without a result.
fn message(ran: &Ran, code: i32) -> String {
    assert_eq!(ran.code, code, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout, "");
    assert_one_message(&ran.stderr);
    ran.stderr.clone()
}

fn assert_one_message(stderr: &str) {
    let messages = stderr.lines().filter(|line| !line.starts_with("  ")).count();
    assert!(messages == 1 && stderr.starts_with("strobe: "), "not one message:\n{stderr}");
}

/// Messages, each with what it is about, for a snapshot.
#[derive(Default)]
struct Messages(String);

impl Messages {
    fn add(&mut self, what: &str, message: &str) {
        self.0 += &format!("{what}:\n{message}\n");
    }
}

/// Vectors that point every exception at the code's start, then the code.
fn image(stack: u32, entry: u32, code: &[u8]) -> Vec<u8> {
    let mut words = vec![stack];
    words.resize(CODE_OFFSET as usize / 4, entry);
    words.iter().flat_map(|word| word.to_le_bytes()).chain(code.iter().copied()).collect()
}

/// A firmware whose only function, `main`, is this code.
fn firmware(base: u32, code: impl FnOnce(&mut Assembler)) -> Vec<u8> {
    let start = base + CODE_OFFSET;
    let mut assembler = Assembler::new(start);
    code(&mut assembler);
    let (code, _) = assembler.finish();
    let mut elf = ElfBuilder::new();
    elf.entry = start | 1;
    elf.code(base, &image(STACK_TOP, start | 1, &code));
    elf.function("main", start, code.len() as u32);
    elf.build()
}

/// `b .`
fn spin(asm: &mut Assembler) {
    let here = asm.label_here();
    asm.b(here);
}

/// A sound firmware that spins, with something changed.
fn changed(change: impl FnOnce(&mut ElfBuilder)) -> Vec<u8> {
    let mut elf = ElfBuilder::new();
    elf.entry = CODE_OFFSET | 1;
    elf.code(FLASH, &image(STACK_TOP, CODE_OFFSET | 1, &[0xfe, 0xe7]));
    change(&mut elf);
    elf.build()
}

/// Runs a firmware that gets as far as running and expects a report that balances.
fn reported(elf: &[u8], arguments: &[&str], code: i32) -> String {
    let all = [&["run", "firmware.elf"], arguments].concat();
    let ran = with_file(elf, &all);
    assert_eq!(ran.code, code, "{}\n{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stderr, "");
    assert!(ran.stdout.contains("\n  balance"), "{}", ran.stdout);
    ran.stdout
}

/// Checks that a report has all of these words, wherever lines break.
fn assert_reported(report: &str, words: &[&str]) {
    let flat = report.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(flat.contains(word), "no {word:?} in\n{report}");
    }
}
