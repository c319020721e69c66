//! The content of an LED cube of 11 x 11 x 11: frames made by a formula, as bytes for its serial
//! line and as a file on a memory card.
//!
//! The firmware that reads them is in `firmware/cube`; nothing here is shared with it but the
//! layout that its `protocol.h` describes. The `fatfs` crate makes the volumes, so that the
//! firmware's reader is tested with an independent implementation of FAT.

mod volume;

pub use volume::{CardLayout, card_image};

/// LEDs along an edge.
pub const SIDE: usize = 11;
const LEDS: usize = SIDE * SIDE * SIDE;
/// Bytes of a frame on the line.
pub const PACKET_BYTES: usize = 672;

/// The brightness of each LED, 0 to 15, layer by layer, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CubeFrame {
    leds: Vec<u8>,
}

impl CubeFrame {
    /// Frame `t` of an endless animation: a bright ball that swings through the cube with ripples
    /// around it.
    pub fn animation(t: usize) -> Self {
        let swing = |t: usize, period: usize| (t % period).abs_diff(period / 2) * 20 / period;
        let center = [swing(t, 30), swing(t + 5, 22), swing(t + 9, 38)];
        let at = |led: usize| [led % SIDE, led / SIDE % SIDE, led / SIDE / SIDE];
        let shade = |led: usize| {
            let distance: usize =
                at(led).iter().zip(center).map(|(a, b)| a.abs_diff(b).pow(2)).sum();
            let ripple = (distance / 3 + 5 * t) % 16;
            if distance < 8 { 15 - distance as u8 } else { (ripple as u8).div_ceil(2) }
        };
        Self { leds: (0..LEDS).map(shade).collect() }
    }

    /// The LEDs, x first, then y, then the layer.
    pub fn leds(&self) -> &[u8] {
        &self.leds
    }

    /// The encoded frame: marks, number, four bits for each LED, sums.
    pub fn packet(&self, number: u16) -> Vec<u8> {
        let mut body = number.to_le_bytes().to_vec();
        let half = |led: Option<&u8>| led.map_or(0, |led| led & 15);
        body.extend(self.leds.chunks(2).map(|two| half(two.first()) | half(two.get(1)) << 4));
        let mut sums = [0u8; 2];
        for byte in &body {
            sums[0] = sums[0].wrapping_add(*byte);
            sums[1] = sums[1].wrapping_add(sums[0]);
        }
        [&[0xa5][..], &body, &sums, &[0x5a]].concat()
    }
}

/// The first `count` frames of the animation as a file for the cube's player.
pub fn animation_file(count: u16) -> Vec<u8> {
    (0..count).flat_map(|n| CubeFrame::animation(n.into()).packet(n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_differ_and_have_all_shades() {
        let frames: Vec<CubeFrame> = (0..40).map(CubeFrame::animation).collect();
        for (i, frame) in frames.iter().enumerate() {
            assert!(frames[..i].iter().all(|other| other != frame), "frame {i}");
            assert!(frame.leds().iter().all(|&led| led < 16));
        }
        assert!((0..16).all(|shade| frames.iter().any(|f| f.leds().contains(&shade))));
    }

    #[test]
    fn a_packet_matches_the_protocol() {
        let mut frame = CubeFrame { leds: vec![0; LEDS] };
        (frame.leds[0], frame.leds[1], frame.leds[LEDS - 1]) = (1, 2, 3);
        let packet = frame.packet(0x0102);
        assert_eq!(packet.len(), PACKET_BYTES);
        assert_eq!(packet[..5], [0xa5, 2, 1, 0x21, 0]);
        // Sums of 2, 3, 0x24 and, at the end, 0x27, and of their values after each of the 668
        // bytes.
        let second = 2 + 3 + 0x24 * 665 + 0x27;
        assert_eq!(packet[668..], [3, 0x27, second as u8, 0x5a]);
    }
}
