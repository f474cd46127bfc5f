//! The memory that kernels work on.

use rustix::io;

use super::cache_sizes::Caches;
use super::executable_memory::Data;
use super::pointer_chase::{Cycle, LINE};
use super::x86_64::{DIRECTIONS, DIRECTIONS_START, PLACE, Region, SCRATCH, write_constants};
use crate::procfs::parse_meminfo_bytes;
use crate::small_files;

/// All regions.
pub(super) struct Regions {
    scratch: Data,
    alternating: Data,
    random: Data,
    /// Working sets of L1, L2, L3 and memory; those missing whose cache is unknown or for which
    /// there is no room.
    pub(super) chases: [Option<Data>; 4],
}

impl Regions {
    pub(super) fn new(caches: &Caches) -> io::Result<Self> {
        let mut scratch = Data::new(SCRATCH, true)?;
        write_constants(scratch.bytes_mut());
        let chase = |size: Option<usize>| -> Option<Data> {
            // Too little memory: the entry is omitted.
            chase(size?).ok()
        };
        Ok(Self {
            scratch,
            alternating: directions(|_| 0b1010_1010)?,
            random: directions(random)?,
            chases: working_sets(caches, available_bytes()).map(chase),
        })
    }

    /// The region of a kernel.
    pub(super) fn data(&self, region: Region) -> Option<&Data> {
        match region {
            Region::Scratch => Some(&self.scratch),
            Region::Chase(level) => self
                .chases
                .get(usize::from(level).checked_sub(1)?)?
                .as_ref(),
            Region::Alternating => Some(&self.alternating),
            Region::Random => Some(&self.random),
        }
    }
}

/// Bytes of the working sets that are surely in L1, in L2, in L3, and mostly in none.
fn working_sets(caches: &Caches, available: u64) -> [Option<usize>; 4] {
    let size = |bytes: u64| usize::try_from(bytes).ok();
    let power = |bytes: u64| 1_u64 << bytes.max(4096).ilog2();
    // Half of L1; half of L2; of L3 a part that is larger than L2 but may be shared.
    let l1 = power(caches.l1.unwrap_or(32 << 10) / 2);
    let l2 = caches.l2.map(|l2| power(l2 / 2)).filter(|&l2| l2 > 2 * l1);
    let l3 = caches.l3.and_then(|l3| {
        let inner = caches.l2.unwrap_or(l1);
        let wanted = power((inner * 4).min(l3 / 2));
        (wanted >= inner * 3 / 2).then_some(wanted)
    });
    let last = caches.l3.or(caches.l2).or(caches.l1).unwrap_or(8 << 20);
    let memory = power(last.saturating_mul(4).clamp(64 << 20, 256 << 20));
    // Copies take as much again.
    let memory = (memory <= available / 4).then_some(memory);
    [Some(l1), l2, l3, memory].map(|bytes| bytes.and_then(size))
}

fn chase(size: usize) -> io::Result<Data> {
    let mut data = Data::new(size, true)?;
    let base = data.start() as u64;
    let bytes = data.bytes_mut();
    Cycle::within(size / LINE).write(bytes, base);
    bytes[PLACE as usize..PLACE as usize + 8].copy_from_slice(&base.to_le_bytes());
    Ok(data)
}

fn directions(direction: impl Fn(u64) -> u8) -> io::Result<Data> {
    let start = DIRECTIONS_START as usize;
    let mut data = Data::new(start + DIRECTIONS, true)?;
    for (number, place) in data.bytes_mut()[start..start + DIRECTIONS]
        .iter_mut()
        .enumerate()
    {
        *place = direction(number as u64);
    }
    Ok(data)
}

/// A byte of SplitMix64 (Steele, Lea, Flood 2014): no predictor knows it, and it is the same in
/// every run.
fn random(number: u64) -> u8 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z >> 56) as u8
}

/// Memory that may be had without pushing anything out: the system's, and what the control
/// groups (version 2) above this process leave.
fn available_bytes() -> u64 {
    let system = small_files::text("/proc/meminfo")
        .and_then(|text| parse_meminfo_bytes(&text, "MemAvailable"))
        .unwrap_or(0);
    let group = small_files::text("/proc/self/cgroup").unwrap_or_default();
    let path = group.lines().find_map(|line| line.strip_prefix("0::/"));
    let mut left = system;
    let mut path = path.unwrap_or_default();
    loop {
        let file = |name: &str| small_files::number(format!("/sys/fs/cgroup/{path}/{name}"));
        if let (Some(most), Some(used)) = (file("memory.max"), file("memory.current")) {
            left = left.min(most.saturating_sub(used));
        }
        match path.rsplit_once('/') {
            Some((above, _)) => path = above,
            None if path.is_empty() => return left,
            None => path = "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn working_sets_lie_between_the_caches() {
        let zen5 = Caches {
            l1: Some(48 << 10),
            l2: Some(1 << 20),
            l3: Some(32 << 20),
        };
        assert_eq!(
            working_sets(&zen5, 16 << 30),
            [
                Some(16 << 10),
                Some(512 << 10),
                Some(4 << 20),
                Some(128 << 20)
            ]
        );
        assert_eq!(working_sets(&zen5, 400 << 20)[3], None);
        let skylake_server = Caches {
            l1: Some(32 << 10),
            l2: Some(1 << 20),
            l3: Some(1_441_792),
        };
        // A share of L3 that is smaller than L2 cannot be told from it.
        assert_eq!(working_sets(&skylake_server, 16 << 30)[2], None);
        let unknown = working_sets(&Caches::default(), 16 << 30);
        assert_eq!(unknown[1..3], [None, None]);
    }

    #[test]
    fn directions_are_balanced() {
        let ones: u32 = (0..1 << 13).map(|number| random(number).count_ones()).sum();
        assert!((32_000..33_600).contains(&ones), "{ones}");
    }
}
