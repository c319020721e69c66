//! One turn of a loop, interpreted, with what it calls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use strobe_symbols::Machine;

use super::flow::Loop;
use super::live::{is_lost, is_result};
use super::program::{Function, Program};
use super::step::{AVR_STACK, Address, Effect, Location, Next, Step};
use super::value::{Exact, Places, State, Value, get, join};

/// Calls within calls that are followed.
const MAX_DEPTH: usize = 4;

/// Instructions that are interpreted for one loop, those of inner loops several times.
const MAX_STEPS: usize = 4096;

/// An instruction with the calls that lead to it: where each comes back to.
type Place = (Vec<u32>, u32);

/// A turn of a loop, with what it calls.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// What places hold at its end.
    pub end: State,
    /// Memory that is read, and the parts of the addresses.
    pub loads: BTreeSet<(Location, Places)>,
    /// Memory that is written, the parts of the addresses, and the parts of what is written.
    pub stores: BTreeSet<(Location, Places, Places)>,
    /// What decides when the loop is left.
    pub exits: Places,
    /// What decides which way a turn takes.
    pub ways: Places,
    /// Each exit is a comparison for equality.
    pub equality: bool,
    /// Parts of what is computed and is no sum, comparison or copy.
    pub computed: Places,
    /// Anything is.
    pub computes: bool,
    /// Functions that it calls, by the call instructions in the loop.
    pub calls: BTreeMap<u32, BTreeSet<u32>>,
    /// Functions that it comes through, by their first addresses.
    pub functions: BTreeSet<u32>,
    /// Registers that those functions write.
    written: BTreeSet<u8>,
}

/// Interprets a turn of a loop; `None` if it does what no wait does, or is too long.
pub(super) fn interpret(
    program: &Program<'_>,
    function: &Function,
    of: &Loop,
    known: &State,
) -> Option<Turn> {
    let turn = interpret_with(program, function, of, known, BTreeSet::new())?;
    if turn.functions.is_empty() {
        return Some(turn);
    }
    // What a function writes on one way is lost on all of them.
    interpret_with(program, function, of, known, turn.written)
}

fn interpret_with(
    program: &Program<'_>,
    function: &Function,
    of: &Loop,
    known: &State,
    written: BTreeSet<u8>,
) -> Option<Turn> {
    let mut turn = Turn { equality: true, written, ..Turn::default() };
    let head: Place = (Vec::new(), of.head);
    let mut before: BTreeMap<Place, State> = BTreeMap::from([(head.clone(), known.clone())]);
    let mut open = VecDeque::from([head.clone()]);
    let (mut end, mut steps): (Option<State>, usize) = (None, 0);
    while let Some(at) = open.pop_front() {
        steps += 1;
        if steps > MAX_STEPS {
            return None;
        }
        let mut state = before.get(&at)?.clone();
        let callee = if at.0.is_empty() { None } else { Some(program.around(at.1)?) };
        turn.functions.extend(callee.as_ref().map(|callee| callee.range.start));
        let step = callee.as_deref().unwrap_or(function).step(at.1)?;
        turn.apply(program, step, &mut state);
        if callee.is_some() {
            turn.written.extend(step.writes());
        }
        for (to, state) in turn.successors(program, of, &at, step, state)? {
            if to == head {
                match &mut end {
                    Some(end) => _ = join(end, &state),
                    None => end = Some(state),
                }
                continue;
            }
            match before.get_mut(&to) {
                Some(known) => {
                    if !join(known, &state) {
                        continue;
                    }
                }
                None => _ = before.insert(to.clone(), state),
            }
            open.push_back(to);
        }
    }
    turn.end = end?;
    Some(turn)
}

impl Turn {
    /// What an instruction does to the places.
    pub(super) fn apply(&mut self, program: &Program<'_>, step: &Step, state: &mut State) {
        let decides = get(state, &Location::Flags);
        for effect in &step.effects {
            let (to, value) = self.effect(program, effect, state);
            let Some(to) = to else { continue };
            let value = match step.conditional {
                true => {
                    self.ways.extend(decides.parts.iter().cloned());
                    value.join(&get(state, &to))
                }
                false => value,
            };
            state.insert(to, value);
        }
    }

    fn effect(
        &mut self,
        program: &Program<'_>,
        effect: &Effect,
        state: &State,
    ) -> (Option<Location>, Value) {
        let parts_of = |all: &[Location]| -> Places {
            all.iter().flat_map(|from| get(state, from).parts).collect()
        };
        let (to, value) = match effect {
            Effect::Set(to, value) => (to, Value::constant(*value)),
            Effect::Move(to, from, by) => (to, get(state, from).plus(*by)),
            Effect::Carry(to, from, others) => {
                let carry = get(state, &Location::Flags).parts;
                (to, get(state, from).with_carry(&carry, &parts_of(others)))
            }
            Effect::Sum(to, a, b, minus) => {
                let sum = get(state, a).sum(get(state, b), *minus);
                self.computes |= sum.exact == Exact::Unknown;
                (to, sum)
            }
            Effect::Test(to, from) => (to, Value::made(parts_of(from))),
            Effect::Make(to, from) => {
                let parts = parts_of(from);
                self.computes = true;
                self.computed.extend(parts.iter().cloned());
                (to, Value::made(parts))
            }
            Effect::Load(to, address) => (to, self.load(program, address, state)),
            Effect::Store(address, from) => {
                let (place, parts) = place(address, state);
                let value = get(state, from);
                self.stores.insert((place.clone(), parts, value.parts.clone()));
                return ((place != Location::Somewhere).then_some(place), value);
            }
        };
        (Some(to.clone()), value)
    }

    fn load(&mut self, program: &Program<'_>, address: &Address, state: &State) -> Value {
        let (place, mut parts) = place(address, state);
        if let Location::Memory(None, at) = place
            && let Some(word) = program.constant(at as u32)
        {
            return Value::constant(word);
        }
        self.loads.insert((place.clone(), parts.clone()));
        match place {
            Location::Somewhere => {
                parts.insert(Location::Somewhere);
                Value::made(parts)
            }
            known => get(state, &known),
        }
    }

    /// Where the turn goes on; `None` if that is not known.
    fn successors(
        &mut self,
        program: &Program<'_>,
        of: &Loop,
        (calls, at): &Place,
        step: &Step,
        state: State,
    ) -> Option<Vec<(Place, State)>> {
        let to = |address: u32| (calls.clone(), address);
        let inside = |address: &u32| !calls.is_empty() || of.body.contains(address);
        Some(match &step.next {
            Next::Behind => {
                let next = Some(step.end).filter(inside);
                next.map(|next| (to(next), state)).into_iter().collect()
            }
            Next::Branch { to: target, by, equality } => {
                let parts = get(&state, by).parts;
                let all: Vec<u32> = [step.end, *target].into_iter().filter(inside).collect();
                match all.len() {
                    2 => self.ways.extend(parts),
                    _ => {
                        self.exits.extend(parts);
                        self.equality &= *equality;
                    }
                }
                all.into_iter().map(|next| (to(next), state.clone())).collect()
            }
            Next::Jump(target) => {
                let next = Some(*target).filter(inside);
                next.map(|next| (to(next), state)).into_iter().collect()
            }
            Next::Call(target) => {
                if calls.len() >= MAX_DEPTH || program.around(*target)?.range.start != *target {
                    return None;
                }
                if calls.is_empty() {
                    self.calls.entry(*target).or_default().insert(*at);
                }
                let mut calls = calls.clone();
                calls.push(step.end);
                vec![((calls, *target), moved_stack(program, state, -2))]
            }
            Next::Return => {
                let mut calls = calls.clone();
                let back = calls.pop()?;
                let state = moved_stack(program, state, 2);
                let state = returned(program.machine(), state, &self.written);
                vec![((calls, back), state)]
            }
        })
    }
}

/// Calls of an AVR push the return address, and returns take it off.
fn moved_stack(program: &Program<'_>, mut state: State, bytes: i32) -> State {
    if program.machine() == Machine::Avr {
        let stack = Location::Register(AVR_STACK);
        let moved = get(&state, &stack).plus(bytes);
        state.insert(stack, moved);
    }
    state
}

/// What callers may rely on behind a call: what registers hold that a function may change and that
/// are no results is for nobody (AAPCS 6.1.1; avr-gcc's ABI).
fn returned(machine: Machine, mut state: State, written: &BTreeSet<u8>) -> State {
    // Of an AVR's results few have 64 bits.
    let is_result = |register| match machine {
        Machine::Avr => (22..26).contains(&register),
        _ => is_result(machine, register),
    };
    let is_lost = |register| is_lost(machine, register) && !is_result(register);
    for &register in written.iter().filter(|register| is_lost(**register)) {
        let nothing = Value::made(Places::from([Location::Way]));
        state.insert(Location::Register(register), nothing);
    }
    state
}

/// Where an access goes, and what the address is made of.
fn place(address: &Address, state: &State) -> (Location, Places) {
    match address {
        Address::Fixed(at) => (Location::at(*at), Places::new()),
        Address::Base(low, high, offset) => {
            let value = get(state, &Location::Register(*low));
            let upper = high.map(|high| get(state, &Location::Register(high)));
            let mut parts = value.parts;
            parts.extend(upper.iter().flat_map(|upper| upper.parts.iter().cloned()));
            let place = match (value.exact, upper.map(|upper| upper.exact)) {
                (Exact::Constant(low), Some(Exact::Constant(high))) => {
                    let at = (high & 0xff) << 8 | low & 0xff;
                    Location::at((at as u16).wrapping_add(*offset as u16).into())
                }
                (Exact::Constant(at), None) => Location::at(at.wrapping_add_signed(*offset)),
                (Exact::Copy(of, by), None | Some(Exact::Copy(..))) => {
                    Location::Memory(Some(Rc::new(of)), by.wrapping_add(*offset))
                }
                _ => Location::Somewhere,
            };
            (place, parts)
        }
        Address::Computed(all) => {
            let parts = all.iter().flat_map(|one| get(state, one).parts).collect();
            (Location::Somewhere, parts)
        }
    }
}
