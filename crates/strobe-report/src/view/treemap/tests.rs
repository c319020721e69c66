//! How a map is divided and drawn.

use proptest::prelude::*;

use super::canvas::Canvas;
use super::layout::{Area, divide};
use crate::Style;

const PLAIN: Style = Style { colour: false, width: 100 };

fn drawn(canvas: &Canvas) -> String {
    let mut out = Vec::new();
    canvas.write(PLAIN, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn lines_join_and_titles_stand_on_them() {
    let mut canvas = Canvas::new(30, 5);
    canvas.group(Area { x: 0, y: 0, width: 30, height: 5 }, "src", "300  100 %", 0);
    canvas.leaf(Area { x: 0, y: 1, width: 20, height: 4 }, "main", "200  66.7 %", 0);
    canvas.leaf(Area { x: 20, y: 1, width: 10, height: 2 }, "a_long_name", "70  23.3 %", 0);
    canvas.leaf(Area { x: 20, y: 3, width: 10, height: 2 }, "\u{1b}[2J", "30", 0);
    let expected = "\
╒src  300  100 %══════════════╕
├main───────────────┬a_...ame─┤
│200  66.7 %        │         │
│                   ├\\x1b[2J──┤
│                   │30       │
└───────────────────┴─────────┘
";
    assert_eq!(drawn(&canvas), expected);
}

proptest! {
    /// Areas do not overlap and fill what they divide, whatever the weights.
    #[test]
    fn areas_fill_what_they_divide(
        mut weights in prop::collection::vec(1..=i64::MAX, 1..40),
        width in 1usize..200,
        height in 1usize..80,
    ) {
        weights.sort_unstable_by_key(|weight| std::cmp::Reverse(*weight));
        let area = Area { x: 3, y: 5, width, height };
        let areas = divide(&weights, area);
        let mut taken = vec![0u8; width * height];
        for area in areas.iter().flatten() {
            for y in area.y..area.y + area.height {
                for x in area.x..area.x + area.width {
                    taken[(y - 5) * width + x - 3] += 1;
                }
            }
        }
        prop_assert!(taken.iter().all(|&times| times == 1));
        prop_assert!(areas[0].is_some());
    }

    /// With letters enough each area is as large as its weight, rounded at each cut.
    #[test]
    fn areas_are_as_large_as_their_weights(mut weights in prop::collection::vec(1i64..100, 1..20)) {
        weights.sort_unstable_by_key(|weight| std::cmp::Reverse(*weight));
        let areas = divide(&weights, Area { x: 0, y: 0, width: 8000, height: 4000 });
        let whole: i64 = weights.iter().sum();
        for (weight, area) in weights.iter().zip(areas) {
            let wanted = *weight as f64 / whole as f64;
            let share = area.unwrap().cells() as f64 / 32e6;
            prop_assert!((share - wanted).abs() < 0.05 * wanted, "{share} {wanted}");
        }
    }
}
