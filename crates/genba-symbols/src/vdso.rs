//! The vDSO: code that the kernel maps into every process, with no file behind it.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::binary::Binary;
use crate::error::SymbolsError;
use crate::proc_maps;

/// Largest image that is believed; real ones are a few pages.
const MAX_SIZE: u64 = 1 << 20;

/// The image of the vDSO of this process; `None` if the kernel gives none.
///
/// # Errors
/// [`SymbolsError::Read`] if `/proc/self` cannot be read.
pub fn vdso_image() -> Result<Option<Vec<u8>>, SymbolsError> {
    let at = |path: &'static str| {
        move |source| SymbolsError::Read {
            path: path.into(),
            source,
        }
    };
    let mappings = proc_maps::own_mappings().map_err(at("/proc/self/maps"))?;
    let Some(vdso) = mappings.iter().find(|mapping| mapping.path == "[vdso]") else {
        return Ok(None);
    };
    let mut image = vec![0; vdso.end.saturating_sub(vdso.start).min(MAX_SIZE) as usize];
    File::open("/proc/self/mem")
        .and_then(|memory| memory.read_exact_at(&mut image, vdso.start))
        .map_err(at("/proc/self/mem"))?;
    Ok(Some(image))
}

impl Binary {
    /// The vDSO of this process, which is that of every 64-bit process on this machine;
    /// `None` if the kernel gives none.
    ///
    /// # Errors
    /// [`SymbolsError::Read`] if `/proc/self` cannot be read, [`SymbolsError::NotElf`] if the
    /// image is not an ELF file.
    pub fn vdso() -> Result<Option<Self>, SymbolsError> {
        let image = vdso_image()?;
        image
            .map(|image| Self::from_bytes(image, "[vdso]"))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vdso_has_clock_gettime() {
        let Some(vdso) = Binary::vdso().unwrap() else {
            genba_testing::skip(
                "vdso_has_clock_gettime",
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
