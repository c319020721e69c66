//! Tables on their page.

use strobe_model::measurement::{Cell, Column, Table, Trust, Unit};

use super::WAITS;

/// What is hidden of a sum is stated.
#[test]
fn columns_without_room_have_their_sums_beneath() {
    let figure =
        |id: &str, title: &str, worth: u8| Column::figure(id, title, Unit::CYCLES).worth(worth);
    let mut table = Table::new(vec![
        Column::text("function", "function"),
        figure("more-calls", "more calls in cycles", 1),
        figure("execute", "execute", 2),
        figure("rest", "rest of the difference", 0),
        Column::text("why", "why"),
    ]);
    let why = "more instructions for each call than there were before";
    table.row(["f".into(), 1_200i64.into(), (-9i64).into(), 0i64.into(), why.into()]);
    let sums: [Cell; 5] = ["all".into(), 1_200i64.into(), (-9i64).into(), 0i64.into(), Cell::Empty];
    table.footer.push(sums.to_vec());
    let shown = |id: &str| {
        let mut run = crate::samples::measurements::simulated();
        run.push(id, "why", strobe_model::measurement::Content::Table(table.clone()));
        let style = crate::Style { colour: false, width: 64 };
        let (mut out, options) = (Vec::new(), crate::Options { style, quiet: false });
        let selection = super::super::Selection::default();
        super::super::measurement(&run, &selection, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let line = "  all, of columns without room: more calls in cycles 1,200\n";
    assert!(shown("profile-causes").contains(line), "{}", shown("profile-causes"));
    assert!(!shown("profile-others").contains("without room"));
}

/// Short waits have their sum, and a row each where all rows are asked for.
#[test]
fn short_waits_are_left_out_and_counted() {
    let mut table = Table::new(vec![
        Column::figure("cycles", "cycles", Unit::CYCLES).of(1_000_000u64),
        Column::text("place", "place"),
    ]);
    let bounds = Trust::Modelled { low: 400u64.into(), high: 600u64.into(), why: None };
    let about = Cell::Figure { value: Some(500u64.into()), trust: bounds };
    table.row([600_000u64.into(), "main".into()]);
    table.row([999u64.into(), "pll_ready".into()]);
    table.row([about, "uart_put".into()]);
    let shown = |id: &str, top: usize| {
        let mut run = crate::samples::measurements::simulated();
        run.push(id, "loops", strobe_model::measurement::Content::Table(table.clone()));
        let style = crate::Style { colour: false, width: 80 };
        let (mut out, options) = (Vec::new(), crate::Options { style, quiet: false });
        let selection = super::super::Selection { top, ..Default::default() };
        super::super::measurement(&run, &selection, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let (few, all) = (shown(WAITS, 20), shown(WAITS, 0));
    let line = "  and 2 more rows with ~1,499 cycles in all; --top 0 shows all\n";
    assert!(few.contains(line) && !few.contains("uart_put"), "{few}");
    assert!(!all.contains("more rows with") && all.contains("uart_put"), "{all}");
    assert!(shown("others", 20).contains("uart_put"), "only waits are left out");
}
