use crate::board::{Board, BoardError, PartEntry};

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
fn what_cannot_be_is_refused() {
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
