//! Pictures read as XML: everything is there and stays where it belongs.

use roxmltree::Document;
use strobe_model::measurement::{
    Cell, Column, Distribution, Distributions, Number, Spread, Table, TimelineBuilder, TrackKind,
    Trust, Unit,
};

use super::super::subjects;
use super::drawing::WIDTH;
use super::*;

fn curve() -> Content {
    let mut table = Table::new(vec![
        Column::figure("pairs", "pairs", Unit::COUNT),
        Column::figure("stream", "stream / <temporaries>", Unit::RATIO),
    ]);
    for (at, value) in [(1u64, 2.5), (10, 1.5), (1000, 0.2)] {
        let trust = Trust::Sampled { n: 9, low: (value * 0.9).into(), high: (value * 1.1).into() };
        table.row([at.into(), Cell::Figure { value: Some(Number::from(value)), trust }]);
    }
    Content::Table(table)
}

fn distributions() -> Content {
    let series = |name: &str, by: u64| {
        let values: Vec<u64> = (0..50).map(|n| 1000 + n * by).collect();
        let spread: Spread = values.iter().copied().collect();
        Distribution { values, ..Distribution::exact(name, Unit::NANOSECONDS, spread) }
    };
    let distributions = vec![series("wall a", 1), series("wall b", 9), series("faults a", 2)];
    Content::Distributions(Distributions { distributions })
}

fn drawn(contents: Vec<Content>) -> String {
    let mut measurement = subjects::measurement();
    for (n, content) in contents.into_iter().enumerate() {
        measurement.push(&format!("section-{n}"), "chart", content);
    }
    let bytes = subjects::write(&Charts, &measurement, &Choice::default());
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn every_value_has_its_place_in_the_picture() {
    let text = drawn(vec![curve(), distributions()]);
    let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let height: f64 = document.root_element().attribute("height").unwrap().parse().unwrap();
    let all = |tag: &str| document.descendants().filter(|n| n.has_tag_name(tag)).count();
    // A curve, and two groups in their order: of two series and of one.
    assert_eq!(all("polyline"), 1 + 3);
    assert_eq!(all("circle"), 3);
    // One for the curve; each group has one side by side and one in its order.
    let frames = document.descendants().filter(|node| node.attribute("class") == Some("frame"));
    assert_eq!(frames.count(), 1 + 2 * 2);
    for node in document.descendants() {
        for (name, most) in [
            ("x", WIDTH),
            ("x1", WIDTH),
            ("x2", WIDTH),
            ("cx", WIDTH),
            ("y", height),
            ("cy", height),
        ] {
            let Some(value) = node.attribute(name) else { continue };
            let value: f64 = value.parse().expect("a number");
            assert!((0.0..=most).contains(&value), "{name} of {value} in {node:?}");
        }
    }
    let intervals = document.descendants().filter(|n| n.attribute("class") == Some("interval"));
    for interval in intervals {
        let of = |name: &str| interval.attribute(name).unwrap().parse::<f64>().unwrap();
        assert!(of("y1") > of("y2"), "the lower end is below");
    }
    assert!(text.contains("stream / &lt;temporaries&gt;"), "names are escaped");
}

#[test]
fn undrawable_measurement_is_refused_with_its_contents() {
    let mut measurement = subjects::measurement();
    let mut table = Table::new(vec![Column::text("name", "name")]);
    table.row(["x".into()]);
    measurement.push("table", "table", Content::Table(table));
    let error = Charts.write(&measurement, &Choice::default(), &mut Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "charts takes distributions, values over time or a curve, and the measurement has a table \
         (table); it can go to csv, page"
    );
}

#[test]
fn values_over_time_have_gaps_where_nothing_was_seen() {
    let mut line = TimelineBuilder::new(Unit::NANOSECONDS);
    for (variant, from) in [("plain", 500), ("yielding", 30)] {
        let track = line.track(TrackKind::Counter, None, &format!("run-queue {variant}"));
        for at in (0..10).chain(from..from + 10) {
            line.value(track, at * 1_000_000, at % 4);
        }
    }
    let text = drawn(vec![Content::Timeline(Box::new(line.finish()))]);
    let document = Document::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let lines = document.descendants().filter(|node| node.has_tag_name("polyline"));
    assert_eq!(lines.count(), 4, "each variant before its gap and behind it");
    assert!(text.contains(": run-queue</text>") && text.contains("yielding</text>"), "{text}");
}

#[test]
fn single_chart_keeps_its_name_and_units_stay_apart() {
    let named = |name: &str, unit: Unit| {
        Distribution::exact(name, unit, [1u64, 2, 3].into_iter().collect())
    };
    let distributions = vec![
        named("longest wait of UART", Unit::CYCLES),
        named("PB8 high", Unit::CYCLES),
        named("PB8 low", Unit::CYCLES),
        named("PB8 edges", Unit::COUNT),
    ];
    let text = drawn(vec![Content::Distributions(Distributions { distributions })]);
    for title in ["longest wait of UART (cycles)", "PB8 (cycles)", "PB8 edges"] {
        assert!(text.contains(&format!("chart: {title}<")), "{title}: {text}");
    }
    assert!(text.contains(">high</text>") && text.contains(">low</text>"), "{text}");
}
