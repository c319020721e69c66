//! What stands in for compiled code in a build without the feature `compiler`: everything is
//! interpreted. The figures are the same, since the interpreter is the reference; only the speed
//! differs.

use std::convert::Infallible;

use super::block::BlockId;
use super::core::Machine;
use super::fast::BlockExit;
use crate::kernel::observe::Observer;

/// Where a block's compiled code is: nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compiled(Infallible);

/// Everything compiled so far: nothing.
#[derive(Default)]
pub(crate) struct Jit {}

impl Jit {
    /// Whether anything will be compiled.
    pub(super) fn is_on(&self) -> bool {
        false
    }

    /// Has no effect: nothing is compiled.
    pub(super) fn watch_stack(&mut self, _watched: bool) {}
}

impl<O: Observer> Machine<O> {
    /// Has no effect: there is no compiler in this build.
    pub fn set_compile_after(&mut self, _runs: Option<u32>) {}

    /// None: there is no compiler in this build.
    pub fn compiled_instructions(&self) -> usize {
        0
    }

    #[inline(always)]
    pub(super) fn warm(&mut self, _id: BlockId) {}

    pub(super) fn prepare_frame(&mut self) {}

    pub(super) fn run_compiled(&mut self, at: Compiled) -> BlockExit {
        match at.0 {}
    }

    /// Forgets everything decoded, as the observer has to.
    pub(super) fn forget_code(&mut self) {
        self.turns.abandon();
        self.take_counts();
        self.bus.flash_interface.accelerator.forget_blocks();
        self.resume = None;
        self.observer.forget();
    }

    /// Goes back to the interpreter for everything decoded.
    pub(super) fn forget_compiled(&mut self) {
        self.take_counts();
    }

    /// Hands the observer what was added up while code ran.
    pub(super) fn take_counts(&mut self) {
        self.take_waits();
    }
}
