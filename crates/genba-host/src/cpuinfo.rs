//! `/proc/cpuinfo`: the first processor's entry.

/// What the first entry of `/proc/cpuinfo` says; empty or `None` where it says nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// `AuthenticAMD`, `GenuineIntel`, …; on Arm the implementer's number (`0x41`).
    pub vendor: String,
    /// Model as the kernel names it; empty on Arm.
    pub name: String,
    /// Family, decimal in the file.
    pub family: Option<u32>,
    /// Model; on Arm the part number.
    pub model: Option<u32>,
    /// Stepping; on Arm the revision.
    pub stepping: Option<u32>,
    /// Whether the CPU says that a hypervisor is below (x86 flag `hypervisor`).
    pub hypervisor: bool,
}

/// Parses the first processor's entry; later ones are taken to be alike.
#[must_use]
pub fn parse_cpuinfo(text: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    let mut seen = false;
    for line in text.lines() {
        let Some((key, value)) = line.split_once(':') else {
            // An empty line ends an entry.
            if seen {
                break;
            }
            continue;
        };
        let value = value.trim();
        match key.trim() {
            "processor" => seen = true,
            "vendor_id" | "CPU implementer" => value.clone_into(&mut info.vendor),
            "model name" => value.clone_into(&mut info.name),
            "cpu family" | "CPU architecture" => info.family = number(value),
            "model" | "CPU part" => info.model = number(value),
            "stepping" | "CPU revision" => info.stepping = number(value),
            "flags" => info.hypervisor = value.split_whitespace().any(|flag| flag == "hypervisor"),
            _ => {}
        }
    }
    info
}

/// Decimal, or hexadecimal with `0x`.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EPYC: &str = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n\
        model name\t: AMD EPYC\nstepping\t: 1\nflags\t\t: fpu vme hypervisor lahf_lm\n\n\
        processor\t: 1\nvendor_id\t: Other\n";

    #[test]
    fn only_the_first_processor_is_read() {
        let info = parse_cpuinfo(EPYC);
        assert_eq!(info.vendor, "AuthenticAMD");
        assert_eq!(info.name, "AMD EPYC");
        assert_eq!(
            (info.family, info.model, info.stepping),
            (Some(26), Some(2), Some(1))
        );
        assert!(info.hypervisor);
    }

    #[test]
    fn arm_cpuinfo_is_parsed() {
        let info = parse_cpuinfo(
            "processor\t: 0\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd0c\n",
        );
        assert_eq!((info.vendor.as_str(), info.model), ("0x41", Some(0xd0c)));
        assert!(!info.hypervisor);
    }

    proptest! {
        #[test]
        fn never_panics(text in "(?s).{0,400}") {
            let _ = parse_cpuinfo(&text);
        }
    }
}
