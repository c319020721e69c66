//! What a trace of events holds: the events by kind, and what those of known meaning show of
//! threads, interrupts, functions, memory and transfers. Where something does not fit together it
//! is counted here and not left out.

use std::collections::BTreeMap;

use strobe_decode::summary::ValueSummary;

/// A trace of events. Times are nanoseconds on the trace's own time line.
#[derive(Debug, Clone, PartialEq)]
pub struct EventsReport {
    /// What was read.
    pub trace: TraceSummary,
    /// The parts of it that marks enclose, together; absent where there are no marks.
    pub window: Option<MarkedWindow>,
    /// Events by kind, most often first.
    pub kinds: Vec<EventKind>,
    /// Events that the tracer left out, and when.
    pub losses: Vec<EventLoss>,
    /// Bytes that were not understood, and why.
    pub undecodable: Vec<UndecodableBytes>,
    /// Who ran.
    pub threads: Option<ThreadsSeen>,
    /// Handlers by interrupt.
    pub interrupts: Vec<InterruptSeen>,
    /// The most handlers inside one another; 0 without any.
    pub nesting: u32,
    /// Functions that reported their calls.
    pub functions: Option<FunctionsSeen>,
    /// The deepest that each thread's stack was seen.
    pub stacks: Vec<StackSeen>,
    /// The heap.
    pub heap: Option<HeapSeen>,
    /// What went over interfaces, by interface and direction.
    pub transfers: Vec<TransferSeen>,
    /// Times between named points.
    pub timers: Vec<TimerSeen>,
    /// Times in which the tracer was busy with something else by its own account, as sending what
    /// it had collected.
    pub pauses: Option<PausesSeen>,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// The trace as a whole. Of every stream, `bytes = packet_bytes + mark_bytes + undecodable_bytes`.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSummary {
    /// The file or directory, without the directories above it.
    pub file: String,
    /// `CTF 1.8`.
    pub format: String,
    /// Its streams.
    pub streams: Vec<StreamSummary>,
    /// The clock that times come from.
    pub clock: Option<TraceClock>,
    /// When the first event was.
    pub first_ns: Option<i64>,
    /// When the last event was.
    pub last_ns: Option<i64>,
    /// The tracer and its machine, as the trace states them: names and values.
    pub environment: Vec<(String, String)>,
}

/// A stream and what became of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamSummary {
    /// Its file.
    pub file: String,
    /// Bytes.
    pub bytes: u64,
    /// Bytes of packets that were understood.
    pub packet_bytes: u64,
    /// Bytes of the tracer's mark.
    pub mark_bytes: u64,
    /// Bytes that were not understood.
    pub undecodable_bytes: u64,
    /// Packets.
    pub packets: u64,
    /// Events.
    pub events: u64,
    /// Events whose time is before that of the event before.
    pub backwards: u64,
    /// By how many nanoseconds, all of them together.
    pub back_ns: u64,
    /// Counts of what is missing that go back: one of them is wrong.
    pub recounts: u64,
}

/// A trace's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceClock {
    /// Its name.
    pub name: String,
    /// Ticks in a second.
    pub hz: u64,
    /// Nanoseconds that a reading may be wrong by, as the trace states.
    pub precision_ns: u64,
}

/// The parts of a trace that marks enclose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MarkedWindow {
    /// Marks that begin one.
    pub starts: u64,
    /// Marks that end one.
    pub stops: u64,
    /// Parts.
    pub parts: u64,
    /// Beginnings while one had begun, and ends while none had.
    pub repeated: u64,
    /// The last one has no end mark; it ends with the trace.
    pub open: bool,
    /// The first beginning.
    pub from_ns: i64,
    /// The last end.
    pub to_ns: i64,
    /// All parts together.
    pub total_ns: u64,
}

/// Events of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventKind {
    /// The name that the trace gives it.
    pub name: String,
    /// What it was taken for; absent where it has no known meaning.
    pub meaning: Option<String>,
    /// How many.
    pub count: u64,
    /// When the first was.
    pub first_ns: Option<i64>,
    /// When the last was.
    pub last_ns: Option<i64>,
}

/// Events that the tracer left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLoss {
    /// The stream's file.
    pub stream: String,
    /// Events, as the tracer counts them.
    pub events: u64,
    /// Packets, by their sequence numbers.
    pub packets: u64,
    /// After this; absent if before everything.
    pub from_ns: Option<i64>,
    /// Not after this.
    pub to_ns: Option<i64>,
}

/// Bytes that were not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndecodableBytes {
    /// The stream's file.
    pub stream: String,
    /// The first of them.
    pub at: u64,
    /// How many.
    pub bytes: u64,
    /// Why.
    pub why: String,
}

/// Who ran. In the window, `total_ns` is the sum of the threads' `running_ns` and `unannounced_ns`,
/// of `switching_ns` and of `unknown_ns`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadsSeen {
    /// The marked window, or the whole trace.
    pub total_ns: u64,
    /// Threads, busiest first.
    pub threads: Vec<ThreadSeen>,
    /// From the end of one thread to the beginning of the next.
    pub switching_ns: u64,
    /// Time of nobody: before the first event and where it is not known who ran.
    pub unknown_ns: u64,
    /// From one thread's stop to the next one's start, in nanoseconds, in the window.
    pub gaps: Option<ValueSummary>,
}

/// A thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadSeen {
    /// Its number.
    pub id: i64,
    /// Its name, where something states it.
    pub name: Option<String>,
    /// Times that it ran, in the window.
    pub runs: u64,
    /// How long, in the window.
    pub running_ns: u64,
    /// Times that it stopped without having been seen to start: who ran until then is known by
    /// that alone.
    pub unannounced_runs: u64,
    /// From the stop before to these, in the window.
    pub unannounced_ns: u64,
}

/// An interrupt's handlers: `entered = timed + unmatched_enters`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct InterruptSeen {
    /// Its number.
    pub number: i64,
    /// Times entered.
    pub entered: u64,
    /// Times entered and left.
    pub timed: u64,
    /// Times entered of which no exit is there.
    pub unmatched_enters: u64,
    /// Exits of which no entry is there.
    pub unmatched_exits: u64,
    /// From entry to exit, in nanoseconds, handlers that interrupted it included.
    pub durations: Option<ValueSummary>,
}

/// Functions that reported their calls: `enters + exits = 2 * calls + unmatched_enters +
/// unmatched_exits`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionsSeen {
    /// Times entered.
    pub enters: u64,
    /// Times left.
    pub exits: u64,
    /// Both, of the same call.
    pub calls: u64,
    /// Entries whose exit did not come.
    pub unmatched_enters: u64,
    /// Exits whose entry did not come.
    pub unmatched_exits: u64,
    /// Functions that were entered.
    pub entered_functions: u64,
    /// Each function, most often entered first.
    pub functions: Vec<FunctionSeen>,
}

/// A function that reported its calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FunctionSeen {
    /// Where it is, as the trace has it.
    pub address: u32,
    /// Its name, where the firmware's symbols have it.
    pub name: Option<String>,
    /// Times entered.
    pub enters: u64,
    /// Times left.
    pub exits: u64,
    /// Both, of the same call.
    pub calls: u64,
    /// From entry to exit, what it called and what interrupted it included.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// A thread's stack.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StackSeen {
    /// The thread.
    pub id: i64,
    /// Its name, where something states it.
    pub name: Option<String>,
    /// How often its depth was reported.
    pub samples: u64,
    /// The most.
    pub peak_bytes: u64,
    /// When.
    pub peak_ns: Option<i64>,
    /// The function that reported it.
    pub peak_function: u32,
    /// That function's name, where the firmware's symbols have it.
    pub peak_name: Option<String>,
}

/// The heap: `allocations = frees + live + replaced - unknown_frees`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeapSeen {
    /// Blocks taken.
    pub allocations: u64,
    /// Allocations that gave no block.
    pub failed: u64,
    /// Blocks freed.
    pub frees: u64,
    /// Of these, blocks that nobody was seen to take.
    pub unknown_frees: u64,
    /// Blocks taken at an address that was not freed before: the call was not seen.
    pub replaced: u64,
    /// Blocks taken and not freed at the end.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// The most bytes at a time.
    pub peak_bytes: u64,
    /// When.
    pub peak_ns: Option<i64>,
    /// All bytes ever taken.
    pub total_bytes: u64,
    /// Bytes that were asked for, where the trace states them; the rest is the allocator's.
    pub requested_bytes: Option<u64>,
    /// How long freed blocks were in use, in nanoseconds.
    pub ages: Option<ValueSummary>,
    /// Where blocks come from, most live bytes first, then most bytes.
    pub sites: Vec<HeapSite>,
    /// Who takes and frees blocks, the greatest part of the peak first.
    pub threads: Vec<HeapThread>,
    /// What threads are called, where the recording itself states it.
    pub names: BTreeMap<i64, String>,
    /// Something was lost, so blocks may have been freed unseen.
    pub uncertain: bool,
}

/// Where blocks come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeapSite {
    /// The thread.
    pub thread: Option<i64>,
    /// Return addresses, the innermost first, as hex strings.
    pub callers: Vec<String>,
    /// Their functions, where the firmware's symbols have them.
    pub names: Vec<Option<String>>,
    /// Blocks taken.
    pub allocations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks not freed.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Live blocks in the middle of the trace and at its end, if they kept growing.
    pub leak: Option<(u64, u64)>,
}

/// What a thread does with the heap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeapThread {
    /// The thread, if it is known.
    pub thread: Option<i64>,
    /// Its part of the heap's peak.
    pub peak_bytes: u64,
    /// Blocks it took that are not freed.
    pub live: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Blocks it took.
    pub allocations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks it freed.
    pub frees: u64,
    /// Of these, blocks that another thread took, as far as both are known.
    pub frees_of_others: u64,
    /// Allocations that gave it no block.
    pub failed: u64,
}

/// What went over an interface in one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TransferSeen {
    /// The interface.
    pub interface: String,
    /// The direction, as the trace names it.
    pub direction: String,
    /// Begun.
    pub starts: u64,
    /// Ended.
    pub ends: u64,
    /// Begun of which no end is there, or begun again before.
    pub unmatched_starts: u64,
    /// Ended of which no beginning is there.
    pub unmatched_ends: u64,
    /// Bytes of all that ended.
    pub bytes: u64,
    /// From beginning to end, in nanoseconds.
    pub durations: Option<ValueSummary>,
}

/// Times between two named points.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimerSeen {
    /// What names it.
    pub name: String,
    /// Started.
    pub starts: u64,
    /// Stopped.
    pub stops: u64,
    /// From start to stop, in nanoseconds.
    pub durations: Option<ValueSummary>,
}

/// Times in which the tracer did something else.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PausesSeen {
    /// Begun.
    pub starts: u64,
    /// Ended.
    pub stops: u64,
    /// Both.
    pub pairs: u64,
    /// Together.
    pub total_ns: u64,
}
