//! What is wrong with a firmware's use of its heaps, with the call chains that show it.

use strobe_model::measurement::{Finding, Severity};
use strobe_sim::observe::heap::Call;

use super::Seen;
use super::accesses;
use super::places::Places;
use super::sites::{Site, Sites};
use crate::simulated::heap::replay::{Block, FreeKind, Misuse, MisuseKind};

/// Findings of one kind.
pub(super) const MOST: usize = 5;

/// The findings, the gravest first.
pub(super) fn findings(seen: &Seen, places: &mut Places, sites: &Sites) -> Vec<Finding> {
    let mut out = Vec::new();
    if !seen.is_whole() {
        let text = format!("{}: what is live, the peak and leaks are unknown", seen.missed());
        let finding = Finding::new(Severity::Warning, "heap-incomplete", text);
        out.push(Finding { count: seen.log.missed.max(1), ..finding });
    }
    out.extend(limits(seen));
    let about_blocks = [
        MisuseKind::DoubleFree,
        MisuseKind::InnerFree,
        MisuseKind::WildFree,
        MisuseKind::Mismatch,
        MisuseKind::Overlap,
    ];
    // Where calls were not seen, a block of theirs looks like none.
    let judged = about_blocks.into_iter().filter(|_| seen.found.unseen.is_empty());
    for kind in judged.chain([MisuseKind::Wraps, MisuseKind::InHandler]) {
        out.extend(misuses(seen, places, kind));
    }
    out.extend(forms(seen, places));
    out.extend(accesses::findings(seen, places));
    out.extend(failures(seen, places));
    out.extend(leaks(seen, places, sites));
    out
}

/// What the allocators do not show.
pub(super) fn limits(seen: &Seen) -> Vec<Finding> {
    let mut out = Vec::new();
    if seen.collects() {
        let text = "a garbage collector frees blocks without a call for each: such a block counts \
                    as live until its memory is allocated anew, so what is live and the peak are \
                    at most so much, and leaks are not looked for among them";
        out.push(Finding::new(Severity::Note, "heap-collected", text));
    }
    let functions = seen.unsized_functions();
    if !functions.is_empty() {
        let text = format!(
            "blocks from {} are of a size that nothing states: they count as blocks, and their \
             bytes are missing",
            functions.join(", ")
        );
        out.push(Finding::new(Severity::Note, "heap-unsized", text));
    }
    out
}

/// Misuses of one kind, by call chain: how often each, with the first.
fn misuses(seen: &Seen, places: &mut Places, kind: MisuseKind) -> Vec<Finding> {
    let mut by_site: Vec<(u32, &Misuse, u64)> = Vec::new();
    for misuse in seen.shadow.misuses.iter().filter(|misuse| misuse.kind == kind) {
        let Some(call) = seen.call(misuse.call) else { continue };
        match by_site.iter_mut().find(|(chain, ..)| *chain == call.chain) {
            Some((.., n)) => *n += 1,
            None => by_site.push((call.chain, misuse, 1)),
        }
    }
    let listed: u64 = by_site.iter().map(|(.., n)| n).sum();
    let all = seen.shadow.misuse_counts.get(&kind).copied().unwrap_or(0);
    let more = by_site.len().saturating_sub(MOST);
    let mut out: Vec<Finding> = Vec::new();
    for (_, misuse, n) in by_site.into_iter().take(MOST) {
        let mut finding = one(seen, places, misuse);
        finding.count = n;
        out.push(finding);
    }
    // What is not kept one by one belongs to the places seen first, as likely as not.
    if let Some(last) = out.last_mut() {
        last.count += all.saturating_sub(listed);
        if more > 0 {
            last.text += &format!("; and in {more} further call chains");
        }
    }
    out
}

fn one(seen: &Seen, places: &mut Places, misuse: &Misuse) -> Finding {
    let call = seen.call(misuse.call);
    let chain = call.map_or(0, |call| call.chain);
    let begin = call.map_or(0, |call| call.begin);
    let site = places.site(chain).shown();
    let who = call.map_or_else(String::new, |call| {
        let (kind, name) = seen.who(call.who);
        format!("{kind} {name}")
    });
    let block = misuse.block.and_then(|block| seen.block(block));
    let at = format!("{:#010x}", misuse.pointer);
    let when = format!("at cycle {begin}, by {who}: {}", places.path(chain));
    let made = block.map(|block| made(seen, places, block)).unwrap_or_default();
    let (severity, code, text) = match misuse.kind {
        MisuseKind::DoubleFree => (
            Severity::Warning,
            "double-free",
            format!(
                "double free of {at} {when}; it was {made}{}",
                freed(seen, places, block, "first freed")
            ),
        ),
        MisuseKind::InnerFree => (
            Severity::Warning,
            "wild-free",
            format!("free of {at}, which is inside of a block, {when}; that was {made}"),
        ),
        MisuseKind::WildFree => (
            Severity::Warning,
            "wild-free",
            format!(
                "free of {at}, {}where no allocator seen has put a block, {when}",
                lies_in(seen, misuse.pointer)
            ),
        ),
        MisuseKind::Mismatch => (
            Severity::Warning,
            "mismatched-free",
            format!("{at} is freed by another allocator than its own, {when}; it was {made}"),
        ),
        MisuseKind::Overlap => (
            Severity::Warning,
            "overlapping-blocks",
            format!(
                "a new block at {at} overlaps one that nobody has freed, {when}; the old one was \
                 {made}: the heap is corrupt, or was freed in a way that is not seen"
            ),
        ),
        MisuseKind::Wraps => (
            Severity::Warning,
            "size-overflow",
            format!(
                "a block at {at} is returned for more bytes than there are addresses, {when}: the \
                 product of count and size overflows in the allocator, and the block is too small"
            ),
        ),
        MisuseKind::InHandler => (
            Severity::Warning,
            "heap-in-handler",
            format!("{} is called by an interrupt's handler, {when}", called(seen, misuse.call)),
        ),
    };
    let evidence = evidence(seen, places, chain, block.map(|block| (block, begin)));
    Finding { place: Some(site), evidence, ..Finding::new(severity, code, text) }
}

/// What a function of another form than its own has freed, as `delete` what is from `new[]`: by the
/// chains of both calls, how often each, with the first.
fn forms(seen: &Seen, places: &mut Places) -> Vec<Finding> {
    let form = |call: &Call| seen.found.functions.get(call.function as usize)?.form.as_deref();
    let mut by_site: Vec<((u32, u32), u32, &Block, u64)> = Vec::new();
    for block in &seen.shadow.blocks {
        let freed = block.gone.filter(|gone| gone.how == FreeKind::Freed).and_then(|gone| gone.by);
        let calls = seen.call(block.made_by).zip(freed.and_then(|freer| seen.call(freer)));
        let Some(((maker, freer), freed)) = calls.zip(freed) else { continue };
        if form(maker).zip(form(freer)).is_none_or(|(made, freed)| made == freed) {
            continue;
        }
        let chains = (maker.chain, freer.chain);
        let is_full = by_site.len() >= MOST;
        match by_site.iter_mut().find(|(known, ..)| *known == chains) {
            Some((.., n)) => *n += 1,
            None if !is_full => by_site.push((chains, freed, block, 1)),
            None => {}
        }
    }
    by_site.into_iter().map(|(_, freed, block, n)| of_form(seen, places, freed, block, n)).collect()
}

fn of_form(seen: &Seen, places: &mut Places, freed: u32, block: &Block, count: u64) -> Finding {
    let (begin, chain) = seen.call(freed).map_or((0, 0), |call| (call.begin, call.chain));
    let text = format!(
        "{:#010x} is from {} and is freed by {}, at cycle {begin}, by {}; it was {}",
        block.pointer,
        function(seen, block.made_by),
        function(seen, freed),
        places.path(chain),
        made(seen, places, block)
    );
    Finding {
        count,
        place: Some(places.site(chain).shown()),
        evidence: evidence(seen, places, chain, Some((block, begin))),
        ..Finding::new(Severity::Warning, "mismatched-free", text)
    }
}

/// The allocator's function, of a call that can be one of any.
fn called(seen: &Seen, call: u32) -> String {
    let name = function(seen, call);
    if name.is_empty() { "an allocator".to_owned() } else { format!("the allocator's {name}") }
}

/// The allocator's function that a call is of.
fn function(seen: &Seen, call: u32) -> String {
    let call = seen.call(call);
    let entry = call.and_then(|call| seen.found.entries.get(call.function as usize));
    let function = entry.and_then(|entry| seen.firmware.function_at(entry.address));
    function.map_or_else(String::new, |id| seen.firmware.function(id).name.clone())
}

/// `8 bytes into the variable table, `: what a pointer that is no block's points to, where the
/// firmware names that.
fn lies_in(seen: &Seen, pointer: u32) -> String {
    let address = pointer.wrapping_add(seen.found.base);
    let firmware = seen.firmware;
    if let Some(variable) = firmware.data_symbol_at(address) {
        return match address - variable.address {
            0 => format!("the variable {}, ", variable.name),
            1 => format!("1 byte into the variable {}, ", variable.name),
            n => format!("{n} bytes into the variable {}, ", variable.name),
        };
    }
    match firmware.function_at(address) {
        Some(function) => format!("in the code of {}, ", firmware.function(function).name),
        None => String::new(),
    }
}

/// The call chain, and those that allocated the block and, before that cycle, freed it.
pub(super) fn evidence(
    seen: &Seen,
    places: &Places,
    chain: u32,
    block: Option<(&Block, u64)>,
) -> Vec<(String, Vec<(String, String)>)> {
    let mut evidence = vec![("call chain".to_owned(), places.steps(chain))];
    if let Some((block, now)) = block
        && let Some(maker) = seen.call(block.made_by)
    {
        evidence.push(("allocated by".to_owned(), places.steps(maker.chain)));
        let gone = block.gone.filter(|gone| gone.how == FreeKind::Freed && gone.at.0 < now);
        if let Some(freer) = gone.and_then(|gone| seen.call(gone.by?)) {
            evidence.push(("freed by".to_owned(), places.steps(freer.chain)));
        }
    }
    evidence
}

/// `24 bytes, allocated at cycle 17 by main > load (load.c:12)`.
pub(super) fn made(seen: &Seen, places: &mut Places, block: &Block) -> String {
    let Some(call) = seen.call(block.made_by) else { return String::new() };
    let spot = places.site(call.chain).spot();
    let path = places.path(call.chain);
    format!("{} bytes, allocated at cycle {} by {path} ({spot})", block.size, block.born.0)
}

/// `, freed at cycle 29 by main > drop_all (load.c:40)`, with this verb.
pub(super) fn freed(seen: &Seen, places: &mut Places, block: Option<&Block>, verb: &str) -> String {
    let freer = block.and_then(|block| block.gone).and_then(|gone| seen.call(gone.by?));
    let Some(call) = freer else { return String::new() };
    let spot = places.site(call.chain).spot();
    format!(", {verb} at cycle {} by {} ({spot})", call.begin, places.path(call.chain))
}

fn failures(seen: &Seen, places: &mut Places) -> Option<Finding> {
    let first = seen.shadow.failures.first()?;
    let call = seen.call(first.call)?;
    let asked = match first.size {
        Some(0) => "a block of unknown size".to_owned(),
        Some(size) => format!("{size} bytes"),
        None => "more bytes than there are addresses".to_owned(),
    };
    let text = format!(
        "an allocation failed: the first at cycle {}, of {asked} while {} were live, by {}",
        call.begin,
        first.live_bytes,
        places.path(call.chain)
    );
    Some(Finding {
        count: seen.shadow.failures.len() as u64,
        place: Some(places.site(call.chain).shown()),
        ..Finding::new(Severity::Warning, "failed-allocation", text)
    })
}

pub(super) fn leaks(seen: &Seen, places: &Places, sites: &Sites) -> Vec<Finding> {
    if !seen.is_whole() {
        return Vec::new();
    }
    let one = |site: &Site| {
        let course = site.growth.blocks;
        let text = format!(
            "a leak: {} has {} live blocks in the middle of the run and {} at its end, {} bytes; \
             called by {}",
            site.place.shown(),
            course[0],
            course[course.len() - 1],
            site.live.bytes,
            places.path(site.chain)
        );
        Finding {
            count: 1,
            place: Some(site.place.shown()),
            ..Finding::new(Severity::Warning, "leak", text)
        }
    };
    sites.leaks().take(2 * MOST).map(one).collect()
}
