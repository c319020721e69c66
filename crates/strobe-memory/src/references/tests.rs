//! Small programs whose references are known.

use strobe_symbols::Firmware;
use strobe_synth::{ElfBuilder, Section, Symbol};

use super::{ReferenceKind, References};

const FLASH: u32 = 0x0800_0000;

/// The halfwords of a BL from one address to another.
fn bl(from: u32, to: u32) -> [u16; 2] {
    let offset = to.wrapping_sub(from + 4);
    let (s, i1, i2) = (offset >> 24 & 1, offset >> 23 & 1, offset >> 22 & 1);
    let (j1, j2) = ((i1 ^ s ^ 1) & 1, (i2 ^ s ^ 1) & 1);
    let first = 0xf000 | s << 10 | offset >> 12 & 0x3ff;
    let second = 0xd000 | j1 << 13 | j2 << 11 | offset >> 1 & 0x7ff;
    [first as u16, second as u16]
}

fn bytes(halves: &[u16]) -> Vec<u8> {
    halves.iter().flat_map(|half| half.to_le_bytes()).collect()
}

/// Code at the beginning of flash, with functions by their place and size.
fn firmware(code: &[u16], functions: &[(&str, u32, u32)]) -> Firmware {
    marked(code, functions, None)
}

/// The same with a literal at a place.
fn marked(code: &[u16], functions: &[(&str, u32, u32)], literal: Option<u32>) -> Firmware {
    let mut elf = ElfBuilder::new();
    elf.code(FLASH, &bytes(code));
    let section = Section {
        name: ".text".to_owned(),
        kind: 1,
        flags: 6,
        address: FLASH,
        data: bytes(code),
        align: 4,
        ..Section::default()
    };
    elf.section(section);
    let thumb = Symbol { name: "$t".to_owned(), value: FLASH, section: 1, ..Symbol::default() };
    elf.symbol(thumb);
    for (name, at) in literal.into_iter().flat_map(|at| [("$d", at), ("$t", at + 4)]) {
        let name = name.to_owned();
        elf.symbol(Symbol { name, value: FLASH + at, section: 1, ..Symbol::default() });
    }
    for (name, at, size) in functions {
        elf.function(name, FLASH + at, *size);
    }
    Firmware::parse(elf.build()).unwrap()
}

fn graph(firmware: &Firmware) -> References {
    References::new(firmware, &[(FLASH, "reset".to_owned())])
}

/// What a function refers to: how, and the targets' addresses in flash.
fn from(graph: &References, at: u32) -> Vec<(ReferenceKind, u64)> {
    let node = graph.at(u64::from(FLASH + at)).unwrap();
    let place = |to: usize| graph.nodes[to].address - u64::from(FLASH);
    graph.from(node).iter().map(|edge| (edge.how, place(edge.to))).collect()
}

#[test]
fn calls_jumps_literals_and_pairs_are_references() {
    let [call, call_low] = bl(FLASH, FLASH + 0x20);
    // MOVW R0, MOVT R0 of 0x08000029: the third function, with the Thumb bit.
    let pair = [0xf240, 0x0029, 0xf6c0, 0x0000];
    let mut code = vec![call, call_low, 0x4802, pair[0], pair[1], pair[2], pair[3], 0xe7fe];
    // The literal at 0x10 that LDR at 0x04 loads: the fourth function.
    code.extend([0x0031, 0x0800]);
    code.resize(0x10, 0xbf00);
    code.extend([0x4770, 0xbf00, 0xbf00, 0xbf00]);
    code.extend([0x4770, 0xbf00, 0xbf00, 0xbf00]);
    code.extend([0x4770, 0xbf00]);
    let functions =
        [("first", 0, 0x14), ("called", 0x20, 2), ("paired", 0x28, 2), ("held", 0x30, 2)];
    let firmware = marked(&code, &functions, Some(0x10));
    let graph = graph(&firmware);
    let found = from(&graph, 0);
    assert_eq!(
        found,
        [(ReferenceKind::Calls, 0x20), (ReferenceKind::Takes, 0x28), (ReferenceKind::Takes, 0x30)]
    );
    assert!(graph.reached().iter().filter(|reached| **reached).count() >= 4);
}

#[test]
fn exclusively_reached_functions_belong_to_their_dominator() {
    // a calls b and c; b calls d, c calls d and e.
    let call = |from: u32, to: u32| bl(FLASH + from, FLASH + to);
    let block = |calls: &[[u16; 2]]| {
        let mut code: Vec<u16> = calls.concat();
        code.push(0x4770);
        code.resize(8, 0xbf00);
        code
    };
    let code = [
        block(&[call(0, 0x10), call(4, 0x20)]),
        block(&[call(0x10, 0x30)]),
        block(&[call(0x20, 0x30), call(0x24, 0x40)]),
        block(&[]),
        block(&[]),
    ];
    let names = [("a", 0, 16), ("b", 0x10, 16), ("c", 0x20, 16), ("d", 0x30, 16), ("e", 0x40, 16)];
    let firmware = firmware(&code.concat(), &names);
    let graph = graph(&firmware);
    let at = |place: u32| graph.at(u64::from(FLASH + place)).unwrap();
    let [a, b, c, d, e] = [0, 0x10, 0x20, 0x30, 0x40].map(at);
    let dominators = graph.dominators();
    assert_eq!(
        [b, c, d, e].map(|node| dominators.above[node]),
        [Some(a), Some(a), Some(a), Some(c)]
    );
    let sums = dominators.sums(&vec![1_u64; graph.nodes.len()]);
    assert_eq!([a, b, c, d, e].map(|node| sums[node]), [5, 1, 2, 1, 1]);
    let edge = |from: usize, to: usize| *graph.from(from).iter().find(|e| e.to == to).unwrap();
    assert!(dominators.is_only(&graph, &edge(c, e)));
    assert!(!dominators.is_only(&graph, &edge(c, d)));
    let rest = graph.reached_without(|node| node == c);
    assert_eq!([a, b, c, d, e].map(|node| rest[node]), [true, true, false, true, false]);
    let (steps, reached) = graph.shortest(b);
    assert!(!reached[b] && reached[d] && steps[d].is_some_and(|edge| edge.from == c));
}

/// Whatever the code: every edge has its ends in the graph, the outside dominates nothing twice,
/// and the sums are everything that is reached.
#[test]
fn any_code_makes_a_graph_that_holds_together() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..200 {
        let mut next = || {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random as u32
        };
        let size = 64 + next() % 64;
        let halfword = |n: u32| match n >> 16 & 3 {
            0 => (0xf000 | n & 3) as u16,
            1 => (0xf800 | n & 0x7f) as u16,
            2 => 0x0800,
            _ => n as u16,
        };
        let code: Vec<u16> = (0..size).map(|_| halfword(next())).collect();
        let starts: Vec<(u32, u32)> =
            (0..8).map(|_| ((next() % size * 2) & !1, next() % 40)).collect();
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let functions: Vec<(&str, u32, u32)> =
            names.into_iter().zip(starts).map(|(name, (at, size))| (name, at, size)).collect();
        let firmware = firmware(&code, &functions);
        let graph = graph(&firmware);
        assert!(graph.pieces.windows(2).all(|two| two[0].0.end <= two[1].0.start));
        let (dominators, reached) = (graph.dominators(), graph.reached());
        assert_eq!(dominators.is_reached, reached);
        let sums = dominators.sums(&vec![1_u64; graph.nodes.len()]);
        let tops = (0..graph.nodes.len()).filter(|n| reached[*n] && dominators.above[*n].is_none());
        let count = reached.iter().filter(|reached| **reached).count() as u64;
        assert_eq!(tops.map(|node| sums[node]).sum::<u64>(), count);
        // By definition: without a node, exactly what it dominates is not reached.
        for node in (0..graph.nodes.len()).filter(|node| reached[*node]) {
            let rest = graph.reached_without(|other| other == node);
            let gone = (0..rest.len()).filter(|other| reached[*other] && !rest[*other]).count();
            assert_eq!(gone as u64, sums[node]);
        }
    }
}
