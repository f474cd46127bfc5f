//! Which kernel symbols a recording may be given: those of the kernel that it was made on.

use std::cell::OnceCell;

use crate::kallsyms::Kallsyms;

/// What a recording says of the kernel that it was made on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedKernel {
    /// Its release (`uname -r`), if the recording has it.
    pub release: Option<String>,
    /// A symbol and its address at the time of the recording. Kernels are loaded at another
    /// address at each boot.
    pub reference: Option<(String, u64)>,
}

/// Symbols of the running kernel, read when first asked for, if they are those of the recording.
#[derive(Debug)]
pub struct KernelSymbols {
    recorded: RecordedKernel,
    /// Why there are none, if that is known without reading them.
    refused: Option<String>,
    symbols: OnceCell<Result<Kallsyms, String>>,
}

impl KernelSymbols {
    /// The symbols for a recording made on this kernel.
    #[must_use]
    pub fn of_recording(recorded: RecordedKernel) -> Self {
        let running = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let refused = refusal(&recorded, running.trim());
        Self {
            recorded,
            refused,
            symbols: OnceCell::new(),
        }
    }

    /// None: reading them takes tens of milliseconds, and they were not asked for.
    #[must_use]
    pub fn unwanted() -> Self {
        Self {
            recorded: RecordedKernel::default(),
            refused: Some("kernel symbols were not asked for".to_owned()),
            symbols: OnceCell::new(),
        }
    }

    /// The symbols.
    ///
    /// # Errors
    /// A sentence that says why there are none.
    pub fn get(&self) -> Result<&Kallsyms, &str> {
        let loaded = self.symbols.get_or_init(|| match &self.refused {
            Some(reason) => Err(reason.clone()),
            None => {
                let symbols = Kallsyms::load().map_err(|error| error.to_string())?;
                check_boot(&self.recorded, &symbols)?;
                Ok(symbols)
            }
        });
        loaded.as_ref().map_err(String::as_str)
    }
}

/// Why symbols of the release `running` are not those of the recording.
fn refusal(recorded: &RecordedKernel, running: &str) -> Option<String> {
    let release = recorded.release.as_deref()?;
    (release != running)
        .then(|| format!("the recording is of kernel {release}, this machine runs {running}"))
}

/// Refuses symbols of another boot, in which the same kernel lies elsewhere.
fn check_boot(recorded: &RecordedKernel, symbols: &Kallsyms) -> Result<(), String> {
    match &recorded.reference {
        Some((name, address)) if symbols.address_of(name) != Some(*address) => Err(
            "the machine was rebooted since the recording: kernel addresses have changed"
                .to_owned(),
        ),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(release: Option<&str>, reference: Option<(&str, u64)>) -> RecordedKernel {
        RecordedKernel {
            release: release.map(str::to_owned),
            reference: reference.map(|(name, address)| (name.to_owned(), address)),
        }
    }

    #[test]
    fn symbols_of_another_release_are_refused() {
        assert_eq!(refusal(&recorded(Some("6.1"), None), "6.1"), None);
        assert_eq!(refusal(&recorded(None, None), "6.1"), None);
        let reason = refusal(&recorded(Some("5.10"), None), "6.1").unwrap();
        assert!(
            reason.contains("5.10") && reason.contains("6.1"),
            "{reason}"
        );
        let kernel = KernelSymbols::of_recording(recorded(Some("0.0-none"), None));
        assert!(kernel.get().unwrap_err().contains("0.0-none"));
    }

    #[test]
    fn symbols_of_another_boot_are_refused() {
        let list = "ffffffff81000000 T _stext\nffffffff81000100 t do_one\n";
        let symbols = Kallsyms::parse(list.as_bytes()).unwrap();
        let check = |reference| check_boot(&recorded(None, reference), &symbols);
        assert_eq!(check(None), Ok(()));
        assert_eq!(check(Some(("_stext", 0xffff_ffff_8100_0000))), Ok(()));
        assert!(check(Some(("_stext", 0xffff_ffff_9200_0000))).is_err());
        assert!(check(Some(("gone", 0xffff_ffff_8100_0000))).is_err());
    }

    #[test]
    fn unwanted_symbols_are_not_read() {
        assert!(KernelSymbols::unwanted().get().is_err());
    }
}
