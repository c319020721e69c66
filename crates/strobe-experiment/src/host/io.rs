//! Bytes that children read and wrote: `/proc/self/io` (proc(5)).

use std::fs;

/// Bytes that all children that were waited for have read and written, with their own children:
/// `rchar` and `wchar`, which count pipes and caches as well as disks. `None` where the system does
/// not count them. For a process of one thread.
pub fn children() -> Option<(u64, u64)> {
    // The process's figures have those of its children; the thread's have not.
    let own = fs::read_to_string("/proc/thread-self/io").ok()?;
    let all = fs::read_to_string("/proc/self/io").ok()?;
    between(&own, &all)
}

/// What the process has beyond the thread, which read the first text before the second.
fn between(own: &str, all: &str) -> Option<(u64, u64)> {
    let field = |text: &str, name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let read = field(all, "rchar:")?.checked_sub(field(own, "rchar:")? + own.len() as u64)?;
    let written = field(all, "wchar:")?.checked_sub(field(own, "wchar:")?)?;
    Some((read, written))
}

#[cfg(test)]
mod tests {
    use super::between;

    #[test]
    fn reads_by_the_thread_itself_are_excluded() {
        let own = "rchar: 1000\nwchar: 7\nsyscr: 3\n";
        let all = format!("rchar: {}\nwchar: 57\nread_bytes: 4096\n", 1000 + own.len() + 300);
        assert_eq!(between(own, &all), Some((300, 50)));
        assert_eq!(between(own, "rchar: 1\nwchar: 9\n"), None, "less than the thread's own");
        assert_eq!(between("", ""), None);
    }
}
