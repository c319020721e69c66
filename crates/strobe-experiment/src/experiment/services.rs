//! What must be up while an experiment runs: servers and their like, each in a folder of its own
//! that begins empty, each on a port of the loopback interface that nobody else has.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Error, Run};
use crate::file::ServiceFile;
use crate::host::{self, Command, Running};
use crate::placeholders::Names;

/// How often a service gets another port, after somebody else took the one it was given.
const PORTS: usize = 3;
/// Bytes that a file may have which a service writes.
const FILE_LIMIT: u64 = 4 << 30;

/// Those that are up, in the order in which they were started.
#[derive(Default)]
pub(super) struct Services {
    up: Vec<Up>,
}

struct Up {
    name: String,
    folder: PathBuf,
    running: Running,
}

impl Services {
    /// Why one that has ended by itself makes every further figure worthless.
    pub fn broken(&mut self) -> Option<Error> {
        let ended = self.up.iter_mut().find_map(|up| up.running.has_ended().then_some(up))?;
        let how = ended.running.ended().map_or_else(String::new, |ended| format!(" ({ended})"));
        Some(Error::Failed {
            what: format!("service {}", ended.name),
            why: format!("ended by itself while it was needed{how}; what was measured is kept"),
            errors: host::tail(&ended.folder.join("errors"), 8).unwrap_or_default(),
        })
    }

    /// Ends them, the last one first, and removes what they have written.
    pub fn stop(mut self) {
        while let Some(up) = self.up.pop() {
            up.running.stop();
            let _ = std::fs::remove_dir_all(up.folder);
        }
    }
}

impl Drop for Services {
    /// Also where a later one does not get ready; what they have written stays, to be looked at.
    fn drop(&mut self) {
        while let Some(up) = self.up.pop() {
            up.running.stop();
        }
    }
}

/// What became of a start.
enum Start {
    Ready(Box<Up>),
    /// Somebody else has its port.
    Taken(Error),
}

impl Run<'_> {
    pub(super) fn services(
        &self,
        names: &mut Names,
        show: &mut dyn FnMut(&str),
    ) -> Result<Services, Error> {
        let mut services = Services::default();
        // Later ones may name ports of earlier ones, and the other way round.
        for service in &self.file.service {
            let folder = self.fresh(&service.name)?;
            names.insert(format!("{}.folder", service.name), folder.display().to_string());
            names.insert(format!("{}.port", service.name), free_port()?.to_string());
        }
        for service in &self.file.service {
            show(&format!("starting {}", service.name));
            let mut tries = 1..=PORTS;
            services.up.push(loop {
                let last = tries.next() == Some(PORTS);
                match self.service(service, names)? {
                    Start::Ready(up) => break *up,
                    Start::Taken(error) if last => return Err(error),
                    Start::Taken(_) => {
                        self.fresh(&service.name)?;
                        names.insert(format!("{}.port", service.name), free_port()?.to_string());
                    }
                }
            });
        }
        Ok(services)
    }

    /// An empty folder: what an earlier run has left would be measured as well.
    fn fresh(&self, name: &str) -> Result<PathBuf, Error> {
        let folder = self.kept.join("services").join(name);
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(Error::Io(folder.display().to_string(), error))
            }
            _ => self.made(&format!("services/{name}")),
        }
    }

    fn service(&self, service: &ServiceFile, names: &Names) -> Result<Start, Error> {
        let value = |what: &str| names.get(&format!("{}.{what}", service.name));
        let folder = value("folder").map(PathBuf::from).unwrap_or_default();
        let port = value("port").and_then(|port| port.parse().ok()).unwrap_or(0);
        let limit = Duration::from_secs(service.timeout_seconds);
        if let Some(prepare) = &service.prepare {
            self.once(&format!("preparing {}", service.name), prepare, names, limit)?;
        }
        let errors = folder.join("errors");
        let command = Command {
            errors: Some(errors.clone()),
            grace_ms: 10_000,
            file_limit: Some(FILE_LIMIT),
            ..self.command(&service.start, names)
        };
        let mut running = host::start(self.host, &command)
            .map_err(|error| Error::Io(service.name.clone(), error))?;
        let begin = Instant::now();
        loop {
            let failed = |why: String| Error::Failed {
                what: format!("service {}", service.name),
                why,
                errors: host::tail(&errors, 8).unwrap_or_default(),
            };
            if running.has_ended() {
                let how = running.ended().map_or_else(String::new, |ended| format!(" ({ended})"));
                let error = failed(format!("ended before it was ready{how}"));
                return if is_taken(port) { Ok(Start::Taken(error)) } else { Err(error) };
            }
            match self.once("ready", &service.ready, names, Duration::from_secs(5)) {
                Ok(()) => {
                    let name = service.name.clone();
                    return Ok(Start::Ready(Box::new(Up { name, folder, running })));
                }
                Err(Error::Stopped) => return Err(Error::Stopped),
                Err(error) if begin.elapsed() > limit => {
                    return Err(failed(format!("not ready in time; {error}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

/// A port of the loopback interface that nobody has at this moment.
fn free_port() -> Result<u16, Error> {
    let bound = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    bound.map(|at| at.port()).map_err(|error| Error::Io("no free port".to_owned(), error))
}

/// Whether somebody listens there.
fn is_taken(port: u16) -> bool {
    let bound = TcpListener::bind(("127.0.0.1", port));
    bound.is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}
