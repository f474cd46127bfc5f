//! Pure parsers of the other files of procfs that are needed here.

/// CPU time of all CPUs together since boot, in clock ticks (`/proc/stat`, proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// Running anything: user, nice, system, interrupts (guests are inside user and nice).
    pub busy: u64,
    /// Idle, waiting for I/O included.
    pub idle: u64,
    /// Time that the hypervisor gave to others while a CPU here wanted to run.
    pub steal: u64,
}

impl CpuTicks {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.busy
            .saturating_add(self.idle)
            .saturating_add(self.steal)
    }

    /// What passed since `earlier`. The kernel's idle and steal counters can step back a
    /// little; such a step counts as zero.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            busy: self.busy.saturating_sub(earlier.busy),
            idle: self.idle.saturating_sub(earlier.idle),
            steal: self.steal.saturating_sub(earlier.steal),
        }
    }
}

/// The sum line (`cpu `) of `/proc/stat`.
#[must_use]
pub fn parse_proc_stat(text: &str) -> Option<CpuTicks> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .map(str::parse)
        .collect::<Result<_, _>>()
        .ok()?;
    let field = |index: usize| fields.get(index).copied().unwrap_or(0);
    if fields.len() < 4 {
        return None;
    }
    // user nice system idle iowait irq softirq steal guest guest_nice
    let busy = [0, 1, 2, 5, 6]
        .into_iter()
        .fold(0u64, |sum, index| sum.saturating_add(field(index)));
    Some(CpuTicks {
        busy,
        idle: field(3).saturating_add(field(4)),
        steal: field(7),
    })
}

/// A field of `/proc/meminfo` (`MemTotal`, `SwapFree`, …), bytes.
#[must_use]
pub fn parse_meminfo_bytes(text: &str, key: &str) -> Option<u64> {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let mut words = value.split_whitespace();
    let number: u64 = words.next()?.parse().ok()?;
    match words.next() {
        Some("kB") => number.checked_mul(1024),
        None => Some(number),
        Some(_) => None,
    }
}

/// `PRETTY_NAME` of an os-release file, quotes taken off (os-release(5)).
#[must_use]
pub fn parse_os_name(text: &str) -> Option<String> {
    let value = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("PRETTY_NAME="))?
        .trim();
    let quoted = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    let name = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    (!name.is_empty()).then(|| name.to_owned())
}

/// The load average over one minute and the number of runnable tasks now (`/proc/loadavg`).
#[must_use]
pub fn parse_load_average(text: &str) -> Option<(f64, u32)> {
    let mut words = text.split_whitespace();
    let load: f64 = words.next()?.parse().ok()?;
    let runnable = words.nth(2)?.split_once('/')?.0.parse().ok()?;
    (load.is_finite() && load >= 0.0).then_some((load, runnable))
}

/// Pages swapped in and out since boot (`/proc/vmstat`), added.
#[must_use]
pub fn parse_swap_pages(text: &str) -> Option<u64> {
    let field = |key: &str| -> Option<u64> {
        text.lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(' '))?
            .trim()
            .parse()
            .ok()
    };
    field("pswpin")?.checked_add(field("pswpout")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn proc_stat_counts_steal_apart_and_guests_once() {
        let ticks = parse_proc_stat("cpu  100 1 20 1000 5 2 3 40 50 1\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!(
            ticks,
            CpuTicks {
                busy: 126,
                idle: 1005,
                steal: 40
            }
        );
        assert_eq!(parse_proc_stat("cpu0 1 2 3 4\n"), None);
        assert_eq!(parse_proc_stat("cpu  1 2 x 4\n"), None);
    }

    #[test]
    fn a_counter_that_steps_back_counts_as_zero() {
        let earlier = CpuTicks {
            busy: 10,
            idle: 10,
            steal: 5,
        };
        let later = CpuTicks {
            busy: 12,
            idle: 9,
            steal: 5,
        };
        assert_eq!(
            later.since(&earlier),
            CpuTicks {
                busy: 2,
                idle: 0,
                steal: 0
            }
        );
    }

    #[test]
    fn meminfo_and_os_release() {
        let text = "MemTotal:       24684096 kB\nMemFree: 3 kB\nHugePages_Total:       7\n";
        assert_eq!(
            parse_meminfo_bytes(text, "MemTotal"),
            Some(24_684_096 * 1024)
        );
        assert_eq!(parse_meminfo_bytes(text, "HugePages_Total"), Some(7));
        assert_eq!(parse_meminfo_bytes(text, "Mem"), None);
        assert_eq!(
            parse_os_name("ID=debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n").as_deref(),
            Some("Debian GNU/Linux 12 (bookworm)")
        );
        assert_eq!(parse_os_name("PRETTY_NAME=\"\"\n"), None);
    }

    #[test]
    fn load_average_and_swap_are_parsed() {
        assert_eq!(
            parse_load_average("2.81 0.69 0.23 5/106 9004\n"),
            Some((2.81, 5))
        );
        assert_eq!(parse_load_average("NaN 0 0 1/1 1"), None);
        assert_eq!(
            parse_swap_pages("a 1\npswpin 4\npswpout 5\npswpout_x 9\n"),
            Some(9)
        );
    }

    proptest! {
        #[test]
        fn no_parser_panics(text in "(?s)(cpu |MemTotal:|PRETTY_NAME=|pswpin )?.{0,200}") {
            let _ = parse_proc_stat(&text);
            let _ = parse_meminfo_bytes(&text, "MemTotal");
            let _ = parse_os_name(&text);
            let _ = parse_load_average(&text);
            let _ = parse_swap_pages(&text);
        }
    }
}
