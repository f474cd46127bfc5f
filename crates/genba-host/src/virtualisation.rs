//! Hypervisor and container, from facts that the edge gathers.

use crate::small_files;

/// What is known about what lies below and round this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VirtualisationFacts {
    /// CPUID's hypervisor signature.
    pub signature: Option<String>,
    /// Whether `/proc/cpuinfo` has the flag `hypervisor`.
    pub flag: bool,
    /// `/sys/hypervisor/type`.
    pub hypervisor_type: Option<String>,
    /// DMI system vendor and product, joined by a blank.
    pub dmi: Option<String>,
    /// Whether `/.dockerenv` exists.
    pub dockerenv: bool,
    /// Whether `/run/.containerenv` exists (podman).
    pub containerenv: bool,
    /// `/run/systemd/container` (written by systemd-nspawn, lxc, docker, …).
    pub systemd_container: Option<String>,
    /// `/proc/1/cgroup`.
    pub cgroup: Option<String>,
}

impl VirtualisationFacts {
    /// Reads them; `flag` comes from `/proc/cpuinfo`.
    pub(crate) fn read(flag: bool) -> Self {
        #[cfg(target_arch = "x86_64")]
        let signature = crate::hypervisor_cpuid::hypervisor_signature();
        #[cfg(not(target_arch = "x86_64"))]
        let signature = None;
        let dmi: Vec<String> = ["sys_vendor", "product_name"]
            .iter()
            .filter_map(|name| small_files::line(format!("/sys/class/dmi/id/{name}")))
            .collect();
        Self {
            signature,
            flag,
            hypervisor_type: small_files::line("/sys/hypervisor/type"),
            dmi: (!dmi.is_empty()).then(|| dmi.join(" ")),
            dockerenv: std::path::Path::new("/.dockerenv").exists(),
            containerenv: std::path::Path::new("/run/.containerenv").exists(),
            systemd_container: small_files::line("/run/systemd/container"),
            cgroup: small_files::text("/proc/1/cgroup"),
        }
    }

    /// The hypervisor's name, `unknown hypervisor` where there is one without a name.
    #[must_use]
    pub fn hypervisor(&self) -> Option<String> {
        let named = self.signature.as_deref().and_then(|signature| {
            Some(match signature {
                "KVMKVMKVM" | "Linux KVM Hv" => "kvm",
                "Microsoft Hv" => "hyper-v",
                "VMwareVMware" => "vmware",
                "XenVMMXenVMM" => "xen",
                "VBoxVBoxVBox" => "virtualbox",
                "TCGTCGTCGTCG" => "qemu (emulated)",
                "bhyve bhyve" => "bhyve",
                "ACRNACRNACRN" => "acrn",
                "lrpepyh  vr" => "parallels",
                "QNXQVMBSQG" => "qnx",
                _ => return None,
            })
        });
        if let Some(name) = named {
            return Some(name.to_owned());
        }
        if let Some(kind) = &self.hypervisor_type {
            return Some(kind.clone());
        }
        let dmi = self.dmi.as_deref().unwrap_or_default();
        let by_board = [
            ("Amazon EC2", "amazon ec2"),
            ("Google Compute Engine", "google compute engine"),
            ("QEMU", "qemu"),
            ("VMware", "vmware"),
            ("VirtualBox", "virtualbox"),
            ("KVM", "kvm"),
        ];
        // DMI alone proves nothing on a bare-metal cloud instance: it must come with the flag.
        let is_guest = self.flag || self.signature.is_some();
        if is_guest && let Some((_, name)) = by_board.iter().find(|(mark, _)| dmi.contains(mark)) {
            return Some((*name).to_owned());
        }
        is_guest.then(|| "unknown hypervisor".to_owned())
    }

    /// The container's name.
    #[must_use]
    pub fn container(&self) -> Option<String> {
        if let Some(name) = &self.systemd_container {
            return Some(name.clone());
        }
        if self.containerenv {
            return Some("podman".to_owned());
        }
        let cgroup = self.cgroup.as_deref().unwrap_or_default();
        if cgroup.contains("kubepods") {
            return Some("kubernetes".to_owned());
        }
        if self.dockerenv || cgroup.contains("/docker") {
            return Some("docker".to_owned());
        }
        if cgroup.contains("/lxc") {
            return Some("lxc".to_owned());
        }
        None
    }
}

/// `kvm`, `docker`, `kvm, docker` or nothing.
#[must_use]
pub fn virtualisation_name(facts: &VirtualisationFacts) -> Option<String> {
    let parts: Vec<String> = [facts.hypervisor(), facts.container()]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_hypervisor_and_container() {
        let facts = VirtualisationFacts {
            signature: Some("KVMKVMKVM".to_owned()),
            flag: true,
            dockerenv: true,
            ..VirtualisationFacts::default()
        };
        assert_eq!(virtualisation_name(&facts).as_deref(), Some("kvm, docker"));
    }

    #[test]
    fn bare_metal_has_none_even_with_a_cloud_vendor_on_the_board() {
        let facts = VirtualisationFacts {
            dmi: Some("Amazon EC2 c5.metal".to_owned()),
            ..VirtualisationFacts::default()
        };
        assert_eq!(virtualisation_name(&facts), None);
    }

    #[test]
    fn unnamed_hypervisor_is_reported() {
        let facts = VirtualisationFacts {
            signature: Some("Strange".to_owned()),
            ..VirtualisationFacts::default()
        };
        assert_eq!(facts.hypervisor().as_deref(), Some("unknown hypervisor"));
    }

    #[test]
    fn kubernetes_takes_precedence_over_docker() {
        let facts = VirtualisationFacts {
            dockerenv: true,
            cgroup: Some("0::/kubepods/pod1\n".to_owned()),
            ..VirtualisationFacts::default()
        };
        assert_eq!(facts.container().as_deref(), Some("kubernetes"));
    }
}
