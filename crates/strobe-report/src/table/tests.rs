//! Tables as they are written.

use super::*;

fn table() -> Table {
    let mut table = Table::new().number("cycles").number("range").text("why").optional(0);
    table = table.text("name");
    table.row(vec!["12".into(), "".into(), "EEEEEEEEEE".into(), "main".into()]);
    table.row(vec!["1,234".into(), "".into(), "RRRRRRRRRR".into(), "a".repeat(40).into()]);
    table.rule();
    table.painted(vec!["1,246".into(), "".into(), "".into(), "total".into()], Paint::Strong);
    table
}

fn text(width: usize, colour: bool) -> String {
    let mut out = Vec::new();
    table().write(Style { colour, width }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn columns_align_and_empty_ones_go() {
    insta::assert_snapshot!(text(60, false));
}

#[test]
fn optional_columns_go_before_names_become_unreadable() {
    insta::assert_snapshot!(text(40, false));
}

/// Where figures and short words fit, they stay in columns.
#[test]
fn long_words_go_beneath_their_row() {
    let mut table = Table::new().text("stack").number("size").number("worst");
    table = table.text("size from").text("deepest in").narrowing();
    let words = |size: &str, from: &str| {
        let deepest = "main > read_sensor > average > __aeabi_ddiv";
        ["main", size, "1,096", from, deepest].map(Cell::from).to_vec()
    };
    table.row(words("2,048", "the variable main_stack of the board's files"));
    table.across("src/main.c:12", Paint::Faint);
    table.row(words("128", ""));
    table.rule();
    table.row(["", "2,176", "", "", ""].map(Cell::from).to_vec());
    let mut out = Vec::new();
    table.write(Style { colour: false, width: 40 }, &mut out).unwrap();
    let expected = [
        "  stack   size  worst",
        "  main   2,048  1,096",
        "      size from the variable main_stack",
        "      of the board's files",
        "      deepest in main > read_sensor >",
        "      average > __aeabi_ddiv",
        "  src/main.c:12",
        "  main     128  1,096",
        "      deepest in main > read_sensor >",
        "      average > __aeabi_ddiv",
        "         -----  -----",
        "         2,176",
        "",
    ];
    assert_eq!(String::from_utf8(out).unwrap(), expected.join("\n"));
}

/// A name shorter than its heading leaves room for that.
#[test]
fn the_last_heading_is_not_cut_off() {
    let mut table = Table::new().number("cycles").number("more").optional(0).text("figure");
    table.row(vec!["1".into(), "2".into(), "time".into()]);
    let mut out = Vec::new();
    table.write(Style { colour: false, width: 16 }, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "  cycles  figure\n       1  time\n");
}

#[test]
fn colours_are_written_only_when_asked_for() {
    assert!(!text(60, false).contains('\x1b'));
    assert!(text(60, true).contains("\x1b[1mtotal\x1b[0m"));
}
