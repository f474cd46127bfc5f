//! Why the kernel refuses perf events, and the command that allows them.

use std::fmt;

/// A request that the kernel refuses in whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What cannot be measured.
    pub what: String,
    /// The reason, as far as it is known.
    pub why: String,
    /// The command that allows it, if there is one.
    pub remedy: Option<String>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.why)?;
        if let Some(remedy) = &self.remedy {
            write!(f, "\n  to allow it: {remedy}")?;
        }
        Ok(())
    }
}

/// The value of `kernel.perf_event_paranoid`, if it can be read.
#[must_use]
pub fn paranoid() -> Option<i32> {
    std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid")
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// The explanation that only user code can be measured. Levels: `perf_event_open(2)`, "paranoid".
#[must_use]
pub fn kernel_refused(paranoid: Option<i32>) -> Refusal {
    Refusal {
        what: "only user code is measured, not the kernel".to_owned(),
        why: paranoid.map_or_else(
            || "this user may not measure the kernel".to_owned(),
            |n| format!("kernel.perf_event_paranoid is {n}, so only root may measure the kernel"),
        ),
        remedy: Some("sudo sysctl kernel.perf_event_paranoid=1".to_owned()),
    }
}

/// The explanation that perf_event_open is refused.
#[must_use]
pub fn all_refused(paranoid: Option<i32>, error: &std::io::Error) -> Refusal {
    let what = "the kernel refuses perf_event_open".to_owned();
    match paranoid {
        None => Refusal {
            what,
            why: "this kernel has no perf events, or hides them (/proc/sys/kernel/perf_event_paranoid is missing)".to_owned(),
            remedy: None,
        },
        // 3 (Debian) and 4 (Ubuntu) are distributions' own levels: nothing without privileges.
        Some(n) if n > 2 => Refusal {
            what,
            why: format!("kernel.perf_event_paranoid is {n}"),
            remedy: Some("sudo sysctl kernel.perf_event_paranoid=1".to_owned()),
        },
        Some(n) => Refusal {
            what,
            why: format!(
                "{error}, though kernel.perf_event_paranoid is {n}: most likely a seccomp filter \
                 of the container"
            ),
            remedy: Some(
                "start the container with --cap-add PERFMON, or with a seccomp profile that \
                 allows perf_event_open"
                    .to_owned(),
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_has_the_paranoid_level_and_the_remedy() {
        let text = kernel_refused(Some(2)).to_string();
        assert!(text.contains("perf_event_paranoid is 2"));
        assert!(text.contains("sudo sysctl kernel.perf_event_paranoid=1"));
        let denied = std::io::Error::from_raw_os_error(libc::EPERM);
        assert!(all_refused(Some(4), &denied).to_string().contains("is 4"));
        assert!(
            all_refused(Some(1), &denied)
                .to_string()
                .contains("seccomp")
        );
    }
}
