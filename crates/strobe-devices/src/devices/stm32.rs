//! Peripherals of STMicroelectronics' STM32 parts, one file per block.
//!
//! Register layouts follow RM0360 (STM32F030/F070), RM0008 (STM32F103) and RM0090 (STM32F405/407),
//! whose chapter each module names; what a board may vary is in the board file.

use strobe_sim::kernel::device::Maker;

mod crc;
mod dma;
mod eth;
mod exti;
mod f1;
mod flash_ctl;
mod flashf4;
mod gpio;
mod i2c;
mod iwdg;
mod pwr;
mod rcc;
mod rng;
mod spi;
mod streams;
mod syscfg;
mod tim;
mod usart;
mod wwdg;

/// The wire by which power control lets the backup domain be written (PWR_CR.DBP).
const BACKUP_WRITABLE: &str = "PWR_DBP";

/// The clock of USB, SDIO and the random number generator, as its name in the clock tree.
const PLL48: &str = "PLL48";

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] = &[
    ("stm32-crc", crc::create),
    ("stm32-dma", dma::create),
    ("stm32-dma-streams", streams::create),
    ("stm32-eth", eth::create),
    ("stm32-exti", exti::create),
    ("stm32-flash", flash_ctl::create),
    ("stm32-gpio", gpio::create),
    ("stm32-i2c-v1", i2c::create),
    ("stm32-iwdg", iwdg::create),
    ("stm32-pwr", pwr::create),
    ("stm32-rcc", rcc::create_f0),
    ("stm32-rng", rng::create),
    ("stm32-spi", spi::create),
    ("stm32-syscfg", syscfg::create),
    ("stm32-tim", tim::create),
    ("stm32-usart", usart::create),
    ("stm32-usart-v1", usart::v1::create),
    ("stm32f1-afio", f1::afio::create),
    ("stm32f1-gpio", f1::gpio::create),
    ("stm32f1-rcc", rcc::create_f1),
    ("stm32-wwdg", wwdg::create),
    ("stm32f4-flash", flashf4::create),
    ("stm32f4-rcc", rcc::create_f4),
];
