//! Errors of the founding documents that an experiment finds (docs/founding.md), without what has
//! to be installed for the experiments themselves.

use strobe_model::measurement::Measurement;

use super::experiments::carried_out;

fn exact(measurement: &Measurement, count: &str) -> Vec<f64> {
    let table = measurement.table("exact").expect("exact counts");
    let names = &table.column("count").expect("names").cells;
    let row = names.iter().position(|name| name.text() == Some(count)).expect("the count");
    let variants = (1..).map_while(|n| table.column(&format!("variant-{n}")));
    variants.map(|column| column.cells[row].number().expect("a count").as_f64()).collect()
}

/// The recommended way of joining strings allocates more for the founding document's own example.
#[test]
fn e7_the_recommended_join_allocates_more_for_short_strings() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/string-join/join.cpp");
    let joins = |pairs: u32, length: u32| {
        let variant = |name: &str| {
            format!(
                "[[variant]]\nname = '{name}'\nrun = '{{build}}/join {name} {pairs} {length} 3'\n"
            )
        };
        let text = format!(
            "question = 'q'\nbuild = 'g++ -O2 -o {{build}}/join {source}'\n[measure]\n\
             counters = ['allocations', 'allocated-bytes']\nsame-output = true\n\
             quick-seconds = 0.3\n{}{}{}[[expect]]\nvariant = 'reserve'\n\
             counter = 'allocations'\nexactly = 1\n",
            variant("temporaries"),
            variant("stream"),
            variant("reserve")
        );
        carried_out(&text).expect("g++ is there")
    };
    let short = joins(3, 3);
    assert_eq!(exact(&short, "allocations"), [1.0, 2.0, 1.0]);
    let bytes = exact(&short, "allocated-bytes");
    assert!(bytes[1] > 10.0 * bytes[0], "{bytes:?}");
    // The claim holds where strings are long.
    let long = exact(&joins(1000, 20), "allocations");
    assert!(long[0] > 2000.0 && long[1] < 20.0 && long[2] == 1.0, "{long:?}");
}

/// Three ways of the edit distance at 230, 19,400 and 272,000 calls a second: each step's share.
#[test]
fn e8_algorithm_gives_84_times_and_native_code_14() {
    let way = |name: &str, ns: u32| {
        format!("[[variant]]\nname = '{name}'\nrun = 'echo call-nanoseconds {ns}'\n")
    };
    let text = format!(
        "question = 'q'\n[measure]\nmetric = 'call-nanoseconds'\ncounters = ['call-nanoseconds']\n\
         steps = true\nquick-seconds = 5.0\n{}{}{}",
        way("table", 4_347_826),
        way("rows", 51_546),
        way("native", 3676)
    );
    let measurement = carried_out(&text).expect("it runs");
    let steps = measurement.table("steps").expect("the steps");
    let column = |name: &str| -> Vec<f64> {
        let cells = &steps.column(name).expect("a column").cells;
        cells.iter().map(|cell| cell.number().expect("a number").as_f64()).collect()
    };
    let times = column("times");
    assert!((times[0] - 84.3).abs() < 0.1 && (times[1] - 14.0).abs() < 0.1, "{times:?}");
    let share = column("share");
    assert!((share.iter().sum::<f64>() - 100.0).abs() < 0.01, "{share:?}");
    assert!(share[0] > 60.0 && share[1] < 40.0, "{share:?}");
}
