//! What `--phases` shifted on each side, and what it did not: runs in which nothing was shifted are
//! all the same, and say nothing about luck.

use std::collections::BTreeSet;

use strobe_model::measurement::{Finding, Measurement, Severity};

/// What the runs of a side (`a`, `b`) have to say.
pub fn findings(side: &str, runs: &[Measurement], has_input: bool) -> Vec<Finding> {
    let of = |code: &str| {
        let all = runs.iter().flat_map(|run| &run.findings);
        let texts = all.filter(|finding| finding.code == code).map(|finding| &finding.text);
        texts.cloned().collect::<BTreeSet<String>>()
    };
    let (shifted, still) = (of("phase-shifted"), of("phase-not-shifted"));
    let note = |text: &String| {
        Finding::new(Severity::Note, "phase-shifted", format!("--phases: {side}: {text}"))
    };
    let mut out: Vec<Finding> = shifted.iter().map(note).collect();
    if shifted.is_empty() && has_input {
        out.extend(still.iter().map(note));
    } else if shifted.is_empty() {
        let why = still.first().map_or("no timer was shifted", String::as_str);
        let text = format!(
            "--phases: {side}: {why}, and no serial input arrives: its runs are all the same, and \
             their spread of 0 does not show what is luck"
        );
        out.push(Finding::new(Severity::Warning, "phase-not-shifted", text));
    }
    out
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::{Ended, Instrument, Subject, Window};

    use super::*;

    fn run(code: &str, text: &str) -> Measurement {
        let window = Window::untimed("a test", Ended::default());
        let mut run = Measurement::new(Subject::default(), Instrument::default(), window);
        run.findings.push(Finding::new(Severity::Note, code, text));
        run
    }

    #[test]
    fn texts_are_listed_once_and_equal_runs_warned_about() {
        let shifted = ["SysTick", "SysTick", "TIM3"].map(|text| run("phase-shifted", text));
        let found = findings("a", &shifted, false);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|finding| finding.severity == Severity::Note));
        let still = ["none"; 2].map(|text| run("phase-not-shifted", text));
        let found = findings("b", &still, false);
        assert!(found[0].severity == Severity::Warning && found[0].text.contains("all the same"));
        assert_eq!(findings("b", &still, true)[0].severity, Severity::Note);
    }
}
