//! What holds of any profile, and what a profile of a simulated run comes to.

use proptest::prelude::*;
use strobe_model::Bounds;
use strobe_model::measurement::{
    Address, CORE_TIMING, Content, Ended, Fact, Frames, Functions, Instrument, Kind, Label,
    Locations, Measure, Measurement, ON_A_CHIP, Part, Profile, Quantity, Samples, Stacks, Subject,
    Table, Trust, Unit, Values, Window,
};

use super::*;

fn measure(id: &str, part: Option<bool>) -> Measure {
    let part = part.map(|idle| Part {
        of: "cycles".to_owned(),
        letter: None,
        idle,
        meaning: None,
        advice: None,
    });
    let kind = Kind::Modelled { why: "waits".to_owned() };
    Measure { id: id.to_owned(), title: id.to_owned(), unit: Unit::CYCLES, kind, part }
}

fn measures() -> Vec<Measure> {
    vec![
        measure("cycles", None),
        measure("execute", Some(false)),
        measure("asleep", Some(true)),
        measure("calls", None),
    ]
}

fn column(measure: &str, values: Vec<i64>) -> Values {
    Values { measure: measure.to_owned(), values, ..Values::default() }
}

/// Samples as `(place, label, busy, idle, slack, calls)`.
type Drawn = (Option<u32>, Option<u32>, i64, i64, i64, i64);

fn samples(drawn: &[Drawn], calls: bool) -> Samples {
    let cycles: Vec<i64> = drawn.iter().map(|d| d.2 + d.3).collect();
    let bounds = |sign: i64| drawn.iter().map(|d| d.2 + d.3 + sign * d.4.min(d.2)).collect();
    let whole = Values { low: bounds(-1), high: bounds(1), ..column("cycles", cycles) };
    let execute = column("execute", drawn.iter().map(|d| d.2).collect());
    let asleep = column("asleep", drawn.iter().map(|d| d.3).collect());
    let mut values = vec![whole, execute, asleep];
    if calls {
        values.push(column("calls", drawn.iter().map(|d| d.5).collect()));
    }
    Samples {
        at: drawn.iter().map(|d| d.0).collect(),
        label: drawn.iter().map(|d| d.1).collect(),
        values,
    }
}

const FUNCTIONS: u32 = 5;
const LOCATIONS: u32 = 9;

/// Nine locations in five functions, some of one name, with lines for some; chains as drawn, and
/// leaves that add up to them.
fn profile(parents: &[Option<u32>], chains: &[Drawn]) -> Profile {
    let names = ["main", "f", "f", "f", "g"];
    let function = |l: u32| (l % 6 < FUNCTIONS).then_some(l % 6);
    let locations = Locations {
        address: (0..LOCATIONS).map(|l| (l != 3).then_some(Address(u64::from(l) * 2))).collect(),
        function: (0..LOCATIONS).map(function).collect(),
        frame: (0..LOCATIONS).map(|l| (l % 2 == 0).then_some(l / 2)).collect(),
    };
    let at: Vec<u32> = (0..).zip(parents).map(|(i, _)| i * 7 % LOCATIONS).collect();
    let leaf = |d: &Drawn| (d.0.map(|stack| at[stack as usize]), d.1, d.2, d.3, d.4, d.5);
    let leaves: Vec<Drawn> = chains.iter().map(leaf).collect();
    let label = |key: &str, value: &str| Label { key: key.into(), value: value.into() };
    Profile {
        measures: measures(),
        files: vec!["a.c".into(), "b.c".into()],
        functions: Functions {
            name: names.map(str::to_owned).into(),
            address: (0..FUNCTIONS).map(|f| Some(Address(u64::from(f) * 16))).collect(),
            file: vec![Some(0), Some(0), Some(1), Some(1), None],
            ..Functions::default()
        },
        frames: Frames {
            function: (0..5).collect(),
            file: vec![Some(0), Some(1), None, Some(0), Some(1)],
            line: vec![Some(1), Some(2), Some(3), Some(1), None],
            outer: vec![None; 5],
        },
        locations,
        labels: vec![label("thread", "worker"), label("handler", "SysTick (tick)")],
        leaves: samples(&leaves, false),
        chains: samples(chains, true),
        stacks: Stacks { parent: parents.to_vec(), location: at.clone() },
        ..Profile::default()
    }
}

fn drawn() -> impl Strategy<Value = Profile> {
    let parents = proptest::collection::vec(any::<u32>(), 1..12).prop_map(|drawn| {
        let parent = |(i, d): (u32, u32)| d.checked_rem(i + 1).filter(|p| *p < i);
        (0..).zip(drawn).map(parent).collect::<Vec<_>>()
    });
    parents.prop_flat_map(|parents| {
        let n = parents.len() as u32;
        let place = prop_oneof![9 => (0..n).prop_map(Some), 1 => Just(None)];
        let label = prop_oneof![Just(None), Just(Some(0)), Just(Some(1))];
        let chain = (place, label, 0i64..1000, 0i64..100, 0i64..50, 0i64..5);
        let chains = proptest::collection::vec(chain, 0..30);
        chains.prop_map(move |chains| profile(&parents, &chains))
    })
}

fn groupings() -> [By; 7] {
    let key = |key: &str| By::Label(vec![key.to_owned()]);
    let all = By::Label(Vec::new());
    [By::Function, By::Line, By::Address, By::File, all, key("thread"), key("phase")]
}

fn added<'a>(sums: impl IntoIterator<Item = &'a Sums>) -> Sums {
    let mut total = Sums::default();
    sums.into_iter().for_each(|sums| total.add(sums));
    total
}

proptest! {
    #[test]
    fn rows_add_up_to_the_total_for_every_grouping(profile in drawn()) {
        for by in groupings() {
            let flat = rows(&profile, "cycles", &by).unwrap();
            let sum = added(flat.rows.iter().map(|row| &row.sums));
            let whole = profile.leaves.of("cycles").unwrap();
            prop_assert_eq!(sum.all.value, whole.sum(), "{:?}", by);
            prop_assert_eq!(sum.all, flat.total.all);
            prop_assert_eq!(sum.all.low, whole.low.iter().sum::<i64>());
            prop_assert_eq!(sum.all.high, whole.high.iter().sum::<i64>());
            prop_assert_eq!(sum.idle.value, profile.leaves.of("asleep").unwrap().sum());
            prop_assert!(flat.rows.is_empty() || sum.parts == flat.total.parts);
            let parts: i64 = sum.parts.iter().map(|part| part.value).sum();
            prop_assert_eq!(parts, sum.all.value);
            let mut names: Vec<&str> = flat.rows.iter().map(|row| row.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), flat.rows.len(), "two rows share a name: {:?}", by);
        }
    }

    #[test]
    fn tree_sums_to_the_total_with_every_call(profile in drawn()) {
        let tree = tree(&profile, "cycles").unwrap();
        let total = rows(&profile, "cycles", &By::Function).unwrap().total;
        let own = tree.nodes.iter().fold((0, 0), |s, n| (s.0 + n.own.busy, s.1 + n.own.idle));
        let roots = tree.nodes.iter().filter(|node| node.parent.is_none());
        let all = roots.fold((0, 0), |s, n| (s.0 + n.all.busy, s.1 + n.all.idle));
        prop_assert_eq!(own, (total.busy().value, total.idle.value));
        prop_assert_eq!(all, own);
        let calls: i64 = tree.nodes.iter().filter_map(|node| Some(node.others[3]?.value)).sum();
        prop_assert_eq!(calls, profile.chains.of("calls").unwrap().sum());
        for (i, node) in tree.nodes.iter().enumerate() {
            prop_assert!(node.parent.is_none_or(|parent| parent < i));
            let is_root = node.parent.is_none();
            prop_assert!(is_root || matches!(node.place, Place::Function(_)));
        }
    }

    #[test]
    fn inclusive_is_at_least_self_and_at_most_everything(profile in drawn()) {
        let flat = rows(&profile, "cycles", &By::Function).unwrap();
        for row in flat.rows.iter().filter(|row| !matches!(row.spot, RowPlace::Nowhere(_))) {
            let inclusive = row.inclusive.unwrap().value;
            prop_assert!(inclusive >= row.sums.busy().value, "{row:?}");
            prop_assert!(inclusive <= flat.total.busy().value, "{row:?}");
        }
    }

    #[test]
    fn labels_partition_the_whole(profile in drawn()) {
        let mut labels: Vec<Option<u32>> = (0..profile.labels.len() as u32).map(Some).collect();
        labels.push(None);
        let parts: Vec<Profile> =
            labels.iter().map(|label| only(&profile, |l| l == *label)).collect();
        for by in groupings() {
            let total = |p: &Profile| rows(p, "cycles", &by).unwrap().total;
            let sum = added(parts.iter().map(total).collect::<Vec<_>>().iter());
            let whole = total(&profile);
            prop_assert_eq!((sum.all, sum.idle), (whole.all, whole.idle), "{:?}", by);
            for (label, part) in labels.iter().zip(&parts) {
                let all = rows(&profile, "cycles", &By::Label(Vec::new())).unwrap();
                let row = all.rows.iter().find(|row| row.spot == RowPlace::Label(*label));
                let expected = row.map_or(Amount::default(), |row| row.sums.all);
                prop_assert_eq!(total(part).all, expected);
            }
        }
    }
}

/// `main` calls `f`, which calls itself, which calls another `f`; `main` sleeps.
fn recursive() -> Profile {
    let label = Some(0);
    let chains = [
        (None, label, 0, 0, 0, 1),
        (Some(0), label, 10, 100, 0, 1),
        (Some(1), label, 10, 0, 0, 1),
        (Some(2), label, 20, 0, 2, 1),
        (Some(3), label, 5, 0, 0, 1),
    ];
    let mut profile = profile(&[None, Some(0), Some(1), Some(2)], &chains);
    profile.stacks.location = vec![0, 1, 1, 2];
    let at = |d: &Drawn| (d.0.map(|s| profile.stacks.location[s as usize]), d.1, d.2, d.3, d.4, 0);
    profile.leaves = samples(&chains.iter().map(at).collect::<Vec<_>>(), false);
    profile
}

#[test]
fn recursion_counts_once_and_namesakes_are_kept_apart() {
    let flat = rows(&recursive(), "cycles", &By::Function).unwrap();
    let seen = flat.rows.iter().map(|row| {
        let (busy, calls) =
            (row.sums.busy().value, row.sums.others[3].map_or(0, |amount| amount.value));
        (row.name.as_str(), busy, row.inclusive.unwrap_or_default().value, calls)
    });
    let wanted =
        [("f [a.c]", 30, 35, 2), ("main", 10, 45, 1), ("f [b.c]", 5, 5, 1), ("(worker)", 0, 0, 0)];
    assert_eq!(seen.collect::<Vec<_>>(), wanted);
    assert_eq!(
        flat.total.others[3],
        Some(Amount::exact(5)),
        "the thread's own call counts in the total"
    );
}

#[test]
fn namesakes_of_one_file_have_their_addresses() {
    let mut profile = recursive();
    profile.functions.file[2] = Some(0);
    let flat = rows(&profile, "cycles", &By::Function).unwrap();
    let names: Vec<&str> = flat.rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names[0], "f [a.c] [0x00000010]");
    assert_eq!(names[2], "f [a.c] [0x00000020]");
}

/// Busy, idle, modelled.
fn figures(sum: &NodeSum) -> (i64, i64, bool) {
    assert_eq!(sum.bounds.value, sum.busy);
    (sum.busy, sum.idle, sum.modelled)
}

#[test]
fn idle_time_is_not_work() {
    let tree = tree(&recursive(), "cycles").unwrap();
    assert_eq!(tree.nodes[0].place, Place::Label(0));
    assert_eq!(figures(&tree.nodes[0].all), (45, 100, true));
    assert_eq!(figures(&tree.nodes[3].all), (25, 0, true));
    assert_eq!(figures(&tree.nodes[4].all), (5, 0, false));
}

#[test]
fn idle_time_missing_in_chains_is_divided_and_marked() {
    let mut profile = recursive();
    profile.chains.values.retain(|values| values.measure != "asleep");
    let idle = profile.leaves.values.iter_mut().find(|values| values.measure == "asleep").unwrap();
    idle.values = vec![0, 100, 6, 6, 0];
    let tree = tree(&profile, "cycles").unwrap();
    let own: Vec<NodeSum> = tree.nodes.iter().map(|node| node.own).collect();
    assert_eq!(figures(&own[1]), (10, 100, false));
    assert_eq!(figures(&own[2]), (6, 4, true));
    assert_eq!(figures(&own[3]), (12, 8, true));
}

#[test]
fn shares_of_samples_have_intervals_and_others_do_not() {
    let mut profile = recursive();
    assert_eq!(rows(&profile, "cycles", &By::File).unwrap().interval(45), None);
    profile.measures[0].kind = Kind::Sampled { period: None, period_unit: None };
    let flat = rows(&profile, "cycles", &By::File).unwrap();
    assert_eq!(flat.interval(45), Some(crate::statistics::wilson(145, 45)));
    assert!(rows(&profile, "bytes", &By::File).is_none());
}

#[test]
fn labels_are_found_by_what_people_call_them() {
    let mut profile = recursive();
    let thread = |value: &str| Label { key: "thread".to_owned(), value: value.to_owned() };
    profile.labels.extend([thread("(idle_stack)"), thread("rx at 0x20000100 #2")]);
    let cases: [(&str, &[u32]); 6] = [
        ("worker", &[0]),
        ("systick", &[1]),
        ("tick", &[1]),
        ("idle_stack", &[2]),
        ("rx", &[3]),
        ("nobody", &[]),
    ];
    for (name, labels) in cases {
        assert_eq!(named(&profile, name), labels, "{name}");
    }
}

#[test]
fn without_labels_at_locations_the_chains_distinguish_them() {
    let mut profile = recursive();
    profile.leaves.label.clear();
    let flat = rows(&profile, "cycles", &By::Label(Vec::new())).unwrap();
    assert_eq!(flat.rows.len(), 1);
    assert_eq!(flat.rows[0].name, "thread worker");
    let part = only(&profile, |label| label == Some(0));
    assert_eq!(rows(&part, "cycles", &By::Function).unwrap().total.all.value, 145);
    assert_eq!(rows(&only(&profile, |l| l.is_none()), "cycles", &By::File).unwrap().rows, []);
}

/// The totals and the balance of a thread are those of its samples, and a name without samples is
/// nobody's.
#[test]
fn a_measurement_of_one_thread_has_its_totals() {
    let window = Window::untimed("no clock", Ended::default());
    let mut whole = Measurement::new(Subject::default(), Instrument::default(), window);
    let mut profile = recursive();
    let chains: [Drawn; 2] = [(Some(0), Some(0), 10, 100, 4, 1), (Some(3), Some(1), 5, 0, 0, 1)];
    let at = |d: &Drawn| (d.0.map(|s| profile.stacks.location[s as usize]), d.1, d.2, d.3, d.4, 0);
    profile.leaves = samples(&chains.each_ref().map(at), false);
    profile.chains = samples(&chains, true);
    whole.push_total("cycles", "cycles", Quantity::exact(115u64, Unit::CYCLES));
    whole.push_total("idle", "idle", Quantity::exact(100u64, Unit::CYCLES));
    whole.push("profile", "profile", Content::Profile(Box::new(profile)));
    whole.push_total("waiting", "waiting", Quantity::exact(90u64, Unit::CYCLES));
    whole.push_total("deepest-stack", "stack of main", Quantity::exact(9u64, Unit::BYTES));
    whole.push("waiting", "waiting", Content::Table(Table::new(Vec::new())));
    let chip = Bounds { low: 114, likely: 115, high: 127 };
    whole.push_total(ON_A_CHIP, "on a chip", Quantity::modelled(chip, Unit::CYCLES, None));
    let band = Trust::Modelled { low: 90.0.into(), high: 120.0.into(), why: None };
    let band = Quantity::new(Some(100u64.into()), Unit::PERCENT, band).unwrap();
    whole.subject.facts.push(Fact::figure(CORE_TIMING, band));
    let mut values = Vec::new();
    for name in ["worker", "tick"] {
        let part = restricted(&whole, name).unwrap();
        assert_eq!(part.check(), Ok(()));
        let value = |id: &str| part.total(id).and_then(Quantity::value).unwrap().as_u64();
        let parts = part.balances[0].parts();
        assert_eq!(parts.taken, value("cycles"), "{name}");
        values.push((value("cycles"), value("idle"), parts.attributed));
        let bounds = part.total("cycles").unwrap().trust().bounds();
        assert_eq!(bounds.is_some(), name == "worker", "only there is a model at work");
        assert_eq!(value(ON_A_CHIP), value("cycles"), "{name}");
        assert!(part.total("waiting").is_none());
        let titles: Vec<&str> = part.totals.iter().map(|total| total.title.as_str()).collect();
        assert!(titles.contains(&"stack of main (whole run)"), "{titles:?}");
        assert_eq!(part.section("waiting").unwrap().title, "whole run: waiting");
        let (low, high) = part.total(ON_A_CHIP).unwrap().trust().bounds().unwrap();
        if name == "tick" {
            assert_eq!((low.as_f64(), high.as_f64()), (4.0, 6.0), "a tenth less, a fifth more");
        }
    }
    assert_eq!(values, [(110, 100, 10), (5, 0, 5)]);
    assert!(restricted(&whole, "nobody").is_none());
}

/// What places may have more and less adds up to more than the whole may: what one has more, one
/// that waits has less.
#[test]
fn bounds_of_the_sum_stay_within_the_total() {
    let window = Window::untimed("a test", Ended::default());
    let mut of = Measurement::new(Subject::default(), Instrument::default(), window);
    let total = Bounds { low: 99, likely: 100, high: 102 };
    of.push_total("cycles", "cycles", Quantity::modelled(total, Unit::CYCLES, None));
    let cycles = measure("cycles", None);
    let amount = |low: i64, value: i64, high: i64| Amount { low, value, high };
    let sums = |all: Amount, idle: Amount| Sums { all, idle, ..Sums::default() };
    let busy = |all: Amount, idle: Amount| busy_of_all(&of, &cycles, &sums(all, idle));
    let wide = amount(80, 100, 130);
    assert_eq!(busy(wide, Amount::default()), amount(99, 100, 102));
    // Sleep takes up what work leaves: its bounds are known, or they are not.
    assert_eq!(busy(wide, amount(58, 60, 61)), amount(38, 40, 44));
    assert_eq!(busy(wide, Amount::exact(60)), wide.less(Amount::exact(60)));
    // Another sum is not that total, and what is exact stays so.
    let other = amount(80, 90, 130);
    assert_eq!(busy(other, Amount::default()), other);
    assert_eq!(busy(Amount::exact(100), Amount::default()), Amount::exact(100));
}

#[test]
fn modelled_figures_without_ends_are_unbounded() {
    let counted = Measure { unit: Unit::COUNT, ..measure("calls", None) };
    let certain = Measure { kind: Kind::Exact, ..counted.clone() };
    let mut profile = Profile::default();
    profile.leaves.values = vec![column("cycles", vec![5]), column("execute", vec![3])];
    let all = measures();
    let (cycles, execute, asleep) = (&all[0], &all[1], &all[2]);
    let exact = Measure { kind: Kind::Exact, ..cycles.clone() };
    let kinds = [(&counted, true), (&certain, false), (cycles, true), (&exact, false)];
    for (measure, expected) in kinds {
        assert_eq!(is_unbounded(&profile, measure), expected, "{}", measure.id);
    }
    assert!(!is_unbounded(&profile, execute), "cycles are the same in each model");
    profile.measures = vec![cycles.clone()];
    assert!(is_unbounded(&profile, execute), "they are not known to be the same");
    profile.measures.clear();
    (profile.leaves.values[0].low, profile.leaves.values[0].high) = (vec![4], vec![6]);
    assert!(!is_unbounded(&profile, cycles));
    assert!([execute, asleep].iter().all(|part| is_unbounded(&profile, part)));
}
