//! A resolved profile without its recording: samples added up by address, as a document.
//!
//! A recording of a million samples is hundreds of megabytes and takes half a second to read; its addresses are some ten
//! thousand.

use std::path::Path;

use genba_model::{SampledAddresses, SampledRegion, SampledRegionKind};
use genba_profile::reader::{Location, LocationId, Module, ModuleId, ModuleKind, Tables};
use genba_symbols::{KernelSymbols, RecordedKernel, Symbolizer, build_id_from_hex, hex};

use crate::resolved_profile::ResolvedProfile;
use crate::sample_sums::{Histogram, Hits};

impl ResolvedProfile {
    /// Returns the samples by address. `None` where code was generated while the program ran: it is found beside the recording
    /// only.
    #[must_use]
    pub fn sampled_addresses(&self) -> Option<SampledAddresses> {
        let modules = (self.tables.modules.iter())
            .map(region)
            .collect::<Option<Vec<SampledRegion>>>()?;
        let sampled = self.tables.locations.iter().zip(&self.hits.locations);
        Some(SampledAddresses {
            event: self.event.clone(),
            command: self.command.clone(),
            modules,
            addresses: sampled
                .filter(|(_, hits)| hits.samples > 0)
                .map(|(at, hits)| (at.module.0, at.offset, hits.samples, hits.weight))
                .collect(),
            all: [self.hits.all.samples, self.hits.all.weight],
            kernel: [self.hits.kernel.samples, self.hits.kernel.weight],
            squares: [(self.hits.squares >> 64) as u64, self.hits.squares as u64],
            kernel_release: self.kernel_release.clone(),
            kernel_reference: self.tables.kernel_reference.clone(),
            notes: self.notes.clone(),
        })
    }

    /// Returns the profile of samples by address: without stacks and threads. `None` where the document contradicts itself.
    #[must_use]
    pub fn of_addresses(stored: SampledAddresses, kernel_names: bool) -> Option<Self> {
        let mut tables = Tables::default();
        tables.modules = stored
            .modules
            .into_iter()
            .map(module)
            .collect::<Option<_>>()?;
        tables.kernel_reference = stored.kernel_reference;
        let mut hits = Histogram {
            all: self::hits(stored.all),
            kernel: self::hits(stored.kernel),
            squares: u128::from(stored.squares[0]) << 64 | u128::from(stored.squares[1]),
            ..Histogram::default()
        };
        for (module, offset, samples, weight) in stored.addresses {
            if module as usize >= tables.modules.len() {
                return None;
            }
            tables.locations.push(Location {
                module: ModuleId(module),
                offset,
            });
            hits.locations.push(Hits { samples, weight });
        }
        let kernel = match kernel_names {
            true => KernelSymbols::of_recording(RecordedKernel {
                release: stored.kernel_release.clone(),
                reference: tables.kernel_reference.clone(),
            }),
            false => KernelSymbols::unwanted(),
        };
        let code = Symbolizer::new(tables.modules.clone(), kernel);
        let mut resolved = Self {
            event: stored.event,
            command: stored.command,
            places: vec![[None; 2]; tables.locations.len()],
            notes: stored.notes,
            kernel_release: stored.kernel_release,
            tables,
            hits,
            code,
            functions: Vec::new(),
            joined: None,
        };
        resolved.resolve(None);
        Some(resolved)
    }

    /// The share of samples of user code whose function is unknown.
    #[must_use]
    pub fn unnamed_share(&self) -> f64 {
        let unnamed = |id: LocationId| {
            let place = self.place(id)?;
            let function = &self.functions[place.function as usize];
            let is_named = !function.name.starts_with('[');
            (!is_named && !self.code.is_kernel(function.module)).then_some(())
        };
        let weight: u64 = (0u32..)
            .zip(&self.hits.locations)
            .filter(|(id, hits)| hits.samples > 0 && unnamed(LocationId(*id)).is_some())
            .fold(0, |sum, (_, hits)| sum.saturating_add(hits.weight));
        weight as f64 / (self.hits.all.weight as f64).max(1.0)
    }
}

fn hits([samples, weight]: [u64; 2]) -> Hits {
    Hits { samples, weight }
}

fn region(module: &Module) -> Option<SampledRegion> {
    let kind = match module.kind {
        ModuleKind::File => SampledRegionKind::File,
        ModuleKind::Kernel => SampledRegionKind::Kernel,
        ModuleKind::KernelModule => SampledRegionKind::KernelModule,
        ModuleKind::Vdso => SampledRegionKind::Vdso,
        ModuleKind::Unknown => SampledRegionKind::Unknown,
        ModuleKind::Jit | ModuleKind::Anonymous => return None,
    };
    // Copies that lie beside the recording, and move with it.
    let in_directory = Path::new(&module.path).parent().and_then(Path::extension);
    if in_directory.is_some_and(|extension| extension == "kept") {
        return None;
    }
    Some(SampledRegion {
        path: module.path.clone(),
        build_id: module.build_id.as_deref().map(hex),
        kind,
        pid: module.pid,
    })
}

fn module(region: SampledRegion) -> Option<Module> {
    let build_id = match region.build_id {
        Some(text) => Some(build_id_from_hex(&text)?),
        None => None,
    };
    Some(Module {
        path: region.path,
        build_id,
        kind: match region.kind {
            SampledRegionKind::File => ModuleKind::File,
            SampledRegionKind::Kernel => ModuleKind::Kernel,
            SampledRegionKind::KernelModule => ModuleKind::KernelModule,
            SampledRegionKind::Vdso => ModuleKind::Vdso,
            SampledRegionKind::Unknown => ModuleKind::Unknown,
        },
        pid: region.pid,
    })
}

#[cfg(test)]
mod tests {
    use genba_model::{Event, Precision};

    use super::*;

    /// Three quarters of the time at two addresses of a program that is gone, one in the kernel.
    fn stored() -> SampledAddresses {
        let region = |path: &str, kind| SampledRegion {
            path: path.to_owned(),
            build_id: (kind == SampledRegionKind::File).then(|| "0badcafe".to_owned()),
            kind,
            pid: None,
        };
        SampledAddresses {
            event: Event {
                name: "cpu-clock".to_owned(),
                hardware: false,
                frequency_hz: 1000,
                kernel: true,
                precision: Precision::Skid,
            },
            command: vec!["gone".to_owned()],
            modules: vec![
                region("/nowhere/gone", SampledRegionKind::File),
                region("[kernel]", SampledRegionKind::Kernel),
            ],
            addresses: vec![
                (0, 0x1000, 2, 50),
                (0, 0x1004, 1, 25),
                (1, 0xffff_0000, 1, 25),
            ],
            all: [4, 100],
            kernel: [1, 25],
            squares: [0, 2500],
            kernel_release: Some("6.1".to_owned()),
            kernel_reference: Some(("_text".to_owned(), 0xffff_0000)),
            notes: vec!["1 damaged record was skipped".to_owned()],
        }
    }

    #[test]
    fn document_of_a_profile_is_the_one_that_it_was_made_of() {
        let resolved = ResolvedProfile::of_addresses(stored(), false).unwrap();
        assert_eq!(resolved.sampled_addresses(), Some(stored()));
        assert!((resolved.unnamed_share() - 0.75).abs() < 1e-12);
        let share = resolved.share(25.0);
        assert!((share.value - 0.25).abs() < 1e-12 && share.high < 1.0);
    }

    #[test]
    fn address_in_a_module_that_is_missing_is_refused() {
        let mut damaged = stored();
        damaged.addresses.push((2, 0, 1, 1));
        assert!(ResolvedProfile::of_addresses(damaged, false).is_none());
        let mut damaged = stored();
        damaged.modules[0].build_id = Some("xyz".to_owned());
        assert!(ResolvedProfile::of_addresses(damaged, false).is_none());
    }

    #[test]
    fn code_beside_the_recording_has_no_document() {
        let mut resolved = ResolvedProfile::of_addresses(stored(), false).unwrap();
        resolved.tables.modules[0].path = "/a/perf.data.kept/lib.so".to_owned();
        assert_eq!(resolved.sampled_addresses(), None);
        let mut resolved = ResolvedProfile::of_addresses(stored(), false).unwrap();
        resolved.tables.modules[0].kind = ModuleKind::Jit;
        assert_eq!(resolved.sampled_addresses(), None);
    }
}
