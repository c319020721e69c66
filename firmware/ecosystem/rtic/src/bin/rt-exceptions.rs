//! cortex-m-rt alone: SysTick, SVCall by hand, PendSV, an interrupt by software, a fault that is reported.
#![no_main]
#![no_std]
#![allow(unsafe_code, reason = "exceptions are set up and raised by hand")]

use core::sync::atomic::{AtomicU32, Ordering};

use cortex_m::peripheral::syst::SystClkSource;
use cortex_m::peripheral::{NVIC, SCB};
use cortex_m_rt::{ExceptionFrame, entry, exception};
use cortex_m_semihosting::{debug, hprintln};
use lm3s6965::{Interrupt, interrupt};
use panic_semihosting as _;

static TICKS: AtomicU32 = AtomicU32::new(0);

#[entry]
fn main() -> ! {
    let mut core = cortex_m::Peripherals::take().expect("nobody has taken them");
    core.SYST.set_clock_source(SystClkSource::Core);
    core.SYST.set_reload(120_000 - 1);
    core.SYST.clear_current();
    core.SYST.enable_counter();
    core.SYST.enable_interrupt();
    while TICKS.load(Ordering::Relaxed) < 3 {
        cortex_m::asm::wfi();
    }
    core.SYST.disable_interrupt();
    hprintln!("3 ticks");
    unsafe {
        core.NVIC.set_priority(Interrupt::ETHERNET, 0x40);
        NVIC::unmask(Interrupt::ETHERNET);
    }
    NVIC::pend(Interrupt::ETHERNET);
    cortex_m::asm::isb();
    SCB::set_pendsv();
    cortex_m::asm::isb();
    let cpuid = core.CPUID.base.read();
    hprintln!("part {:x}, priorities kept: {:#x}", cpuid >> 4 & 0xfff, NVIC::get_priority(Interrupt::ETHERNET));
    core.SCB.enable(cortex_m::peripheral::scb::Exception::UsageFault);
    hprintln!("now an undefined instruction");
    cortex_m::asm::udf();
}

#[exception]
fn SysTick() {
    TICKS.fetch_add(1, Ordering::Relaxed);
}

#[exception]
fn PendSV() {
    hprintln!("PendSV");
}

#[interrupt]
fn ETHERNET() {
    hprintln!("the interrupt of the Ethernet controller");
}

#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    hprintln!("HardFault, xPSR {:#010x}", frame.xpsr());
    debug::exit(debug::EXIT_FAILURE);
    loop {
        cortex_m::asm::nop();
    }
}

#[exception]
unsafe fn DefaultHandler(number: i16) {
    let cfsr = unsafe { (*SCB::PTR).cfsr.read() };
    hprintln!("exception {}, CFSR {:#010x}", number, cfsr);
    debug::exit(debug::EXIT_SUCCESS);
}
