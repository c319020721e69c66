//! A published profile beside what its samples say, and where it went wrong.

use std::io::{self, Write};

use strobe_model::{KnownFault, Published};

use super::layout::{heading, item};
use crate::Options;
use crate::number::{counted, grouped, share};
use crate::paint::Paint;
use crate::table::Table;

/// What was published, function by function.
///
/// # Errors
/// Those of `out`.
pub fn published(
    published: &Published,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lost = published.counted.saturating_sub(published.total);
    let head = format!(
        "published: {} has {} of {} samples with a function, {} are not in it ({})",
        published.file,
        grouped(published.total),
        grouped(published.counted),
        grouped(lost),
        share(lost, published.counted)
    );
    heading(&head, options, out)?;
    let mut table =
        Table::new().number("samples").number("share").number("published").number("share");
    table = table.number("with the fault").text("function");
    let row =
        |table: &mut Table, counted: u64, hits: Option<u64>, fault: Option<u64>, name: &str| {
            let published_share = hits.map_or("-".to_owned(), |hits| share(hits, published.total));
            let number = |n: Option<u64>| n.map_or("-".to_owned(), grouped);
            table.row(vec![
                grouped(counted).into(),
                share(counted, published.counted).into(),
                number(hits).into(),
                published_share.into(),
                number(fault).into(),
                name.into(),
            ]);
        };
    for f in &published.functions {
        row(&mut table, f.counted, Some(f.published), Some(f.with_fault), &f.name);
    }
    let shown = if top == 0 { published.missing.len() } else { top.min(published.missing.len()) };
    let (missing, rest) = published.missing.split_at(shown);
    for (name, samples) in missing {
        row(&mut table, *samples, None, None, name);
    }
    if !rest.is_empty() {
        let samples = rest.iter().map(|(_, samples)| samples).sum();
        let name = counted(rest.len() as u64, "more function");
        row(&mut table, samples, None, None, &name);
    }
    table.rule();
    let total = published.fault.as_ref().map_or("-".to_owned(), |fault| grouped(fault.total));
    let sums = vec![
        grouped(published.counted).into(),
        "100.0 %".into(),
        grouped(published.total).into(),
        "100.0 %".into(),
        total.into(),
        "all".into(),
    ];
    table.painted(sums, Paint::Strong);
    table.write(options.style, out)?;
    match &published.fault {
        Some(fault) => explain(published, fault, options, out),
        None => Ok(()),
    }
}

/// Whether the known fault is the reason.
fn explain(
    published: &Published,
    fault: &KnownFault,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all = published.functions.len() as u64;
    let verdict = if fault.exact {
        format!(
            "made again on these samples, it leaves exactly the published {} with exactly their hits",
            counted(all, "function")
        )
    } else {
        format!(
            "made again on these samples, it leaves {} with {} hits; {} of the published {} have exactly theirs",
            counted(fault.functions, "function"),
            grouped(fault.total),
            grouped(fault.same),
            grouped(all)
        )
    };
    item("! ", &format!("{}: {verdict}", fault.what), Paint::Warn, options, out)?;
    if published.without_inlining && !fault.exact {
        let text = "the tool named inlined functions; without the firmware's ELF (--elf) they count for those around them";
        item("! ", text, Paint::Warn, options, out)?;
    }
    Ok(())
}
