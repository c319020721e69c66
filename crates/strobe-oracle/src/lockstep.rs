//! Lockstep: the core under test follows a trace and stops at the first difference.
//!
//! Knows neither QEMU nor any simulator: one is an iterator of states, the other a [`Stepper`].

use std::fmt::{self, Display, Formatter};

use crate::state::CpuState;

/// A core that executes one or a few instructions at a time.
///
/// Single steps locate the wrong instruction exactly. Longer strides test a fast core without
/// stopping it after each instruction.
pub trait Stepper {
    /// The registers before the next instruction.
    fn state(&self) -> CpuState;

    /// Adopts R0 to R12, LR and the flags, which the architecture leaves UNKNOWN at reset (B1.5.5).
    /// PC, SP, the Thumb bit and the exception number are already equal.
    fn adopt(&mut self, state: &CpuState);

    /// Executes some instructions, and enters the exception that is taken after the last of them,
    /// if any.
    fn step(&mut self) -> Step;
}

/// The result of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Instructions executed, including one that faults and the semihosting call that ends the
    /// program.
    pub instructions: u64,
    /// Why the core stopped, if it did.
    pub stop: Option<Stop>,
    /// The last instruction was a semihosting call whose result in R0 depends on the host, such as
    /// the time: R0 is adopted from the trace instead of compared.
    pub answered: bool,
}

impl Step {
    /// A normal step.
    pub fn of(instructions: u64) -> Self {
        Self { instructions, stop: None, answered: false }
    }

    /// The last step.
    pub fn last(instructions: u64, stop: Stop) -> Self {
        Self { instructions, stop: Some(stop), answered: false }
    }
}

/// Why a core stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The program exited by semihosting.
    Exited,
    /// Any other reason, such as a lockup.
    Stuck(String),
}

impl Display for Stop {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Exited => f.write_str("the program has ended"),
            Stop::Stuck(why) => f.write_str(why),
        }
    }
}

/// The result of a run without a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Instructions executed, the last one being the semihosting call that ends the program.
    pub instructions: u64,
    /// States compared: the same number, if the core was single-stepped.
    pub compared: u64,
}

/// The first difference.
#[derive(Debug, thiserror::Error)]
pub enum Disagreement<E: std::error::Error + 'static> {
    /// The trace has no states.
    #[error("the trace is empty")]
    Empty,
    /// The trace ended early.
    #[error("the trace ended early, after instruction {instructions}")]
    Trace {
        /// Instructions that agreed.
        instructions: u64,
        /// The reason.
        #[source]
        source: E,
    },
    /// The registers differ after an instruction (or at reset, if there is none).
    #[error("{}", Difference { instructions, before, expected, actual })]
    State {
        /// Instructions executed, including the wrong one.
        instructions: u64,
        /// The last state that agreed.
        before: Option<Box<CpuState>>,
        /// The state in the trace.
        expected: Box<CpuState>,
        /// The state of the core under test.
        actual: Box<CpuState>,
    },
    /// The core under test stopped although the trace continues, or for another reason than the end
    /// of the program.
    #[error(
        "instruction {instructions}: the core stopped, {stop}; the last agreed state:\n{before}"
    )]
    Stopped {
        /// Instructions executed, including the last one.
        instructions: u64,
        /// The last state that agreed.
        before: Box<CpuState>,
        /// Why the core stopped.
        stop: Stop,
    },
    /// The trace and the program ended, but the core under test continues.
    #[error(
        "instruction {last} ends the program, but the core continues; the last agreed state:\n\
         {before}"
    )]
    NotEnded {
        /// The instruction that ends the program, counted from 1.
        last: u64,
        /// The last state that agreed.
        before: Box<CpuState>,
    },
}

/// A core without progress in so many steps is stuck.
const IDLE_STEPS: u32 = 1000;

/// Follows the trace to its end.
///
/// Registers and flags must be equal wherever the core stops, and it must end where the trace ends.
pub fn compare<E: std::error::Error + 'static>(
    core: &mut impl Stepper,
    trace: impl IntoIterator<Item = Result<CpuState, E>>,
) -> Result<Agreement, Disagreement<E>> {
    let mut trace = Follower { states: trace.into_iter(), seen: 0 };
    let mut agreed = trace.next()?.ok_or(Disagreement::Empty)?;
    start(core, &agreed)?;
    let (mut instructions, mut compared, mut idle) = (0, 1, 0);
    loop {
        let step = core.step();
        instructions += step.instructions;
        idle = if step.instructions > 0 { 0 } else { idle + 1 };
        let before = Box::new(agreed);
        match step.stop {
            Some(Stop::Exited) => {
                trace.read_to(instructions)?;
                if trace.seen == instructions && trace.next()?.is_none() {
                    return Ok(Agreement { instructions, compared });
                }
                return Err(Disagreement::Stopped { instructions, before, stop: Stop::Exited });
            }
            Some(stop) => return Err(Disagreement::Stopped { instructions, before, stop }),
            None if idle == IDLE_STEPS => {
                let stop = Stop::Stuck(format!("no instruction in {IDLE_STEPS} steps"));
                return Err(Disagreement::Stopped { instructions, before, stop });
            }
            None => {}
        }
        // After n instructions the core is at the n-th state after the first.
        if let Some(state) = trace.read_to(instructions + 1)? {
            agreed = state;
        }
        if trace.seen <= instructions {
            return Err(Disagreement::NotEnded { last: trace.seen, before });
        }
        let mut actual = core.state();
        if step.answered && actual.r[0] != agreed.r[0] {
            core.adopt(&CpuState { r: with_r0(actual.r, agreed.r[0]), ..actual });
            actual = core.state();
        }
        if actual != agreed {
            let (before, expected, actual) = (Some(before), Box::new(agreed), Box::new(actual));
            return Err(Disagreement::State { instructions, before, expected, actual });
        }
        compared += 1;
    }
}

/// A trace and the number of states read from it.
struct Follower<I> {
    states: I,
    seen: u64,
}

impl<I, E> Follower<I>
where
    I: Iterator<Item = Result<CpuState, E>>,
    E: std::error::Error + 'static,
{
    fn next(&mut self) -> Result<Option<CpuState>, Disagreement<E>> {
        let state = self.states.next().transpose();
        let state =
            state.map_err(|source| Disagreement::Trace { instructions: self.seen, source })?;
        self.seen += u64::from(state.is_some());
        Ok(state)
    }

    /// Reads until `count` states have been read or the trace ends; returns the last state read by
    /// this call.
    fn read_to(&mut self, count: u64) -> Result<Option<CpuState>, Disagreement<E>> {
        let mut last = None;
        while self.seen < count {
            let Some(state) = self.next()? else { break };
            last = Some(state);
        }
        Ok(last)
    }
}

fn with_r0(mut r: [u32; 16], value: u32) -> [u32; 16] {
    r[0] = value;
    r
}

/// State that reset defines must be equal already; the rest is adopted.
fn start<E: std::error::Error + 'static>(
    core: &mut impl Stepper,
    expected: &CpuState,
) -> Result<(), Disagreement<E>> {
    const DEFINED_AT_RESET: u32 = 0x0700_fdff;
    let actual = core.state();
    let defined = |s: &CpuState| (s.r[13], s.pc(), s.xpsr & DEFINED_AT_RESET);
    if defined(&actual) != defined(expected) {
        let (expected, actual) = (Box::new(*expected), Box::new(actual));
        return Err(Disagreement::State { instructions: 0, before: None, expected, actual });
    }
    core.adopt(expected);
    Ok(())
}

/// The message for a difference.
struct Difference<'a> {
    instructions: &'a u64,
    before: &'a Option<Box<CpuState>>,
    expected: &'a CpuState,
    actual: &'a CpuState,
}

impl Display for Difference<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names = self.actual.differences(self.expected).join(", ");
        match self.before {
            Some(before) => writeln!(
                f,
                "instruction {} at {:#010x}: different {names}\nthe last agreed state:\n{before}",
                self.instructions,
                before.pc()
            )?,
            None => writeln!(f, "at reset: different {names}")?,
        }
        write!(f, "expected:\n{}\nactual:\n{}", self.expected, self.actual)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// Replays a list of states in strides, then stops.
    struct Script {
        states: Vec<CpuState>,
        at: usize,
        stride: usize,
        stop: Stop,
        /// The state after the host's answer.
        answers: Option<usize>,
    }

    impl Script {
        fn new(states: &[CpuState]) -> Self {
            Self { states: states.to_vec(), at: 0, stride: 1, stop: Stop::Exited, answers: None }
        }
    }

    impl Stepper for Script {
        fn state(&self) -> CpuState {
            self.states[self.at]
        }

        fn adopt(&mut self, state: &CpuState) {
            self.states[self.at] = *state;
        }

        fn step(&mut self) -> Step {
            let left = self.states.len() - self.at;
            if left <= self.stride {
                return Step::last(left as u64, self.stop.clone());
            }
            self.at += self.stride;
            Step { answered: self.answers == Some(self.at), ..Step::of(self.stride as u64) }
        }
    }

    fn states(n: u32) -> Vec<CpuState> {
        let state = |i: u32| {
            let mut s = CpuState { r: [7; 16], xpsr: 0x0100_0000, fp: None };
            s.r[15] = 0x40 + 2 * i;
            s
        };
        (0..n).map(state).collect()
    }

    fn run(core: &mut Script, trace: &[CpuState]) -> Result<Agreement, Disagreement<Infallible>> {
        compare(core, trace.iter().copied().map(Ok))
    }

    #[test]
    fn equal_runs_agree_at_any_stride() {
        let trace = states(12);
        for (stride, compared) in [(1, 12), (2, 6), (5, 3), (11, 2), (12, 1), (99, 1)] {
            let mut core = Script { stride, ..Script::new(&trace) };
            let expected = Agreement { instructions: 12, compared };
            assert_eq!(run(&mut core, &trace).unwrap(), expected, "stride {stride}");
        }
    }

    #[test]
    fn unknown_registers_are_adopted_but_not_the_defined_ones() {
        let trace = states(3);
        let mut other = trace.clone();
        other[0].r[3] = 99;
        other[0].xpsr |= 0xf000_0000;
        assert!(run(&mut Script::new(&other), &trace).is_ok());
        for (register, message) in [(13, "r13"), (15, "r15")] {
            let mut other = trace.clone();
            other[0].r[register] ^= 4;
            let error = run(&mut Script::new(&other), &trace).unwrap_err().to_string();
            assert!(error.starts_with(&format!("at reset: different {message}")), "{error}");
        }
    }

    #[test]
    fn differing_registers_and_flags_are_named() {
        let trace = states(6);
        for step in 1..6 {
            for register in 0..16 {
                let mut wrong = trace.clone();
                wrong[step].r[register] ^= 1 << 31;
                let error = run(&mut Script::new(&wrong), &trace).unwrap_err().to_string();
                let at = 0x40 + 2 * (step - 1);
                let start = format!("instruction {step} at {at:#010x}: different r{register}\n");
                assert!(error.starts_with(&start), "{error}");
            }
            for (bit, name) in
                [(31, "N"), (30, "Z"), (29, "C"), (28, "V"), (24, "T"), (0, "exception")]
            {
                let mut wrong = trace.clone();
                wrong[step].xpsr ^= 1 << bit;
                let error = run(&mut Script::new(&wrong), &trace).unwrap_err().to_string();
                assert!(error.contains(&format!("different {name}\n")), "{error}");
            }
        }
    }

    /// A persistent difference is found at any stride, and so is one instruction too many or too
    /// few.
    #[test]
    fn strides_find_what_lasts() {
        let trace = states(12);
        for stride in [1, 2, 5, 11] {
            let wrong = |from: usize| {
                let mut states = trace.clone();
                states[from..].iter_mut().for_each(|s| s.r[2] = 0);
                Script { stride, ..Script::new(&states) }
            };
            let error = run(&mut wrong(stride), &trace).unwrap_err();
            assert!(matches!(error, Disagreement::State { .. }), "stride {stride}: {error}");
            for (core, oracle) in [(11, 12), (12, 11)] {
                let mut short = Script { stride, ..Script::new(&trace[..core]) };
                assert!(run(&mut short, &trace[..oracle]).is_err(), "stride {stride}");
            }
        }
    }

    #[test]
    fn only_the_answer_of_a_host_is_adopted() {
        let trace = states(6);
        let mut other = trace.clone();
        other[3].r[0] = 99;
        let answers = |at| Script { answers: Some(at), ..Script::new(&other) };
        assert!(run(&mut answers(3), &trace).is_ok());
        assert!(run(&mut answers(2), &trace).is_err());
        other[3].r[1] = 99;
        let answers = |at| Script { answers: Some(at), ..Script::new(&other) };
        assert!(run(&mut answers(3), &trace).is_err());
    }

    #[test]
    fn stopping_early_or_late_or_otherwise_is_found() {
        let trace = states(6);
        let error = run(&mut Script::new(&trace[..4]), &trace).unwrap_err();
        assert!(matches!(error, Disagreement::Stopped { instructions: 4, .. }), "{error}");
        let error = run(&mut Script::new(&trace), &trace[..4]).unwrap_err();
        assert!(matches!(error, Disagreement::NotEnded { last: 4, .. }), "{error}");
        let mut stuck = Script { stop: Stop::Stuck("lockup".into()), ..Script::new(&trace) };
        let error = run(&mut stuck, &trace).unwrap_err();
        assert!(error.to_string().contains("lockup"), "{error}");
        let mut idle = Script { stride: 0, ..Script::new(&trace) };
        let error = run(&mut idle, &trace).unwrap_err();
        assert!(error.to_string().contains("no instruction"), "{error}");
        assert!(matches!(run(&mut Script::new(&trace), &[]), Err(Disagreement::Empty)));
    }
}
