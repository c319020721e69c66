//! What each call of chosen functions, and each window, does to the heap: how many blocks it
//! allocates, of how many bytes, by how much it raises the heap, and what it leaves.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Content, Distribution, Distributions, Finding, Section, Severity, Spread, Unit,
};
use strobe_sim::observe::heap::Call;
use strobe_sim::observe::per_call::MOST_SPANS;
use strobe_sim::observe::schedule::Who;

use super::{Seen, section};
use crate::simulated::drive::MAX_SPANS;

/// The whole calls of a chosen function.
pub(in crate::simulated::heap) struct Calls {
    /// The function.
    pub name: String,
    /// Who made each, with the cycles of its entry and its return, in the order of their returns.
    pub spans: Vec<(Who, u64, u64)>,
}

/// What a call or a window does to the heap.
#[derive(Debug, Clone, Copy, Default)]
struct HeapOperation {
    blocks: u64,
    bytes: u64,
    /// Live bytes now, more than at its beginning.
    more: i64,
    /// The most of these.
    peak: i64,
}

impl HeapOperation {
    fn born(&mut self, bytes: u32) {
        self.blocks += 1;
        self.bytes += u64::from(bytes);
        self.more += i64::from(bytes);
        self.peak = self.peak.max(self.more);
    }

    fn gone(&mut self, bytes: u32) {
        self.more -= i64::from(bytes);
    }
}

/// What happened to a block.
struct Event<'a> {
    order: u32,
    is_birth: bool,
    bytes: u32,
    by: &'a Call,
}

/// Births and deaths of all blocks, in their order.
fn events<'a>(seen: &'a Seen) -> Vec<Event<'a>> {
    let mut out = Vec::new();
    for block in &seen.shadow.blocks {
        let born = seen.call(block.made_by).map(|by| (block.born.1, true, by));
        let gone = block.gone.and_then(|gone| Some((gone.at.1, false, seen.call(gone.by?)?)));
        let both = [born, gone].into_iter().flatten();
        out.extend(both.map(|(order, is_birth, by)| Event {
            order,
            is_birth,
            bytes: block.size,
            by,
        }));
    }
    // Of one moment, as of a block that is resized, the old one goes first.
    out.sort_by_key(|event| (event.order, event.is_birth));
    out
}

/// By call of each chosen function.
pub(super) fn calls(seen: &Seen) -> Option<Section> {
    if seen.calls.is_empty() || !seen.is_whole() {
        return None;
    }
    let events = events(seen);
    let mut distributions = Vec::new();
    let mut notes = Vec::new();
    for calls in &seen.calls {
        if calls.spans.len() >= MOST_SPANS {
            let name = &calls.name;
            notes.push(format!("{name}: not known of more than {MOST_SPANS} calls."));
            continue;
        }
        let deeds = of_calls(&calls.spans, &events);
        distributions.extend(distributions_of(&calls.name, &deeds));
    }
    let title = "heap in calls: what each call and its callees allocate, by how many live bytes it \
                 is above its entry at most (peak) and when it returns (left)";
    let content = Content::Distributions(Distributions { distributions });
    let mut out = section(ids::section::HEAP_IN_CALLS, title, content);
    notes.push("What a handler or another thread does meanwhile is not the call's.".to_owned());
    out.notes = notes;
    Some(out)
}

/// What each call does: of the allocators' calls, those that the same thread or handler makes
/// while it is open. One that ends by jumping to an allocator has that call, too.
fn of_calls(spans: &[(Who, u64, u64)], events: &[Event]) -> Vec<HeapOperation> {
    let mut by_who: HashMap<Who, Vec<usize>> = HashMap::new();
    for (at, (who, ..)) in spans.iter().enumerate() {
        by_who.entry(*who).or_default().push(at);
    }
    let mut deeds = vec![HeapOperation::default(); spans.len()];
    for event in events {
        let Some(own) = by_who.get(&event.by.who) else { continue };
        // Calls of one thread are one after the other: a call within a call is part of it.
        let next = own.partition_point(|at| spans[*at].2 < event.by.begin);
        let Some(&at) = own.get(next).filter(|at| spans[**at].1 <= event.by.begin) else {
            continue;
        };
        if event.is_birth { deeds[at].born(event.bytes) } else { deeds[at].gone(event.bytes) }
    }
    deeds
}

/// By window, whoever runs in it. The peak is that of all live bytes.
pub(super) fn windows(seen: &Seen) -> Option<Section> {
    let windows = seen.windows.filter(|windows| !windows.is_empty() && seen.is_whole())?;
    if windows.len() == MAX_SPANS {
        return None;
    }
    let levels = &seen.shadow.levels;
    let mut deeds = vec![HeapOperation::default(); windows.len()];
    for (deed, (begin, end)) in deeds.iter_mut().zip(windows) {
        let [from, to] =
            [*begin, *end].map(|cycle| levels.partition_point(|level| level.cycle < cycle));
        let before = from.checked_sub(1).map_or(0, |at| levels[at].bytes);
        let within = &levels[from..to];
        let last = within.last().map_or(before, |level| level.bytes);
        let most = within.iter().map(|level| level.bytes).fold(before, u64::max);
        deed.peak = i64::try_from(most).unwrap_or(i64::MAX);
        deed.more = i64::try_from(last).unwrap_or(i64::MAX).saturating_sub_unsigned(before);
    }
    for block in &seen.shadow.blocks {
        let next = windows.partition_point(|(begin, _)| *begin <= block.born.0);
        let at = next.checked_sub(1).filter(|at| block.born.0 < windows[*at].1);
        if let Some(at) = at {
            deeds[at].blocks += 1;
            deeds[at].bytes += u64::from(block.size);
        }
    }
    let distributions = distributions_of("window", &deeds).collect();
    let content = Content::Distributions(Distributions { distributions });
    let title = "heap in windows: what each allocates, the most live bytes in it (peak), and by \
                 how many they have grown at its end (left)";
    Some(section(ids::section::HEAP_IN_WINDOWS, title, content))
}

/// Four of a name.
fn distributions_of<'a>(
    name: &'a str,
    deeds: &'a [HeapOperation],
) -> impl Iterator<Item = Distribution> {
    type Figure = fn(&HeapOperation) -> u64;
    let kept: Figure = |deed| u64::try_from(deed.more).unwrap_or(0);
    let most: Figure = |deed| u64::try_from(deed.peak).unwrap_or(0);
    let all: [(&str, Unit, Figure); 4] = [
        ("blocks", Unit::COUNT, |deed| deed.blocks),
        ("allocated", Unit::BYTES, |deed| deed.bytes),
        ("peak", Unit::BYTES, most),
        ("left", Unit::BYTES, kept),
    ];
    all.into_iter().map(move |(what, unit, figure)| {
        let spread: Spread = deeds.iter().map(figure).collect();
        Distribution::exact(format!("{name} {what}"), unit, spread)
    })
}

/// Functions whose calls were too many to be kept one by one.
pub(super) fn finding(seen: &Seen) -> Option<Finding> {
    let many = seen.calls.iter().filter(|calls| calls.spans.len() >= MOST_SPANS);
    let names: Vec<&str> = many.map(|calls| calls.name.as_str()).collect();
    let text = format!(
        "heap in calls: {} was called more than {MOST_SPANS} times, which is not kept; a shorter \
         run or a window shows it",
        names.join(", ")
    );
    (!names.is_empty()).then(|| Finding::new(Severity::Warning, "too-many-calls", text))
}

#[cfg(test)]
mod tests {
    use strobe_sim::observe::heap::End;

    use super::*;

    fn call(who: Who, begin: u64) -> Call {
        let end = End::Returned { result: 0, usable: None, cycle: begin + 5 };
        Call { function: 0, arguments: [0; 4], who, chain: 0, outer: None, begin, end }
    }

    /// A handler's allocation within a thread's call is not the call's; one that the call ends in
    /// by a jump is.
    #[test]
    fn call_includes_allocations_of_its_thread_and_final_jump() {
        let (thread, handler) = (Who::Thread(0), Who::Handler(15));
        let by = [
            call(thread, 10),
            call(handler, 20),
            call(thread, 30),
            call(thread, 40),
            call(thread, 41),
        ];
        let events: Vec<Event> = [(0, true), (1, true), (2, false), (3, true), (4, true)]
            .into_iter()
            .zip(&by)
            .zip([100, 7, 100, 60, 9])
            .map(|(((order, is_birth), by), bytes)| Event { order, is_birth, bytes, by })
            .collect();
        let deeds = of_calls(&[(thread, 10, 40), (thread, 50, 60)], &events);
        let of = |deed: &HeapOperation| (deed.blocks, deed.bytes, deed.peak, deed.more);
        assert_eq!(deeds.iter().map(of).collect::<Vec<_>>(), [(2, 160, 100, 60), (0, 0, 0, 0)]);
    }
}
