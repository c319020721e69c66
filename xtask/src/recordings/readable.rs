//! A measurement as `known.toml` refers to it: sections by their names, tables by row, figures as
//! plain numbers.

use serde_json::{Map, Value, json};

/// Totals by name under `totals`, balances with the sum of what has no owner under `balances`,
/// `findings` as they are; each section under its own name: a table as its rows, its footer under
/// `footers`; distributions with their mean; a text as one string.
pub(super) fn readable(measurement: &Value) -> Value {
    let mut all = Map::new();
    let totals = elements(&measurement["totals"]).iter();
    let totals = totals.filter_map(|t| Some((t["id"].as_str()?.to_owned(), t["value"].clone())));
    all.insert("totals".to_owned(), totals.collect::<Map<_, _>>().into());
    all.insert("instrument".to_owned(), measurement["instrument"]["kind"].clone());
    let balances = elements(&measurement["balances"]).iter().map(balance);
    all.insert("balances".to_owned(), balances.collect());
    all.insert("findings".to_owned(), measurement["findings"].clone());
    let mut footers = Map::new();
    for section in elements(&measurement["sections"]) {
        let id = section["id"].as_str().unwrap_or_default().to_owned();
        let content = &section["content"];
        let table = &content["table"];
        if table.is_object() {
            footers.insert(id.clone(), footer(table));
            all.insert(id, rows(table));
        } else if let Some(each) = content["distributions"]["distributions"].as_array() {
            all.insert(id, each.iter().map(distribution).collect());
        } else if content["text"].is_object() {
            let lines = elements(&content["text"]["lines"]).iter();
            let lines: Vec<&str> = lines.filter_map(Value::as_str).collect();
            all.insert(id, lines.join("\n").into());
        }
    }
    all.insert("footers".to_owned(), footers.into());
    all.into()
}

fn elements(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn balance(balance: &Value) -> Value {
    let reasons = elements(&balance["unattributed"]).iter();
    let sum = reasons.filter_map(|pair| pair[1].as_u64()).sum::<u64>();
    json!({
        "what": balance["what"],
        "taken": balance["taken"],
        "attributed": balance["attributed"],
        "unattributed": sum,
    })
}

/// A figure that is not exact is an object with its value.
fn cell(cell: &Value) -> Value {
    cell.get("value").filter(|_| cell.is_object()).unwrap_or(cell).clone()
}

fn row<'v>(table: &'v Value, at: impl Fn(usize, &'v Value) -> &'v Value) -> Value {
    let columns = elements(&table["columns"]).iter().enumerate();
    let cells = columns.filter_map(|(n, column)| {
        Some((column["id"].as_str()?.to_owned(), cell(at(n, &column["cells"]))))
    });
    cells.collect::<Map<_, _>>().into()
}

fn rows(table: &Value) -> Value {
    let n = elements(&table["columns"]).first().map_or(0, |c| elements(&c["cells"]).len());
    (0..n).map(|at| row(table, |_, cells| &cells[at])).collect()
}

fn footer(table: &Value) -> Value {
    elements(&table["footer"]).iter().map(|line| row(table, |n, _| &line[n])).collect()
}

fn distribution(distribution: &Value) -> Value {
    let spread = &distribution["spread"];
    let mean = spread["sum"].as_f64().zip(spread["count"].as_f64().filter(|n| *n > 0.0));
    json!({
        "name": distribution["name"],
        "count": spread["count"],
        "sum": spread["sum"],
        "min": spread["min"],
        "max": spread["max"],
        "mean": mean.map(|(sum, n)| sum / n),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_become_rows_and_figures_numbers() {
        let measurement = json!({
            "instrument": {"kind": "event trace"},
            "totals": [{"id": "events", "value": 7, "unit": "count", "trust": "exact"}],
            "balances": [{"what": "bytes", "taken": 9, "attributed": 6,
                          "unattributed": [["a", 1], ["b", 2]], "idle": 0}],
            "sections": [
                {"id": "threads", "content": {"table": {
                    "columns": [
                        {"id": "thread", "cells": ["main", "worker"]},
                        {"id": "time", "cells": [4, {"value": 5, "trust": "at-least"}]},
                    ],
                    "footer": [["all", 9]],
                }}},
                {"id": "gaps", "content": {"distributions": {"distributions": [
                    {"name": "x", "spread": {"count": 2, "sum": 5, "min": 1, "max": 4}},
                ]}}},
                {"id": "port-0", "content": {"text": {"lines": ["a", "b"]}}},
            ],
        });
        let all = readable(&measurement);
        assert_eq!(all["totals"]["events"], 7);
        assert_eq!(all["balances"][0]["unattributed"], 3);
        assert_eq!(all["threads"][1], json!({"thread": "worker", "time": 5}));
        assert_eq!(all["footers"]["threads"][0]["time"], 9);
        assert_eq!(all["gaps"][0]["mean"], 2.5);
        assert_eq!(all["port-0"], "a\nb");
    }
}
