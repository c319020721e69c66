//! Benchmarks that strobe runs on a simulated board: the Rust form of `strobe_bench.h`, with the same notes. LLVM's linker keeps what a
//! section without address refers to only if it is retained (`R`).

/// Marks a benchmark: strobe calls it on a simulated board after start-up (`strobe bench firmware.elf`).
///
/// ```ignore
/// strobe_trace::bench!(sort, inputs: [16, 64, 256], setup: |n| fill(n), |n| sort(&mut values()[..n as usize]));
/// strobe_trace::bench!(allocate, calls: 3, |_| drop(Box::new([0; 16])));
/// ```
///
/// Inputs are constants of the type `u32`; without any, the closure gets 0. `setup` is called before each call and not measured; `calls` is how
/// often each input is called on one board, 1 to 1000. What the closure returns counts as used. The macro makes a module of the benchmark's
/// name that sees what its parent sees.
///
/// Without the feature `bench`, or on a host, all of it is checked and nothing is in the program.
#[macro_export]
macro_rules! bench {
    (
        $name:ident
        $(, inputs: [$($input:expr),* $(,)?])?
        $(, calls: $calls:literal)?
        $(, setup: |$given:pat_param| $setup:expr)?
        , |$n:pat_param| $body:expr $(,)?
    ) => {
        #[allow(dead_code, unused_imports)]
        mod $name {
            use super::*;

            const _: &[u32] = &[$($($input),*)?];
            #[inline(never)]
            extern "C" fn strobe_bench($n: u32) {
                ::core::hint::black_box($body);
            }
            $crate::__bench!(strobe_bench, $name, [$($($input),*)?]);
            $(
                #[inline(never)]
                extern "C" fn strobe_setup($given: u32) {
                    ::core::hint::black_box($setup);
                }
                $crate::__bench_setup!(strobe_setup, $name);
            )?
            $(
                const _: () = assert!($calls >= 1 && $calls <= 1000, "calls are 1 to 1000");
                $crate::__bench_calls!($calls, $name);
            )?
        }
    };
}

#[cfg(all(feature = "bench", target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench {
    ($function:ident, $name:ident, [$($input:expr),*]) => {
        ::core::arch::global_asm!(
            ".pushsection .strobe_bench,\"R\",%note",
            ".balign 4",
            ".4byte 7, 92f - 91f, 0x101",
            ".asciz \"strobe\"",
            ".byte 0",
            "91: .4byte {function}, 94f - 93f",
            "93:",
            $($crate::__bench_word!($input),)*
            "94:",
            concat!(".asciz \"", stringify!($name), "\""),
            "92: .balign 4",
            ".popsection",
            $(const $input,)*
            function = sym $function,
        );
    };
}

#[cfg(all(feature = "bench", target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench_word {
    ($input:expr) => {
        ".4byte {}"
    };
}

#[cfg(all(feature = "bench", target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench_setup {
    ($function:ident, $name:ident) => {
        ::core::arch::global_asm!(
            ".pushsection .strobe_bench,\"R\",%note",
            ".balign 4",
            ".4byte 7, 92f - 91f, 0x102",
            ".asciz \"strobe\"",
            ".byte 0",
            "91: .4byte {function}",
            concat!(".asciz \"", stringify!($name), "\""),
            "92: .balign 4",
            ".popsection",
            function = sym $function,
        );
    };
}

#[cfg(all(feature = "bench", target_arch = "arm"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench_calls {
    ($calls:literal, $name:ident) => {
        ::core::arch::global_asm!(
            ".pushsection .strobe_bench,\"R\",%note",
            ".balign 4",
            ".4byte 7, 92f - 91f, 0x103",
            ".asciz \"strobe\"",
            ".byte 0",
            concat!("91: .4byte ", $calls),
            concat!(".asciz \"", stringify!($name), "\""),
            "92: .balign 4",
            ".popsection",
        );
    };
}

#[cfg(not(all(feature = "bench", target_arch = "arm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench {
    ($($any:tt)*) => {};
}

#[cfg(not(all(feature = "bench", target_arch = "arm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench_setup {
    ($($any:tt)*) => {};
}

#[cfg(not(all(feature = "bench", target_arch = "arm")))]
#[doc(hidden)]
#[macro_export]
macro_rules! __bench_calls {
    ($($any:tt)*) => {};
}
