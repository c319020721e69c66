//! Pages read as XML, which they are as well: nothing that a measurement holds gets out of its
//! place, and nothing is asked of a network.

use roxmltree::Document;
use strobe_model::measurement::{
    Balance, Cell, Column, Content, Distribution, Distributions, Fact, Finding, Kind, Loss,
    NamedPart, Parts, Quantity, Severity, Spread, Table, Trust, Unit,
};

use super::super::subjects;
use super::*;
use crate::samples::measurements;

fn written(measurement: &Measurement) -> String {
    String::from_utf8(subjects::write(&Page, measurement, &Choice::default())).expect("UTF-8")
}

/// Elements without an end in HTML are given one.
fn parsed(text: &str) -> String {
    let (_, html) = text.split_once("<html").expect("a page");
    let mut html = format!("<html{html}");
    for tag in ["<meta ", "<img "] {
        let mut out = String::new();
        for (n, part) in html.split(tag).enumerate() {
            if n == 0 {
                out.push_str(part);
                continue;
            }
            let (inside, rest) = part.split_once('>').expect("the end of the tag");
            out.push_str(&format!("{tag}{inside}/>{rest}"));
        }
        html = out;
    }
    html
}

#[test]
fn measurement_content_stays_text() {
    let mut measurement = subjects::measurement();
    let nasty = "<script>alert('&')</script>\"";
    measurement.subject.name = nasty.to_owned();
    measurement.subject.facts.push(Fact::text("question", nasty));
    let evidence = vec![(nasty.to_owned(), vec![(nasty.to_owned(), nasty.to_owned())])];
    measurement.findings.push(Finding {
        place: Some(nasty.to_owned()),
        advice: Some(nasty.to_owned()),
        evidence,
        ..Finding::new(Severity::Fault, nasty, nasty)
    });
    measurement.findings.push(Finding::new(Severity::Warning, "failed", nasty));
    let mut table = Table::new(vec![
        Column::text("verdict", nasty),
        Column::figure("ratio", "ratio", Unit::RATIO),
    ]);
    let unknown = Trust::Unknown { why: nasty.to_owned() };
    table.row([nasty.into(), Cell::Figure { value: None, trust: unknown }]);
    measurement.push("verdicts", nasty, Content::Table(table)).notes.push(nasty.to_owned());
    let text = Text { lines: vec![nasty.to_owned()], skipped_bytes: 0 };
    measurement.push("text", nasty, Content::Text(text));
    let part = NamedPart { name: nasty.to_owned(), measurement: measurement.clone() };
    measurement.parts.push(part);
    let html = parsed(&written(&measurement));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    assert!(document.descendants().all(|node| !node.has_tag_name("script")));
    let said = |node: roxmltree::Node| node.text().is_some_and(|text| text.contains(nasty));
    let places = document.descendants().filter(|node| node.is_element() && said(*node)).count();
    assert!(places >= 26, "{places} of them are shown");
    let unknown = document.descendants().find(|n| n.attribute("class") == Some("unknown"));
    assert_eq!(unknown.and_then(|n| n.text()), Some("unknown"), "and never 0");
}

#[test]
fn a_page_needs_nothing_else() {
    for measurement in
        [subjects::timeline(), subjects::of(subjects::run()), subjects::of(subjects::hostile())]
    {
        let html = written(&measurement);
        for word in ["http://", "https://", "<script", "<link", "@import", "url("] {
            let found = html.find(word).map(|at| &html[at..html.len().min(at + 60)]);
            // The name of a namespace is no address that anything is asked of.
            let is_name = found.is_some_and(|text| text.starts_with("http://www.w3.org/2000/svg"));
            assert!(found.is_none() || is_name, "{found:?}");
        }
        let html = parsed(&html);
        Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    }
}

#[test]
fn a_profile_has_a_flame_graph_and_its_functions() {
    let html = written(&subjects::of(subjects::run()));
    assert!(html.contains("src=\"data:image/svg+xml,"), "{html}");
    let rows = html.matches("<td class=\"words\">").count() + html.matches("<tr><td>").count();
    assert!(rows >= 2, "{html}");
}

#[test]
fn functions_have_their_bounds() {
    let mut profile = subjects::run();
    let measure = &mut profile.measures[0];
    measure.kind = Kind::Modelled { why: "waits are modelled".to_owned() };
    let all = profile.leaves.values.iter_mut().chain(&mut profile.chains.values);
    for values in all.filter(|values| values.measure == measure.id) {
        values.low = values.values.iter().map(|value| value / 2).collect();
        values.high = values.values.iter().map(|value| value * 3).collect();
    }
    let bounds = |html: &str| html.matches("<span class=\"bounds\">").count();
    let exact = written(&subjects::of(subjects::run()));
    assert!(bounds(&written(&subjects::of(profile))) > bounds(&exact));
}

/// As in reports: figures say how much of the whole they are of.
#[test]
fn a_page_shows_what_was_seen_and_lost() {
    let mut measurement = subjects::of(subjects::run());
    let why = "the host's clock does not measure it";
    measurement.coverage.lost = Some(Quantity::unknown(Unit::SAMPLES, why));
    let balance = Balance::new(Parts {
        what: "samples".to_owned(),
        unit: Unit::SAMPLES,
        taken_as: "taken".to_owned(),
        attributed_as: String::new(),
        taken: 90,
        attributed: 80,
        unattributed: vec![("<no symbol>".to_owned(), 10)],
        idle: 0,
        lost: Loss::Unknown(why.to_owned()),
    });
    measurement.balances.push(balance.expect("it adds up"));
    measurement.window.ended.text = "interrupted".to_owned();
    let html = parsed(&written(&measurement));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let of = |name: &str| {
        let term = document.descendants().find(|n| n.has_tag_name("dt") && n.text() == Some(name));
        let text = term.and_then(|node| node.next_sibling_element()).and_then(|node| node.text());
        text.unwrap_or_else(|| panic!("no {name}: {html}"))
    };
    assert!(of("lost").contains("unknown") && of("lost").contains("host's clock"));
    assert_eq!(of("ended"), "interrupted");
    let balance = document.descendants().find(|n| n.attribute("class") == Some("balance"));
    let balance = balance.and_then(|node| node.text()).expect("a balance");
    let sum = "90 samples taken = 80 attributed + 10 <no symbol> + 0 idle; how much was lost is";
    assert!(balance.starts_with(sum), "{balance}");
}

/// A function has the figure that reports state, wherever it sleeps.
#[test]
fn idle_is_excluded_from_functions() {
    let html = parsed(&written(&subjects::of(subjects::run())));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let cells = |row: roxmltree::Node| -> Vec<String> {
        let text = |cell: roxmltree::Node| cell.text().unwrap_or_default().trim().to_owned();
        row.children().filter(|cell| cell.has_tag_name("td")).map(text).collect()
    };
    let rows: Vec<Vec<String>> =
        document.descendants().filter(|n| n.has_tag_name("tr")).map(cells).collect();
    let of = |name: &str| {
        let row = rows.iter().find(|row| row.iter().any(|cell| cell == name));
        row.unwrap_or_else(|| panic!("{name}: {rows:?}"))[0].replace(',', "").parse::<i64>()
    };
    let flat = strobe_analyse::attribution::rows(
        &subjects::run(),
        &subjects::run().measures[0].id,
        &strobe_analyse::attribution::By::Function,
    );
    let flat = flat.expect("rows");
    assert!(flat.total.idle.value > 0, "the subject sleeps");
    for row in &flat.rows {
        assert_eq!(of(&row.name), Ok(row.sums.busy().value), "{}", row.name);
    }
    assert_eq!(of("(idle)"), Ok(flat.total.idle.value));
}

#[test]
fn shares_of_samples_and_modelled_spreads_have_their_intervals() {
    let mut profile = subjects::run();
    let (period, period_unit) = (Some(1000), Some(Unit::CYCLES));
    profile.measures[0].kind = Kind::Sampled { period, period_unit };
    let mut measurement = subjects::of(profile);
    let spread = |values: [u64; 3]| values.into_iter().collect::<Spread>();
    let mut wait = Distribution::exact("wait", Unit::CYCLES, spread([10, 20, 30]));
    (wait.low, wait.high) = (Some(spread([8, 20, 30])), Some(spread([10, 20, 45])));
    let all = Distributions { distributions: vec![wait] };
    measurement.push("waits", "waits: cycles until it goes on", Content::Distributions(all));
    let html = written(&measurement);
    assert!(html.contains(" %</span>"), "{html}");
    assert!(html.contains("~30 <span class=\"bounds\">30-45</span>"), "{html}");
    assert!(html.contains(">waits: wait (cycles)<"), "{html}");
}

fn part(name: &str, measurement: Measurement) -> NamedPart {
    NamedPart { name: name.to_owned(), measurement }
}

/// Faults, warnings, how it was measured: chips of a rig have all of it, and so have those of the
/// sides of a comparison.
#[test]
fn parts_have_all_contents_of_a_separate_page() {
    let mut chip = subjects::of(subjects::run());
    chip.instrument.settings.insert("until".to_owned(), "20 ms".into());
    chip.findings
        .push(Finding { count: 3, ..Finding::new(Severity::Warning, "lost", "a request") });
    let registers = vec![("kind", "HardFault"), ("R0", "0x21d"), ("nanoseconds", "7625")];
    let registers = registers.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
    chip.findings.push(Finding {
        place: Some("main.c:12".to_owned()),
        advice: Some("align it".to_owned()),
        evidence: vec![("registers".to_owned(), registers)],
        ..Finding::new(Severity::Fault, "hard-fault", "unaligned access")
    });
    let mut rig = subjects::measurement();
    rig.parts = vec![part("ping", chip.clone()), part("pong", chip)];
    let mut comparison = subjects::measurement();
    comparison.parts = vec![part("a", rig)];
    let html = parsed(&written(&comparison));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let chips: Vec<roxmltree::Node> = document
        .descendants()
        .filter(|node| node.attribute("class") == Some("part"))
        .filter(|node| {
            let name = node.first_element_child().and_then(|name| name.text());
            name.is_some_and(|name| name == "a/ping" || name == "a/pong")
        })
        .collect();
    assert_eq!(chips.len(), 2, "{html}");
    let text = |node: roxmltree::Node| -> String {
        node.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect()
    };
    for chip in chips {
        let findings = chip.descendants().filter(|node| node.has_tag_name("li"));
        let findings: Vec<String> = findings.map(text).collect();
        let fault = "HardFault at main.c:12: unaligned accessalign itregisters";
        assert!(findings[0].starts_with(fault), "the gravest first: {findings:?}");
        assert!(findings[0].contains("0x21d") && findings[0].contains("7.625 us"), "{findings:?}");
        assert_eq!(findings[1], "a request (3 times)");
        let all = text(chip);
        for shown in ["how it was measured", "simulated board", "until 20 ms"] {
            assert!(all.contains(shown), "no {shown}: {all}");
        }
        assert!(chip.descendants().any(|node| node.has_tag_name("img")), "a flame graph");
    }
}

#[test]
fn parts_are_nested_no_deeper_than_the_model_allows() {
    let mut measurement = subjects::of(subjects::run());
    for n in 0..DEEPEST_PART {
        let inner = part(&format!("p{n}"), measurement);
        measurement = subjects::measurement();
        measurement.parts.push(inner);
    }
    measurement.check().expect("as deep as may be");
    let html = written(&measurement);
    let parts = |html: &str| html.matches("class=\"part\"").count();
    assert_eq!(parts(&html), DEEPEST_PART);
    assert!(html.contains("p3/p2/p1/p0") && html.contains("<h5"), "{html}");
    let inner = part("p", measurement);
    measurement = subjects::measurement();
    measurement.parts.push(inner);
    measurement.check().expect_err("one too many");
    let html = written(&measurement);
    assert_eq!(parts(&html), DEEPEST_PART);
    assert!(html.contains("left out"), "{html}");
}

/// The rows of the table that has a heading, as texts, its headings first.
fn table_with(document: &Document, heading: &str) -> Vec<Vec<String>> {
    let text = |cell: roxmltree::Node| -> String {
        cell.descendants().filter(|n| n.is_text()).filter_map(|n| n.text()).collect()
    };
    let rows = |table: roxmltree::Node| -> Vec<Vec<String>> {
        let rows = table.children().filter(|row| row.has_tag_name("tr"));
        rows.map(|row| row.children().filter(|n| n.is_element()).map(text).collect()).collect()
    };
    let tables = document.descendants().filter(|node| node.has_tag_name("table"));
    let mut tables = tables.map(rows);
    let has = |rows: &Vec<Vec<String>>| rows[0].iter().any(|head| head == heading);
    tables.find(has).unwrap_or_else(|| panic!("no table with {heading}"))
}

#[test]
fn a_page_and_its_parts_name_board_and_core() {
    let mut chip = subjects::measurement();
    chip.subject.board = Some("stm32f070cb".to_owned());
    chip.subject.core = Some("Cortex-M0".to_owned());
    let title = "app.elf on stm32f070cb (Cortex-M0)";
    let html = written(&chip);
    assert!(html.contains(&format!("<title>{title}</title>")), "{html}");
    assert!(html.contains(&format!("<h1>{title}</h1>")), "{html}");
    let mut rig = subjects::measurement();
    rig.parts.push(part("ping", chip));
    assert!(written(&rig).contains(&format!("ping</h2>\n<p>{title}</p>")));
}

/// What is called, what was executed and why it took so long stand beside a function's cycles, and
/// each column adds up.
#[test]
fn functions_have_what_reports_show_of_them() {
    let html = parsed(&written(&measurements::simulated()));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let rows = table_with(&document, "function");
    assert_eq!(rows[0][..5], ["cycles", "share", "function", "inclusive", "share"]);
    assert_eq!(rows[0][5..], ["calls", "executions (instructions)", "causes"]);
    let of =
        |name: &str| rows.iter().find(|row| row[2] == name).unwrap_or_else(|| panic!("{rows:?}"));
    assert_eq!(of("worker")[..1], ["600"]);
    assert_eq!(of("worker")[6..], ["500", "EEEEEEEEEE"]);
    assert!(of("SysTick_Handler")[0].starts_with("~360 340-400"), "{rows:?}");
    assert!(!of("worker")[3].is_empty() && !of("worker")[5].is_empty(), "{rows:?}");
    let executed = |name: &str| of(name)[6].parse::<u64>().unwrap_or(0);
    let functions: u64 = ["worker", "idle", "SysTick_Handler"].map(executed).iter().sum();
    assert_eq!((executed("(all cycles)"), functions), (610, 610));
    assert!(html.contains("<dt>F fetch wait</dt>\n<dd>the core waits for flash. Use RAM.</dd>"));
}

#[test]
fn tables_have_their_sums() {
    let mut table =
        Table::new(vec![Column::text("name", "name"), Column::figure("size", "size", Unit::BYTES)]);
    table.row(["a".into(), 5u64.into()]);
    table.footer.push(vec!["all".into(), 5u64.into()]);
    let mut measurement = subjects::measurement();
    measurement.push("sizes", "sizes", Content::Table(table));
    let html = parsed(&written(&measurement));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let rows = table_with(&document, "size (bytes)");
    assert_eq!(rows[1..], [["a", "5"], ["all", "5"]]);
}

/// What rows are of is where a narrow page shows it, and what no row has is not there.
#[test]
fn names_precede_figures_and_empty_columns_are_omitted() {
    let mut table = Table::new(vec![
        Column::figure("busy", "busy", Unit::CYCLES),
        Column::figure("asleep", "asleep", Unit::CYCLES),
        Column::text("kind", ""),
        Column::text("name", "thread"),
    ]);
    table.row([5u64.into(), Cell::Empty, "task".into(), "main".into()]);
    table.row([7u64.into(), Cell::Empty, "task".into(), "logger".into()]);
    table.footer.push(vec![12u64.into(), Cell::Empty, Cell::Empty, "all".into()]);
    let mut measurement = subjects::measurement();
    measurement.push("threads", "threads", Content::Table(table));
    let html = parsed(&written(&measurement));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let rows = table_with(&document, "thread");
    assert_eq!(rows[0], ["thread", "busy (cycles)", ""]);
    assert_eq!(rows[1..], [["main", "5", "task"], ["logger", "7", "task"], ["all", "12", ""]]);
}

/// Fourteen columns do not fit on a telephone: the table scrolls, the page does not.
#[test]
fn wide_content_scrolls_and_is_printed_whole() {
    let html = parsed(&written(&measurements::simulated()));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let is_wide = |node: &roxmltree::Node| {
        let is_picture = node.attribute("class") == Some("chart");
        node.has_tag_name("table") || node.has_tag_name("img") || is_picture
    };
    let wide: Vec<roxmltree::Node> = document.descendants().filter(is_wide).collect();
    assert!(wide.len() >= 4, "{html}");
    for node in wide {
        let around = node.parent_element().and_then(|around| around.attribute("class"));
        assert_eq!(around, Some("wide"), "{:?}", node.tag_name());
    }
    let (screen, print) = html.split_once("@media print{").expect("rules for printers");
    assert!(screen.contains(".wide{overflow-x:auto}"), "{screen}");
    assert!(print.contains(".wide{overflow:visible}"), "{print}");
    assert!(print.contains("details::details-content{"), "nobody opens them on paper: {print}");
}
