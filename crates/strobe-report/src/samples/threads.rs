//! A run with threads: who ran when, and whose samples are whose.

use strobe_model::*;

use super::build::Build;
use Cause::*;

fn extreme(cycles: u64, at: u64, function: Option<&str>) -> Extreme {
    Extreme {
        cycles,
        at: Moment { cycle: at, nanoseconds: at * 125 },
        address: "0x08000120".into(),
        function: function.map(str::to_owned),
    }
}

fn thread_row(name: &str, cycles: u64, idle: u64) -> ThreadStatistics {
    ThreadStatistics {
        name: name.into(),
        structure: None,
        id: None,
        priority: None,
        stack: ("0x20000100".into(), "0x20000180".into()),
        cycles,
        idle,
        runs: 0,
        gave_up: 0,
        preempted: 0,
        longest_run: Some(extreme(cycles, 4000, Some("main"))),
        wake: Latency::default(),
        wakes_unknown: 0,
        durations: Default::default(),
    }
}

/// Two threads and an interrupt, with who ran when and whose samples are whose.
pub(crate) fn threaded() -> Record {
    let mut b = Build::new("threads.elf");
    let worker = b.function("worker", 0x0800_0100, None);
    let idle = b.function("idle", 0x0800_0110, None);
    let tick = b.function("SysTick_Handler", 0x0800_0120, None);
    b.sample((0x0800_0100, Some(worker), None), 500, &[(Execute, 600)], (0, 0));
    b.sample((0x0800_0110, Some(idle), None), 10, &[(Execute, 40), (Asleep, 3000)], (0, 0));
    b.sample((0x0800_0120, Some(tick), None), 100, &[(Execute, 160), (FetchWait, 200)], (20, 40));
    let places = [
        (Place::Thread("worker".into()), worker, 600, 0),
        (Place::Thread("(idle_stack)".into()), idle, 3040, 3000),
        (Place::Exception("SysTick".into()), tick, 360, 0),
    ];
    for (place, function, cycles, asleep) in places {
        let root = b.node(place, None, 1, 0);
        let node = b.node(Place::Function(function), Some(root), 1, cycles);
        b.0.profile.tree[node as usize].self_idle = Some(asleep);
    }
    let fetch = Bounds { low: 180, likely: 200, high: 240 };
    let why = "what the prefetch buffer hides is not documented".into();
    b.0.trust =
        Trust::Modelled { causes: vec![ModelledCause { cause: FetchWait, cycles: fetch, why }] };
    let whos = [Who::Thread(0), Who::Thread(1), Who::Interrupt(15)];
    b.0.profile.shares = (0..).zip(whos).map(|(at, who)| share(&b.0, at, who, fetch)).collect();
    b.0.exceptions.push(ExceptionStatistics {
        number: 15,
        name: "SysTick".into(),
        handler: Some("SysTick_Handler".into()),
        count: 9,
        cycles: 360,
        latency_min: 16,
        latency_sum: 160,
        latency_max: 32,
        latency_max_at: Moment { cycle: 2000, nanoseconds: 250_000 },
        latency_worst: Some(extreme(32, 2000, Some("worker"))),
        longest_run: Some(extreme(41, 2041, None)),
        ..ExceptionStatistics::default()
    });
    let max = Some(extreme(120, 2100, Some("idle")));
    let wake = Latency { count: 3, min: 50, sum: 250, max, ..Latency::default() };
    let threads = vec![
        ThreadStatistics {
            structure: Some("0x20000040".into()),
            id: Some(2),
            priority: Some(3),
            runs: 3,
            gave_up: 2,
            preempted: 1,
            wake,
            wakes_unknown: 1,
            ..thread_row("worker", 600, 0)
        },
        ThreadStatistics { runs: 3, preempted: 3, ..thread_row("(idle_stack)", 3040, 3000) },
    ];
    let timeline = Some(timeline());
    let note = "Baton: baton_thread has no member level; priorities are not shown".into();
    let rtos = Some(Rtos { name: "Baton".into(), understood: true, notes: vec![note] });
    let balance = Scheduling::balanced(4000, &threads, &b.0.exceptions, false).unwrap();
    b.0.scheduling = Some(Scheduling { rtos, threads, balance, timeline });
    b.finish()
}

/// All of a sample is one thread's or interrupt's.
fn share(record: &Record, at: usize, who: Who, fetch: Bounds) -> Share {
    let sample = &record.profile.addresses[at];
    let modelled = sample.cycles[FetchWait] > 0;
    Share {
        who,
        addresses: vec![AddressShare {
            sample: at as u32,
            idle: 0,
            count: sample.count,
            jumped: sample.jumped,
            cycles: sample.cycles,
            bounds: sample.bounds,
        }],
        modelled: if modelled { vec![(FetchWait, fetch)] } else { Vec::new() },
    }
}

/// The worker waits for the tick that wakes it.
fn timeline() -> Timeline {
    let moment = |cycle: u64| Moment { cycle, nanoseconds: cycle * 125 };
    let segment = |who, start, begin, end, idle| Segment {
        who,
        start,
        begin: moment(begin),
        end: moment(end),
        idle,
    };
    let (worker, idle, tick) = (Who::Thread(0), Who::Thread(1), Who::Interrupt(15));
    let switched = |by_itself, waited| Start::Switched { by_itself, waited };
    let segments = vec![
        segment(worker, Start::Window, 1200, 1500, 0),
        segment(idle, switched(true, None), 1500, 1984, 470),
        segment(tick, Start::Entered { latency: 32, chained: false }, 1984, 2100, 0),
        segment(worker, switched(false, Some(120)), 2100, 2200, 0),
        segment(tick, Start::Entered { latency: 16, chained: true }, 2200, 2240, 0),
        segment(worker, Start::Resumed, 2240, 2400, 0),
    ];
    let latency = extreme(120, 2100, Some("idle"));
    let worst = Some(WorstLatency { who: worker, latency });
    Timeline {
        begin: moment(1400),
        end: moment(2300),
        worst,
        segments,
        dropped: 1,
        overview: Default::default(),
    }
}
