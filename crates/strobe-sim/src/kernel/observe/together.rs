//! Several observers as one: none, or a tuple of two, of which either may be a tuple again.

use super::code::{BlockId, Code};
use super::schedule::Who;
use super::{
    Access, Moment, Observer, Retired, StackPoint, StackWindow, TraceByte, Transfer, Wait,
};
use crate::kernel::bus::Bus;
use crate::kernel::device::SerialFrame;
use crate::kernel::signal::PinEdge;

/// Sees nothing and costs nothing.
impl Observer for () {}

/// Both see everything that either wants.
impl<A: Observer, B: Observer> Observer for (A, B) {
    const COUNTS: bool = A::COUNTS || B::COUNTS;
    const FLOW: bool = A::FLOW || B::FLOW;
    const EACH: bool = A::EACH || B::EACH;
    const ACCESSES: bool = A::ACCESSES || B::ACCESSES;

    fn decoded(&mut self, id: BlockId, code: &Code) {
        self.0.decoded(id, code);
        self.1.decoded(id, code);
    }
    fn forget(&mut self) {
        self.0.forget();
        self.1.forget();
    }
    #[inline(always)]
    fn block(&mut self, id: BlockId, jumped: bool, times: u64) {
        self.0.block(id, jumped, times);
        self.1.block(id, jumped, times);
    }
    fn idle_block(&mut self, id: BlockId, times: u64) {
        self.0.idle_block(id, times);
        self.1.idle_block(id, times);
    }
    fn retired(&mut self, id: BlockId, at: usize, jumped: bool) {
        self.0.retired(id, at, jumped);
        self.1.retired(id, at, jumped);
    }
    fn retired_again(&mut self, id: BlockId, at: usize, jumped: bool, times: u64) {
        self.0.retired_again(id, at, jumped, times);
        self.1.retired_again(id, at, jumped, times);
    }
    fn retired_before(&mut self, id: BlockId, at: usize) {
        self.0.retired_before(id, at);
        self.1.retired_before(id, at);
    }
    fn skipped(&mut self, id: BlockId, at: usize, times: u64) {
        self.0.skipped(id, at, times);
        self.1.skipped(id, at, times);
    }
    fn wait(&mut self, pc: u32, wait: Wait) {
        self.0.wait(pc, wait);
        self.1.wait(pc, wait);
    }
    #[inline(always)]
    fn transfer(&mut self, transfer: &Transfer, bus: &Bus) {
        self.0.transfer(transfer, bus);
        self.1.transfer(transfer, bus);
    }
    #[inline(always)]
    fn wants_arguments(&self) -> bool {
        self.0.wants_arguments() || self.1.wants_arguments()
    }
    fn begin_turn(&mut self, now: Moment) {
        self.0.begin_turn(now);
        self.1.begin_turn(now);
    }
    fn end_turn(&mut self, now: Moment) -> bool {
        let first = self.0.end_turn(now);
        self.1.end_turn(now) && first
    }
    fn repeat_turn(&mut self, times: u64, now: Moment) {
        self.0.repeat_turn(times, now);
        self.1.repeat_turn(times, now);
    }
    fn who(&self) -> Option<Who> {
        self.0.who().or_else(|| self.1.who())
    }
    fn belongs_to(&mut self, who: Who) {
        self.0.belongs_to(who);
        self.1.belongs_to(who);
    }
    fn instruction(&mut self, retired: &Retired) {
        self.0.instruction(retired);
        self.1.instruction(retired);
    }
    #[inline(always)]
    fn follows_stack(&self) -> bool {
        self.0.follows_stack() || self.1.follows_stack()
    }
    #[inline(always)]
    fn stack_window(&self) -> StackWindow {
        if self.0.follows_stack() { self.0.stack_window() } else { self.1.stack_window() }
    }
    fn stack(&mut self, point: StackPoint, bus: &Bus) {
        self.0.stack(point, bus);
        self.1.stack(point, bus);
    }
    #[inline(always)]
    fn follows_accesses(&self) -> bool {
        self.0.follows_accesses() || self.1.follows_accesses()
    }
    fn access(&mut self, access: &Access, bus: &mut Bus) {
        self.0.access(access, bus);
        self.1.access(access, bus);
    }
    fn pin(&mut self, edge: &PinEdge) {
        self.0.pin(edge);
        self.1.pin(edge);
    }
    fn frame(&mut self, frame: &SerialFrame) {
        self.0.frame(frame);
        self.1.frame(frame);
    }
    fn trace(&mut self, byte: &TraceByte) {
        self.0.trace(byte);
        self.1.trace(byte);
    }
    fn slept(&mut self, from: u64, to: u64) {
        self.0.slept(from, to);
        self.1.slept(from, to);
    }
}
