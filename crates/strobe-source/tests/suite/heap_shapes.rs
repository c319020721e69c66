//! Allocators of every shape of signature that the table can describe, in programs made for it:
//! each calls functions by their real names, and which block comes back is in the script.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_model::measurement::{Content, Table, Trust};
use strobe_source::simulated::{self, HeapSampling, HeapSettings, Heaps, Limit, Quiet, Settings};
use strobe_symbols::Firmware;
use strobe_synth::{Assembler, ElfBuilder, Insn, Label, LoadStore, Reg, Value};

/// Where the image is.
const FLASH: u32 = 0x0800_0000;
/// The first instruction, behind the vectors.
const CODE: u32 = FLASH + 0x100;
/// Where a function stores what it returns by a pointer.
const OUT: u32 = 0x2000_0100;
/// Blocks are anywhere: nobody writes to them.
const A: u32 = 0x2000_1000;
const B: u32 = 0x2000_1100;
const C: u32 = 0x2000_1200;

/// What a function of a program does.
#[derive(Clone, Copy)]
enum Does {
    /// Returns its fourth argument.
    ReturnsFourth,
    /// Stores its fourth argument where the second points, and returns 0.
    StoresFourth,
    /// Returns.
    Nothing,
    /// Calls another one with its own arguments.
    Calls(&'static str),
}

/// A call: of whom, with what.
type Call = (&'static str, [u32; 4]);

fn emit(code: &mut Assembler, does: Does, label_of: &dyn Fn(&str) -> Label) {
    let [r0, r1, r3] = [0, 1, 3].map(Reg::new);
    let store = |rt, rn| Insn::MemImm { op: LoadStore::Str, rt, rn, units: 0 };
    match does {
        Does::ReturnsFourth => code.emit(Insn::MovHigh { rd: r0, rm: r3 }),
        Does::StoresFourth => {
            code.emit(store(r3, r1));
            code.load(r0, Value::Word(0));
        }
        Does::Nothing => {}
        Does::Calls(other) => {
            code.emit(Insn::Push { list: 0, lr: true });
            code.bl(label_of(other));
            code.emit(Insn::Pop { list: 0, pc: true });
            return;
        }
    }
    code.emit(Insn::Bx { rm: Reg::LR });
}

/// A program of these functions whose `main` makes the calls; pools are words in flash, one behind
/// the other from [`pool`] on.
fn program(functions: &[(&str, Does)], calls: &[Call], pools: &[u32]) -> Firmware {
    let mut code = Assembler::new(CODE);
    let labels: Vec<Label> = functions.iter().map(|_| code.label()).collect();
    let label_of = |name: &str| {
        let at = functions.iter().position(|(known, _)| *known == name);
        labels[at.expect("a function of the program")]
    };
    for (name, arguments) in calls {
        for (register, argument) in (0u8..).zip(arguments) {
            code.load(Reg::new(register), Value::Word(*argument));
        }
        code.bl(label_of(name));
        if code.pool_due() {
            code.pool_behind_branch();
        }
    }
    let end = code.label_here();
    code.b(end);
    code.pool();
    let mut starts = vec![("main", CODE)];
    for ((name, does), label) in functions.iter().zip(&labels) {
        code.bind(*label);
        starts.push((name, code.here()));
        emit(&mut code, *does, &label_of);
        code.pool();
    }
    let ends = starts.iter().skip(1).map(|(_, at)| *at).chain([code.here()]);
    let sized: Vec<(&str, u32, u32)> =
        starts.iter().zip(ends).map(|((name, at), end)| (*name, *at, end - at)).collect();
    let (code, _) = code.finish();
    let mut words = vec![0x2000_0800, CODE | 1];
    words.resize(16, CODE | 1);
    words.extend(pools);
    words.resize(64, 0);
    let image = words.into_iter().flat_map(u32::to_le_bytes).chain(code).collect::<Vec<u8>>();
    let mut elf = ElfBuilder::new();
    elf.entry = CODE | 1;
    elf.code(FLASH, &image);
    for (name, address, size) in sized {
        elf.function(name, address, size);
    }
    Firmware::parse(elf.build()).expect("an ELF file")
}

/// The address of the pool at this word.
fn pool(word: u32) -> u32 {
    FLASH + 64 + 4 * word
}

fn heaps_of(firmware: &Firmware, sample: Option<HeapSampling>) -> Heaps {
    let settings = Settings {
        limit: Some(Limit::Cycles(20_000)),
        heap: Some(HeapSettings { sample, ..HeapSettings::default() }),
        ..Settings::default()
    };
    let board = Board::builtin("stm32f070cb").expect("a board that comes with the project");
    let never = AtomicBool::new(false);
    let outcome = simulated::run(firmware, &board, &settings, &mut Quiet, &never);
    outcome.expect("it runs").heaps.expect("heaps were asked for")
}

fn heaps(functions: &[(&str, Does)], calls: &[Call], pools: &[u32]) -> Heaps {
    heaps_of(&program(functions, calls, pools), None)
}

/// A total with whether it is exact.
fn total(heaps: &Heaps, id: &str) -> (u64, bool) {
    let total = heaps.totals.iter().find(|total| total.id == id);
    let quantity = &total.unwrap_or_else(|| panic!("no total {id}")).quantity;
    let value = quantity.value().unwrap_or_else(|| panic!("{id} is not known"));
    (value.as_u64(), *quantity.trust() == Trust::Exact)
}

/// Blocks, bytes and peak, exact; no misuse.
fn assert_figures(heaps: &Heaps, blocks: u64, bytes: u64, peak: u64) {
    assert_eq!(total(heaps, "heap-blocks"), (blocks, true));
    assert_eq!(total(heaps, "heap-bytes"), (bytes, true));
    assert_eq!(total(heaps, "heap-peak"), (peak, true));
    assert_eq!(heaps.findings, []);
}

fn sites(heaps: &Heaps) -> &Table {
    let section = heaps.sections.iter().find(|section| section.id == "heap-sites");
    match section.map(|section| &section.content) {
        Some(Content::Table(table)) => table,
        other => panic!("{other:?}"),
    }
}

fn functions_of(table: &Table) -> Vec<&str> {
    let cells = &table.column("function").expect("functions").cells;
    cells.iter().filter_map(|cell| cell.text()).collect()
}

use Does::{Calls, Nothing, ReturnsFourth, StoresFourth};

#[test]
fn a_block_is_returned() {
    let functions = [
        ("o1heapAllocate", ReturnsFourth),
        ("o1heapReallocate", ReturnsFourth),
        ("o1heapFree", Nothing),
    ];
    let calls = [
        ("o1heapAllocate", [0, 40, 0, A]),
        ("o1heapAllocate", [0, 60, 0, B]),
        ("o1heapReallocate", [0, A, 50, C]),
        ("o1heapFree", [0, B, 0, 0]),
        ("o1heapAllocate", [0, 1000, 0, 0]),
    ];
    let heaps = heaps(&functions, &calls, &[]);
    assert_eq!(total(&heaps, "heap-failed"), (1, true));
    assert_eq!((total(&heaps, "heap-blocks").0, total(&heaps, "heap-peak").0), (3, 110));
    assert_eq!(total(&heaps, "heap-live"), (50, true));
}

#[test]
fn a_block_is_stored_and_a_status_returned() {
    let functions = [("_tx_byte_allocate", StoresFourth), ("_tx_byte_release", Nothing)];
    let calls = [
        ("_tx_byte_allocate", [0, OUT, 40, A]),
        ("_tx_byte_allocate", [0, OUT, 24, B]),
        ("_tx_byte_release", [A, 0, 0, 0]),
    ];
    assert_figures(&heaps(&functions, &calls, &[]), 2, 64, 64);
}

/// Pools with the size at their own place: returned, and stored with a status.
#[test]
fn a_pool_states_the_size_of_its_blocks() {
    let functions = [
        ("chPoolAlloc", ReturnsFourth),
        ("chPoolFree", Nothing),
        ("_tx_block_allocate", StoresFourth),
        ("_tx_block_release", Nothing),
    ];
    // ChibiOS' from word 0 on, ThreadX' from word 4 on.
    let mut pools = vec![0, 24, 4, 0];
    pools.extend([0x424c_4f43, 0, 8, 8, 0, 0, 320, 36]);
    let calls = [
        // Memory that was never allocated is how the pool gets it.
        ("chPoolFree", [pool(0), A, 0, 0]),
        ("chPoolFree", [pool(0), B, 0, 0]),
        ("chPoolAlloc", [pool(0), 0, 0, B]),
        ("chPoolAlloc", [pool(0), 0, 0, A]),
        ("chPoolFree", [pool(0), B, 0, 0]),
        ("_tx_block_allocate", [pool(4), OUT, 0, C]),
        ("_tx_block_release", [C, 0, 0, 0]),
    ];
    let heaps = heaps(&functions, &calls, &pools);
    assert_figures(&heaps, 3, 24 + 24 + 36, 24 + 36);
    assert_eq!(total(&heaps, "heap-live"), (24, true));
    // A block that was allocated once is freed twice as anywhere else.
    let twice = [&calls[2..], &[("chPoolFree", [pool(0), B, 0, 0])]].concat();
    let heaps = heaps_of(&program(&functions, &twice, &pools), None);
    assert!(heaps.findings.iter().any(|f| f.code == "double-free"), "{:?}", heaps.findings);
}

/// Samples are drawn by the size that the pool states.
#[test]
fn blocks_of_pools_are_sampled_by_their_size() {
    let functions = [("osMemoryPoolAlloc", ReturnsFourth), ("osRtxInfo", Nothing)];
    let calls =
        [("osMemoryPoolAlloc", [pool(0), 0, 0, A]), ("osMemoryPoolAlloc", [pool(0), 0, 0, B])];
    let firmware = program(&functions, &calls, &[0, 0, 0, 4, 0, 48]);
    let heaps = heaps_of(&firmware, Some(HeapSampling { bytes: 1, seed: 1 }));
    assert_eq!(total(&heaps, "heap-asked-bytes"), (96, true));
}

#[test]
fn blocks_of_unknown_size_are_counted() {
    let functions = [
        ("memp_malloc", ReturnsFourth),
        ("memp_free", Nothing),
        ("mem_malloc", ReturnsFourth),
        ("mem_free", Nothing),
    ];
    let calls = [
        ("memp_malloc", [3, 0, 0, A]),
        ("memp_malloc", [3, 0, 0, B]),
        ("mem_malloc", [100, 0, 0, C]),
        ("memp_free", [3, A, 0, 0]),
        ("memp_malloc", [3, 0, 0, 0]),
    ];
    let heaps = heaps(&functions, &calls, &[]);
    assert_eq!(total(&heaps, "heap-blocks"), (3, true));
    assert_eq!(total(&heaps, "heap-live-blocks"), (2, true));
    // No fewer bytes than these, and nobody knows how many more.
    assert_eq!(total(&heaps, "heap-bytes"), (100, false));
    assert_eq!(total(&heaps, "heap-peak"), (100, false));
    assert_eq!(total(&heaps, "heap-failed"), (1, true));
    let codes: Vec<&str> = heaps.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["heap-unsized", "failed-allocation"]);
    assert!(heaps.findings[0].text.contains("memp_malloc"), "{}", heaps.findings[0].text);
    assert!(heaps.findings[1].text.contains("a block of unknown size"));
    assert!(!heaps.findings[0].text.contains("mem_malloc,"));
}

/// What passes a call on is no place that allocates, whatever its arguments are, and a garbage
/// collector's blocks are at most so many.
#[test]
fn blocks_are_collected_without_a_call() {
    let functions = [
        ("mp_state_ctx", Nothing),
        ("gc_alloc", ReturnsFourth),
        ("gc_realloc", ReturnsFourth),
        ("gc_free", Nothing),
        ("m_malloc", Calls("gc_alloc")),
        ("mp_obj_malloc_helper", Calls("m_malloc")),
        ("list_new", Calls("mp_obj_malloc_helper")),
    ];
    let calls = [
        ("m_malloc", [32, 0, 0, A]),
        ("list_new", [16, 0, 0, B]),
        // Both have been collected, and their memory is one block's.
        ("m_malloc", [0x140, 0, 0, A]),
        ("gc_free", [A, 0, 0, 0]),
        ("gc_alloc", [64, 0, 0, C]),
    ];
    let firmware = program(&functions, &calls, &[]);
    let sampled = heaps_of(&firmware, Some(HeapSampling { bytes: 1, seed: 1 }));
    let live = sampled.totals.iter().find(|total| total.id == "heap-live");
    assert_eq!(live.map(|total| total.quantity.value()), Some(None));
    assert!(sampled.findings.iter().any(|finding| finding.code == "heap-collected"));
    let heaps = heaps_of(&firmware, None);
    assert_eq!(total(&heaps, "heap-blocks"), (4, true));
    assert_eq!(total(&heaps, "heap-bytes"), (32 + 16 + 0x140 + 64, true));
    assert_eq!(total(&heaps, "heap-live"), (64, false));
    assert_eq!(total(&heaps, "heap-peak"), (0x140, false));
    let codes: Vec<&str> = heaps.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert_eq!(codes, ["heap-collected"], "no block overlaps another one");
    let mut places = functions_of(sites(&heaps));
    places.retain(|name| *name != "all");
    places.sort_unstable();
    places.dedup();
    assert_eq!(places, ["list_new", "main"]);
    let balance = heaps.balances[0].parts();
    let collected = ("collected, and allocated anew".to_owned(), 48);
    assert!(balance.unattributed.contains(&collected), "{:?}", balance.unattributed);
}

/// Calls that are passed on are sampled as those that are made directly.
#[test]
fn calls_that_are_passed_on_are_sampled() {
    let functions = [
        ("lv_tlsf_malloc", ReturnsFourth),
        ("lv_malloc_core", Calls("lv_tlsf_malloc")),
        ("lv_malloc", Calls("lv_malloc_core")),
    ];
    let calls = [("lv_malloc", [0, 80, 0, A]), ("lv_tlsf_malloc", [0, 20, 0, B])];
    let firmware = program(&functions, &calls, &[]);
    let sampled = heaps_of(&firmware, Some(HeapSampling { bytes: 1, seed: 1 }));
    assert_eq!(total(&sampled, "heap-asked-bytes"), (100, true));
    assert_figures(&heaps_of(&firmware, None), 2, 100, 100);
}

/// What an allocator calls itself is part of the call around it: it is counted, another block that
/// it frees is freed, and the size that it keeps of the block is that block's.
#[test]
fn calls_inside_calls_are_part_of_them() {
    let functions = [
        ("keep", StoresFourth),
        ("_malloc_r", ReturnsFourth),
        ("malloc", Calls("_malloc_r")),
        ("_Znwj", Calls("malloc")),
        ("_free_r", Nothing),
        ("free", Calls("_free_r")),
        // Shows that it is newlib-nano, whose chunks begin with their size, header included.
        ("__malloc_free_list", Nothing),
    ];
    let calls = [
        ("keep", [0, A - 4, 0, 92]),
        ("_Znwj", [80, 0, 0, A]),
        ("malloc", [20, 0, 0, B]),
        ("malloc", [30, 0, 0, C]),
        ("free", [C, C, 0, 0]),
        // Of another block than its own.
        ("free", [0, B, 0, 0]),
    ];
    let heaps = heaps(&functions, &calls, &[]);
    assert_figures(&heaps, 3, 130, 130);
    assert_eq!(total(&heaps, "heap-live"), (80, true));
    let section = |id: &str| heaps.sections.iter().find(|section| section.id == id);
    let notes = &section("heap-calls").expect("calls").notes;
    assert!(notes.iter().any(|note| note.contains(" 6 calls ")), "{notes:?}");
    let Some(Content::Table(live)) = section("heap-live").map(|section| &section.content) else {
        panic!("no live blocks");
    };
    let usable = live.column("usable").and_then(|column| column.cells[0].number());
    assert_eq!(usable.map(|usable| usable.as_u64()), Some(88));
}

/// C++ frees arrays by functions of their own, whatever both are built on.
#[test]
fn an_array_is_freed_as_one() {
    let functions = [
        ("malloc", ReturnsFourth),
        ("free", Nothing),
        ("_Znwj", Calls("malloc")),
        ("_Znaj", Calls("_Znwj")),
        ("_ZdlPv", Calls("free")),
        ("_ZdaPv", Calls("_ZdlPv")),
    ];
    let made = [("_Znaj", [40, 0, 0, A]), ("_Znwj", [8, 0, 0, B]), ("_Znaj", [24, 0, 0, C])];
    let right = [("_ZdaPv", [A, 0, 0, 0]), ("_ZdlPv", [B, 0, 0, 0]), ("_ZdaPv", [C, 0, 0, 0])];
    assert_figures(&heaps(&functions, &[made, right].concat(), &[]), 3, 72, 72);
    let wrong = [("_ZdlPv", [A, 0, 0, 0]), ("_ZdlPv", [B, 0, 0, 0]), ("_ZdaPv", [C, 0, 0, 0])];
    let heaps = heaps(&functions, &[made, wrong].concat(), &[]);
    let [finding] = heaps.findings.as_slice() else { panic!("{:?}", heaps.findings) };
    assert_eq!(finding.code, "mismatched-free");
    let names = "is from operator new[](unsigned int) and is freed by operator delete(void*)";
    assert!(finding.text.contains(names), "{}", finding.text);
    assert_eq!(total(&heaps, "heap-live"), (0, true));
}
