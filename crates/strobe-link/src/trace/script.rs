//! A plan as text for other tools: OpenOCD, GDB, probe-rs.
//!
//! Each writes the same registers in the same order, keeps the bits that the plan keeps, and states
//! beside each line what it does.

use std::fmt::Write;

use strobe_decode::trace_settings::{Encoding, TraceSettings};

use super::registers::{RegisterField, RegisterWrite, to_check};

/// What a script sets up.
#[derive(Debug, Clone, Copy)]
pub struct SetUp<'a> {
    /// What the hardware is to send.
    pub settings: &'a TraceSettings,
    /// The target that the registers are those of.
    pub target: &'a str,
    /// Writes in their order.
    pub registers: &'a [RegisterWrite],
}

/// What a line does, in a few words.
fn comment(write: &RegisterWrite) -> String {
    let name = |f: &RegisterField| format!("{} {:#x}", f.field, f.value);
    let fields: Vec<String> = write.fields.iter().map(name).collect();
    format!("{}: {}", write.register, fields.join(", "))
}

fn head(plan: &SetUp<'_>) -> String {
    let line = &plan.settings.line;
    format!(
        "# Trace set-up: core {} Hz, {} baud, target {}. Written by `strobe plan`.\n",
        plan.settings.core_hz,
        line.baud(),
        plan.target
    )
}

/// A script for OpenOCD 0.11 and later: `openocd -f board.cfg -f plan.cfg -c init -c strobe_trace`.
pub fn openocd(plan: &SetUp<'_>) -> String {
    let mut out = head(plan);
    out += "# openocd -f YOUR-BOARD.cfg -f THIS-FILE -c init -c \"strobe_pin OUTPUT\" -c \
            strobe_trace\n";
    out += "# OUTPUT is where the adapter's trace data goes: a file, :3443 for a TCP port, or \
            external where\n";
    out += "# something else listens to the pin.\n\n";
    out += "proc strobe_word {address} {\n";
    out +=
        "    if {[llength [info commands read_memory]]} { return [read_memory $address 32 1] }\n";
    out += "    mem2array words 32 $address 1\n    return $words(0)\n}\n\n";
    out += "# Writes the bits of mask and keeps the others.\n";
    out += "proc strobe_update {address value mask} {\n";
    out += "    mww $address [expr {([strobe_word $address] & ~$mask) | $value}]\n}\n\n";
    out += "# Warns if the bits of mask are not what they should be.\n";
    out += "proc strobe_check {name address value mask} {\n";
    out += "    set found [expr {[strobe_word $address] & $mask}]\n";
    out += "    if {$found != $value} {\n";
    out +=
        "        error [format \"%s reads back 0x%08x instead of 0x%08x\" $name $found $value]\n";
    out += "    }\n}\n\n";
    let line = &plan.settings.line;
    let protocol = match line.encoding() {
        Encoding::Nrz => "uart",
        Encoding::Manchester => "manchester",
    };
    let (trace_hz, baud) = (line.trace_hz(), line.baud());
    out += "proc strobe_pin {output} {\n";
    out +=
        "    if {[llength [info commands tpiu]] == 0} { error \"this OpenOCD knows no TPIU\" }\n";
    out += "    if {[catch {tpiu names} names]} {\n        # Before 0.12.\n";
    out += "        if {$output eq \"external\"} {\n";
    let _ = writeln!(out, "            tpiu config external {protocol} off {trace_hz} {baud}");
    out += "        } else {\n";
    let _ =
        writeln!(out, "            tpiu config internal $output {protocol} off {trace_hz} {baud}");
    out += "        }\n        return\n    }\n";
    out += "    foreach name $names {\n";
    let _ = writeln!(
        out,
        "        $name configure -protocol {protocol} -traceclk {trace_hz} -pin-freq {baud} \
         -output $output"
    );
    out += "        $name enable\n    }\n}\n\n";
    out += "proc strobe_trace {} {\n";
    for write in plan.registers {
        let RegisterWrite { address, value, mask, .. } = write;
        let _ = writeln!(out, "    # {}", comment(write));
        if write.keeps_others() {
            let _ = writeln!(out, "    strobe_update {address:#010x} {value:#010x} {mask:#010x}");
        } else {
            let _ = writeln!(out, "    mww {address:#010x} {value:#010x}");
        }
    }
    out += "\n";
    for write in to_check(plan.registers) {
        let RegisterWrite { register, address, value, check, .. } = write;
        let value = value & check;
        let _ = writeln!(
            out,
            "    strobe_check {register} {address:#010x} {value:#010x} {check:#010x}"
        );
    }
    out + "}\n"
}

/// Commands for GDB: `source plan.gdb`, then `strobe_trace`.
pub fn gdb(plan: &SetUp<'_>) -> String {
    let mut out = head(plan);
    out += "# (gdb) source THIS-FILE\n# (gdb) strobe_trace\n\n";
    out += "define strobe_trace\n  set language c\n";
    for write in plan.registers {
        let RegisterWrite { address, value, mask, .. } = write;
        let _ = writeln!(out, "  # {}", comment(write));
        let word = format!("*(volatile unsigned int *){address:#010x}");
        if write.keeps_others() {
            let _ = writeln!(out, "  set {word} = ({word} & ~{mask:#010x}U) | {value:#010x}U");
        } else {
            let _ = writeln!(out, "  set {word} = {value:#010x}U");
        }
    }
    for write in to_check(plan.registers) {
        let RegisterWrite { register, address, value, check, .. } = write;
        let value = value & check;
        let word = format!("*(volatile unsigned int *){address:#010x}");
        let _ = writeln!(out, "  if ({word} & {check:#010x}U) != {value:#010x}U");
        let _ = writeln!(
            out,
            "    printf \"{register} reads back 0x%08x, not 0x{value:08x}\\n\", {word} & \
             {check:#010x}U"
        );
        out += "  end\n";
    }
    out += "  set language auto\nend\n";
    out += "document strobe_trace\nSets up DWT, ITM and the trace pin as planned.\nend\n";
    out
}

/// A shell script that has probe-rs write the registers.
pub fn probe_rs(plan: &SetUp<'_>) -> String {
    let mut out = String::from("#!/bin/sh\n");
    out += &head(plan);
    out += "# sh THIS-FILE CHIP, with the chip as `probe-rs chip list` has it. The probe itself \
            gets the line's speed by\n";
    out += "# whoever reads it: `strobe record probe` does all this by itself. `probe-rs itm` sets \
            up DWT and ITM in its own way.\n";
    let line = &plan.settings.line;
    let _ = writeln!(
        out,
        "# SwoConfig::new({}).set_baud({}).set_mode({}).set_continuous_formatting({})",
        line.trace_hz(),
        line.baud(),
        match line.encoding() {
            Encoding::Nrz => "SwoMode::Uart",
            Encoding::Manchester => "SwoMode::Manchester",
        },
        plan.settings.formatter
    );
    out += "set -eu\nchip=$1\n";
    out += "put() { probe-rs write --chip \"$chip\" b32 \"$1\" \"$2\"; }\n";
    out += "word() { probe-rs read --chip \"$chip\" b32 \"$1\" 1 | tr -d ' \\r\\n'; }\n";
    out += "update() { put \"$1\" \"$(printf '0x%08x' $(( (0x$(word \"$1\") & ~$3 & 0xffffffff) | \
            $2 )))\"; }\n";
    for write in plan.registers {
        let RegisterWrite { address, value, mask, .. } = write;
        let _ = writeln!(out, "# {}", comment(write));
        if write.keeps_others() {
            let _ = writeln!(out, "update {address:#010x} {value:#010x} {mask:#010x}");
        } else {
            let _ = writeln!(out, "put {address:#010x} {value:#010x}");
        }
    }
    out
}
