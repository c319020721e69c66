//! Heaps of firmware that is compiled here, because what matters is what a compiler makes of it:
//! inlined allocators, several callers of one faulty line, memory that is given at run time.

use std::fs;
use std::process::Command;

use strobe_model::measurement::{Finding, Measurement, Trust};

use crate::common::{measured, strobe};

/// Enters at `main` and ends when that returns.
const START: &str = r#"
extern char top[];
int main(void);
static void ends(void)
{
    register int r0 __asm__("r0") = 0x18;
    register int r1 __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" : : "r"(r0), "r"(r1) : "memory");
    for (;;) {}
}
void start(void) { main(); ends(); }
__attribute__((section(".vectors"), used)) void *const vectors[] = {top, start, ends, ends};
typedef unsigned size_t;
#define APART __attribute__((noinline, noclone))
"#;

const SCRIPT: &str = "
SECTIONS
{
    . = 0;
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) }
    . = 0x20000000;
    .bss : { *(.data* .bss* COMMON) }
    top = 0x20010000;
}";

/// A built firmware in a directory of its own.
struct Built {
    directory: tempfile::TempDir,
}

impl Built {
    fn new(source: &str, flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let built = Built { directory };
        fs::write(built.path("main.c"), format!("{START}\n#line 1\n{source}")).unwrap();
        fs::write(built.path("link.ld"), SCRIPT).unwrap();
        let compiled = Command::new("arm-none-eabi-gcc")
            .args(["-mcpu=cortex-m3", "-mthumb", "-g", "-ffreestanding", "-nostdlib", "-T"])
            .arg(built.path("link.ld"))
            .args(flags)
            .args(["-o", &built.path("main.elf"), &built.path("main.c")])
            .status();
        assert!(compiled.expect("arm-none-eabi-gcc runs").success());
        built
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn heap(&self, more: &[&str]) -> Measurement {
        let elf = self.path("main.elf");
        let arguments = ["heap", &elf, "--board", "cortex-m3", "--until", "exit"];
        let (code, measurement) = measured(&[&arguments, more].concat());
        assert_eq!(code, 0);
        measurement
    }
}

fn findings<'a>(m: &'a Measurement, code: &str) -> Vec<&'a Finding> {
    m.findings.iter().filter(|finding| finding.code == code).collect()
}

fn figure(m: &Measurement, id: &str) -> u64 {
    let value = m.total(id).unwrap_or_else(|| panic!("no total {id}")).value();
    value.unwrap_or_else(|| panic!("{id} is unknown")).as_u64()
}

/// An allocator that never frees, in one file with who uses it.
const BUMP: &str = r#"
static char pool[2048];
static unsigned used;
HOW void *pvPortMalloc(size_t n) { void *p = pool + used; used += (n + 7) & ~7u; return p; }
HOW void vPortFree(void *p) { *(volatile char *)p = 0; }
APART void *one(size_t n) { return pvPortMalloc(n); }
APART void *two(size_t n) { return pvPortMalloc(n + 4); }
volatile size_t size = 20;
int main(void) { void *p = one(size); vPortFree(p); p = two(size); return p == 0; }
"#;

#[test]
fn inlined_allocator_calls_are_not_reported_as_none() {
    let apart = Built::new(BUMP, &["-O2", "-DHOW=APART"]).heap(&[]);
    assert_eq!((figure(&apart, "heap-bytes"), figure(&apart, "heap-live")), (44, 24));
    let inlined = Built::new(BUMP, &["-O2", "-DHOW=inline __attribute__((always_inline))"]);
    let ran = strobe(&["heap", &inlined.path("main.elf"), "--board", "cortex-m3"]);
    assert_eq!(ran.code, 65, "{}", ran.stderr);
    assert!(ran.stderr.contains("pvPortMalloc is inlined into one, two"), "{}", ran.stderr);
    // The allocation is seen, and the free is not.
    let half = BUMP.replacen("HOW", "APART", 1);
    let half = Built::new(&half, &["-O2", "-DHOW=inline __attribute__((always_inline))"]).heap(&[]);
    let live = half.total("heap-live").unwrap();
    let Trust::Unknown { why } = live.trust() else { panic!("{live:?}") };
    assert!(why.contains("vPortFree is inlined"), "{why}");
    assert_eq!(findings(&half, "heap-incomplete").len(), 1);
    assert!(findings(&half, "double-free").is_empty());
}

/// A wrapper in a header calls what is seen.
#[test]
fn an_inlined_wrapper_hides_nothing() {
    let source = r#"
static char pool[2048];
APART void *chHeapAllocAligned(void *heap, size_t n, unsigned a) { return pool + a * 0; }
static inline void *chHeapAlloc(void *heap, size_t n) { return chHeapAllocAligned(heap, n, 8); }
APART void chHeapFree(void *p) { *(volatile char *)p = 0; }
volatile size_t size = 20;
int main(void) { void *p = chHeapAlloc(0, size); chHeapFree(p); return 0; }
"#;
    let m = Built::new(source, &["-O2"]).heap(&[]);
    assert_eq!((figure(&m, "heap-bytes"), figure(&m, "heap-live")), (20, 0));
}

/// A program with an allocator that is handed its memory, and one line that all callers share.
const GIVEN: &str = r#"
static unsigned long long memory[64];
static char *at;
APART void *tlsf_add_pool(void *t, void *m, size_t n) { at = m; return m; }
APART void *tlsf_malloc(void *t, size_t n)
{
    unsigned whole = (n + 7) & ~7u;
    *(unsigned *)(at + 4) = whole;
    at += 8 + whole;
    return at - whole;
}
APART void tlsf_free(void *t, void *p) { *(volatile char *)t = 0; }
APART void fill(volatile char *p, size_t n) { while (n-- > 0) p[n] = 1; }
APART void first(char *p) { fill(p, 17); }
APART void second(char *p) { fill(p, 25); }
APART void third(char *p) { fill(p, 16); }
int main(void)
{
    char t[8];
    tlsf_add_pool(t, memory, sizeof memory);
    char *a = tlsf_malloc(t, 16), *b = tlsf_malloc(t, 24), *c = tlsf_malloc(t, 16);
    first(a);
    second(b);
    third(c);
    tlsf_free(t, b);
    return 0;
}
"#;

/// 512 bytes: 16 and 16 live, 24 + 8 free between them, the rest behind.
#[test]
fn memory_that_an_allocator_is_given_is_its_heap() {
    let m = Built::new(GIVEN, &["-O1"]).heap(&[]);
    let table = m.table("heap-fragmentation").expect("fragmentation");
    let last = table.len() - 1;
    let of = |column: &str| table.column(column).unwrap().cells[last].number().unwrap().as_u64();
    // Eight bytes before each block, of which four are the block's header.
    let behind = 512 - (8 + 16) - (8 + 24) - (8 + 16);
    assert_eq!((of("memory"), of("largest")), (512, behind));
    assert_eq!(figure(&m, "heap-largest-free"), behind);
}

#[test]
fn faulty_line_is_a_finding_for_each_caller() {
    let m = Built::new(GIVEN, &["-O1"]).heap(&["--check-memory"]);
    let beside = findings(&m, "heap-out-of-bounds");
    let texts: Vec<&str> = beside.iter().map(|finding| finding.text.as_str()).collect();
    assert_eq!(texts.len(), 2, "{texts:#?}");
    assert!(texts[0].contains("> first > fill, called at") && texts[1].contains("> second > fill"));
    // Neither block was freed then, and one is later.
    for finding in &beside {
        let titles: Vec<&str> = finding.evidence.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(titles, ["call chain", "allocated by"]);
        let (_, chain) = &finding.evidence[0];
        assert!(chain[0].1.starts_with("fill (") && chain[0].1.contains("main.c:13"), "{chain:?}");
    }
}

/// What compilers from 1.9x on call where they inline `__rust_alloc`: the trait's methods, with the
/// alignment before the size.
#[test]
fn methods_of_rusts_global_allocator_are_seen() {
    let source = r#"
#define TRAIT(what) __asm__("_RNvXs_NtCs1_4bump4HeapNtNtNtCs2_4core5alloc6global11GlobalAlloc" what)
static char pool[2048];
static unsigned used;
void *take(void *self, size_t align, size_t size) TRAIT("5alloc");
void give(void *self, void *p, size_t align, size_t size) TRAIT("7dealloc");
APART void *take(void *self, size_t align, size_t size)
{
    used = (used + align - 1) & -align;
    used += size;
    return pool + used - size;
}
APART void give(void *self, void *p, size_t align, size_t size) { *(volatile char *)p = 0; }
int main(void)
{
    void *a = take(pool, 8, 30), *b = take(pool, 4, 12);
    give(pool, a, 8, 30);
    return b == 0;
}
"#;
    let m = Built::new(source, &["-O1"]).heap(&[]);
    let known = ["heap-blocks", "heap-bytes", "heap-live", "heap-peak"].map(|id| figure(&m, id));
    assert_eq!(known, [2, 42, 12, 42]);
}

/// Resizing copies more than there was, and what is behind it was never written.
#[test]
fn bytes_added_by_resizing_are_uninitialised() {
    let source = r#"
static char pool[2048];
static unsigned used;
APART void *malloc(size_t n) { used += 64; return pool + used - 64; }
APART void free(void *p) { *(volatile char *)p = 0; }
APART void *realloc(void *p, size_t n)
{
    char *new = malloc(n);
    for (size_t i = 0; i < n; i++)
        ((volatile char *)new)[i] = ((volatile char *)p)[i];
    return new;
}
APART void *calloc(size_t n, size_t size) { return malloc(n * size); }
volatile int sink;
int main(void)
{
    volatile int *p = malloc(8);
    p[0] = p[1] = 1;
    p = realloc((void *)p, 32);
    if (p[1] == 2) sink = 1;
    if (p[5] == 2) sink = 2;
    calloc(0x10000, 0x10000);
    return 0;
}
"#;
    let m = Built::new(source, &["-O1", "-fno-builtin"]).heap(&["--check-memory"]);
    let unwritten = findings(&m, "uninitialised-read");
    assert_eq!(unwritten.len(), 1, "{unwritten:?}");
    assert!(unwritten[0].text.contains("20 bytes into a block"), "{}", unwritten[0].text);
    let wraps = findings(&m, "size-overflow");
    assert!(wraps.len() == 1 && wraps[0].text.contains("overflows"), "{wraps:?}");
}
