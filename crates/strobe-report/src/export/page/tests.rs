//! Pages read as XML, which they are as well: nothing that a measurement holds gets out of its
//! place, and nothing is asked of a network.

use roxmltree::Document;
use strobe_model::measurement::{
    Balance, Cell, Column, Content, Distribution, Distributions, Fact, Finding, Kind, Loss,
    NamedPart, Parts, Quantity, Severity, Spread, Table, Trust, Unit,
};

use super::super::subjects;
use super::*;

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
fn what_a_measurement_holds_stays_text() {
    let mut measurement = subjects::measurement();
    let nasty = "<script>alert('&')</script>\"";
    measurement.subject.name = nasty.to_owned();
    measurement.subject.facts.push(Fact::text("question", nasty));
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
    assert!(places >= 14, "{places} of them are shown");
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
fn what_is_idle_is_apart_from_functions() {
    let html = parsed(&written(&subjects::of(subjects::run())));
    let document = Document::parse(&html).unwrap_or_else(|error| panic!("{error}\n{html}"));
    let cells = |row: roxmltree::Node| -> Vec<String> {
        let text = |cell: roxmltree::Node| cell.text().unwrap_or_default().trim().to_owned();
        row.children().filter(|cell| cell.has_tag_name("td")).map(text).collect()
    };
    let rows: Vec<Vec<String>> =
        document.descendants().filter(|n| n.has_tag_name("tr")).map(cells).collect();
    let of = |name: &str| {
        let row = rows.iter().find(|row| row.last().is_some_and(|last| last == name));
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
    assert!(html.contains(">waits: wait<"), "{html}");
}
