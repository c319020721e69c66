//! Peripherals of STMicroelectronics' STM32 parts, one file per block.
//!
//! Register layouts follow RM0360 (STM32F030/F070); what a board may vary is in the board file.

mod dma;
mod register;
mod tim;
mod usart;

#[cfg(test)]
mod bench;

use super::Maker;

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] =
    &[("stm32-dma", dma::create), ("stm32-tim", tim::create), ("stm32-usart", usart::create)];
