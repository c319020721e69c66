//! Sampling of allocations by their bytes, for long runs: what is not sampled is counted and
//! forgotten, so memory depends on the samples alone.
//!
//! Points lie along all bytes that are ever allocated, at distances from an exponential
//! distribution, by a fixed seed. A block with a point in it is followed from its allocation to its
//! free. The distribution has no memory: behind a block the next point is as far as ever.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use strobe_analyse::statistics::Random;
use strobe_sim::observe::heap::{Call, End, Filter};

use super::allocators::{Found, Role};
use crate::simulated::HeapSampling;

/// Which halves of a call that resizes a block are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Halves {
    /// That the old block goes.
    pub frees: bool,
    /// That there is a new one.
    pub allocates: bool,
}

/// Decides which calls are followed.
#[derive(Debug, Clone)]
pub struct Sampler {
    found: Arc<Found>,
    random: Random,
    /// The mean distance of points in bytes.
    pub distance: f64,
    /// Bytes up to the next.
    left: f64,
    /// Sampled blocks that are live.
    live: HashSet<u32>,
    /// Calls that resize blocks and are followed by halves, by their place in the log.
    pub halves: HashMap<u32, Halves>,
    /// Calls that allocate, and the bytes that they ask for.
    pub asked: (u64, u64),
    /// The fewest bytes that any of them asks for.
    pub least: u32,
}

impl Sampler {
    /// Before the first call.
    pub fn new(found: Arc<Found>, HeapSampling { bytes, seed }: HeapSampling) -> Self {
        let mut sampler = Sampler {
            found,
            random: Random::new(seed),
            distance: f64::from(bytes.max(1)),
            left: 0.0,
            live: HashSet::new(),
            halves: HashMap::new(),
            asked: (0, 0),
            least: u32::MAX,
        };
        sampler.left = sampler.gap();
        sampler
    }

    fn gap(&mut self) -> f64 {
        // From 0 to below 1, so the logarithm is of something above 0.
        -(1.0 - self.random.unit()).ln() * self.distance
    }

    /// Whether a point lies in the next so many bytes.
    fn hits(&mut self, bytes: u32) -> bool {
        let bytes = f64::from(bytes.max(1));
        let is_hit = self.left < bytes;
        self.left = if is_hit { self.gap() } else { self.left - bytes };
        is_hit
    }

    /// Whether a call that asks for a block gets a sampled one.
    fn allocates(&mut self, arguments: &[u32; 4], size: Option<u8>, count: Option<u8>) -> bool {
        let bytes = self.found.bytes(arguments, size, count).unwrap_or(0);
        self.asked = (self.asked.0 + 1, self.asked.1.saturating_add(bytes.into()));
        self.least = self.least.min(bytes);
        self.hits(bytes)
    }
}

impl Filter for Sampler {
    fn wants(&mut self, call: u32, function: u32, arguments: &[u32; 4], inner: bool) -> bool {
        let known = self.found.functions.get(function as usize);
        match known.map(|known| known.role) {
            Some(Role::Free { pointer, .. }) => {
                let pointer = self.found.argument(arguments, pointer);
                self.live.remove(&pointer)
            }
            // How the outer call works.
            _ if inner => false,
            Some(Role::Allocate { size, count }) => self.allocates(arguments, size, count),
            Some(Role::Reallocate { pointer, size, count }) => {
                let frees = self.live.remove(&self.found.argument(arguments, pointer));
                let halves =
                    Halves { frees, allocates: self.allocates(arguments, Some(size), count) };
                if halves.frees != halves.allocates {
                    self.halves.insert(call, halves);
                }
                halves.frees || halves.allocates
            }
            Some(Role::Grow { .. } | Role::Give { .. } | Role::Own | Role::Passes) | None => false,
        }
    }

    fn returned(&mut self, index: u32, call: &Call) {
        let End::Returned { result, .. } = call.end else { return };
        let result = result & self.found.mask;
        let role = self.found.functions.get(call.function as usize).map(|known| known.role);
        match role {
            Some(Role::Allocate { .. }) if result != 0 => {
                self.live.insert(result);
            }
            Some(Role::Reallocate { pointer, size, count }) => {
                let whole = Halves { frees: true, allocates: true };
                let halves = self.halves.get(&index).copied().unwrap_or(whole);
                let nothing_asked = self.found.bytes(&call.arguments, Some(size), count) == Some(0);
                if result != 0 && halves.allocates {
                    self.live.insert(result);
                }
                // It failed, and the old block is still there.
                if result == 0 && halves.frees && !nothing_asked {
                    self.live.insert(self.found.argument(&call.arguments, pointer));
                }
            }
            _ => {}
        }
    }

    fn reset(&mut self) {
        self.live.clear();
    }
}
