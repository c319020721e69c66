//! Allocations without what was given back: by size, by caller, what is damaged, and what was
//! published of them.

use std::io::{self, Write};

use strobe_model::{AllocationsReport, PublishedTree};

use super::capture::notes;
use super::layout::{fields, heading, item};
use crate::Options;
use crate::number::{counted, grouped, share};
use crate::paint::Paint;
use crate::table::Table;
use crate::words::clean;

/// Allocations.
///
/// # Errors
/// Those of `out`.
pub fn allocations(
    report: &AllocationsReport,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let title = format!("{}: {}", clean(&report.file), report.format);
    writeln!(out, "{}", Paint::Strong.on(&title, options.style))?;
    fields(&facts(report), options, out)?;
    sizes(report, top, options, out)?;
    tree(report, top, options, out)?;
    if let Some(published) = &report.published {
        beside(report, published, options, out)?;
    }
    if options.quiet {
        return Ok(());
    }
    notes(&report.notes, options, out)
}

fn facts(report: &AllocationsReport) -> Vec<(&'static str, String)> {
    let mut taken =
        format!("{}, {}", counted(report.count, "block"), counted(report.bytes, "byte"));
    if report.failed > 0 {
        taken += &format!("; {} gave none", counted(report.failed, "allocation"));
    }
    let big = format!(
        "{} above {} bytes, {} ({})",
        counted(report.big_count, "block"),
        grouped(report.big_above),
        counted(report.big_bytes, "byte"),
        share(report.big_bytes, report.bytes)
    );
    let damage = &report.damage;
    let mut damaged =
        format!("callers damaged: {} of {}", grouped(damage.frames), grouped(damage.all_frames));
    if let Some(astray) = damage.astray {
        damaged += &format!(", in no function: {}", grouped(astray));
    }
    damaged += &format!("; allocations with such a caller: {}", grouped(damage.allocations));
    let rest = [
        ("unreadable first lines of allocations", damage.heads),
        ("lines before the first allocation", damage.before),
        ("remarks of the unwinder in place of a caller", damage.remarks),
        ("bytes that are no UTF-8", damage.not_utf8),
    ];
    for (what, count) in rest.iter().filter(|(_, count)| *count > 0) {
        damaged += &format!("; {what}: {}", grouped(*count));
    }
    vec![("taken", taken), ("big", big), ("damage", damaged)]
}

fn sizes(
    report: &AllocationsReport,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading("by size: the largest, then the most bytes", options, out)?;
    let mut table = Table::new().number("size").number("blocks").number("bytes").number("share");
    table = table.number("places").text("most of them by").room(50);
    let (big, mut small): (Vec<_>, Vec<_>) =
        report.sizes.iter().partition(|class| class.size > report.big_above);
    small.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(b.size.cmp(&a.size)));
    let room = if top == 0 { small.len() } else { top.saturating_sub(big.len()).min(small.len()) };
    let (shown, rest) = small.split_at(room);
    for class in big.iter().chain(shown) {
        table.row(vec![
            grouped(class.size).into(),
            grouped(class.count).into(),
            grouped(class.bytes).into(),
            share(class.bytes, report.bytes).into(),
            grouped(class.places).into(),
            class.place.as_str().into(),
        ]);
    }
    if !rest.is_empty() {
        let (count, bytes) =
            rest.iter().fold((0, 0), |(n, b), class| (n + class.count, b + class.bytes));
        table.row(vec![
            "".into(),
            grouped(count).into(),
            grouped(bytes).into(),
            share(bytes, report.bytes).into(),
            "".into(),
            counted(rest.len() as u64, "more size").into(),
        ]);
    }
    table.rule();
    table.painted(
        vec![
            "".into(),
            grouped(report.count).into(),
            grouped(report.bytes).into(),
            "100.0 %".into(),
            "".into(),
            "all".into(),
        ],
        Paint::Strong,
    );
    table.write(options.style, out)
}

fn tree(
    report: &AllocationsReport,
    top: usize,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading("by caller, the outermost first", options, out)?;
    let mut table =
        Table::new().number("blocks").number("share").number("bytes").text("caller").room(50);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); report.tree.len()];
    let mut roots = Vec::new();
    for (i, node) in report.tree.iter().enumerate() {
        match node.parent.and_then(|parent| children.get_mut(parent as usize)) {
            Some(siblings) => siblings.push(i),
            None => roots.push(i),
        }
    }
    let by_bytes = |list: &mut Vec<usize>| {
        list.sort_by_key(|i| (report.tree[*i].bytes, std::cmp::Reverse(*i)));
    };
    // The last of the stack comes first.
    by_bytes(&mut roots);
    let mut stack: Vec<(usize, usize)> = roots.into_iter().map(|i| (i, 0)).collect();
    let limit = if top == 0 { usize::MAX } else { top };
    let mut shown = 0;
    while let Some((i, depth)) = stack.pop() {
        if shown == limit {
            break;
        }
        shown += 1;
        let node = &report.tree[i];
        let mut name = node.symbol.as_deref().unwrap_or(&node.name).to_owned();
        if node.symbol.is_some() {
            name += &format!(", printed as {}", node.name);
        }
        let address = &node.address;
        let mark = if node.damaged { ", damaged" } else { "" };
        table.row(vec![
            grouped(node.count).into(),
            share(node.count, report.count).into(),
            grouped(node.bytes).into(),
            format!("{}{name} {address}{mark}", "  ".repeat(depth)).into(),
        ]);
        let mut below = std::mem::take(&mut children[i]);
        by_bytes(&mut below);
        stack.extend(below.into_iter().map(|child| (child, depth + 1)));
    }
    table.write(options.style, out)?;
    let left = report.tree.len() - shown;
    if left > 0 {
        let text = format!("and {}; --top 0 shows all", counted(left as u64, "more caller"));
        item("", &text, Paint::Faint, options, out)?;
    }
    Ok(())
}

/// What was published beside it.
fn beside(
    report: &AllocationsReport,
    published: &PublishedTree,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading(&format!("published: {}", clean(&published.file)), options, out)?;
    let text = format!(
        "{} of {}, here {} of {}; {} of {} have the same count and bytes, {} differ",
        counted(published.count, "block"),
        counted(published.bytes, "byte"),
        counted(report.count, "block"),
        counted(report.bytes, "byte"),
        grouped(published.same),
        counted(published.nodes, "caller"),
        grouped(published.all_differ)
    );
    item("", &text, Paint::Plain, options, out)?;
    for (path, ours, theirs) in &published.differ {
        let text = format!("{path}: {} here, {} published", grouped(*ours), grouped(*theirs));
        item("! ", &text, Paint::Warn, options, out)?;
    }
    if published.renamed > 0 {
        let text = format!(
            "callers with another function's file and line, looked up without regard to inlining or at the return address: {}",
            grouped(published.renamed)
        );
        item("! ", &text, Paint::Warn, options, out)?;
    }
    if published.not_utf8 > 0 {
        let text = format!("bytes of it that are no UTF-8: {}", grouped(published.not_utf8));
        item("! ", &text, Paint::Warn, options, out)?;
    }
    Ok(())
}
