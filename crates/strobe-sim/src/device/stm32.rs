//! Peripherals of STMicroelectronics' STM32 parts, one file per block.
