//! Agents: programs that are loaded into a runtime beside what is measured there, and print what it
//! does meanwhile.
//!
//! An experiment names one in `agents`. Its source is then in the folder `{agents}`, from where the
//! experiment's build compiles it, and what it prints is among the experiment's counters and
//! values.

use std::io;
use std::path::Path;

/// An agent of a runtime.
#[derive(Debug)]
pub struct Agent {
    /// What experiments call it.
    pub name: &'static str,
    /// The file of its source.
    pub file: &'static str,
    /// Its source.
    pub text: &'static str,
    /// Counters that it prints.
    pub counters: &'static [&'static str],
    /// Values that it prints.
    pub values: &'static [&'static str],
}

/// Those that there are.
pub const ALL: [Agent; 1] = [Agent {
    name: "erlang",
    file: "strobe_agent.erl",
    text: include_str!("agents/strobe_agent.erl"),
    counters: &[
        "vm-collections",
        "vm-collected-bytes",
        "vm-reductions",
        "vm-long-schedules",
        "vm-longest-schedule-nanoseconds",
        "vm-schedulers-busy-nanoseconds",
        "vm-schedulers-busy-percent",
        "vm-schedulers-collecting-nanoseconds",
        "vm-schedulers-asleep-nanoseconds",
        "vm-dirty-schedulers-busy-nanoseconds",
        "vm-dirty-schedulers-busy-percent",
        "vm-dirty-schedulers-collecting-nanoseconds",
        "vm-dirty-schedulers-asleep-nanoseconds",
    ],
    values: &[
        "vm-lateness-nanoseconds",
        "vm-run-queue",
        "vm-dirty-run-queue",
        "vm-call-nanoseconds",
        "vm-call-reductions",
        "vm-long-schedule-nanoseconds",
    ],
}];

/// No agent has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no agent {name}; there are {}", names().join(", "))]
pub struct UnknownAgent {
    /// As given.
    pub name: String,
}

fn names() -> Vec<&'static str> {
    ALL.iter().map(|agent| agent.name).collect()
}

/// The agent of that name.
///
/// # Errors
/// If there is none: with those that there are.
pub fn named(name: &str) -> Result<&'static Agent, UnknownAgent> {
    let found = ALL.iter().find(|agent| agent.name == name);
    found.ok_or_else(|| UnknownAgent { name: name.to_owned() })
}

impl Agent {
    /// Writes its source into a folder.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join(self.file), self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that the agent does not print would make every run fail.
    #[test]
    fn agent_output_names_are_in_its_source() {
        for agent in &ALL {
            for name in agent.counters.iter().chain(agent.values) {
                let prefixed = |prefix: &str| {
                    let rest = name.strip_prefix(prefix);
                    rest.is_some_and(|rest| agent.text.contains(&format!("Name ++ \"{rest}\"")))
                };
                let is_there = agent.text.contains(&format!("\"{name}\""))
                    || prefixed("vm-schedulers")
                    || prefixed("vm-dirty-schedulers");
                assert!(is_there, "{name} of {}", agent.name);
            }
        }
    }

    #[test]
    fn one_that_is_not_there_is_an_error() {
        assert!(named("erlang").is_ok());
        let why = named("perl").expect_err("there is none").to_string();
        assert_eq!(why, "there is no agent perl; there are erlang");
    }
}
