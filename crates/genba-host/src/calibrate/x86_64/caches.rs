//! Cache sizes by CPUID.

use std::arch::x86_64::{__cpuid, __cpuid_count};

/// Level and bytes of each data or unified cache. Leaf 4 (Intel SDM vol. 2, "Deterministic
/// Cache Parameters") or leaf 0x8000_001D (AMD APM vol. 3, appendix E.4), which agree in form.
pub(crate) fn cpuid_caches() -> Vec<(u32, u64)> {
    let intel = __cpuid(0).eax >= 4;
    let amd = __cpuid(0x8000_0000).eax >= 0x8000_001d;
    let mut found = Vec::new();
    for leaf in [(intel, 4), (amd, 0x8000_001d)]
        .into_iter()
        .filter_map(|(there, leaf)| there.then_some(leaf))
    {
        for index in 0..8 {
            let answer = __cpuid_count(leaf, index);
            let kind = answer.eax & 0x1f;
            if kind == 0 {
                break;
            }
            let part =
                |shift: u32, bits: u32| u64::from((answer.ebx >> shift) & ((1 << bits) - 1)) + 1;
            let size = part(22, 10) * part(12, 10) * part(0, 12) * (u64::from(answer.ecx) + 1);
            // 2 is an instruction cache.
            if kind != 2 {
                found.push(((answer.eax >> 5) & 7, size));
            }
        }
    }
    found
}
