//! Reports on a terminal are as wide as it is.

use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::common::prebuilt;

/// What strobe prints on a terminal of so many columns.
fn printed(columns: u16, wanted: Option<&str>, arguments: &[&str]) -> String {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&controller).expect("granted");
    unlockpt(&controller).expect("unlocked");
    let name = ptsname(&controller, Vec::new()).expect("a name").into_string().expect("UTF-8");
    let user = File::options().read(true).write(true).open(name).expect("the other end");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&user, size).expect("a size");
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("strobe"));
    command.args(arguments).env_remove("COLUMNS").env("NO_COLOR", "1").stdin(Stdio::null());
    command.envs(wanted.map(|columns| ("COLUMNS", columns)));
    let mut child = command.stdout(user).stderr(Stdio::null()).spawn().expect("strobe starts");
    // Holds the other end, which must be closed for reading to end.
    drop(command);
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    let mut controller = File::from(controller);
    while let Ok(bytes @ 1..) = controller.read(&mut piece) {
        text.extend_from_slice(&piece[..bytes]);
    }
    assert!(child.wait().expect("strobe ends").success());
    String::from_utf8(text).expect("UTF-8").replace('\r', "")
}

fn widest(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

#[test]
fn reports_are_as_wide_as_the_terminal() {
    let firmware = prebuilt("threads");
    let report = |columns, wanted| printed(columns, wanted, &["run", &firmware, "--until", "2ms"]);
    let [narrow, usual, wide] = [64, 100, 180].map(|columns| widest(&report(columns, None)));
    assert!(narrow <= 64 && usual <= 100 && wide <= 180, "{narrow} {usual} {wide}");
    assert!(narrow < usual && usual < wide, "{narrow} {usual} {wide}");
    assert_eq!(report(0, None), report(100, None), "a terminal without a size");
    assert_eq!(report(180, Some("64")), report(64, None), "COLUMNS goes first");
}
