//! Parts on a board of their own, without a core.

use crate::boards::{Board, BoardError, PartEntry};

fn uno(parts: &str) -> Result<Board, BoardError> {
    #[derive(serde::Deserialize)]
    struct Parts {
        part: Vec<PartEntry>,
    }
    let parts: Parts = toml::from_str(parts).expect("the test's TOML");
    Board::builtin("arduino-uno")?.with_parts(parts.part)
}

#[test]
fn a_wire_drives_a_pin_with_another() {
    let wire = "[[part]]\nname = 'W'\nmodel = 'wire'\noptions = { from = 'D13', to = 'PD2' }";
    let mut bus = uno(wire).unwrap().build().unwrap();
    let pin = |name: &str| bus.signals.find(name).unwrap();
    let (led, int0) = (pin("PB5"), pin("PD2"));
    assert_eq!(bus.signals.external(int0), Some(false));
    for level in [true, false] {
        bus.set_signal(led, level);
        bus.settle();
        assert_eq!(bus.signals.level(int0), level);
    }
}

#[test]
fn invalid_parts_are_refused() {
    let error = |part: &str| uno(part).unwrap_err().to_string();
    let part = |name: &str, model: &str, options: &str| {
        error(&format!("[[part]]\nname = '{name}'\nmodel = '{model}'\noptions = {{ {options} }}"))
    };
    let there = part("W", "resistor", "");
    assert!(there.contains("part W: model: no model `resistor`; there are "), "{there}");
    let pin = part("W", "wire", "from = 'PB5', to = 'PZ1'");
    assert!(pin.contains("part W: options: the chip has no pin PZ1"), "{pin}");
    // Wires inside the chip are no pins.
    let inner = part("W", "wire", "from = 'PB5', to = 'USART0_TX'");
    assert!(inner.contains("the chip has no pin USART0_TX"), "{inner}");
    let twice = part("USART0", "wire", "from = 'PB5', to = 'PD2'");
    assert!(twice.contains("part USART0: the name is given twice"), "{twice}");
    let ring = part("W", "wire", "from = 'PB5', to = 'PB5'");
    assert!(ring.contains("to the same pin"), "{ring}");
}

#[test]
fn a_cable_passes_levels_both_ways() {
    use strobe_sim::kernel::device::part::Edge;
    let cable =
        "[[part]]\nname = 'C'\nmodel = 'cable'\noptions = { outputs = ['PB5'], inputs = ['PD0'] }";
    let mut bus = uno(cable).unwrap().build().unwrap();
    let id = bus.device_named("C").unwrap();
    let (led, rx) = (bus.signals.find("PB5").unwrap(), bus.signals.find("PD0").unwrap());
    // After reset the chip holds no pin.
    assert_eq!(bus.take_edges(id), []);
    // PORTB: the pull-up resistor. DDRB: high, then PORTB: low, then DDRB: let go.
    let writes = [
        (10, 0x25, 0x20, None),
        (20, 0x24, 0x20, Some(Some(true))),
        (30, 0x25, 0, Some(Some(false))),
        (40, 0x24, 0, Some(None)),
    ];
    for (at, register, value, level) in writes {
        bus.now = at;
        bus.io_write(register, value);
        let expected = level.map(|level| Edge { at, wire: 0, level });
        assert_eq!(bus.take_edges(id), expected.into_iter().collect::<Vec<_>>(), "at {at}");
    }
    assert!(!bus.signals.is_held(led));
    bus.edges_come(
        id,
        &[
            Edge { at: 140, wire: 0, level: None },
            Edge { at: 130, wire: 0, level: Some(true) },
            // No such wire: nothing happens.
            Edge { at: 131, wire: 7, level: Some(false) },
        ],
    );
    for (cycle, level) in [(129, None), (130, Some(true)), (139, Some(true)), (140, None)] {
        bus.run_events(cycle);
        assert_eq!(bus.signals.external(rx), level, "at {cycle}");
    }
}

#[test]
fn all_wires_of_a_pin_report_its_level() {
    use strobe_sim::kernel::device::part::Edge;
    let cable = "[[part]]\nname = 'C'\nmodel = 'cable'\noptions = { outputs = ['PB5', 'PB5'], \
                 inputs = [] }";
    let mut bus = uno(cable).unwrap().build().unwrap();
    let id = bus.device_named("C").unwrap();
    bus.now = 10;
    bus.io_write(0x24, 0x20);
    let edge = |wire| Edge { at: 10, wire, level: Some(false) };
    assert_eq!(bus.take_edges(id), [edge(0), edge(1)]);
}
