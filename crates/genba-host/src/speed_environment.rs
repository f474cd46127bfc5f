//! What of the host affects speed, may change at any time, and is not in the fingerprint.

use std::collections::BTreeMap;

use crate::small_files;

/// Microcode, frequency governor, turbo, huge pages and randomisation of addresses, by name. What
/// cannot be read is left out.
#[must_use]
pub fn speed_environment() -> BTreeMap<String, String> {
    let microcode = small_files::text("/proc/cpuinfo")
        .and_then(|text| microcode(&text))
        .map(|value| ("microcode", value));
    let files = [
        (
            "governor",
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        ),
        ("no_turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo"),
        ("boost", "/sys/devices/system/cpu/cpufreq/boost"),
        ("smt", "/sys/devices/system/cpu/smt/active"),
        (
            "transparent_hugepage",
            "/sys/kernel/mm/transparent_hugepage/enabled",
        ),
        ("randomize_va_space", "/proc/sys/kernel/randomize_va_space"),
    ];
    (files.into_iter())
        .filter_map(|(name, path)| Some((name, small_files::line(path)?)))
        .chain(microcode)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// The microcode of the first CPU.
fn microcode(cpuinfo: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|line| line.starts_with("microcode"))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microcode_is_that_of_the_first_cpu() {
        let text = "processor\t: 0\nmicrocode\t: 0xa20\n\nprocessor\t: 1\nmicrocode\t: 0xa21\n";
        assert_eq!(microcode(text).as_deref(), Some("0xa20"));
        assert_eq!(microcode("processor: 0\n"), None);
    }
}
