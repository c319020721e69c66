//! Reference results from `llvm-symbolizer --inlines`.
//!
//! Both symbolisers look up every address that can start an instruction. Differences are errors
//! except for the named ones in [`Exception`], each with its reason and its narrow condition.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use strobe_symbols::{CodeKind, Firmware, Frame};

use super::build::{Workshop, run};
use super::discarded;

/// A frame in the notation of llvm-symbolizer: `??` and 0 for unknown values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JudgedFrame {
    pub(crate) name: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl From<&Frame<'_>> for JudgedFrame {
    fn from(frame: &Frame<'_>) -> Self {
        JudgedFrame {
            name: frame.linkage_name.unwrap_or("??").to_owned(),
            file: frame.file.unwrap_or("??").to_owned(),
            line: frame.line.unwrap_or(0),
            column: frame.column.unwrap_or(0),
        }
    }
}

/// Accepted differences.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exception {
    /// Several symbols share the address: llvm-symbolizer takes the last in the symbol table, we
    /// the one that the debug information names or the most specific one.
    Alias,
    /// An assembly label inside a function of known size: llvm-symbolizer interprets the label as a
    /// function.
    LabelInFunction,
    /// Padding after an assembly function: GNU as writes the function's bounds with the Thumb bit,
    /// so that they end one byte late, and llvm-symbolizer does not correct them.
    PaddingAfterFunction,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) inlined: usize,
    pub(crate) with_lines: usize,
    pub(crate) exceptions: BTreeMap<Exception, usize>,
}

/// Compares on every even address of the code and every instruction that `llvm-objdump` finds;
/// panics on a difference.
pub(crate) fn compare(path: &Path) -> Verdict {
    let firmware =
        Firmware::parse(std::fs::read(path).expect("the ELF file")).expect("a firmware image");
    let addresses = instruction_addresses(&firmware, path);
    assert!(!addresses.is_empty(), "{}: no code to compare on", path.display());
    let workshop = Workshop::new();
    // At address 0 llvm-symbolizer cannot distinguish code from discarded functions; otherwise a
    // vector table is there.
    let judged = match firmware.code_kind(0) {
        Some(CodeKind::Data) => ask(&discarded::hide(path, &workshop), &addresses),
        _ => ask(path, &addresses),
    };
    let batch = firmware.frames_batch(&addresses);
    let mut verdict = Verdict::default();
    let mut differences = String::new();
    let mut count = 0;
    for (n, (&address, theirs)) in addresses.iter().zip(&judged).enumerate() {
        assert_eq!(
            batch.get(n),
            Some(&firmware.frames(address)),
            "batch and single lookup differ at {address:#x}"
        );
        let mut ours: Vec<JudgedFrame> =
            firmware.frames(address).frames.iter().map(JudgedFrame::from).collect();
        if ours.is_empty() {
            ours.push(JudgedFrame { name: "??".into(), file: "??".into(), line: 0, column: 0 });
        }
        verdict.inlined += usize::from(ours.len() > 1);
        verdict.with_lines += usize::from(ours[0].line != 0);
        if ours == *theirs {
            continue;
        }
        match exception(&firmware, address, &ours, theirs) {
            Some(exception) => *verdict.exceptions.entry(exception).or_default() += 1,
            None => {
                count += 1;
                if count <= 5 {
                    let _ = writeln!(
                        differences,
                        "{address:#x}\n  ours   {ours:?}\n  theirs {theirs:?}"
                    );
                }
            }
        }
    }
    assert!(
        count == 0,
        "{}: {count} of {} addresses differ:\n{differences}",
        path.display(),
        addresses.len()
    );
    verdict
}

fn exception(
    firmware: &Firmware,
    address: u32,
    ours: &[JudgedFrame],
    theirs: &[JudgedFrame],
) -> Option<Exception> {
    // Only the outermost frame may differ, and only in its name; a local label may have a file from
    // the symbol table.
    let (our_outer, our_rest) = ours.split_last()?;
    let (their_outer, their_rest) = theirs.split_last()?;
    let place = |frame: &JudgedFrame| (frame.file.clone(), frame.line, frame.column);
    let same_place = place(our_outer) == place(their_outer);
    let is_label_file = (our_outer.file.as_str(), our_outer.line, their_outer.line) == ("??", 0, 0);
    if our_rest != their_rest || !(same_place || is_label_file) {
        return None;
    }
    let Some(function) = firmware.function_at(address) else {
        let before = firmware.symbol(&their_outer.name).ok()?.function?;
        let is_padding =
            our_outer.name == "??" && firmware.function(before).end() == u64::from(address);
        return is_padding.then_some(Exception::PaddingAfterFunction);
    };
    let function = firmware.function(function);
    if same_place && function.aliases.contains(&their_outer.name) {
        return Some(Exception::Alias);
    }
    let label = firmware.symbol(&their_outer.name).ok()?;
    let is_inside =
        label.function.is_none() && label.address > function.start && label.address <= address;
    is_inside.then_some(Exception::LabelInFunction)
}

fn instruction_addresses(firmware: &Firmware, path: &Path) -> Vec<u32> {
    let mut addresses: BTreeSet<u32> = BTreeSet::new();
    for range in firmware.code_ranges() {
        addresses.extend((range.start..range.end).step_by(2).map(|address| address as u32));
    }
    let listing =
        run(Command::new(tool("llvm-objdump")).args(["-d", "--no-show-raw-insn"]).arg(path));
    for line in listing.lines() {
        let Some((address, text)) = line.trim_start().split_once(':') else { continue };
        let is_instruction = text.trim_start().starts_with(|c: char| c.is_ascii_alphabetic());
        if let (true, Ok(address)) = (is_instruction, u32::from_str_radix(address, 16)) {
            addresses.insert(address);
        }
    }
    addresses.into_iter().collect()
}

/// Debian's name for the tool of LLVM 14, whose behaviour the exceptions describe.
fn tool(name: &str) -> String {
    format!("{name}-14")
}

/// Queries llvm-symbolizer for all addresses at once.
pub(crate) fn ask(path: &Path, addresses: &[u32]) -> Vec<Vec<JudgedFrame>> {
    let mut child = Command::new(tool("llvm-symbolizer"))
        .args(["--inlines", "--functions=linkage", "--no-demangle", "--output-style=LLVM"])
        .arg(format!("--obj={}", path.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("llvm-symbolizer-14; `make test` installs it");
    let mut input = child.stdin.take().expect("a pipe");
    let questions: String = addresses.iter().map(|address| format!("{address:#x}\n")).collect();
    let writer = std::thread::spawn(move || {
        input.write_all(questions.as_bytes()).expect("llvm-symbolizer reads")
    });
    let output = child.wait_with_output().expect("llvm-symbolizer ends");
    writer.join().expect("all addresses were written");
    assert!(output.status.success(), "llvm-symbolizer failed");
    let text = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<_> = text.split_terminator("\n\n").map(parse_answer).collect();
    assert_eq!(answers.len(), addresses.len(), "one answer for each address");
    answers
}

fn parse_answer(answer: &str) -> Vec<JudgedFrame> {
    let lines: Vec<&str> = answer.lines().filter(|line| !line.is_empty()).collect();
    lines
        .chunks(2)
        .map(|pair| {
            let mut parts = pair[1].rsplitn(3, ':');
            let mut number = || parts.next().and_then(|text| text.parse().ok()).expect("a number");
            let (column, line) = (number(), number());
            JudgedFrame {
                name: pair[0].to_owned(),
                file: parts.next().unwrap_or("??").to_owned(),
                line,
                column,
            }
        })
        .collect()
}
