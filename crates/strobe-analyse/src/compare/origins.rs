//! Causes that lie in how a program was put together: arithmetic of floating-point numbers in
//! software that one build has and the other has not, and other versions of a library.

use super::found::Row;
use super::groups::Group;
use super::words::{counted, grouped, some};

/// Whether a function is arithmetic of floating-point numbers in software: by the names of the
/// Arm run-time ABI (section "The floating-point helper functions") and of GCC's libgcc ("Soft
/// float library routines"), which LLVM's and Rust's run-time libraries share.
pub(super) fn is_soft_float(name: &str) -> bool {
    if let Some(arm) = name.strip_prefix("__aeabi_") {
        let conversion =
            |to: &str| ["i2", "ui2", "l2", "ul2"].iter().any(|of| arm == format!("{of}{to}"));
        let of = |kinds: [&str; 2]| kinds.iter().any(|kind| arm.starts_with(kind));
        return conversion("f")
            || conversion("d")
            || is_operation(arm)
            || of(["cfcmp", "cfrcmp"])
            || of(["cdcmp", "cdrcmp"]);
    }
    let Some(plain) = name.strip_prefix("__") else {
        return name.starts_with("compiler_builtins::float::");
    };
    let ends = [
        "sf2", "sf3", "df2", "df3", "sfsi", "sfdi", "dfsi", "dfdi", "sisf", "sidf", "disf", "didf",
    ];
    // The AVR library's have parts, without and with rounding: `__mulsf3x`, `__mulsf3_pse`.
    let plain = plain.strip_suffix("_pse").or(plain.strip_suffix('x')).unwrap_or(plain);
    plain.starts_with("fp_") || ends.iter().any(|end| plain.ends_with(end))
}

/// What follows the letter for single or double precision.
fn is_operation(arm: &str) -> bool {
    const OPERATIONS: [&str; 17] = [
        "add", "sub", "rsub", "mul", "div", "neg", "cmpeq", "cmplt", "cmple", "cmpge", "cmpgt",
        "cmpun", "2iz", "2uiz", "2lz", "2ulz", "2h",
    ];
    let rest = arm.strip_prefix('f').or_else(|| arm.strip_prefix('d'));
    rest.is_some_and(|rest| OPERATIONS.contains(&rest) || ["2d", "2f"].contains(&rest))
}

/// Soft-float that one side alone calls from a function that is in both.
pub(super) fn arithmetic(a: &Group, b: &Group) -> Option<String> {
    if is_soft_float(&a.name) || is_soft_float(&b.name) {
        return None;
    }
    let only = |x: &Group, y: &Group| -> Vec<String> {
        let all = x.near.difference(&y.near);
        all.filter(|name| is_soft_float(name)).cloned().collect()
    };
    let (new, gone) = (only(b, a), only(a, b));
    let names = |all: &[String]| some(all.iter().map(String::as_str), 3);
    let had = |group: &Group| group.near.iter().any(|name| is_soft_float(name));
    match (new.is_empty(), gone.is_empty()) {
        (false, _) if had(a) => Some(format!("now calls {} as well", names(&new))),
        (false, _) => Some(format!("now calls {}: soft-float came in", names(&new))),
        (true, false) if had(b) => Some(format!("no longer calls {}", names(&gone))),
        (true, false) => Some(format!("no longer calls {}: soft-float is gone", names(&gone))),
        (true, true) => None,
    }
}

/// Soft-float that one side alone has, in all functions, for the verdict.
pub(super) fn came(rows: &[Row], unit: &str) -> Option<String> {
    let float = || rows.iter().filter(|row| is_soft_float(&row.name));
    let sum = |side: usize| float().fold(0i64, |sum, row| sum.saturating_add(row.own[side]));
    let n = counted(float().count(), "function");
    match [sum(0), sum(1)] {
        [0, all] if all > 0 => Some(format!("soft-float came in: {n}, {} {unit}", grouped(all))),
        [all, 0] if all > 0 => Some(format!("soft-float is gone: {n}, {} {unit}", grouped(all))),
        _ => None,
    }
}

/// Another version of the library that a function is from, by the folders of its file: those of
/// package managers have the version behind the name.
pub(super) fn version(a: &Group, b: &Group) -> Option<String> {
    other_version(a.file.as_deref()?, b.file.as_deref()?)
}

/// The same of two paths.
pub(super) fn other_version(a: &str, b: &str) -> Option<String> {
    let parts = |path: &str| path.split(['/', '\\']).map(str::to_owned).collect::<Vec<_>>();
    let (a, b) = (parts(a), parts(b));
    let differing: Vec<(&String, &String)> = a.iter().zip(&b).filter(|(a, b)| a != b).collect();
    let [(a, b)] = differing.iter().filter(|_| a.len() == b.len()).collect::<Vec<_>>()[..] else {
        return None;
    };
    let (of_a, of_b) = (versioned(a)?, versioned(b)?);
    (of_a.0 == of_b.0).then(|| format!("another version of {}: {} -> {}", of_a.0, of_a.1, of_b.1))
}

/// `cortex-m-0.7.6`, `newlib_4.1.0` and `freertos-v10.4`: a name, and a version of two numbers at
/// least.
fn versioned(folder: &str) -> Option<(&str, &str)> {
    let at = folder.char_indices().position(|(at, c)| {
        let rest = folder[at + c.len_utf8()..].trim_start_matches('v');
        let numbers = rest.split('.').take_while(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        matches!(c, '-' | '_') && at > 0 && numbers.count() > 1
    })?;
    let at = folder.char_indices().nth(at)?.0;
    Some((&folder[..at], &folder[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_known_by_their_names() {
        for name in [
            "__aeabi_fmul",
            "__aeabi_dadd",
            "__aeabi_i2f",
            "__aeabi_ul2d",
            "__aeabi_cdrcmple",
            "__aeabi_f2iz",
            "__aeabi_f2d",
            "__aeabi_dcmpun",
            "__addsf3",
            "__gedf2",
            "__fixsfsi",
            "__floatunsisf",
            "__truncdfsf2",
            "__fp_round",
            "__mulsf3x",
            "__divsf3_pse",
            "compiler_builtins::float::add::__addsf3",
        ] {
            assert!(is_soft_float(name), "{name}");
        }
        for name in [
            "__aeabi_uidivmod",
            "__aeabi_lmul",
            "__aeabi_memcpy",
            "__aeabi_idiv0",
            "filter",
            "__aeabi_dummy",
            "_printf_float",
            "__divsi3",
            "__umodsi3",
            "memset",
        ] {
            assert!(!is_soft_float(name), "{name}");
        }
    }

    fn group(file: &str, near: &[&str]) -> Group {
        let near = near.iter().map(|&name| name.to_owned()).collect();
        Group { name: "f".to_owned(), file: Some(file.to_owned()), near, ..Group::default() }
    }

    #[test]
    fn newly_called_soft_float_is_named() {
        let (off, on) = (group("a.c", &["main"]), group("a.c", &["main", "__aeabi_fmul"]));
        let more = group("a.c", &["__aeabi_fmul", "__aeabi_dmul"]);
        let text = |a, b| arithmetic(a, b).unwrap_or_default();
        assert_eq!(text(&off, &on), "now calls __aeabi_fmul: soft-float came in");
        assert_eq!(text(&on, &off), "no longer calls __aeabi_fmul: soft-float is gone");
        assert_eq!(text(&on, &more), "now calls __aeabi_dmul as well");
        assert_eq!(text(&on, &on), "");
    }

    #[test]
    fn versions_are_those_of_folders() {
        let version = |a: &str, b: &str| version(&group(a, &[]), &group(b, &[]));
        let expected = Some("another version of cortex-m: 0.7.6 -> 0.7.7".to_owned());
        assert_eq!(
            version("/r/cortex-m-0.7.6/src/asm.rs", "/r/cortex-m-0.7.7/src/asm.rs"),
            expected
        );
        assert_eq!(version("/r/heap-1/a.c", "/r/heap-2/a.c"), None, "no version has one number");
        assert_eq!(version("/r/heap-1.2/a.c", "/r/list-1.2/a.c"), None);
        assert_eq!(version("/r/heap-1.2/a.c", "/r/heap-1.2/b.c"), None);
        assert_eq!(version("/r/heap-1.2/a.c", "/r/x/heap-1.3/a.c"), None);
        assert_eq!(
            version("ü-1.2/a.c", "ü-1.3/a.c").as_deref(),
            Some("another version of ü: 1.2 -> 1.3")
        );
    }
}
