//! Makes an archive of so many rows, for measuring engines: `generate DIR ROWS`.
//!
//! Two projects with two boards each, a thousand functions, five figures of each, a build a day; a
//! file for each month and board. The same arguments give the same figures.

use std::path::Path;

use strobe_archive::{Figure, Origin, Place, date, write};

const FUNCTIONS: u64 = 1000;
const FIGURES: [&str; 5] = ["cycles", "cycles-inclusive", "executions", "taken", "calls"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, directory, rows] = arguments.as_slice() else {
        return Err("generate DIR ROWS".into());
    };
    let rows: u64 = rows.parse()?;
    let builds = rows.div_ceil(FUNCTIONS * FIGURES.len() as u64 * 4);
    for (project, board) in [("app", "m0"), ("app", "m4"), ("boot", "m0"), ("boot", "m4")] {
        let days: Vec<i64> = (0..builds as i64).map(|n| (20_000 + n) * date::DAY).collect();
        for month in days.chunks(30) {
            let measurements: Vec<_> =
                month.iter().map(|time| (origin(project, *time), figures(*time))).collect();
            let day = date::day(month.first().copied().unwrap_or(0));
            let place = Place { project: project.into(), board: board.into(), date: day };
            let folder = Path::new(directory).join(place.to_string());
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join("part-1.parquet"), write(&measurements, "generate")?)?;
        }
    }
    println!("{} rows of {builds} builds", builds * FUNCTIONS * FIGURES.len() as u64 * 4);
    Ok(())
}

fn origin(project: &str, time: i64) -> Origin {
    Origin {
        measurement: format!("{time:016x}"),
        time,
        commit: Some(format!("{:040x}", time / date::DAY)),
        commit_time: Some(time),
        branch: Some("main".to_owned()),
        subject: format!("{project}.elf"),
        instrument: "simulated board".to_owned(),
        tool: "strobe 0.1.0".to_owned(),
        ..Origin::default()
    }
}

/// Each function slowly grows, every hundredth one jumps in its own month.
fn figures(time: i64) -> Vec<Figure> {
    let day = (time / date::DAY) as u64 - 20_000;
    let figure = |n: u64| {
        let (function, which) = (n / FIGURES.len() as u64, (n % FIGURES.len() as u64) as usize);
        let jumped = function.is_multiple_of(100) && day / 30 > function / 100;
        let value = 1000 + function * 7 + day * (function % 3) + if jumped { 5000 } else { 0 };
        let name = FIGURES.get(which).copied().unwrap_or_default();
        Figure {
            section: "profile".to_owned(),
            item: Some(format!("function_{function}")),
            figure: name.to_owned(),
            unit: if which < 2 { "cycles" } else { "count" }.to_owned(),
            value: Some((value * (which as u64 + 1)) as f64),
            trust: "exact".to_owned(),
            ..Figure::default()
        }
    };
    (0..FUNCTIONS * FIGURES.len() as u64).map(figure).collect()
}
