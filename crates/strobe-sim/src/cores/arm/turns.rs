//! Loops that wait, skipped: turns that do what the recorded one did are accounted for at once.
//!
//! When a register has been read twice by one instruction, or when code has run for a while without
//! anything else happening, the turn of a loop is recorded ([`record`]) on the careful path, from a
//! block to the same block with the same stack pointer. A [`proof`] then finds out for how many
//! further turns nothing changes but counters, all of which go by constant steps: loops that poll a
//! flag, compare a counter with a limit, count iterations or wait for a variable that a handler
//! changes. These turns are not executed. Time, counts, causes, bounds, the call tree and the polls
//! become what they would have been, and at least one turn of those that were proved is executed
//! afterwards, so that whatever a turn leaves behind is there.
//!
//! A wrong guess costs time and nothing else: heads at which no proof was found are tried again
//! ever more rarely ([`Trigger`]).

mod cache;
mod form;
mod inputs;
mod polls;
mod proof;
mod record;
mod trigger;

use self::proof::{Proof, Proved};
use self::record::{Extra, Registers, Step};
pub(crate) use self::record::{MemoryAccess, Place, Recording};
use self::trigger::Trigger;
use super::block::BlockId;
use super::core::Machine;
use super::cpu::Cpu;
use crate::kernel::bus::Polls;
use crate::kernel::device::Reading;
use crate::kernel::flash::accelerator;
use crate::kernel::observe::{Moment, Observer, Wait};
use strobe_isa::thumb::insn::Insn;

/// Passes of the head within one turn, at most: of a loop inside the loop.
const MAX_PASSES: u32 = 256;

/// Cycles before the next event in which nothing is skipped: an access may end behind its
/// instruction.
const MARGIN: u64 = 8;

/// Turns that must be gained by skipping.
const LEAST_GAIN: u64 = 3;

/// Cycles of a loop that ends by itself which are worth a look.
const LEAST_CYCLES: u64 = 512;

/// Ends of a turn that are tried from one head, at most.
const MAX_TRIES: usize = 8;

/// Turns that are skipped at once, at most: sums of steps stay far from their limits.
const MOST_TURNS: u64 = 1 << 31;

/// The recording and skipping of turns.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    pub(super) trigger: Trigger,
    /// Where the turn began that is being recorded.
    head: Option<Box<Head>>,
    recording: Recording,
    /// Cycle of the next event, whatever else the core looks up for.
    pub(super) next_event: u64,
    /// Cycles that were not executed.
    skipped: u64,
}

/// What a turn of a loop takes.
#[derive(Debug, Clone, Copy)]
struct TurnCost {
    cycles: u64,
    instructions: u64,
}

/// The state at the beginning of a turn.
#[derive(Debug)]
struct Head {
    id: BlockId,
    /// The address of its first instruction.
    start: u32,
    cpu: Cpu,
    registers: Registers,
    carry: u32,
    /// What the flash accelerator holds, and how many lines it had brought in.
    cache: (accelerator::State, u64),
    event: bool,
    /// The next event of the board, and how many there had been.
    events: (u64, u64),
    moment: Moment,
    polls: Polls,
    passes: u32,
    /// Instructions of the turn, at most.
    most_steps: usize,
    /// Registers that differed at passes of which nothing came, as sets.
    failed: Vec<u16>,
    /// Passes that are not looked at: a loop inside the loop ends with them.
    rest: u64,
}

impl Turns {
    /// Where accesses are noted, while a turn is being recorded.
    pub(super) fn recording(&mut self) -> Option<&mut Recording> {
        self.head.is_some().then_some(&mut self.recording)
    }

    pub(super) fn is_recording(&self) -> bool {
        self.head.is_some()
    }

    /// What is being recorded leads nowhere: an exception, a reset, or code that has changed.
    pub(crate) fn abandon(&mut self) {
        if let Some(head) = self.head.take() {
            self.trigger.cramped(head.start);
        }
    }

    /// Cycles beyond what the instructions of the turn always cost.
    pub(super) fn note_wait(&mut self, pc: u32, wait: Wait) {
        if self.head.is_some() {
            self.recording.extras.push(Extra::Wait(pc, wait));
        }
    }

    pub(super) fn note_late(&mut self, id: BlockId, cycles: u64) {
        if self.head.is_some() {
            self.recording.extras.push(Extra::Late(id, cycles));
        }
    }

    /// The turn does what no repetition can account for.
    pub(super) fn give_up(&mut self) {
        self.recording.give_up();
    }
}

impl<O: Observer> Machine<O> {
    /// Whether loops that wait are skipped; otherwise each of their turns is executed. The figures
    /// are the same either way.
    pub fn set_skip_waiting(&mut self, on: bool) {
        self.turns.trigger.set_on(on);
    }

    /// An instruction of the turn that is being recorded has retired.
    pub(super) fn note_step(
        &mut self,
        id: BlockId,
        at: usize,
        it: u8,
        executed: bool,
        jumped: bool,
    ) {
        if !self.turns.is_recording() {
            return;
        }
        let insn = self.blocks.all[id as usize].insns[at];
        let after = Registers::of(&self.cpu);
        let recording = &mut self.turns.recording;
        let accesses = recording.accesses.len() as u32;
        let at = at as u16;
        recording.steps.push(Step { insn, id, at, it, executed, jumped, accesses, after });
        if matches!(insn, Insn::Wfi | Insn::Wfe | Insn::Svc { .. } | Insn::Bkpt { .. }) {
            recording.give_up();
        }
    }

    fn moment(&self) -> Moment {
        Moment { cycle: self.now, asleep: self.asleep, instructions: self.instructions }
    }

    /// The core comes to a block: perhaps the head of a loop that waits.
    pub(super) fn look_for_turn(&mut self, id: BlockId) {
        if self.turns.is_recording() {
            self.pass_head(id);
        } else if self.turns.trigger.is_armed() && self.may_record(id) {
            self.begin_turn(id);
        }
    }

    /// Whether a turn that begins with a block can be recorded.
    fn may_record(&mut self, id: BlockId) -> bool {
        let block = &self.blocks.all[id as usize];
        let (start, idle) = (block.start, block.idle);
        let observed = O::EACH || self.observer.follows_accesses() || self.traced;
        let busy = self.now < self.bus.masters.contended_until || self.cpu.resume_at != 0;
        let guarded = self.guarded.everywhere || self.system.debug.trace.watches();
        let may = !(observed || busy || guarded || idle || self.cpu.it != 0);
        self.turns.trigger.takes(start) && may
    }

    fn begin_turn(&mut self, id: BlockId) {
        let moment = self.moment();
        self.observer.begin_turn(moment);
        self.take_flash_waits();
        self.turns.recording.clear();
        let start = self.blocks.all[id as usize].start;
        self.turns.head = Some(Box::new(Head {
            id,
            start,
            cpu: self.cpu.clone(),
            registers: Registers::of(&self.cpu),
            carry: self.carry.carry,
            cache: self.cache_state(),
            event: self.system.event,
            events: (self.turns.next_event, self.bus.events),
            moment,
            polls: self.bus.polls(),
            passes: 0,
            most_steps: self.turns.trigger.most_steps(start),
            failed: Vec::new(),
            rest: 0,
        }));
    }

    /// A block begins while a turn is being recorded: is it its end?
    fn pass_head(&mut self, id: BlockId) {
        let Some(mut head) = self.turns.head.take() else { return };
        let start = head.start;
        if !self.turns.recording.is_usable(head.most_steps) || head.passes > MAX_PASSES {
            return self.end_in_vain(Found::Nothing, start);
        }
        // Behind an event, what was read before it may be something else.
        if self.now >= head.events.0 || self.bus.events != head.events.1 {
            return self.end_in_vain(Found::NoRoom, start);
        }
        let is_end = head.id == id
            && head.registers.r[13] == self.cpu.r[13]
            && head.moment.instructions != self.instructions;
        if !is_end {
            self.turns.head = Some(head);
            return;
        }
        head.passes += 1;
        head.rest = head.rest.saturating_sub(1);
        let now = Registers::of(&self.cpu);
        let differing = now.differing(&head.registers);
        // A loop inside the loop passes its own head more often: in the outer one's turn other
        // registers differ.
        let is_hopeless = head.failed.iter().any(|&failed| failed & !differing == 0);
        if head.rest > 0 || is_hopeless || !self.is_as_at(&head) {
            self.turns.head = Some(head);
            return;
        }
        match self.prove(&head, now) {
            Found::Turns(times, proved) => self.finish_turn(&head, times, &proved, start),
            Found::Few(times) if head.failed.len() < MAX_TRIES => {
                head.rest = times + 1;
                self.turns.head = Some(head);
            }
            Found::Nothing if differing != 0 && head.failed.len() < MAX_TRIES => {
                head.failed.push(differing);
                self.turns.head = Some(head);
            }
            found => self.end_in_vain(found, start),
        }
    }

    /// The turn that is being recorded is not skipped.
    fn end_in_vain(&mut self, found: Found, start: u32) {
        let moment = self.moment();
        self.observer.end_turn(moment);
        match found {
            Found::NoRoom => self.turns.trigger.cramped(start),
            _ => self.turns.trigger.failed(start),
        }
    }

    /// Forgets the turn that was being recorded when the core stopped.
    pub(super) fn drop_turn(&mut self) {
        if self.turns.is_recording() {
            let moment = self.moment();
            self.observer.end_turn(moment);
        }
        self.turns.abandon();
    }

    /// Whether everything besides registers, flags and memory is as it was at the head.
    fn is_as_at(&self, head: &Head) -> bool {
        let (was, is) = (&head.cpu, &self.cpu);
        let masks = |cpu: &Cpu| (cpu.primask, cpu.faultmask, cpu.basepri, cpu.exclusive);
        let mode = |cpu: &Cpu| (cpu.ipsr, cpu.spsel, cpu.unprivileged, cpu.fpca, cpu.other_sp);
        let rest = |cpu: &Cpu| (cpu.q, cpu.ge, cpu.it, cpu.fp.s, cpu.fp.fpscr);
        masks(was) == masks(is)
            && mode(was) == mode(is)
            && rest(was) == rest(is)
            && head.carry == self.carry.carry
            && head.event == self.system.event
            && head.moment.asleep == self.asleep
            && self.cache_repeats(head)
    }

    fn cost_since(&self, head: &Head) -> TurnCost {
        TurnCost {
            cycles: self.now - head.moment.cycle,
            instructions: self.instructions - head.moment.instructions,
        }
    }

    /// For how many further turns nothing changes but counters.
    fn prove(&self, head: &Head, now: Registers) -> Found {
        let cost = self.cost_since(head);
        let turn = &self.turns.recording;
        if cost.cycles == 0 {
            return Found::Nothing;
        }
        let room = self.turns.next_event.saturating_sub(self.now + MARGIN) / cost.cycles;
        let most = turn.accesses.iter().fold(room.min(MOST_TURNS), |most, access| {
            let until = match access.place {
                Place::Register(Reading::Steady { until }) => until,
                Place::Register(Reading::Counting { until, .. }) => until,
                _ => u64::MAX,
            };
            most.min(until.saturating_sub(access.cycle + 1) / cost.cycles)
        });
        if most <= LEAST_GAIN {
            return Found::NoRoom;
        }
        let unmodelled = turn.accesses.iter().filter(|a| a.place == Place::Unmodelled);
        let begin = head.moment.cycle;
        let polls_repeat =
            self.polls_now_and_then(cost.cycles) || self.bus.polls_repeat(head.polls, cost.cycles);
        if !polls_repeat
            || !unmodelled.into_iter().all(|a| self.bus.unmodelled.repeats(a.address & !3, begin))
        {
            return Found::Nothing;
        }
        let memory = |address, size| self.bus.peek(address, size);
        let proof = Proof::new(turn, (head.registers, now), cost.cycles, memory);
        match proof.and_then(|mut proof| proof.search(most)) {
            // What ends by itself so soon may be a loop inside the one that waits.
            Some((last, _)) if last < most && last * cost.cycles < LEAST_CYCLES => Found::Few(last),
            // The last one that is proved is executed.
            Some((last, proved)) if last > LEAST_GAIN => Found::Turns(last - 1, proved),
            _ => Found::Nothing,
        }
    }

    /// Skips turns, if observers can account for them.
    fn finish_turn(&mut self, head: &Head, times: u64, proved: &Proved, start: u32) {
        let moment = self.moment();
        if !self.observer.end_turn(moment) {
            self.turns.trigger.failed(start);
            return;
        }
        self.skip_turns(head, times, proved);
        self.turns.trigger.skipped(start, self.now);
    }

    /// The turn that was recorded takes place so many times more.
    fn skip_turns(&mut self, head: &Head, times: u64, proved: &Proved) {
        let cost = self.cost_since(head);
        self.now += times * cost.cycles;
        self.repeat_polls(head, cost, times);
        for &(r, step) in &proved.registers {
            let r = &mut self.cpu.r[usize::from(r)];
            *r = r.wrapping_add((step as u32).wrapping_mul(times as u32));
        }
        for input in &proved.memory {
            let value = self.bus.peek(input.address, input.size).unwrap_or(0);
            let value = value.wrapping_add((input.step as u32).wrapping_mul(times as u32));
            // It is RAM, which takes what it is given.
            let _ = self.bus.write(input.address, input.size, value);
        }
        self.repeat_counts(times);
        self.bus.flash_interface.accelerator.repeat_waits(times);
        self.repeat_unmodelled(times, cost.cycles);
        let moment = self.moment();
        self.observer.repeat_turn(times, moment);
        self.turns.skipped += times * cost.cycles;
    }

    fn repeat_counts(&mut self, times: u64) {
        if !O::COUNTS {
            return;
        }
        for &Step { id, at, executed, jumped, .. } in &self.turns.recording.steps {
            self.observer.retired_again(id, at.into(), jumped, times);
            if !executed {
                self.observer.skipped(id, at.into(), times);
            }
        }
        for &extra in &self.turns.recording.extras {
            match extra {
                Extra::Wait(pc, Wait { cause, low, likely, high }) => {
                    let times = times as i64;
                    let (low, likely, high) = (low * times, likely * times, high * times);
                    self.observer.wait(pc, Wait { cause, low, likely, high });
                }
                Extra::Late(id, cycles) => self.blocks.all[id as usize].late += times * cycles,
            }
        }
    }

    fn repeat_unmodelled(&mut self, times: u64, cycles: u64) {
        for access in &self.turns.recording.accesses {
            if access.place == Place::Unmodelled {
                let last = access.cycle + times * cycles;
                self.bus.unmodelled.repeat(access.address & !3, times, last);
            }
        }
    }

    /// Cycles of loops that wait which were not executed.
    pub fn skipped_cycles(&self) -> u64 {
        self.turns.skipped
    }
}

/// What a proof has found.
enum Found {
    /// So many turns can be skipped.
    Turns(u64, Proved),
    /// So few turns that looking for them costs more.
    Few(u64),
    /// Something else happens too soon.
    NoRoom,
    Nothing,
}
