//! What damage to a stream does to its figures.
//!
//! Packets near undecodable bytes are in doubt and in no figure. But of the wrong bits of a line
//! most fall into payloads, where nothing shows them: a timestamp with one may be longer by hours,
//! an interrupt another one. How many there are is known roughly, by the places that did show. So
//! no time of a damaged stream is exact, and what was seen so seldom that damage may have made it
//! is shown apart.

use crate::code_profile::CodeProfile;
use crate::code_profile::Who;
use crate::traced::totals::{Expected, InDoubt, StreamTotals, Traced};
use strobe_model::number::grouped;

use super::kinds::EXTENSION;

/// Stimulus ports that packets name without a page (DDI 0403E, D4.2.8).
const PORTS_OF_A_PAGE: u8 = 32;

/// Packets with a wrong bit that nothing shows, for each place with undecodable bytes: at most. Of
/// samples and timestamps nine bits of ten are payload, and half of the wrong headers lead on to
/// packets.
const SILENT: u64 = 32;

/// Wrong packets of one kind, for each such place, at most: they spread over many.
const INVENTED: u64 = 4;

/// The target's own clock, by which samples are due.
pub(super) const STAMPS: &str = "local timestamps";
/// The host's, where nothing better is there.
pub(super) const HOST: &str = "the host's clock";

/// Samples that the ends of a part may have more than are due in it: one at each.
const AT_ENDS: u64 = 2;

impl Steps {
    /// A local timestamp of so many ticks.
    #[inline]
    pub fn add(&mut self, ticks: u32) {
        let (count, sum) = &mut self.0[(u32::BITS - ticks.leading_zeros()) as usize];
        *count += 1;
        *sum = sum.saturating_add(ticks.into());
    }

    /// The ticks of all of them together, if so many may be wrong and all others are right: at
    /// least.
    pub fn at_least(&self, mut wrong: u64) -> u64 {
        let mut least = 0u64;
        for (bits, (count, sum)) in self.0.iter().enumerate().rev() {
            let longest = (1u64 << bits) - 1;
            let left_out = wrong.min(*count);
            wrong -= left_out;
            let rest = if left_out == *count { 0 } else { *sum };
            least = least.saturating_add(rest.saturating_sub(left_out.saturating_mul(longest)));
        }
        least
    }

    /// How many are longer than that for certain, and how many there are.
    pub fn longer(&self, than: u64) -> (u64, u64) {
        let counts = self.0.iter().map(|(count, _)| *count);
        let is_longer = |bits: &usize| *bits > 0 && 1u64 << (bits - 1) > than;
        let longer = counts.clone().enumerate().filter(|(bits, _)| is_longer(bits));
        (longer.map(|(_, count)| count).sum(), counts.sum())
    }
}

/// Local timestamps by the bits that their ticks need: how many, and their sum.
#[derive(Debug, Clone)]
pub(super) struct Steps([(u64, u64); 33]);

impl Default for Steps {
    fn default() -> Self {
        Steps([(0, 0); 33])
    }
}

/// The packets of a damaged stream that may be wrong without a sign, at most.
pub(super) fn silent(traced: &Traced) -> Option<u64> {
    let damage = traced.stream.damage;
    (damage > 0).then(|| damage.saturating_mul(SILENT).saturating_add(SILENT))
}

/// Why a figure of a damaged stream is not known.
pub(super) fn why(traced: &Traced) -> String {
    let (places, s) = (traced.stream.damage, if traced.stream.damage == 1 { "" } else { "s" });
    format!(
        "the stream is damaged in {places} place{s}, and a wrong bit within a packet leaves no sign"
    )
}

/// What timestamps and samples do not agree on, where no packet explains it: a wrong bit in a
/// timestamp is a time in which no sample came. So is any time by a wrong period.
pub(super) fn unexplained(
    expected: &Expected,
    taken: u64,
    stream: &StreamTotals,
    parts: u64,
) -> Option<String> {
    let is_explained = expected.at_least || stream.overflows + stream.packets_in_doubt > 0;
    if expected.from != STAMPS || is_explained {
        return None;
    }
    let (due, parts) = (expected.samples, parts.max(1));
    let what = if due > taken.saturating_add(parts) {
        let n = grouped(due - taken);
        format!("{n} samples are missing by the timestamps, and no packet shows a loss")
    } else if taken > due.saturating_add(parts.saturating_mul(AT_ENDS)) {
        format!("the timestamps have no time for {} of the samples", grouped(taken - due))
    } else {
        return None;
    };
    Some(format!(
        "{what}: the period or the tick may be another one, a timestamp wrong, or bytes missing"
    ))
}

/// Whether timestamps and samples disagree, so that no time is exact.
pub(super) fn is_unexplained(traced: &Traced) -> bool {
    let parts = traced.window.as_ref().map_or(1, |window| window.parts);
    let sampling = &traced.sampling;
    let expected = sampling.expected.as_ref();
    expected
        .and_then(|expected| unexplained(expected, sampling.taken, &traced.stream, parts))
        .is_some()
}

/// Ports of pages that so few packets, or fewer, have named: one wrong page moves all packets
/// behind it to other ports.
fn wrong_pages(traced: &mut Traced, few: u64) -> Vec<InDoubt> {
    let extensions = traced.stream.kinds.iter().filter(|kind| kind.name == EXTENSION);
    if extensions.map(|kind| kind.packets).sum::<u64>() > few {
        return Vec::new();
    }
    let (first, others) = std::mem::take(&mut traced.channels)
        .into_iter()
        .partition::<Vec<_>, _>(|channel| channel.port < PORTS_OF_A_PAGE);
    traced.channels = first;
    let doubt = |c: &crate::traced::totals::Channel| InDoubt {
        what: format!("port {}", c.port),
        packets: c.packets,
    };
    others.iter().map(doubt).collect()
}

/// Takes out of the figures the ports of pages that only packets in doubt can have named, as those
/// behind a gap: a page holds until the next synchronisation, and doubt may end before.
pub(super) fn set_pages_apart(traced: &mut Traced) {
    let apart = wrong_pages(traced, 0);
    traced.in_doubt.extend(apart);
}

/// Takes out of a damaged stream's figures what damage may have made.
pub(super) fn set_apart(traced: &mut Traced, profile: &mut CodeProfile) {
    let few = traced.stream.damage.saturating_mul(INVENTED);
    let mut apart = wrong_pages(traced, few);
    let mut is_seldom = |what: String, packets: u64| {
        let seldom = packets <= few;
        if seldom {
            apart.push(InDoubt { what, packets });
        }
        seldom
    };
    traced.exceptions.retain(|e| !is_seldom(e.name.clone(), e.entered + e.left));
    let threads = &traced.threads;
    let kept_threads: Vec<bool> = threads
        .iter()
        .map(|t| t.runs == 0 || !is_seldom(format!("thread {}", t.name), t.runs))
        .collect();
    traced.channels.retain(|c| !is_seldom(format!("port {}", c.port), c.packets));
    traced.counters.retain(|c| !is_seldom(c.name.clone(), c.wraps));
    traced.watched.retain(|w| !is_seldom(w.name.clone(), w.reads + w.writes + w.matches));
    if let Some(kit) = &mut traced.kit {
        kit.marks.retain(|m| !is_seldom(format!("mark {}", m.name), m.count));
        kit.regions.retain(|r| !is_seldom(format!("region {}", r.name), r.begun + r.ended));
        kit.values.retain(|v| !is_seldom(format!("value {}", v.name), v.count));
    }
    let exceptions = &traced.exceptions;
    profile.shares.retain(|share| match share.who {
        Who::Interrupt(n) => exceptions.iter().any(|e| e.number == n),
        Who::Thread(n) => kept_threads.get(n as usize).is_none_or(|kept| *kept),
    });
    // Shares point to threads by their place, so these stay where they are.
    for (thread, kept) in traced.threads.iter_mut().zip(kept_threads) {
        if !kept {
            (thread.runs, thread.samples, thread.cycles) = (0, 0, 0);
        }
    }
    traced.in_doubt = apart;
}

#[cfg(test)]
mod tests {
    use crate::traced::totals::Channel;
    use crate::traced::totals::PacketKind;

    use super::*;

    /// Behind a gap the middle of a packet may look like a page.
    #[test]
    fn ports_of_a_page_without_sound_packets_are_doubtful() {
        let port = |port, packets| Channel { port, packets, ..Channel::default() };
        let page = PacketKind { name: EXTENSION.to_owned(), packets: 1, bytes: 1 };
        for (kinds, expected) in [(Vec::new(), vec![1]), (vec![page], vec![1, 65])] {
            let mut traced =
                Traced { channels: vec![port(1, 174), port(65, 10)], ..Traced::default() };
            traced.stream.kinds = kinds;
            set_pages_apart(&mut traced);
            let ports: Vec<u8> = traced.channels.iter().map(|channel| channel.port).collect();
            assert_eq!(ports, expected);
            let apart: Vec<_> = traced.in_doubt.iter().map(|d| (&*d.what, d.packets)).collect();
            let is_apart = expected.len() == 1;
            assert_eq!(apart, if is_apart { vec![("port 65", 10)] } else { Vec::new() });
        }
    }

    #[test]
    fn without_the_longest_what_is_left_is_right() {
        let mut rng = strobe_synth::rng::Rng::new(7);
        for _ in 0..200 {
            let mut steps = Steps::default();
            let mut right = 0u64;
            let wrong = rng.below(20);
            for n in 0..200 + wrong {
                let bits = 1 + rng.below(14);
                let ticks = rng.below(1 << bits);
                right += u64::from(ticks);
                let seen = if n < wrong { ticks ^ 1 << rng.below(28) } else { ticks };
                steps.add(seen);
            }
            assert!(steps.at_least(wrong.into()) <= right);
            assert_eq!(steps.at_least(1000), 0);
        }
    }

    #[test]
    fn without_damage_all_of_it_is_there() {
        let mut steps = Steps::default();
        [0, 1, 5, 300, u32::MAX].into_iter().for_each(|ticks| steps.add(ticks));
        assert_eq!(steps.at_least(0), 306 + u64::from(u32::MAX));
    }
}
