//! What calls of the kit for the target cost in a run: what the firmware pays for being traced.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use crate::code_profile::{Place, TreeNode};
use crate::simulated::run_record::RunRecord;
use strobe_model::measurement::{Column, Content, Section, Table, Unit};

use super::{Model, section};

/// A row for each function of the kit that was called, if there are any.
pub(super) fn section_of(record: &RunRecord, model: &Model) -> Option<Section> {
    let mut table = Table::new(vec![
        Column::figure("calls", "calls", Unit::COUNT),
        Column::figure("per-call", "per call", Unit::CYCLES),
        Column::figure(ids::column::CYCLES, "cycles", Unit::CYCLES).of(record.totals.cycles),
        Column::text(ids::column::FUNCTION, "function"),
    ]);
    for (name, (calls, cycles)) in costs(record).into_iter().filter(|(_, cost)| cost.0 > 0) {
        let per_call = model.mean(cycles, calls);
        table.row([calls.into(), per_call, model.cell(cycles), name.into()]);
    }
    let title = "what the kit for the target cost: cycles of its calls with all that they called, \
                 without the caller's part";
    (!table.is_empty()).then(|| section("kit-cost", title, Content::Table(table)))
}

/// Functions of the kit with their calls and cycles.
fn costs(record: &RunRecord) -> BTreeMap<&str, (u64, u64)> {
    let profile = &record.profile;
    let mut out: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (node, cycles) in profile.tree.iter().zip(subtrees(&profile.tree)) {
        let Place::Function(index) = node.place else { continue };
        let Some(function) = profile.functions.get(index as usize) else { continue };
        let name = function.name.as_str();
        if name.starts_with("strobe_trace_") || name.starts_with("strobe_trace::") {
            let cost = out.entry(name).or_default();
            cost.0 = cost.0.saturating_add(node.calls);
            cost.1 = cost.1.saturating_add(cycles);
        }
    }
    out
}

/// Cycles of each node with everything below it. Parents come before their children.
fn subtrees(tree: &[TreeNode]) -> Vec<u64> {
    let mut sums: Vec<u64> = tree.iter().map(|node| node.self_cycles).collect();
    for (at, node) in tree.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            sums[parent as usize] = sums[parent as usize].saturating_add(sums[at]);
        }
    }
    sums
}
