//! Text that fits: cleaned, shortened in the middle, wrapped.

use std::collections::{BTreeMap, BTreeSet};

use crate::number::grouped;

/// Narrower than this and a part of a list is of no use.
const LEAST_PART: usize = 8;

/// The text with control characters made visible: names come from files, and a terminal must not
/// obey them.
pub(crate) fn clean(text: &str) -> String {
    crate::visible::line(text).into_owned()
}

/// At most `width` characters: the middle of a longer text gives way to `...`. Most of what is kept
/// is the end, where names differ (`core::fmt::num::<impl...>::fmt`). Of a place in the source its
/// directories go first, then the address before it: function, file and line are what is read. A
/// list loses whole parts at its end, and how many is stated: cut in its middle, it would have the
/// first part with what belongs to the last.
pub(crate) fn shortened(text: &str, width: usize) -> String {
    let fits = |text: &str| text.chars().count() <= width;
    if fits(text) {
        return text.to_owned();
    }
    let place = without_directories(text);
    if fits(&place) {
        return place;
    }
    match list(&place) {
        Some((parts, more)) => listed(&parts, more, width),
        None => cut(without_address(&place), width),
    }
}

/// The first parts of a list, and how many there are beside them.
fn listed(parts: &[&str], more: u64, width: usize) -> String {
    let rest = |kept: usize| match more.saturating_add((parts.len() - kept) as u64) {
        0 => String::new(),
        more => format!(" and {} more", grouped(more)),
    };
    let begun_with = |kept: usize| parts[..kept].join(", ") + &rest(kept);
    let mut all = (1..=parts.len()).rev().map(begun_with);
    if let Some(text) = all.find(|text| text.chars().count() <= width) {
        return text;
    }
    let rest = rest(1);
    match width.saturating_sub(rest.len()) {
        room if room >= LEAST_PART => cut(parts[0], room) + &rest,
        _ => begun(parts[0], width),
    }
}

/// The parts of `a (x), b, c` and of `a, b and 3 more`, and how many more there are. Parts are
/// names with what stands in brackets behind them: prose and instructions have commas too, but
/// they are no lists.
fn list(text: &str) -> Option<(Vec<&str>, u64)> {
    let counted = text.strip_suffix(" more").and_then(|text| text.rsplit_once(" and "));
    let counted =
        counted.and_then(|(parts, n)| Some((parts, n.replace(',', "").parse::<u64>().ok()?)));
    if let Some((parts, more)) = counted {
        return Some((split(parts, ", "), more));
    }
    let mut parts = split(text, ", ");
    let last = parts.pop().filter(|_| !parts.is_empty())?;
    parts.extend(split(last, " and "));
    let is_name = |part: &str| {
        let words = split(part, " ");
        !part.is_empty() && words.iter().skip(1).all(|word| word.starts_with('('))
    };
    parts.iter().all(|part| is_name(part)).then_some((parts, 0))
}

/// What stands between separators, those within brackets aside.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Whether it is a line of a source file, as `main.c:5`.
fn is_line(word: &str) -> bool {
    let line = word.rsplit_once(':').filter(|(file, _)| file.contains('.'));
    line.is_some_and(|(_, n)| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The text with `main.c:5` for `src/app/main.c:5`, also in brackets.
fn without_directories(text: &str) -> String {
    let word = |word: &'_ str| match word.rsplit_once('/') {
        Some((path, file)) if is_line(file.trim_end_matches([')', ','])) => {
            let bracket = if path.starts_with('(') { "(" } else { "" };
            format!("{bracket}{file}")
        }
        _ => word.to_owned(),
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// What follows `0x08000123`, where that is a line of a source file.
fn without_address(text: &str) -> &str {
    let is_address = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or_default();
        digits.len() >= 4 && digits.bytes().all(|b| b.is_ascii_hexdigit())
    };
    match text.split_once(' ') {
        Some((first, rest)) if is_address(first) && rest.rsplit(' ').any(is_line) => rest,
        _ => text,
    }
}

fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let keep = width.saturating_sub(3);
    let head = keep * 2 / 5;
    let tail = keep - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}...{end}").chars().take(width).collect()
}

/// Texts as [`shortened`], but those that differ still do: where their ends are alike, what is kept
/// of the middle begins where they part, and as a last resort they are numbered. Lists are not set
/// apart: they state how much of them is not there.
pub(crate) fn apart(texts: &[&str], width: usize) -> Vec<String> {
    let mut short: BTreeMap<&str, String> =
        texts.iter().map(|text| (*text, shortened(text, width))).collect();
    for group in alike(&short) {
        let from = parting(&group);
        for text in group {
            short.insert(text, around(text, from, width));
        }
    }
    let mut used: BTreeSet<String> = short.values().cloned().collect();
    for group in alike(&short) {
        for (number, text) in group.into_iter().enumerate() {
            let mut number = number + 1;
            let mut name = numbered(text, number, width);
            while width > LEAST_NUMBERED && !used.insert(name.clone()) {
                number += 1;
                name = numbered(text, number, width);
            }
            short.insert(text, name);
        }
    }
    texts.iter().map(|text| short.get(text).cloned().unwrap_or_default()).collect()
}

/// Narrower than this there is no room for a number.
const LEAST_NUMBERED: usize = 8;

fn numbered(text: &str, number: usize, width: usize) -> String {
    let number = format!("#{number}");
    format!("{}{number}", shortened(text, width.saturating_sub(number.len())))
}

/// Groups of different texts, no lists, that look the same when shortened.
fn alike<'a>(short: &BTreeMap<&'a str, String>) -> Vec<Vec<&'a str>> {
    let mut groups: BTreeMap<&str, Vec<&'a str>> = BTreeMap::new();
    let names = short.iter().filter(|(text, _)| list(text).is_none());
    names.for_each(|(text, short)| groups.entry(short).or_default().push(text));
    groups.into_values().filter(|group| group.len() > 1).collect()
}

/// The first character in which not all texts are alike.
fn parting(texts: &[&str]) -> usize {
    let Some((first, others)) = texts.split_first() else { return 0 };
    let alike = |text: &&str| first.chars().zip(text.chars()).take_while(|(a, b)| a == b).count();
    others.iter().map(alike).min().unwrap_or(0)
}

/// At most `width` characters of a text: its beginning, what follows from a character on, its end.
fn around(text: &str, from: usize, width: usize) -> String {
    let length = text.chars().count();
    let keep = width.saturating_sub(6);
    let (head, tail) = (keep / 4, keep / 4);
    let middle = keep - head - tail;
    if length <= width {
        return text.to_owned();
    }
    // A little of what stands before makes it easier to recognise.
    let begin = from.saturating_sub(2).clamp(head, length - tail - middle);
    let part = |from: usize, n: usize| text.chars().skip(from).take(n).collect::<String>();
    let (head, end) = (part(0, head), part(length - tail, tail));
    format!("{head}...{}...{end}", part(begin, middle)).chars().take(width).collect()
}

/// At most `width` characters: the end of a longer text gives way to `...`.
pub(crate) fn begun(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{}...", start.trim_end()).chars().take(width).collect()
}

/// The text with single spaces between its words: listings and source are aligned for other
/// columns.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Lines of at most `width` characters, broken at spaces; a longer word has its line to itself.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// As [`wrapped`], and longer words are broken: nothing is wider than asked.
pub(crate) fn folded(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let lines = wrapped(text, width);
    let broken = lines.iter().flat_map(|line| {
        let characters: Vec<char> = line.chars().collect();
        characters.chunks(width).map(|part| part.iter().collect()).collect::<Vec<String>>()
    });
    broken.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_ends_of_a_long_name_stay() {
        let name = "core::fmt::num::imp::<impl core::fmt::Display for u32>::fmt";
        assert_eq!(shortened(name, 30), "core::fmt:...lay for u32>::fmt");
    }

    #[test]
    fn of_places_in_the_source_the_line_stays() {
        let place = "0x08000490 usart1_send at /home/me/firmware/kit/usart1.c:15";
        assert_eq!(shortened(place, 40), "0x08000490 usart1_send at usart1.c:15");
        assert_eq!(shortened(place, 30), "usart1_send at usart1.c:15");
        assert_eq!(shortened(place, 20), "usart1...usart1.c:15");
        // Two loops of one line are two.
        let other = place.replace("0490", "04a2");
        let short = apart(&[place, &other], 30);
        assert_ne!(short[0], short[1]);
        // No place in the source.
        let text = "0x08000490 of 12 loads from and/or stores to flash";
        assert_eq!(shortened(text, 30), "0x08000490...r stores to flash");
    }

    #[test]
    fn lists_lose_whole_parts_at_their_end() {
        let by = "dfree() (/src/own/df.cpp:9), mism() (/src/own/df.cpp:10), ovr() (/src/x.c:12)";
        let more = format!("{by} and 3 more");
        let all = "dfree() (df.cpp:9), mism() (df.cpp:10), ovr() (x.c:12)";
        assert_eq!(shortened(&more, 70), format!("{all} and 3 more"));
        assert_eq!(shortened(&more, 60), "dfree() (df.cpp:9), mism() (df.cpp:10) and 4 more");
        assert_eq!(shortened(&more, 40), "dfree() (df.cpp:9) and 5 more");
        assert_eq!(shortened(&more, 26), "dfre...f.cpp:9) and 5 more");
        assert_eq!(shortened(&more, 14), "dfree() (df...");
        assert_eq!(shortened(by, 40), "dfree() (df.cpp:9) and 2 more");
        assert_eq!(shortened("one, two and three", 15), "one, two, three");
        assert_eq!(shortened("one, two and three", 14), "one and 2 more");
        // Alike as far as they are shown, and no names for rows.
        let other = more.replace(":12", ":13");
        assert_eq!(apart(&[&more, &other], 40), vec!["dfree() (df.cpp:9) and 5 more"; 2]);
    }

    #[test]
    fn text_with_commas_is_not_shortened_as_a_list() {
        let texts = [
            "ldrb r0, [r4, #1], some_long_register_name",
            "std::map<int, std::string>::find(int, char)",
            "flash answers in time, the core does not wait",
        ];
        for text in texts {
            let short = shortened(text, 30);
            assert!(short.contains("...") && !short.contains("more"), "{short}");
        }
    }

    #[test]
    fn names_that_differ_in_the_middle_stay_different() {
        let name = |task: &str| {
            format!("embassy_executor::raw::TaskStorage<{task}::{{closure}}>::poll_fn")
        };
        let (a, b) = (name("app::receive_bytes::task"), name("app::transmit_bytes::task"));
        let short = apart(&[&a, &b, &a], 40);
        assert_eq!(short[0], "embassy_...::receive_bytes::t...:poll_fn");
        assert_eq!(short[1], "embassy_...::transmit_bytes::...:poll_fn");
        assert_eq!(short[2], short[0]);
    }

    #[test]
    fn escape_sequences_do_not_pass() {
        assert_eq!(clean("a\x1b[31mb\n"), "a\\x1b[31mb\\n");
    }

    proptest! {
        #[test]
        fn nothing_is_wider_than_asked(text in ".{0,60}", width in 0usize..40) {
            prop_assert!(shortened(&text, width).chars().count() <= width);
            prop_assert!(begun(&text, width).chars().count() <= width);
        }

        #[test]
        fn different_texts_stay_different(
            texts in proptest::collection::vec("[ab]{0,3}x{0,30}[ab]{1,3}y{0,30}[ab]{0,2}", 1..20),
            width in 12usize..40,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let short = apart(&texts, width);
            for (i, a) in short.iter().enumerate() {
                prop_assert!(a.chars().count() <= width);
                for (j, b) in short.iter().enumerate() {
                    prop_assert_eq!(a == b, texts[i] == texts[j], "{} {}", texts[i], texts[j]);
                }
            }
        }

        #[test]
        fn folding_keeps_every_character(text in "[a-z ]{0,80}", width in 1usize..40) {
            let lines = folded(&text, width);
            prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }

        #[test]
        fn wrapping_keeps_every_word(text in "[a-z ]{0,80}", width in 1usize..40) {
            let again = wrapped(&text, width).join(" ");
            let words = |t: &str| t.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(words(&again), words(&text));
        }
    }
}
