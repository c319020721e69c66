//! A published profile beside the measurement of its samples.

use crate::archive::published::report::{KnownFault, Published};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Fact, Finding, Loss, Measurement, Parts, Severity, Table, Unit,
};

use crate::measuring::balance;

/// Adds to what the samples are as a measurement what was published of them.
pub fn published(mut samples: Measurement, published: &Published) -> Measurement {
    samples.subject.facts.push(Fact::text("published", &published.file));
    let missing = published.missing.iter().map(|(_, n)| *n).fold(0, u64::saturating_add);
    let there = published.functions.iter().map(|f| f.counted).fold(0, u64::saturating_add);
    let parts = Parts {
        what: "samples with a function".to_owned(),
        unit: Unit::SAMPLES,
        taken_as: "counted".to_owned(),
        attributed_as: String::new(),
        taken: published.counted,
        attributed: there,
        unattributed: vec![("function not in the published profile".to_owned(), missing)],
        idle: 0,
        lost: Loss::Known(0),
    };
    balance(&mut samples, parts);
    let title = format!("published: {}", published.file);
    samples.push("published", title, Content::Table(table(published)));
    let lost = published.counted.saturating_sub(published.total);
    if lost > 0 {
        let (total, counted) = (published.total, published.counted);
        let text = format!(
            "the published profile has {total} of {counted} samples with a function; {lost} are \
             not in it"
        );
        let finding = Finding::new(Severity::Warning, "published-incomplete", text);
        samples.findings.push(Finding { count: lost, ..finding });
    }
    if let Some(fault) = &published.fault {
        samples.findings.extend(explained(published, fault));
    }
    samples
}

fn table(published: &Published) -> Table {
    let samples = |id, title| Column::figure(id, title, Unit::SAMPLES);
    let mut table = Table::new(vec![
        Column::text(ids::column::FUNCTION, "function"),
        samples("samples", "samples").of(published.counted),
        samples("published", "published").of(published.total),
        samples("with-fault", "with the fault"),
    ]);
    for f in &published.functions {
        table.row([
            f.name.as_str().into(),
            f.counted.into(),
            f.published.into(),
            f.with_fault.into(),
        ]);
    }
    for (name, samples) in &published.missing {
        table.row([name.as_str().into(), (*samples).into(), Cell::Empty, Cell::Empty]);
    }
    let fault = published.fault.as_ref().map(|fault| fault.total);
    let sums = vec!["all".into(), published.counted.into(), published.total.into(), fault.into()];
    table.footer.push(sums);
    table
}

/// Whether the known fault is the reason.
fn explained(published: &Published, fault: &KnownFault) -> Vec<Finding> {
    let all = published.functions.len();
    let verdict = if fault.exact {
        format!(
            "made again on these samples, it leaves exactly the {all} published functions with \
             exactly their hits"
        )
    } else {
        let KnownFault { functions, total, same, .. } = fault;
        format!(
            "made again on these samples, it leaves {functions} functions with {total} hits; \
             {same} of the published {all} have exactly theirs"
        )
    };
    let text = format!("{}: {verdict}", fault.what);
    let figures = [
        ("functions", fault.functions.to_string()),
        ("hits", fault.total.to_string()),
        ("same", fault.same.to_string()),
        ("exact", if fault.exact { "yes" } else { "no" }.to_owned()),
    ];
    let figures = figures.map(|(name, value)| (name.to_owned(), value));
    let evidence = vec![("the fault, made again".to_owned(), figures.into())];
    let finding = Finding::new(Severity::Warning, "published-fault", text);
    let mut findings = vec![Finding { evidence, ..finding }];
    if published.without_inlining && !fault.exact {
        let text = "the tool named inlined functions; without the firmware's ELF they count for \
                    those around them";
        let advice = Some("give the firmware with --elf".to_owned());
        let finding = Finding::new(Severity::Warning, "published-inlining", text);
        findings.push(Finding { advice, ..finding });
    }
    findings
}
