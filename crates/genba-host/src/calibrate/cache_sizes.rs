//! How large this CPU's data caches are.

use crate::small_files;

/// Bytes of each level, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caches {
    /// First level, data.
    pub(crate) l1: Option<u64>,
    /// Second level.
    pub(crate) l2: Option<u64>,
    /// Third level.
    pub(crate) l3: Option<u64>,
}

/// What the kernel says, else what the CPU says.
pub(crate) fn caches(cpu: usize) -> Caches {
    let base = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let mut found = Caches::default();
    for index in 0..8 {
        let file = |name: &str| small_files::line(format!("{base}/index{index}/{name}"));
        let (Some(level), Some(kind), Some(size)) = (file("level"), file("type"), file("size"))
        else {
            continue;
        };
        if kind != "Instruction" {
            found.note(
                level.parse().unwrap_or(0),
                genba_units::parse_bytes(&size).ok(),
            );
        }
    }
    #[cfg(target_arch = "x86_64")]
    for (level, size) in super::x86_64::cpuid_caches() {
        found.note(level, Some(size));
    }
    found
}

impl Caches {
    /// The first that is known of a level stays.
    fn note(&mut self, level: u32, size: Option<u64>) {
        let place = match level {
            1 => &mut self.l1,
            2 => &mut self.l2,
            3 => &mut self.l3,
            _ => return,
        };
        *place = place.or(size.filter(|&size| size > 0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_known_cache_size_is_retained() {
        let mut caches = Caches::default();
        caches.note(1, None);
        caches.note(1, Some(32 << 10));
        caches.note(1, Some(1));
        caches.note(9, Some(1));
        assert_eq!(caches.l1, Some(32 << 10));
    }
}
