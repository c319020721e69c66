//! Shifts what interrupts a program against the program, to see what of a run was luck: a simulated
//! board always meets its interrupts at the same instructions.
//!
//! SysTick begins its period anew after a part of one, for nothing else can be done to it by its
//! registers. A chip's own timers are moved on by a part of what is left until their next interrupt
//! ([`strobe_sim::device::ShiftedTimer`]). Both once, as soon as they are seen to run.

use strobe_model::measurement::Finding;
use strobe_sim::device::{DeviceId, Shift};

use super::Run;
use crate::simulated::settings::Phase;

/// SYST_RVR and SYST_CVR (DDI 0419, B3.3.4 and B3.3.5). A write of the latter begins the period
/// anew and pends nothing.
const RELOAD: u32 = 0xe000_e014;
const COUNTER: u32 = 0xe000_e018;

/// Cycles between two looks whether the firmware has started a timer; later ones are farther
/// apart.
const FIRST_LOOK: u64 = 256;

/// What has been shifted, and what is still to be.
pub(in crate::simulated) struct Shifting {
    phase: Phase,
    /// Cycles to the look after the next.
    look: u64,
    /// The cycle of the next look.
    next: u64,
    tick: Tick,
    /// Chips' timers with what became of each.
    timers: Vec<(DeviceId, String, Shift)>,
    /// Names of what has been shifted.
    shifted: Vec<String>,
}

/// The system timer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tick {
    /// It does not count yet.
    Waits,
    /// Its period begins anew at that cycle.
    Due(u64),
    /// It is shifted, or the core has none.
    Done,
}

impl Shifting {
    pub(super) fn new(phase: Phase) -> Self {
        let (look, next) = (FIRST_LOOK, FIRST_LOOK);
        Shifting { phase, look, next, tick: Tick::Waits, timers: Vec::new(), shifted: Vec::new() }
    }

    /// What was shifted and what was not, as a note.
    pub(in crate::simulated) fn note(&self) -> Finding {
        let left = self.timers.iter().filter_map(|(_, name, shift)| match shift {
            Shift::Unfit(why) => Some(format!("{name} ({why})")),
            Shift::Idle | Shift::Earlier(_) => None,
        });
        let left: Vec<String> = left.collect();
        let mut text = match self.shifted.as_slice() {
            [] => "no timer was shifted".to_owned(),
            names => format!("shifted against the program: {}", names.join(", ")),
        };
        if !left.is_empty() {
            text.push_str(&format!("; not shifted: {}", left.join(", ")));
        }
        if self.shifted.is_empty() {
            return Finding::warning("phase-not-shifted", text);
        }
        Finding::note("phase-shifted", text)
    }
}

impl Run {
    /// The cycle at which timers are looked at next.
    pub(super) fn next_look(&self) -> u64 {
        self.shifting.as_ref().map_or(u64::MAX, |shifting| shifting.next)
    }

    /// Shifts what is due at this cycle, if anything is.
    pub(super) fn look_at_timers(&mut self) {
        let now = self.machine.cycles();
        let Some(mut shifting) = self.shifting.take_if(|shifting| shifting.next <= now) else {
            return;
        };
        self.look_at_tick(&mut shifting, now);
        if shifting.timers.is_empty() {
            let all = self.machine.shifted_timers().into_iter();
            shifting.timers = all.map(|(id, name)| (id, name, Shift::Idle)).collect();
        }
        let Phase { part, of } = shifting.phase;
        for (id, name, state) in &mut shifting.timers {
            // One that could not be moved by a whole step is tried again.
            if !matches!(state, Shift::Earlier(1..)) {
                *state = self.machine.shift_timer(*id, part, of);
                if matches!(state, Shift::Earlier(1..)) {
                    shifting.shifted.push(name.clone());
                }
            }
        }
        let is_moved = |(_, _, state): &(_, _, Shift)| matches!(state, Shift::Earlier(1..));
        let is_done = shifting.tick == Tick::Done && shifting.timers.iter().all(is_moved);
        shifting.look += shifting.look / 8;
        shifting.next = match shifting.tick {
            _ if is_done => u64::MAX,
            Tick::Due(cycle) => cycle.min(now + shifting.look).max(now + 1),
            Tick::Waits | Tick::Done => now + shifting.look,
        };
        self.shifting = Some(shifting);
    }

    fn look_at_tick(&mut self, shifting: &mut Shifting, now: u64) {
        match shifting.tick {
            Tick::Waits => match self.machine.debugger_read(COUNTER) {
                Err(_) => shifting.tick = Tick::Done,
                Ok(0) => {}
                Ok(_) => {
                    let reload = self.machine.debugger_read(RELOAD).unwrap_or(0);
                    let Phase { part, of } = shifting.phase;
                    let period = u128::from(reload) + 1;
                    let after = period * u128::from(part) / u128::from(of.max(1));
                    shifting.tick = Tick::Due(now + after as u64);
                }
            },
            Tick::Due(cycle) if cycle <= now => {
                // Nothing depends on whether it could be written: it was read before.
                self.machine.debugger_write(COUNTER, 0).ok();
                shifting.shifted.push("SysTick".to_owned());
                shifting.tick = Tick::Done;
            }
            Tick::Due(_) | Tick::Done => {}
        }
    }
}
