//! Lockstep: step the core under test once for each state of a trace, and stop at the first difference.
//!
//! Knows neither QEMU nor any simulator: one is an iterator of states, the other a [`Stepper`].

use std::fmt::{self, Display, Formatter};

use crate::state::CpuState;

/// A core that executes one instruction at a time.
pub trait Stepper {
    /// The registers before the next instruction.
    fn state(&self) -> CpuState;

    /// Takes over the registers that the architecture leaves UNKNOWN at reset: R0 to R12, LR and the flags (B1.5.5).
    /// PC, SP, the Thumb bit and the exception number are already equal.
    fn adopt(&mut self, state: &CpuState);

    /// Executes one instruction and enters the exception, if one is to be taken behind it.
    fn step(&mut self) -> Result<(), Stop>;
}

/// Why a core did not step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The program ended by semihosting.
    Exited,
    /// Anything else, such as a lockup.
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

/// A whole run without a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// Instructions executed, the last one being the semihosting call that ends the program.
    pub instructions: u64,
}

/// The first difference.
#[derive(Debug, thiserror::Error)]
pub enum Disagreement<E: std::error::Error + 'static> {
    /// The trace has no states.
    #[error("the trace is empty")]
    Empty,
    /// The trace broke off.
    #[error("the trace broke off behind instruction {instructions}")]
    Trace {
        /// Instructions that agreed.
        instructions: u64,
        /// Why.
        #[source]
        source: E,
    },
    /// The registers differ behind an instruction (or at reset, if there is none).
    #[error("{}", Difference { instructions, before, expected, actual })]
    State {
        /// Instructions executed, including the one that went wrong.
        instructions: u64,
        /// The state before it, on which both agreed.
        before: Option<Box<CpuState>>,
        /// What the trace says.
        expected: Box<CpuState>,
        /// What the core under test says.
        actual: Box<CpuState>,
    },
    /// The core under test stopped while the trace goes on.
    #[error(
        "instruction {instructions}: the core stopped, {stop}, but the trace goes on; before it:\n{before}"
    )]
    Stopped {
        /// Instructions executed, including the one that stopped.
        instructions: u64,
        /// The state before it.
        before: Box<CpuState>,
        /// Why it stopped.
        stop: Stop,
    },
    /// The trace ended with the program while the core under test goes on.
    #[error(
        "instruction {instructions} ended the program, but the core {what}; before it:\n{before}"
    )]
    NotEnded {
        /// Instructions executed, including the one that should have been the last.
        instructions: u64,
        /// The state before it.
        before: Box<CpuState>,
        /// What it did instead.
        what: String,
    },
}

/// Steps the core through the whole trace.
///
/// Registers and flags must be equal before every instruction, and the core must end where the trace ends.
pub fn compare<E: std::error::Error + 'static>(
    core: &mut impl Stepper,
    trace: impl IntoIterator<Item = Result<CpuState, E>>,
) -> Result<Agreement, Disagreement<E>> {
    let mut instructions = 0;
    let mut before: Option<CpuState> = None;
    for expected in trace {
        let expected = expected.map_err(|source| Disagreement::Trace { instructions, source })?;
        match &before {
            None => start(core, &expected)?,
            Some(before) => {
                instructions += 1;
                core.step().map_err(|stop| {
                    let before = Box::new(*before);
                    Disagreement::Stopped { instructions, before, stop }
                })?;
            }
        }
        let actual = core.state();
        if actual != expected {
            let (before, expected, actual) =
                (before.map(Box::new), Box::new(expected), Box::new(actual));
            return Err(Disagreement::State { instructions, before, expected, actual });
        }
        before = Some(expected);
    }
    let before = Box::new(before.ok_or(Disagreement::Empty)?);
    instructions += 1;
    match core.step() {
        Err(Stop::Exited) => Ok(Agreement { instructions }),
        Err(stop) => {
            let what = format!("stopped otherwise: {stop}");
            Err(Disagreement::NotEnded { instructions, before, what })
        }
        Ok(()) => {
            let what = format!("goes on at {:#010x}", core.state().pc());
            Err(Disagreement::NotEnded { instructions, before, what })
        }
    }
}

/// What reset defines must be equal already; the rest is adopted.
fn start<E: std::error::Error + 'static>(
    core: &mut impl Stepper,
    expected: &CpuState,
) -> Result<(), Disagreement<E>> {
    const DEFINED_AT_RESET: u32 = 0x0100_003f;
    let actual = core.state();
    let defined = |s: &CpuState| (s.r[13], s.pc(), s.xpsr & DEFINED_AT_RESET);
    if defined(&actual) != defined(expected) {
        let (expected, actual) = (Box::new(*expected), Box::new(actual));
        return Err(Disagreement::State { instructions: 0, before: None, expected, actual });
    }
    core.adopt(expected);
    Ok(())
}

/// How a difference is told.
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
                "instruction {} at {:#010x}: different {names}\nbefore it:\n{before}",
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

    /// Plays a script of states, then stops.
    struct Script {
        states: Vec<CpuState>,
        at: usize,
        stop: Stop,
    }

    impl Script {
        fn new(states: &[CpuState]) -> Self {
            Self { states: states.to_vec(), at: 0, stop: Stop::Exited }
        }
    }

    impl Stepper for Script {
        fn state(&self) -> CpuState {
            self.states[self.at]
        }

        fn adopt(&mut self, state: &CpuState) {
            self.states[0] = *state;
        }

        fn step(&mut self) -> Result<(), Stop> {
            if self.at + 1 == self.states.len() {
                return Err(self.stop.clone());
            }
            self.at += 1;
            Ok(())
        }
    }

    fn states(n: u32) -> Vec<CpuState> {
        let state = |i: u32| {
            let mut s = CpuState { r: [7; 16], xpsr: 0x0100_0000 };
            s.r[15] = 0x40 + 2 * i;
            s
        };
        (0..n).map(state).collect()
    }

    fn run(core: &mut Script, trace: &[CpuState]) -> Result<Agreement, Disagreement<Infallible>> {
        compare(core, trace.iter().copied().map(Ok))
    }

    #[test]
    fn equal_runs_agree() {
        let trace = states(5);
        assert_eq!(run(&mut Script::new(&trace), &trace).unwrap(), Agreement { instructions: 5 });
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
    fn any_register_or_flag_that_differs_is_found_and_named() {
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

    #[test]
    fn stopping_early_or_late_or_otherwise_is_found() {
        let trace = states(6);
        let error = run(&mut Script::new(&trace[..4]), &trace).unwrap_err();
        assert!(matches!(error, Disagreement::Stopped { instructions: 4, .. }), "{error}");
        let error = run(&mut Script::new(&trace), &trace[..4]).unwrap_err();
        assert!(matches!(error, Disagreement::NotEnded { instructions: 4, .. }), "{error}");
        let mut stuck = Script { stop: Stop::Stuck("lockup".into()), ..Script::new(&trace) };
        let error = run(&mut stuck, &trace).unwrap_err();
        assert!(error.to_string().contains("lockup"), "{error}");
        assert!(matches!(run(&mut Script::new(&trace), &[]), Err(Disagreement::Empty)));
    }
}
