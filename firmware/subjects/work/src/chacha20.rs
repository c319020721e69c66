//! Cipher: `chacha20poly1305`, authenticated encryption from `chacha20` and `poly1305`.

use crate::data::{Stream, hex};
use chacha20poly1305::aead::inout::InOutBuf;
use chacha20poly1305::{AeadInOut, ChaCha20Poly1305, KeyInit};
use core::fmt::{self, Write};

/// Seals 2 KiB, opens it again, and sees a flipped bit refused.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let key: [u8; 32] = core::array::from_fn(|i| 0x80 + i as u8);
    let nonce = [7, 0, 0, 0, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47].into();
    let cipher = ChaCha20Poly1305::new(&key.into());

    let mut text = [0; 2048];
    Stream::new(0xc4ac4a).fill(&mut text);
    let tag = cipher
        .encrypt_inout_detached(&nonce, b"header", InOutBuf::from(&mut text[..]))
        .map_err(|_| fmt::Error)?;
    hex(out, "sealed, first 64 of 2k", &text[..64])?;
    hex(out, "tag", &tag)?;

    text[1000] ^= 1;
    let forged = cipher.decrypt_inout_detached(&nonce, b"header", (&mut text[..]).into(), &tag);
    writeln!(out, "flipped bit accepted: {}", forged.is_ok())?;
    text[1000] ^= 1;
    cipher
        .decrypt_inout_detached(&nonce, b"header", (&mut text[..]).into(), &tag)
        .map_err(|_| fmt::Error)?;
    hex(out, "opened, first 64", &text[..64])
}
