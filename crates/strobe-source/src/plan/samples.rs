//! A plan for a trace pin.

use strobe_decode::trace_settings::*;
use strobe_link::trace::registers::{RegisterField, RegisterWrite};
use strobe_model::Bounds;

use crate::plan::report::*;

/// A plan that loses most of its samples, with a watch.
pub(crate) fn plan() -> PlanReport {
    let line = Line::new(168_000_000, 115_200, Encoding::Nrz).unwrap();
    let mut settings = TraceSettings::new(168_000_000.try_into().unwrap(), line);
    settings.sampling = Some(PcSampling::nearest(16384));
    let what = (WatchWhat::PcAndValue, WatchAccess::Write);
    let watch = Watch::new("current_task", 0, (0x2000_0040, 4), what.0, what.1).unwrap();
    settings.watches = Watches::new(vec![watch]).unwrap();
    let part = |name: &str, packets: u64, bytes: Bounds, how: &str| PlanPart {
        name: name.to_owned(),
        packets: Bounds::exact(packets),
        bytes,
        how: how.to_owned(),
    };
    let field = |field: &str, bits, value, meaning: &str| RegisterField {
        field: field.to_owned(),
        bits,
        value,
        meaning: meaning.to_owned(),
    };
    let demcr = RegisterWrite {
        register: "DEMCR".to_owned(),
        address: 0xe000_edfc,
        value: 0x0100_0000,
        mask: 0x0100_0000,
        check: 0x0100_0000,
        fields: vec![field("TRCENA", (24, 24), 1, "trace blocks on")],
    };
    let acpr = RegisterWrite {
        register: "TPIU_ACPR".to_owned(),
        address: 0xe004_0010,
        value: 0x5b1,
        mask: u32::MAX,
        check: 0xffff,
        fields: vec![field("SWOSCALER", (15, 0), 0x5b1, "168000000 Hz / 1458 = 115226 baud")],
    };
    let watched = Bounds { low: 700, likely: 1000, high: 1000 };
    PlanReport {
        line: PlanLine {
            divider: line.divider(),
            actual_baud: 115_226.34,
            error_ppm: 229,
            last_bit_off_ppm: 2172,
        },
        parts: vec![
            part("PC samples", 10_254, Bounds::exact(51_269), "one for 16384 cycles, 5 bytes"),
            part("watch current_task", 200, watched, "100 accesses/s, 10 bytes each"),
        ],
        required: Bounds::exact(51_269) + watched,
        available: 11_522,
        loss_ppm: Bounds { low: 778_000, likely: 814_000, high: 815_000 },
        samples: Some(PlanSamples {
            period_cycles: 16384,
            asked_cycles: Some(20_000),
            taken_per_second: 10_253.906_25,
            received_per_second: Bounds { low: 1897, likely: 1907, high: 2276 },
        }),
        verdict: Verdict::Loses,
        proposals: vec![PlanProposal {
            change: "921600 baud".to_owned(),
            settings: settings.clone(),
            required: Bounds::exact(51_269) + watched,
            available: 92_307,
        }],
        registers: vec![demcr, acpr],
        notes: vec!["a sample every 16384 cycles is the slowest that the DWT offers".to_owned()],
        target: "stm32f4".to_owned(),
        settings,
    }
}
