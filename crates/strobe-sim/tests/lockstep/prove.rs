//! One run of QEMU, followed by two simulated cores at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use strobe_oracle::{Agreement, CpuState, Trace, TraceError, compare};

use crate::machine::{Core, Stride};

/// Enough for twenty million instructions on a slow machine.
const DEADLINE: Duration = Duration::from_secs(900);

/// A program on which both cores agree with QEMU from reset to exit.
pub(crate) struct Proof {
    pub(crate) instructions: u64,
    pub(crate) exit_code: i32,
}

/// A part of the trace, or why it broke off.
type Part = Result<Arc<[CpuState]>, Arc<TraceError>>;

/// States per part: few enough to stay in the cache.
const PART: usize = 4096;

/// Proves a program or panics with the first difference.
pub(crate) fn prove(name: &str, elf: &Path) -> Proof {
    let bytes = std::fs::read(elf).unwrap_or_else(|error| panic!("{}: {error}", elf.display()));
    let trace = Trace::start(elf, DEADLINE).expect("qemu-system-arm is installed");
    let follow = |stride: Stride, parts: Receiver<Part>| {
        let mut core = Core::load(&bytes, stride);
        let told = format!("{name}, {stride:?}");
        let agreement = compare(&mut core, states(parts)).unwrap_or_else(|e| panic!("{told}: {e}"));
        (agreement, core.exit_code().unwrap_or_else(|| panic!("{told}: no exit code")))
    };
    std::thread::scope(|scope| {
        let (to_single, single) = sync_channel(8);
        let (to_strided, strided) = sync_channel(8);
        let single = scope.spawn(|| follow(Stride::One, single));
        let strided = scope.spawn(|| follow(Stride::Random { seed: 1, up_to: 400 }, strided));
        let exit_code = share(trace, &[to_single, to_strided]);
        let joined = [single.join(), strided.join()];
        let [single, strided] = joined.map(|r| r.unwrap_or_else(|e| std::panic::resume_unwind(e)));
        let instructions = single.0.instructions;
        let one_by_one = Agreement { instructions, compared: instructions };
        assert_eq!(single.0, one_by_one, "{name}: not stepped one by one");
        assert_eq!(strided.0.instructions, instructions, "{name}");
        assert!(strided.0.compared < instructions, "{name}: no strides");
        assert_eq!((single.1, strided.1), (exit_code, exit_code), "{name}: exit codes");
        Proof { instructions, exit_code }
    })
}

/// Hands a trace to all followers, and returns the exit code at its end. A follower that has gone away found a difference.
fn share(mut trace: Trace, followers: &[SyncSender<Part>]) -> i32 {
    let mut part = Vec::with_capacity(PART);
    loop {
        let state = trace.next();
        match &state {
            Some(Ok(state)) => part.push(*state),
            Some(Err(_)) | None => {}
        }
        if part.len() == PART || !matches!(state, Some(Ok(_))) {
            let full: Arc<[CpuState]> = part.drain(..).collect();
            let sent = followers.iter().map(|f| f.send(Ok(Arc::clone(&full))));
            if sent.fold(true, |all_gone, sent| all_gone && sent.is_err()) {
                return -1;
            }
        }
        match state {
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                let error = Arc::new(error);
                // Whoever has gone has a better reason to fail.
                followers.iter().for_each(|f| drop(f.send(Err(Arc::clone(&error)))));
                return -1;
            }
            None => return trace.exit_code().unwrap_or(-1),
        }
    }
}

fn states(parts: Receiver<Part>) -> impl Iterator<Item = Result<CpuState, Arc<TraceError>>> {
    parts.into_iter().flat_map(|part| {
        let (states, error) = match part {
            Ok(states) => (Some(states), None),
            Err(error) => (None, Some(Err(error))),
        };
        let states = states.into_iter().flat_map(|s| (0..s.len()).map(move |i| Ok(s[i])));
        states.chain(error)
    })
}
