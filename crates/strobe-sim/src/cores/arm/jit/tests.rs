//! How much may be compiled.

use super::{ADVANCE, COST, Jit, SHARE};

#[test]
fn compiling_takes_a_share_of_what_was_interpreted() {
    let jit = Jit::default();
    assert_eq!(jit.affordable(0), ADVANCE);
    assert_eq!(jit.affordable(100 * COST * SHARE), ADVANCE + 100);
}

#[test]
fn compiled_code_earns_what_it_saves() {
    let jit = Jit { executed: 400 * COST, ..Jit::default() };
    assert_eq!(jit.affordable(400 * COST), ADVANCE + 300);
}

#[test]
fn forgotten_code_was_paid_for() {
    let mut jit = Jit { spent: ADVANCE - 10, instructions: ADVANCE - 10, ..Jit::default() };
    jit.clear();
    assert_eq!(jit.affordable(0), 10);
    jit.spent = 2 * ADVANCE;
    assert_eq!(jit.affordable(0), 0);
}
