//! Dates and times of day in UTC, as microseconds since 1970-01-01, and as people write them.

/// Microseconds of a second.
pub const SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const DAY: i64 = 86_400 * SECOND;

/// The day, as 2026-11-23.
pub fn day(time: i64) -> String {
    let (year, month, day) = civil(time.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Day and time, as 2026-11-23 05:09:38.
pub fn moment(time: i64) -> String {
    let seconds = time.rem_euclid(DAY) / SECOND;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{} {hours:02}:{minutes:02}:{:02}", day(time), seconds % 60)
}

/// Reads `2026-11-23`, `2026-11-23T05:09:38Z`, or the same with a blank or without seconds.
pub fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let number = |part: &str, digits: usize| -> Option<i64> {
        let fits = part.len() == digits && part.bytes().all(|b| b.is_ascii_digit());
        fits.then(|| part.parse().ok()).flatten()
    };
    let [year, month, day] = date.split('-').collect::<Vec<_>>()[..] else { return None };
    let (year, month, day) = (number(year, 4)?, number(month, 2)?, number(day, 2)?);
    let days = days(year, month, day);
    if civil(days) != (year, month, day) {
        return None;
    }
    let seconds = match time {
        None => 0,
        Some(time) => {
            let parts: Vec<&str> = time.split(':').collect();
            let (&[hours, minutes], second) = parts.split_at_checked(2)? else { return None };
            let second = match second {
                [] => 0,
                [second] => number(second, 2)?,
                _ => return None,
            };
            let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
            if hours > 23 || minutes > 59 || second > 59 {
                return None;
            }
            hours * 3600 + minutes * 60 + second
        }
    };
    Some(days * DAY + seconds * SECOND)
}

/// Year, month and day of a day since 1970-01-01 (Hinnant, `civil_from_days`: years begin in March,
/// eras have 400 of them).
fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// The day since 1970-01-01 (`days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(parse("1970-01-01"), Some(0));
        assert_eq!(parse("2026-11-23T05:09:38Z"), Some(1_795_410_578 * SECOND));
        assert_eq!(parse("2024-02-29 12:00"), Some(1_709_208_000 * SECOND));
        for wrong in [
            "",
            "2026",
            "2026-13-01",
            "2023-02-29",
            "2026-1-1",
            "2026-01-01T24:00",
            "2026-01-01T10",
            "2026-01-01T10:00:00:00",
            "26-01-01",
            "+026-01-01",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert_eq!(day(-1), "1969-12-31");
    }

    proptest! {
        #[test]
        fn written_files_are_read_back(seconds in 0i64..250_000_000_000) {
            let time = seconds * SECOND;
            prop_assert_eq!(parse(&moment(time)), Some(time));
            prop_assert_eq!(parse(&day(time)), Some(time - time.rem_euclid(DAY)));
        }
    }
}
