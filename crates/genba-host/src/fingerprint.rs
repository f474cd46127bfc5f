//! The fingerprint of this host.

use genba_model::HostFingerprint;

use crate::cpuinfo::{CpuInfo, parse_cpuinfo};
use crate::procfs::{parse_meminfo_bytes, parse_os_name};
use crate::virtualisation::{VirtualisationFacts, virtualisation_name};
use crate::{affinity, microarchitecture, small_files};

/// What the fingerprint is made of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FingerprintFacts {
    /// CPU.
    pub cpu: CpuInfo,
    /// CPUs that this process may run on.
    pub cpus: u32,
    /// Physical memory, bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// Kernel release.
    pub kernel: String,
    /// Operating system's own name.
    pub os: String,
    /// Hypervisor and container.
    pub virtualisation: VirtualisationFacts,
    /// Whether hardware cycles can be sampled.
    pub hardware_counters: bool,
}

/// The fingerprint of this host. Whether hardware counters work is the sampler's knowledge, so
/// the caller says it.
///
/// What cannot be read stays empty (or 0); this never fails.
#[must_use]
pub fn fingerprint(hardware_counters: bool) -> HostFingerprint {
    let cpu = processor();
    let os = ["/etc/os-release", "/usr/lib/os-release"]
        .iter()
        .find_map(|path| parse_os_name(&small_files::text(path)?));
    fingerprint_from(&FingerprintFacts {
        cpus: affinity::allowed_cpu_count(),
        memory_bytes: small_files::text("/proc/meminfo")
            .and_then(|text| parse_meminfo_bytes(&text, "MemTotal"))
            .unwrap_or(0),
        kernel: small_files::line("/proc/sys/kernel/osrelease").unwrap_or_default(),
        os: os.unwrap_or_else(|| "Linux".to_owned()),
        virtualisation: VirtualisationFacts::read(cpu.hypervisor),
        hardware_counters,
        cpu,
    })
}

/// What `/proc/cpuinfo` says of this host's processor.
#[must_use]
pub fn processor() -> CpuInfo {
    parse_cpuinfo(&small_files::text("/proc/cpuinfo").unwrap_or_default())
}

/// The fingerprint that follows from the facts.
///
/// The id covers what decides about speed: CPU vendor, family, model, stepping and name, number
/// of CPUs, memory to the nearest 1/2 GiB (a kernel's reserve changes `MemTotal` a little),
/// kernel release, hypervisor. It leaves out the distribution's name, the container and the
/// right to use counters.
#[must_use]
pub fn fingerprint_from(facts: &FingerprintFacts) -> HostFingerprint {
    const HALF_GIB: u64 = 1 << 29;
    let cpu = &facts.cpu;
    let part = |value: Option<u32>| value.map_or_else(String::new, |value| value.to_string());
    let speed = [
        cpu.vendor.clone(),
        part(cpu.family),
        part(cpu.model),
        part(cpu.stepping),
        cpu.name.clone(),
        facts.cpus.to_string(),
        (facts.memory_bytes.saturating_add(HALF_GIB / 2) / HALF_GIB).to_string(),
        facts.kernel.clone(),
        facts.virtualisation.hypervisor().unwrap_or_default(),
    ];
    let name = if cpu.name.is_empty() {
        [
            microarchitecture(cpu).to_owned(),
            std::env::consts::ARCH.to_owned(),
        ]
        .into_iter()
        .find(|name| !name.is_empty())
        .unwrap_or_default()
    } else {
        cpu.name.clone()
    };
    HostFingerprint {
        id: short_hash(&speed),
        cpu: name,
        microarchitecture: microarchitecture(cpu).to_owned(),
        cpus: facts.cpus,
        memory_bytes: facts.memory_bytes,
        kernel: facts.kernel.clone(),
        os: facts.os.clone(),
        virtualisation: virtualisation_name(&facts.virtualisation),
        hardware_counters: facts.hardware_counters,
    }
}

/// FNV-1a (64 bit) over the parts, each ended by a byte that no part contains; 12 hexadecimal
/// digits. Written out here because an id must mean the same in every version.
fn short_hash(parts: &[String]) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for part in parts {
        for byte in part.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{:012x}", hash >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> FingerprintFacts {
        FingerprintFacts {
            cpu: parse_cpuinfo(
                "processor: 0\nvendor_id: AuthenticAMD\ncpu family: 26\nmodel: 2\nmodel name: AMD EPYC\nstepping: 1\n",
            ),
            cpus: 2,
            memory_bytes: 24_684_096 * 1024,
            kernel: "6.1.0".to_owned(),
            os: "Debian".to_owned(),
            ..FingerprintFacts::default()
        }
    }

    #[test]
    fn the_id_is_stable_and_covers_what_decides_about_speed() {
        let id = fingerprint_from(&facts()).id;
        assert_eq!(id.len(), 12);
        // Fixed for ever: stored cases are compared by it.
        assert_eq!(id, "cd2b0c5cd492");
        let mut same = facts();
        same.os = "Another".to_owned();
        same.hardware_counters = true;
        same.virtualisation.dockerenv = true;
        same.memory_bytes -= 1 << 20;
        assert_eq!(fingerprint_from(&same).id, id);
        let changes: [fn(&mut FingerprintFacts); 5] = [
            |facts| facts.cpus = 3,
            |facts| facts.kernel.push('1'),
            |facts| facts.memory_bytes *= 2,
            |facts| facts.virtualisation.flag = true,
            |facts| facts.cpu.stepping = Some(2),
        ];
        for change in changes {
            let mut other = facts();
            change(&mut other);
            assert_ne!(fingerprint_from(&other).id, id);
        }
    }

    #[test]
    fn adjacent_fields_do_not_collide_in_the_id() {
        let hash = |parts: &[&str]| {
            short_hash(
                &parts
                    .iter()
                    .map(|part| (*part).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
    }

    #[test]
    fn this_host_has_a_fingerprint() {
        let host = fingerprint(false);
        assert!(host.cpus >= 1);
        assert!(!host.cpu.is_empty());
        assert_eq!(host.id, fingerprint(true).id);
        eprintln!("{host:?}");
    }
}
