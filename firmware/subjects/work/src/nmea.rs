//! Parsing: `nom`, positions out of a GPS receiver's NMEA 0183 sentences.

use core::fmt::{self, Write};
use nom::bytes::complete::{tag, take, take_until};
use nom::character::complete::{anychar, char, one_of, u32 as number};
use nom::combinator::{map, map_res, opt, recognize, rest};
use nom::sequence::{delimited, preceded, separated_pair, terminated};
use nom::{IResult, Parser};

const SENTENCES: &[&str] = &[
    "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*47",
    "$GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,*76",
    "$GNGGA,001043.00,4404.14036,N,12118.85961,W,1,12,0.98,1113.0,M,-21.3,M,,*47",
    "$GPGGA,123519,4807.038,N,01131.000,E,1,08,0.9,545.4,M,46.9,M,,*48",
    "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230394,003.1,W*6A",
    "$GPGGA,,,,,,0,00,99.99,,,,,,*48",
    "noise before a sentence",
];

/// A fix: time of day as hhmmss, and the position in millionths of a degree.
struct Fix {
    time: u32,
    latitude: i64,
    longitude: i64,
    satellites: u32,
}

/// Parses each sentence a hundred times, as one would come in every second, and prints what was
/// understood.
pub fn work(out: &mut dyn Write) -> fmt::Result {
    for sentence in SENTENCES {
        let understood = (0..100).filter(|_| parse(sentence).is_some()).count();
        match parse(sentence) {
            Some(Fix { time, latitude, longitude, satellites }) => writeln!(
                out,
                "{understood}: {time:06} {latitude:+} {longitude:+} from {satellites}"
            )?,
            None => writeln!(out, "{understood}: refused {sentence}")?,
        }
    }
    Ok(())
}

fn parse(sentence: &str) -> Option<Fix> {
    let (_, (body, sum)) = checked(sentence).ok()?;
    let actual = body.bytes().fold(0, |sum, byte| sum ^ byte);
    (actual == sum).then_some(())?;
    fix(body).ok().map(|(_, fix)| fix)
}

/// The sentence between `$` and `*`, and the checksum that it claims.
fn checked(input: &str) -> IResult<&str, (&str, u8)> {
    let sum = map_res(take(2_usize), |digits| u8::from_str_radix(digits, 16));
    preceded(char('$'), separated_pair(take_until("*"), char('*'), sum)).parse(input)
}

fn fix(input: &str) -> IResult<&str, Fix> {
    let time = terminated(number, opt((char('.'), number)));
    let talker = preceded(take(2_usize), tag("GGA,"));
    let quality = delimited(char(','), one_of("12345678"), char(','));
    map(
        (talker, time, char(','), angle, char(','), angle, quality, number, rest),
        |(_, time, _, latitude, _, longitude, _, satellites, _)| Fix {
            time,
            latitude,
            longitude,
            satellites,
        },
    )
    .parse(input)
}

/// `dddmm.mmmm,H` with any number of digits, as millionths of a degree, south and west negative.
fn angle(input: &str) -> IResult<&str, i64> {
    let fraction = preceded(char('.'), recognize(number));
    map((number, fraction, char(','), anychar), |(whole, fraction, _, side): (u32, &str, _, _)| {
        let (degrees, minutes) = (i64::from(whole / 100), i64::from(whole % 100));
        let scale = 10_i64.pow(fraction.len() as u32);
        let parts = fraction.bytes().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        let micro = degrees * 1_000_000 + (minutes * scale + parts) * 1_000_000 / (60 * scale);
        if matches!(side, 'S' | 'W') { -micro } else { micro }
    })
    .parse(input)
}
