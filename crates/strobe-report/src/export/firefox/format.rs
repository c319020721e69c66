//! The tables of the processed format and their indices. Every table is kept by columns, with its
//! length beside them.
//!
//! Fields are those that the front end's type definitions name for version 55, `null` and 0 where
//! only a browser has a use for.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

/// Version of the processed format.
const VERSION: u32 = 55;
/// Indices of categories.
pub(super) const OTHER: usize = 0;
pub(super) const CODE: usize = 1;
pub(super) const IDLE: usize = 2;

/// What our markers are called in their schema.
const MARKER: &str = "strobe";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct File {
    pub meta: Meta,
    libs: [Value; 0],
    pages: [Value; 0],
    profiler_overhead: [Value; 0],
    pub counters: Vec<Counter>,
    pub threads: Vec<Thread>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta {
    categories: Value,
    debug: bool,
    extensions: Value,
    interval: f64,
    preprocessed_profile_version: u32,
    process_type: u32,
    product: String,
    sample_units: Value,
    start_time: f64,
    symbolicated: bool,
    paused_ranges: [Value; 0],
    version: u32,
    uses_only_one_stack_type: bool,
    source_code_is_not_on_searchfox: bool,
    marker_schema: Value,
    pub initial_visible_threads: Vec<usize>,
}

impl File {
    pub fn new(product: &str) -> File {
        let category = |name: &str, color: &str| {
            let other = ["Other"];
            json!({ "name": name, "color": color, "subcategories": other })
        };
        let meta = Meta {
            categories: json!([
                category("Other", "grey"),
                category("Code", "orange"),
                category("Idle", "transparent"),
            ]),
            debug: false,
            extensions: json!({ "length": 0, "baseURL": [], "id": [], "name": [] }),
            interval: 1.0,
            preprocessed_profile_version: VERSION,
            process_type: 0,
            product: product.to_owned(),
            sample_units: json!({ "time": "ms", "eventDelay": "ms", "threadCPUDelta": "µs" }),
            start_time: 0.0,
            symbolicated: true,
            paused_ranges: [],
            // Of the Gecko format, which this has never been in.
            version: 24,
            uses_only_one_stack_type: true,
            source_code_is_not_on_searchfox: true,
            marker_schema: json!([{
                "name": MARKER,
                "display": ["marker-chart", "marker-table", "timeline-overview"],
                "chartLabel": "{marker.name}",
                "tooltipLabel": "{marker.name}",
                "tableLabel": "{marker.name}",
                "fields": [],
            }]),
            initial_visible_threads: Vec::new(),
        };
        let (counters, threads) = (Vec::new(), Vec::new());
        File { meta, libs: [], pages: [], profiler_overhead: [], counters, threads }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Thread {
    name: String,
    is_main_thread: bool,
    pub pid: String,
    tid: String,
    process_name: String,
    process_type: &'static str,
    process_startup_time: f64,
    process_shutdown_time: Option<f64>,
    register_time: f64,
    unregister_time: Option<f64>,
    paused_ranges: [Value; 0],
    show_markers_in_timeline: bool,
    pub samples: Samples,
    markers: Markers,
    stack_table: StackTable,
    frame_table: FrameTable,
    func_table: FuncTable,
    resource_table: Value,
    native_symbols: Value,
    string_array: Vec<String>,
    #[serde(skip)]
    index: Index,
}

/// Where things are in the tables.
#[derive(Default)]
struct Index {
    strings: HashMap<String, usize>,
    funcs: HashMap<(usize, Option<usize>), usize>,
    frames: HashMap<(usize, Option<u32>, usize), usize>,
    stacks: HashMap<(Option<usize>, usize), usize>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Samples {
    length: usize,
    pub weight_type: &'static str,
    stack: Vec<Option<usize>>,
    time_deltas: Vec<f64>,
    weight: Vec<i64>,
    #[serde(rename = "threadCPUDelta")]
    thread_cpu_delta: Vec<f64>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Markers {
    length: usize,
    category: Vec<usize>,
    data: Vec<Value>,
    end_time: Vec<Option<f64>>,
    name: Vec<usize>,
    phase: Vec<u8>,
    start_time: Vec<f64>,
}

#[derive(Default, Serialize)]
struct StackTable {
    length: usize,
    prefix: Vec<Option<usize>>,
    frame: Vec<usize>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FrameTable {
    length: usize,
    address: Vec<i64>,
    inline_depth: Vec<u32>,
    category: Vec<usize>,
    subcategory: Vec<u32>,
    func: Vec<usize>,
    native_symbol: Vec<Option<usize>>,
    #[serde(rename = "innerWindowID")]
    inner_window_id: Vec<u32>,
    line: Vec<Option<u32>>,
    column: Vec<Option<u32>>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct FuncTable {
    length: usize,
    name: Vec<usize>,
    #[serde(rename = "isJS")]
    is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    relevant_for_js: Vec<bool>,
    resource: Vec<i64>,
    file_name: Vec<Option<usize>>,
    line_number: Vec<Option<u32>>,
    column_number: Vec<Option<u32>>,
}

fn ms(nanoseconds: i64) -> f64 {
    nanoseconds as f64 / 1e6
}

impl Thread {
    pub fn new(name: &str, process: &str, pid: usize, tid: usize, is_main: bool) -> Thread {
        Thread {
            name: name.to_owned(),
            is_main_thread: is_main,
            pid: pid.to_string(),
            tid: tid.to_string(),
            process_name: process.to_owned(),
            process_type: "default",
            process_startup_time: 0.0,
            process_shutdown_time: None,
            register_time: 0.0,
            unregister_time: None,
            paused_ranges: [],
            show_markers_in_timeline: true,
            samples: Samples { weight_type: "samples", ..Samples::default() },
            markers: Markers::default(),
            stack_table: StackTable::default(),
            frame_table: FrameTable::default(),
            func_table: FuncTable::default(),
            resource_table: json!({ "length": 0, "lib": [], "name": [], "host": [], "type": [] }),
            native_symbols: json!({
                "length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []
            }),
            string_array: Vec::new(),
            index: Index::default(),
        }
    }

    fn string(&mut self, text: &str) -> usize {
        if let Some(&known) = self.index.strings.get(text) {
            return known;
        }
        self.string_array.push(text.to_owned());
        let new = self.string_array.len() - 1;
        self.index.strings.insert(text.to_owned(), new);
        new
    }

    fn func(&mut self, name: &str, file: Option<&str>) -> usize {
        let (name, file) = (self.string(name), file.map(|file| self.string(file)));
        let table = &mut self.func_table;
        *self.index.funcs.entry((name, file)).or_insert_with(|| {
            table.length += 1;
            table.name.push(name);
            table.is_js.push(false);
            table.relevant_for_js.push(false);
            table.resource.push(-1);
            table.file_name.push(file);
            table.line_number.push(None);
            table.column_number.push(None);
            table.length - 1
        })
    }

    fn frame(&mut self, func: usize, line: Option<u32>, category: usize) -> usize {
        let table = &mut self.frame_table;
        *self.index.frames.entry((func, line, category)).or_insert_with(|| {
            table.length += 1;
            table.address.push(-1);
            table.inline_depth.push(0);
            table.category.push(category);
            table.subcategory.push(0);
            table.func.push(func);
            table.native_symbol.push(None);
            table.inner_window_id.push(0);
            table.line.push(line);
            table.column.push(None);
            table.length - 1
        })
    }

    /// A call chain: a function called from another chain.
    pub fn stack(
        &mut self,
        prefix: Option<usize>,
        name: &str,
        file: Option<&str>,
        line: Option<u32>,
        category: usize,
    ) -> usize {
        let func = self.func(name, file);
        let frame = self.frame(func, line, category);
        let table = &mut self.stack_table;
        *self.index.stacks.entry((prefix, frame)).or_insert_with(|| {
            table.length += 1;
            table.prefix.push(prefix);
            table.frame.push(frame);
            table.length - 1
        })
    }

    /// A sample, so many nanoseconds after the one before.
    pub fn sample(&mut self, after_ns: i64, stack: Option<usize>, weight: i64) {
        self.samples.length += 1;
        self.samples.stack.push(stack);
        self.samples.time_deltas.push(ms(after_ns));
        self.samples.weight.push(weight);
        self.samples.thread_cpu_delta.push(0.0);
    }

    /// Something that took time, or none.
    pub fn marker(&mut self, name: &str, begin_ns: i64, end_ns: Option<i64>) {
        let name = self.string(name);
        let markers = &mut self.markers;
        markers.length += 1;
        markers.category.push(CODE);
        markers.data.push(json!({ "type": MARKER }));
        markers.start_time.push(ms(begin_ns));
        markers.end_time.push(end_ns.map(ms));
        markers.name.push(name);
        markers.phase.push(u8::from(end_ns.is_some()));
    }

    /// Puts markers into the order of time; all else of them is the same.
    pub fn sort_markers(&mut self) {
        let Markers { end_time, name, phase, start_time, .. } = &mut self.markers;
        let mut order: Vec<usize> = (0..start_time.len()).collect();
        order.sort_by(|a, b| start_time[*a].total_cmp(&start_time[*b]));
        *end_time = order.iter().map(|i| end_time[*i]).collect();
        *name = order.iter().map(|i| name[*i]).collect();
        *phase = order.iter().map(|i| phase[*i]).collect();
        *start_time = order.iter().map(|i| start_time[*i]).collect();
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counter {
    category: &'static str,
    name: String,
    description: String,
    main_thread_index: usize,
    pid: &'static str,
    samples: CounterSamples,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CounterSamples {
    length: usize,
    count: Vec<i128>,
    number: Vec<u32>,
    time_deltas: Vec<f64>,
}

impl Counter {
    /// A counter of values in the order of time (in nanoseconds). The format wants their changes.
    pub fn new(name: &str, unit: &str, values: &[(i64, i64)]) -> Counter {
        let (mut at, mut value) = (0, 0);
        let (mut count, mut time_deltas) = (Vec::new(), Vec::new());
        for (now, new) in values {
            time_deltas.push(ms(now.saturating_sub(at)));
            count.push(i128::from(*new) - i128::from(value));
            (at, value) = (*now, *new);
        }
        let samples = CounterSamples {
            length: count.len(),
            number: vec![0; count.len()],
            count,
            time_deltas,
        };
        Counter {
            category: if unit == "bytes" { "Memory" } else { "Value" },
            name: name.to_owned(),
            description: unit.to_owned(),
            main_thread_index: 0,
            pid: "0",
            samples,
        }
    }
}
