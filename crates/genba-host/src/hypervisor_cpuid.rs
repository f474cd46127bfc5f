//! x86-64: asking the CPU which hypervisor is below (CPUID leaf 0x4000_0000).

use std::arch::x86_64::__cpuid;

/// The hypervisor's signature (`KVMKVMKVM`), if CPUID says that there is one.
///
/// Sources: Intel SDM vol. 2 "CPUID", leaf 1 ECX bit 31 (reserved for hypervisors), and the
/// convention of leaf 0x4000_0000 that KVM, Hyper-V, VMware and Xen document.
pub(crate) fn hypervisor_signature() -> Option<String> {
    const PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & PRESENT == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx]
        .into_iter()
        .flat_map(u32::to_le_bytes)
        .take_while(|&byte| byte != 0)
        .collect();
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}
