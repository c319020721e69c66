//! Cipher: `aes` in its bit-sliced, constant-time form, and `ctr` around it.

use crate::data::{Stream, hex};
use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit, KeyIvInit, StreamCipher};
use aes::{Aes128, Aes256};
use core::fmt::{self, Write};

/// FIPS 197's example forth and back, then 2 KiB in counter mode.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    let key: [u8; 32] = core::array::from_fn(|i| i as u8);
    let plain: [u8; 16] = core::array::from_fn(|i| (i * 0x11) as u8);

    let aes = Aes256::new(&key.into());
    let mut block = plain.into();
    aes.encrypt_block(&mut block);
    hex(out, "aes256 fips197", &block)?;
    aes.decrypt_block(&mut block);
    hex(out, "and back", &block)?;

    let mut text = [0; 2048];
    Stream::new(0xae5).fill(&mut text);
    let nonce = [0xf0; 16];
    ctr::Ctr128BE::<Aes128>::new(&plain.into(), &nonce.into()).apply_keystream(&mut text);
    hex(out, "aes128-ctr, last 64 of 2k", &text[text.len() - 64..])
}
