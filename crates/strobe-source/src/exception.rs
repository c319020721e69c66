//! What the exceptions of a Cortex-M core are called, whoever has seen them: a simulated board or a
//! trace pin.

/// The first interrupt.
const IRQ0: u16 = 16;

/// An exception's name by its number (ARMv7-M B1.5.2): `SysTick`, `IRQ27`.
pub fn exception_name(number: u16) -> String {
    let name = match number {
        1 => "Reset",
        2 => "NMI",
        3 => "HardFault",
        4 => "MemManage",
        5 => "BusFault",
        6 => "UsageFault",
        11 => "SVCall",
        12 => "DebugMonitor",
        14 => "PendSV",
        15 => "SysTick",
        IRQ0.. => return format!("IRQ{}", number - IRQ0),
        _ => return format!("exception {number}"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_exceptions_have_names_and_interrupts_numbers() {
        let names = [3, 7, 15, 16, 43].map(exception_name);
        assert_eq!(names, ["HardFault", "exception 7", "SysTick", "IRQ0", "IRQ27"]);
    }
}
