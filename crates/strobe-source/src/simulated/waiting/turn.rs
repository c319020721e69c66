//! One turn of a loop, interpreted, with what it calls.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use strobe_isa::Conventions;

use super::flow::Loop;
use super::program::{Function, Program};
use super::step::{Address, Effect, Location, Next, Step};
use super::value::{Exact, FLAGS, Id, Numbers, Places, SOMEWHERE, State, Value, WAY};

/// Calls within calls that are followed.
const MAX_DEPTH: usize = 4;

/// Instructions that are interpreted for one loop, those of inner loops several times.
const MAX_STEPS: usize = 1024;

/// An instruction with the calls that lead to it: where each comes back to.
type Place = (Vec<u32>, u32);

/// A turn of a loop, with what it calls.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Its places.
    pub numbers: Numbers,
    /// What places hold at its end.
    pub end: State,
    /// Memory that is read, and the parts of the addresses.
    pub loads: Vec<(Id, Places)>,
    /// Memory that is written, the parts of the addresses, and the parts of what is written.
    pub stores: Vec<(Id, Places, Places)>,
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
    known: &[(Location, u32)],
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
    known: &[(Location, u32)],
    written: BTreeSet<u8>,
) -> Option<Turn> {
    let mut turn = Turn { equality: true, written, ..Turn::default() };
    let head: Place = (Vec::new(), of.head);
    let mut entry = State::default();
    for (place, value) in known {
        entry.set(turn.numbers.of(place)?, Value::constant(*value));
    }
    let mut before: BTreeMap<Place, State> = BTreeMap::from([(head.clone(), entry)]);
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
        turn.apply(program, step, &mut state)?;
        if callee.is_some() {
            turn.written.extend(step.writes());
        }
        for (to, state) in turn.successors(program, of, &at, step, state)? {
            if to == head {
                match &mut end {
                    Some(end) => _ = end.join(&state),
                    None => end = Some(state),
                }
                continue;
            }
            match before.get_mut(&to) {
                Some(known) => {
                    if !known.join(&state) {
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
    /// What an instruction does to the places; `None` if there are too many.
    fn apply(&mut self, program: &Program<'_>, step: &Step, state: &mut State) -> Option<()> {
        let decides = state.get(FLAGS);
        for effect in &step.effects {
            let (to, mut value) = self.effect(program, effect, state)?;
            if to == SOMEWHERE {
                continue;
            }
            if step.conditional {
                self.ways = self.ways.with(decides.parts);
                value = value.join(state.get(to));
            }
            state.set(to, value);
        }
        Some(())
    }

    fn value(&mut self, place: &Location, state: &State) -> Option<Value> {
        Some(state.get(self.numbers.of(place)?))
    }

    fn parts(&mut self, places: &[Location], state: &State) -> Option<Places> {
        let mut parts = Places::NONE;
        for place in places {
            parts = parts.with(self.value(place, state)?.parts);
        }
        Some(parts)
    }

    fn effect(
        &mut self,
        program: &Program<'_>,
        effect: &Effect,
        state: &State,
    ) -> Option<(Id, Value)> {
        let (to, value) = match effect {
            Effect::Set(to, value) => (to, Value::constant(*value)),
            Effect::Move(to, from, by) => (to, self.value(from, state)?.plus(*by)),
            Effect::Carry(to, from, others) => {
                let others = self.parts(others, state)?;
                (to, self.value(from, state)?.with_carry(state.get(FLAGS).parts, others))
            }
            Effect::Sum(to, a, b, minus) => {
                let sum = self.value(a, state)?.sum(self.value(b, state)?, *minus);
                self.computes |= sum.exact == Exact::Unknown;
                (to, sum)
            }
            Effect::Test(to, from) => (to, Value::made(self.parts(from, state)?)),
            Effect::Make(to, from) => {
                let parts = self.parts(from, state)?;
                self.computes = true;
                self.computed = self.computed.with(parts);
                (to, Value::made(parts))
            }
            Effect::Load(to, address) => (to, self.load(program, address, state)?),
            Effect::Store(address, from) => {
                let (place, parts) = self.place(address, state)?;
                let value = self.value(from, state)?;
                self.stores.push((place, parts, value.parts));
                return Some((place, value));
            }
        };
        Some((self.numbers.of(to)?, value))
    }

    fn load(&mut self, program: &Program<'_>, address: &Address, state: &State) -> Option<Value> {
        let (place, parts) = self.place(address, state)?;
        if let Location::Memory(None, at) = *self.numbers.place(place)
            && let Some(word) = program.constant(at as u32)
        {
            return Some(Value::constant(word));
        }
        self.loads.push((place, parts));
        Some(match place {
            SOMEWHERE => Value::made(parts.with(Places::one(SOMEWHERE))),
            known => state.get(known),
        })
    }

    /// Where an access goes, and what the address is made of.
    fn place(&mut self, address: &Address, state: &State) -> Option<(Id, Places)> {
        let (place, parts) = match address {
            Address::Fixed(at) => (Location::at(*at), Places::NONE),
            Address::Base(low, high, offset) => {
                let value = self.value(&Location::Register(*low), state)?;
                let upper = match high {
                    Some(high) => Some(self.value(&Location::Register(*high), state)?),
                    None => None,
                };
                let parts = upper.map_or(value.parts, |upper| value.parts.with(upper.parts));
                let place = match (value.exact, upper.map(|upper| upper.exact)) {
                    (Exact::Constant(low), Some(Exact::Constant(high))) => {
                        let at = (high & 0xff) << 8 | low & 0xff;
                        Location::at((at as u16).wrapping_add(*offset as u16).into())
                    }
                    (Exact::Constant(at), None) => Location::at(at.wrapping_add_signed(*offset)),
                    (Exact::Copy(of, by), None | Some(Exact::Copy(..))) => {
                        let base = Rc::new(self.numbers.place(of).clone());
                        Location::Memory(Some(base), by.wrapping_add(*offset))
                    }
                    _ => Location::Somewhere,
                };
                (place, parts)
            }
            Address::Computed(all) => (Location::Somewhere, self.parts(all, state)?),
        };
        Some((self.numbers.of(&place)?, parts))
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
                let parts = self.value(by, &state)?.parts;
                let all: Vec<u32> = [step.end, *target].into_iter().filter(inside).collect();
                match all.len() {
                    2 => self.ways = self.ways.with(parts),
                    _ => {
                        self.exits = self.exits.with(parts);
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
                vec![((calls, *target), self.moved_stack(program, state, -2)?)]
            }
            Next::Return => {
                let mut calls = calls.clone();
                let back = calls.pop()?;
                let state = self.moved_stack(program, state, 2)?;
                let state = self.returned(program.conventions(), state)?;
                vec![((calls, back), state)]
            }
        })
    }

    /// Where calls push the return address, returns take it off.
    fn moved_stack(
        &mut self,
        program: &Program<'_>,
        mut state: State,
        bytes: i32,
    ) -> Option<State> {
        let conventions = program.conventions();
        if conventions.pushes_return_address {
            let stack = self.numbers.of(&Location::Register(conventions.stack_pointer))?;
            state.set(stack, state.get(stack).plus(bytes));
        }
        Some(state)
    }

    /// What callers may rely on behind a call: what registers hold that a function may change and
    /// that are no results is for nobody (AAPCS 6.1.1; avr-gcc's ABI).
    fn returned(&mut self, conventions: &Conventions, mut state: State) -> Option<State> {
        // Few results have 64 bits.
        let is_lost = |register: &u8| {
            conventions.is_clobbered(*register) && !conventions.short_results.contains(register)
        };
        let lost: Vec<u8> = self.written.iter().copied().filter(is_lost).collect();
        for register in lost {
            let id = self.numbers.of(&Location::Register(register))?;
            state.set(id, Value::made(Places::one(WAY)));
        }
        Some(state)
    }
}
