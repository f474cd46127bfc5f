//! Ctrl-C and SIGTERM: the first ends the run and keeps what was measured; the second ends genba
//! immediately.

use std::thread;

use genba_run::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::exit_code::{Exit, Failure};

/// Returns a token that the first signal triggers.
pub fn token() -> Result<Cancel, Failure> {
    let cancel = Cancel::new()?;
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| {
        Failure::new(
            Exit::Unsupported,
            format!("cannot install signal handlers: {error}"),
        )
    })?;
    let trigger = cancel.clone();
    thread::spawn(move || {
        let mut seen = 0;
        for _ in signals.forever() {
            seen += 1;
            if seen > 1 {
                // The launcher notices that genba has ended, and ends the whole process tree.
                std::process::exit(Exit::Interrupted as i32);
            }
            trigger.trigger();
        }
    });
    Ok(cancel)
}
