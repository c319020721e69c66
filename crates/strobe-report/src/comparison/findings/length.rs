//! How the two ended, and how long they were.

pub(super) fn other_end([a, b]: &[String; 2]) -> String {
    format!(
        "they ended for different reasons: {a} (a), {b} (b); times and sums may not be of the same \
         work"
    )
}

pub(super) fn run_ends(ends: &[(String, [usize; 2])]) -> String {
    let each = ends.iter().map(|(end, [a, b])| format!("{end} ({a} of a, {b} of b)"));
    format!(
        "runs ended for different reasons: {}; times and sums may not be of the same work",
        each.collect::<Vec<_>>().join(", ")
    )
}

pub(super) fn stopped([a, b]: [f64; 2]) -> String {
    format!(
        "they were stopped after different times, {a:.3} ms (a) and {b:.3} ms (b): compare what \
         each does in the same time (--until), or the same work (--from, --to)"
    )
}

pub(super) fn of_recordings([a, b]: [f64; 2]) -> String {
    format!(
        "they are recordings of different lengths, {a:.3} ms (a) and {b:.3} ms (b): sums and \
         counts are of different times"
    )
}

pub(super) fn same(milliseconds: f64) -> String {
    format!(
        "both were stopped after the same time, {milliseconds:.3} ms: all together they take the \
         same, and what one function has more, others or idle time have less"
    )
}
