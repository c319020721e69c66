//! What goes with a measurement on request: it can then be read without the ELF file.

use std::collections::BTreeSet;

use strobe_model::measurement::{Address, Cell, Measurement, Table};
use strobe_source::simulated;
use strobe_source::{Attach, attach};

use super::{firmware, for_ms, run};

fn column<'a>(table: &'a Table, id: &str) -> &'a [Cell] {
    &table.column(id).expect("a column").cells
}

fn attached(name: &str, board: &str) -> Measurement {
    let mut measurement = simulated::measurement(&run(name, board, &for_ms(5)));
    let mut read = |file: &str, line: u32| (line != 1).then(|| format!("{file}:{line}"));
    let what =
        Attach { symbols: true, disassembly: true, source: Some(&mut read), also: Vec::new() };
    attach(&mut measurement, &firmware(name), what);
    measurement.check().expect("it holds together");
    measurement
}

#[test]
fn every_address_that_ran_has_its_instruction_and_source() {
    for (name, board) in [("threads", "stm32f070cb"), ("work-avr", "arduino-uno")] {
        let measurement = attached(name, board);
        let disassembly = measurement.table("disassembly").expect("instructions");
        let listed: BTreeSet<Address> = column(disassembly, "address")
            .iter()
            .map(|cell| if let Cell::Address(address) = cell { *address } else { panic!() })
            .collect();
        let profile = measurement.profiles().next().expect("a profile");
        let mut ran = 0;
        for (address, function) in profile.locations.address.iter().zip(&profile.locations.function)
        {
            if let (Some(address), Some(_)) = (address, function) {
                assert!(listed.contains(address), "{name}: {address}");
                ran += 1;
            }
        }
        assert!(ran > 100, "{name}");
        let source = measurement.table("source").expect("source");
        let lines: BTreeSet<String> =
            column(source, "text").iter().filter_map(|c| c.text().map(str::to_owned)).collect();
        let (files, numbers) = (column(disassembly, "file"), column(disassembly, "line"));
        let mut placed = 0;
        for (file, line) in files.iter().zip(numbers) {
            let (Some(file), Some(line)) = (file.text(), line.number()) else { continue };
            assert!(
                lines.contains(&format!("{file}:{}", line.as_u64())),
                "{name}: {file} {line:?}"
            );
            placed += 1;
        }
        assert!(placed > 50, "{name}: {placed}");
    }
}

#[test]
fn symbols_have_their_sizes_and_sections() {
    let measurement = attached("threads", "stm32f070cb");
    let symbols = measurement.table("symbols").expect("symbols");
    let row = |name: &str| {
        let at = column(symbols, "name").iter().position(|cell| cell.text() == Some(name));
        let at = at.unwrap_or_else(|| panic!("no {name}"));
        let text = |id: &str| column(symbols, id)[at].text().map(str::to_owned);
        let size = column(symbols, "size")[at].number().expect("a size").as_u64();
        (text("kind"), size > 0, text("section"))
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(row("SysTick_Handler"), (some("function"), true, some(".text")));
    assert_eq!(row("threads"), (some("variable"), true, some(".bss")));
}

#[test]
fn attaching_again_replaces_the_attached_part() {
    let mut measurement = attached("threads", "stm32f070cb");
    let before = measurement.clone();
    let what = Attach { disassembly: true, ..Attach::default() };
    attach(&mut measurement, &firmware("threads"), what);
    measurement.check().expect("it holds together");
    assert_eq!(measurement.section("disassembly"), before.section("disassembly"));
    assert_eq!(measurement.sections.len(), before.sections.len());
}
