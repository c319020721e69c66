//! Names as the programmer wrote them: C++ and Rust symbols demangled, within limits.
//!
//! A mangled name can describe a text exponentially longer than itself. Beyond a limit demangling
//! fails and the mangled name is shown instead. This module must not know the source of a name.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Maximum length of a demangled name, in bytes; longer ones stay mangled.
const LONGEST_DEMANGLED: usize = 4096;
/// Maximum length of a mangled name, in bytes.
pub(crate) const LONGEST_MANGLED: usize = 4096;

/// The display name for a linkage name: demangled C++ or Rust without the hash, or the name itself.
///
/// ```
/// use strobe_symbols::demangle;
/// assert_eq!(demangle("_ZN3foo3barEi"), "foo::bar(int)");
/// assert_eq!(demangle("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
/// assert_eq!(demangle("main"), "main");
/// ```
pub fn demangle(linkage_name: &str) -> String {
    if linkage_name.len() <= LONGEST_MANGLED
        && let Some(name) = demangle_rust(linkage_name).or_else(|| demangle_cpp(linkage_name))
    {
        return name;
    }
    linkage_name.to_owned()
}

fn demangle_rust(name: &str) -> Option<String> {
    let demangled = rustc_demangle::try_demangle(name).ok()?;
    let mut out = Bounded::default();
    // The alternate form omits the hash.
    write!(out, "{demangled:#}").ok()?;
    Some(out.finish())
}

fn demangle_cpp(name: &str) -> Option<String> {
    if !(name.starts_with("_Z") || name.starts_with("_GLOBAL_")) {
        return None;
    }
    let symbol = Symbol::new(name).ok()?;
    // `Queue<int, 8>` rather than `Queue<int, (unsigned int)8>`.
    let options = DemangleOptions::new().hide_expression_literal_types();
    let mut out = Bounded::default();
    symbol.structured_demangle(&mut out, &options).ok()?;
    Some(out.finish())
}

/// A string that fails to grow past the limit.
#[derive(Default)]
struct Bounded {
    text: String,
}

impl Bounded {
    /// The text without room to grow: an image has hundreds of thousands of names.
    fn finish(mut self) -> String {
        self.text.shrink_to_fit();
        self.text
    }
}

impl Write for Bounded {
    fn write_str(&mut self, piece: &str) -> fmt::Result {
        if self.text.len() + piece.len() > LONGEST_DEMANGLED {
            return Err(fmt::Error);
        }
        self.text.push_str(piece);
        Ok(())
    }
}

/// The name without template and generic arguments, parameters and clone suffix: what users type
/// for a function.
///
/// ```
/// use strobe_symbols::plain_name;
/// assert_eq!(plain_name("ns::Queue<int, 4u>::push(int const&)"), "ns::Queue::push");
/// let method = "<demo::Led as core::fmt::Debug>::fmt";
/// assert_eq!(plain_name(method), method);
/// ```
pub fn plain_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    let mut depth = 0_usize;
    let mut chars = name.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            // `<T as Trait>::f` starts a path: the angle brackets are part of the name, not
            // arguments.
            '<' if plain.is_empty() && depth == 0 => return name.to_owned(),
            '<' if plain.ends_with("operator") || plain.ends_with("operator<") => plain.push(c),
            '<' => {
                depth += 1;
                // Rust writes `path::<T>`; the colons go with the arguments.
                if depth == 1 && plain.ends_with("::") {
                    plain.truncate(plain.len() - 2);
                }
            }
            '>' if depth > 0 => depth -= 1,
            '.' if depth == 0 && is_clone_suffix(&name[at + 1..]) => break,
            '[' if depth == 0 && name[at..].starts_with("[clone ") => break,
            '(' if depth == 0 => match literal_parentheses(&name[at..]) {
                Some(text) => {
                    plain.push_str(text);
                    chars.nth(text.len() - 2);
                }
                None if plain.ends_with("operator") => plain.push(c),
                None => break,
            },
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.trim_end().to_owned()
}

/// Suffixes of GCC and LLVM for specialised, split and promoted copies.
fn is_clone_suffix(rest: &str) -> bool {
    const SUFFIXES: [&str; 8] =
        ["constprop", "isra", "part", "cold", "lto_priv", "localalias", "ipa", "llvm"];
    SUFFIXES.iter().any(|suffix| rest.starts_with(suffix))
}

fn literal_parentheses(rest: &str) -> Option<&'static str> {
    ["(anonymous namespace)", "()"]
        .into_iter()
        .find(|text| rest.starts_with(text) && (*text != "()" || rest.starts_with("()(")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_grow_without_end_stay_mangled() {
        // Each `S_` substitution doubles the text.
        let mut name = String::from("_Z1fI1a");
        for level in 0..24 {
            let last =
                if level == 0 { "S_".to_owned() } else { format!("S{}_", radix36(level - 1)) };
            name.push_str(&format!("1bI{last}{last}E"));
        }
        name.push_str("EvT_");
        assert!(demangle(&name).len() <= LONGEST_DEMANGLED);
    }

    fn radix36(value: usize) -> char {
        char::from(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 36])
    }

    #[test]
    fn plain_names_keep_operators_and_anonymous_namespaces() {
        assert_eq!(plain_name("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
        assert_eq!(plain_name("a::operator()(int) const"), "a::operator()");
        assert_eq!(plain_name("a::operator<(a const&)"), "a::operator<");
        assert_eq!(
            plain_name("core::ptr::drop_in_place::<alloc::Vec<u8>>"),
            "core::ptr::drop_in_place"
        );
        assert_eq!(plain_name("main"), "main");
        assert_eq!(plain_name("fold.constprop.0"), "fold");
        assert_eq!(plain_name(&demangle("_ZN1a1bEi.isra.0")), "a::b");
    }
}
