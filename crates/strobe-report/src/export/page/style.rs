//! How pages look, and pictures inside an address.

use std::fmt::Write as _;

pub(super) const PAGE: &str = "\
body{max-width:62rem;margin:2rem auto;padding:0 1rem;\
font:15px/1.45 'DejaVu Sans',Verdana,sans-serif;color:#111;background:#fff}\
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.25rem;\
border-top:2px solid #999;padding-top:.8rem}h3{font-size:1rem;margin:1.4rem 0 .4rem}\
.question{font-size:1.15rem;color:#333;margin:.2rem 0 1rem}\
section[data-id=verdicts] td.words{font-weight:bold}\
table{border-collapse:collapse;margin:.4rem 0;font-size:.9rem}\
th,td{border-bottom:1px solid #ddd;padding:.25rem .7rem .25rem 0;text-align:left;\
vertical-align:top}\
th.number,td.number{text-align:right;white-space:nowrap}td .bounds{color:#666;font-size:.85em}\
td.unknown{color:#a33;text-align:right}section p{color:#555;font-size:.85rem;margin:.3rem 0}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}\
dt{color:#555}dd{margin:0;overflow-wrap:anywhere}pre{overflow-x:auto;font-size:12px}\
.findings{padding:.6rem 1rem .6rem 2rem;background:#f6f6f2}.findings .warning,.findings .fault{\
color:#a33}summary{cursor:pointer;color:#336}svg.chart,img{width:100%;height:auto}";

/// Bytes as a part of an address (RFC 3986): everything that might end it is escaped.
pub(super) fn in_address(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'/'
            | b' '
            | b':'
            | b'='
            | b','
            | b';'
            | b'('
            | b')' => out.push(char::from(*byte)),
            other => {
                let _ = write!(out, "%{other:02x}");
            }
        }
    }
    out
}
