//! What the STM32F1 has otherwise than later families (RM0008): port configuration, alternate
//! functions, clock control.

pub(super) mod afio;
pub(super) mod gpio;
