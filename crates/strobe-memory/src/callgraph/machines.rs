//! The machines as [`walk`](super::walk) sees them.

use super::avr::{self, Avr};
use super::state::{self, Value};
use super::step::Step;
use super::thumb::Thumb;
use super::walk::Interpreter;

impl Interpreter for Thumb<'_> {
    type State = state::State;

    fn entry(&self) -> Self::State {
        state::State::entry()
    }

    fn step(&self, at: u32, state: &mut Self::State) -> Option<Step> {
        Thumb::step(self, at, state)
    }

    fn size_at(&self, at: u32) -> u32 {
        let is_wide = self.halfword(at).is_some_and(|first| first >> 11 >= 0b11101);
        if is_wide { 4 } else { 2 }
    }

    fn depth(state: &Self::State) -> i32 {
        state.depth
    }

    fn saved(state: &Self::State) -> u32 {
        state.saved
    }

    fn join(state: &mut Self::State, other: &Self::State) -> bool {
        state.join(other)
    }

    fn after_call(state: &mut Self::State) {
        state.after_call();
    }

    fn arguments(state: &Self::State) -> [Option<u32>; 4] {
        [0, 1, 2, 3].map(|register| match state.get(register) {
            Value::Const(constant) => Some(constant),
            _ => None,
        })
    }
}

impl Interpreter for Avr<'_> {
    type State = avr::State;

    fn entry(&self) -> Self::State {
        avr::State::entry()
    }

    fn step(&self, at: u32, state: &mut Self::State) -> Option<Step> {
        Avr::step(self, at, state)
    }

    fn size_at(&self, at: u32) -> u32 {
        Avr::size_at(self, at)
    }

    fn depth(state: &Self::State) -> i32 {
        state.depth
    }

    fn saved(_: &Self::State) -> u32 {
        0
    }

    fn join(state: &mut Self::State, other: &Self::State) -> bool {
        state.join(other)
    }

    fn after_call(state: &mut Self::State) {
        state.after_call();
    }

    fn arguments(_: &Self::State) -> [Option<u32>; 4] {
        [None; 4]
    }
}
