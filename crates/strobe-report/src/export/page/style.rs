//! How pages look, and pictures inside an address.

use std::fmt::Write as _;

pub(super) const PAGE: &str = "\
body{max-width:62rem;margin:2rem auto;padding:0 1rem;\
font:15px/1.45 'DejaVu Sans',Verdana,sans-serif;color:#111;background:#fff;\
overflow-wrap:anywhere}\
h1{font-size:1.6rem;margin:0 0 .3rem}h2,h3,h4,h5,h6{font-size:1rem;margin:1.4rem 0 .4rem}\
.part>.name{font-size:1.25rem;border-top:2px solid #999;padding-top:.8rem}\
.part .part>.name{font-size:1.1rem;border-top:1px solid #999}\
.question{font-size:1.15rem;color:#333;margin:.2rem 0 1rem}\
section[data-id=verdicts] td.words{font-weight:bold}\
table{border-collapse:collapse;margin:.4rem 0;font-size:.9rem}\
th,td{border-bottom:1px solid #ddd;padding:.25rem .7rem .25rem 0;text-align:left;\
vertical-align:top}\
th{vertical-align:bottom}th.number,td.number{text-align:right}td.number{white-space:nowrap}\
td .bounds{color:#666;font-size:.85em}\
td.letters{font-family:monospace}tr.sum td{border-top:1px solid #999}\
td.unknown{color:#a33;text-align:right}section p{color:#555;font-size:.85rem;margin:.3rem 0}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;font-size:.9rem}\
dt{color:#555}dd{margin:0;overflow-wrap:anywhere}pre{overflow-x:auto;font-size:12px}\
.findings{padding:.6rem 1rem .6rem 2rem;background:#f6f6f2}\
.findings .warning,.findings .fault{color:#a33}.findings p{color:#555;margin:.1rem 0}\
summary{cursor:pointer;color:#336}svg.chart,img{width:100%;height:auto}\
.wide{overflow-x:auto}.wide table{overflow-wrap:normal}.wide img,.wide svg{min-width:40rem}\
@media print{body{max-width:none;margin:0}.wide{overflow:visible}.wide table{font-size:.65rem}\
details::details-content{content-visibility:visible;display:block}pre{white-space:pre-wrap}\
h1,h2,h3,h4,h5,h6,summary{break-after:avoid}tr,svg.chart{break-inside:avoid}\
.wide td,.wide th{white-space:normal;padding-right:.4rem}.wide img,.wide svg{min-width:0}}";

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
