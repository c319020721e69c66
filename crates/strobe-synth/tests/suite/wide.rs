//! The table of 32-bit encodings against GNU objdump: each form must be the instruction of its
//! name.

use std::process::Command;

use strobe_synth::{Rng, Wide, wide_forms};

/// Some instructions of each form, registers 13 and 15 left out where they mean something else.
fn samples() -> Vec<Wide> {
    let mut rng = Rng::new(1);
    let mut all = Vec::new();
    for form in wide_forms() {
        let mut found = 0;
        while found < 40 {
            let registers = "dnmahltu".chars().filter(|&l| form.has(l) && form.width(l) == 4);
            let fields: Vec<(char, u32)> = registers.map(|l| (l, rng.below(13))).collect();
            let wide = form.with(&fields, rng.next_u32());
            let listed = !form.has('r') || wide.field('r').count_ones() > 1;
            // A base that is in the list, or is transferred, must not be written back.
            let base = wide.field('n');
            let clashes = form.has('r') && wide.field('r') >> base & 1 == 1
                || ['t', 'u'].iter().any(|&l| form.has(l) && wide.field(l) == base)
                || form.has('d') && form.name.starts_with("STREX") && wide.field('d') == base;
            let words = wide.field('i');
            let counted = !form.name.starts_with("VLDM") && !form.name.starts_with("VSTM")
                || (1..=8).contains(&words) && words % 2 == 0 && wide.field('v') < 8;
            if wide.is_predictable() && listed && !clashes && counted {
                all.push(wide);
                found += 1;
            }
        }
    }
    all
}

/// The mnemonic of each instruction, from GNU objdump.
fn disassemble(insns: &[Wide]) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let [source, object] = ["t.s", "t.o"].map(|f| directory.path().join(f));
    let mut text = String::from(".syntax unified\n.cpu cortex-m4\n.fpu fpv4-sp-d16\n.thumb\n");
    for insn in insns {
        text += &format!(".inst.w {:#010x}\n", insn.bits);
    }
    std::fs::write(&source, text).expect("write the source");
    let run = |command: &mut Command| {
        let output = command.output().expect("GNU binutils for arm-none-eabi are installed");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {complaints}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    run(Command::new("arm-none-eabi-as").arg(&source).arg("-o").arg(&object));
    let listing = run(Command::new("arm-none-eabi-objdump").args(["-d", "-z"]).arg(&object));
    let lines = listing.lines().filter_map(|line| {
        let (address, rest) = line.split_once(":\t")?;
        address.trim().chars().all(|c| c.is_ascii_hexdigit()).then(|| rest.to_owned())
    });
    lines
        .map(|rest| rest.split_once('\t').map_or(String::new(), |(_, text)| text.to_owned()))
        .collect()
}

/// GNU's mnemonics of a form, if not the first word of its name: other mnemonics for special
/// operands.
fn names(form: &str) -> Vec<String> {
    let first = form.split(' ').next().unwrap_or_default().to_lowercase();
    let aliases: &[&str] = match form {
        "MOV shifted" => &["lsl", "lsr", "asr", "ror", "rrx"],
        "LDMIA W" | "LDMIA pc" => &["ldm", "ldmia"],
        "STMIA W" => &["stm", "stmia"],
        "ADDW" | "ADR up" => &["add", "addw", "adr"],
        "SUBW" | "ADR down" => &["sub", "subw", "adr"],
        "MOVW" => &["mov"],
        // With some offsets GNU decodes them as unprivileged ones, which have no such form.
        "LDRB lit" => &["ldrbt"],
        "LDRSB lit" => &["ldrsbt"],
        "LDRH lit" => &["ldrht"],
        "LDRSH lit" => &["ldrsht"],
        "LDR lit W" | "LDR pc lit" => &["ldrt"],
        _ => &[],
    };
    aliases.iter().map(|a| a.to_string()).chain([first]).collect()
}

#[test]
fn every_form_matches_its_name() {
    let samples = samples();
    let lines = disassemble(&samples);
    assert_eq!(lines.len(), samples.len());
    let mut wrong = Vec::new();
    for (wide, line) in samples.iter().zip(&lines) {
        let mnemonic = line.split(['\t', ' ', '.']).next().unwrap_or_default();
        let names = names(wide.form().name);
        let plain = mnemonic.strip_suffix('s').unwrap_or(mnemonic);
        let sets_flags = wide.form().has('S') && wide.field('S') == 1;
        let right = names.iter().any(|n| n == mnemonic || sets_flags && n == plain);
        if !right || line.contains("UNPREDICTABLE") || line.contains("undefined") {
            wrong.push(format!("{:08x} {}: {line}", wide.bits, wide.form().name));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), samples.len(), wrong.join("\n"));
}

#[test]
fn fields_go_where_they_come_from() {
    let mut rng = Rng::new(2);
    for form in wide_forms() {
        for _ in 0..20 {
            let wide = form.with(&[], rng.next_u32());
            let letters = "dnmahltuijSUWrsMvwxDN".chars().filter(|&l| form.has(l));
            let fields: Vec<(char, u32)> = letters.map(|l| (l, wide.field(l))).collect();
            assert_eq!(form.with(&fields, 0), wide, "{}", form.name);
        }
    }
}

#[test]
fn names_are_unique() {
    let mut names: Vec<&str> = strobe_synth::Core::V7emFp.forms();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
