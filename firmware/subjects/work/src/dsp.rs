//! Fixed-point signal processing: `idsp`, 32 by 32 to 64-bit multiply-accumulate on a core that has
//! none.

use crate::data::Stream;
use core::fmt::{self, Write};
use core::num::Wrapping;
use dsp_fixedpoint::Q;
use dsp_process::SplitProcess;
use idsp::iir::{Biquad, DirectForm1Dither};
use idsp::{Accu, Complex, Lockin, Lowpass, LowpassState, atan2, cossin};

const SAMPLES: u32 = 4096;
/// Turn per sample of the signal to find, as a part of 2^32.
const STEP: i32 = 0x0312_3457;
/// Second-order low-pass at a hundredth of the sample rate: k^2 / 2^32 and -k * sqrt(2), with k =
/// 2^26.
const BUTTERWORTH: [i32; 2] = [1 << 20, -94_906_266];

/// Finds a tone in noise with a lock-in amplifier, and removes it with a notch filter.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let lockin = Lockin(Lowpass(BUTTERWORTH));
    let mut state: [LowpassState<2>; 2] = Default::default();
    let notch = notch();
    let mut residue = DirectForm1Dither::default();
    let mut noise = Stream::new(0xd5b);
    let mut power = [0_i64; 2];

    let phases = Accu::new(Wrapping(0_i32), Wrapping(STEP));
    for (sample, phase) in (0..SAMPLES).zip(phases) {
        let (cosine, _) = cossin((phase + Wrapping(0x1000_0000)).0);
        let signal = (cosine >> 3) + (noise.word() as i32 >> 5);
        let baseband: Complex<i32> = lockin.process(&mut state, (signal, phase));
        let rest = notch.process(&mut residue, signal);
        for (power, value) in power.iter_mut().zip([signal, rest]) {
            *power += (i64::from(value) * i64::from(value)) >> 16;
        }
        if sample % 512 == 511 {
            let angle = atan2(baseband.im(), baseband.re());
            writeln!(out, "{:11} {:11} angle {angle:11}", baseband.re(), baseband.im())?;
        }
    }
    writeln!(out, "power {} before the notch, {} after", power[0], power[1])
}

/// Zeros on the unit circle at the tone, poles at 0.95: coefficients with 29 fractional bits.
fn notch() -> Biquad<Q<i32, i64, 29>> {
    const ONE: i64 = 1 << 29;
    let (cosine, _) = cossin(STEP);
    let twice = i64::from(cosine) >> 1;
    let feedback = [twice * 95 / 100, -(ONE * 9025 / 10_000)];
    let taps = [ONE, -twice, ONE, feedback[0], feedback[1]];
    Biquad { ba: taps.map(|tap| Q::from_bits(tap as i32)) }
}
