//! The vDSO: code that the kernel maps into every process, with no file behind it.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::FileExt;

use crate::binary::Binary;
use crate::error::CodeError;

/// Largest image that is believed; real ones are a few pages.
const MAX_SIZE: u64 = 1 << 20;

impl Binary {
    /// The vDSO of this process, which is that of every 64-bit process on this machine;
    /// `None` if the kernel gives none.
    ///
    /// # Errors
    /// [`CodeError::Read`] if `/proc/self` cannot be read, [`CodeError::NotElf`] if the image
    /// is no ELF file.
    pub fn vdso() -> Result<Option<Self>, CodeError> {
        let at = |path: &'static str| {
            move |source| CodeError::Read {
                path: path.into(),
                source,
            }
        };
        let maps = File::open("/proc/self/maps").map_err(at("/proc/self/maps"))?;
        let mut range = None;
        for line in BufReader::new(maps).lines() {
            let line = line.map_err(at("/proc/self/maps"))?;
            if line.ends_with("[vdso]") {
                range = parse_range(&line);
                break;
            }
        }
        let Some((start, end)) = range else {
            return Ok(None);
        };
        let size = end.saturating_sub(start).min(MAX_SIZE);
        let mut image = vec![0; size as usize];
        File::open("/proc/self/mem")
            .and_then(|memory| memory.read_exact_at(&mut image, start))
            .map_err(at("/proc/self/mem"))?;
        Self::from_bytes(image, "[vdso]").map(Some)
    }
}

fn parse_range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_clock_gettime() {
        let Some(vdso) = Binary::vdso().unwrap() else {
            genba_testing::skip(
                "names_clock_gettime",
                genba_testing::MACHINE,
                "this kernel maps no vDSO",
            );
            return;
        };
        let found = vdso.find("__vdso_clock_gettime");
        assert_eq!(found.len(), 1, "{:?}", vdso.symbols().collect::<Vec<_>>());
        let inside = vdso.symbol_at(found[0].address).unwrap();
        assert_eq!(inside.address, found[0].address);
    }
}
