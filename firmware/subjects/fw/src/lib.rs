//! What surrounds a subject on the target: start-up, console and exit, all over semihosting.
//!
//! The images must run on any Cortex-M0 with flash at zero, so nothing here may touch a peripheral.

#![no_std]

use core::fmt::{self, Write};
use core::panic::PanicInfo;
use cortex_m_semihosting::hio::{HostStream, hstdout};
use subjects_work::Work;

#[doc(hidden)]
pub use cortex_m_rt;
#[doc(hidden)]
pub use subjects_work;

/// The whole of a firmware's `main.rs`: `firmware!(sha2);`.
#[macro_export]
macro_rules! firmware {
    ($subject:ident) => {
        use $crate::cortex_m_rt;

        #[cortex_m_rt::entry]
        fn main() -> ! {
            $crate::run($crate::subjects_work::$subject::work)
        }
    };
}

/// Runs the subject with the host's console as its output and ends the simulation.
pub fn run(work: Work) -> ! {
    let Ok(host) = hstdout() else { exit(3) };
    let mut console = Console { host, line: [0; 128], used: 0 };
    let done = work(&mut console).and_then(|()| console.flush());
    exit(if done.is_ok() { 0 } else { 2 })
}

/// A line buffer before the host: one semihosting call per line instead of one per piece of a
/// format string.
struct Console {
    host: HostStream,
    line: [u8; 128],
    used: usize,
}

impl Console {
    fn flush(&mut self) -> fmt::Result {
        let written = self.host.write_all(&self.line[..self.used]);
        self.used = 0;
        written.map_err(|()| fmt::Error)
    }
}

impl Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            self.line[self.used] = byte;
            self.used += 1;
            if byte == b'\n' || self.used == self.line.len() {
                self.flush()?;
            }
        }
        Ok(())
    }
}

/// Ends the simulation with SYS_EXIT_EXTENDED, the only semihosting exit that carries a code on
/// 32-bit cores.
fn exit(code: usize) -> ! {
    const SYS_EXIT_EXTENDED: usize = 0x20;
    const ADP_STOPPED_APPLICATION_EXIT: usize = 0x2_0026;
    // SAFETY: the operation takes a block of these two words, which outlives the call.
    unsafe {
        cortex_m_semihosting::syscall(SYS_EXIT_EXTENDED, &[ADP_STOPPED_APPLICATION_EXIT, code]);
    }
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    if let Ok(mut host) = hstdout() {
        // Nothing is left to do when even this message cannot be written.
        let _ = writeln!(host, "{info}");
    }
    exit(1)
}
