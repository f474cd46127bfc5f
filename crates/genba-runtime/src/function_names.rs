//! Names of places in recordings, as live views and script profiles show them.

use genba_profile::Recording;
use genba_profile::reader::{Location, Tables};
use genba_symbols::{KernelSymbols, RecordedKernel, Symbolizer};

/// A function by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionName {
    /// The function; the address of its code in brackets where there is no symbol.
    pub function: String,
    /// Path of the module, or `[kernel]`, `[jit]`, `[anonymous]` …
    pub module: String,
    /// Whether its code runs in the kernel.
    pub kernel: bool,
}

/// Names places of recordings that are read again and again: modules stay open.
#[derive(Debug, Default)]
pub struct FunctionNames {
    symbolizer: Option<Symbolizer>,
}

impl FunctionNames {
    /// The name of a place in a recording; `return_address` looks at the byte before it.
    pub fn of(
        &mut self,
        recording: &Recording,
        tables: &Tables,
        location: Location,
        return_address: bool,
    ) -> FunctionName {
        let symbolizer = self.symbolizer.get_or_insert_with(|| {
            let kernel = RecordedKernel {
                release: recording.info().os_release.clone(),
                reference: tables.kernel_reference.clone(),
            };
            Symbolizer::new(Vec::new(), KernelSymbols::of_recording(kernel))
        });
        let module = tables.module(location.module);
        let id = symbolizer.add(module);
        let offset = location.offset.saturating_sub(return_address.into());
        let function = symbolizer.function_at(id, symbolizer.address(id, offset));
        FunctionName {
            // Addresses without a symbol are one row, not one each.
            function: function.map_or_else(|| "[unknown]".to_owned(), |function| function.name),
            module: module.display_name().to_owned(),
            kernel: module.is_kernel(),
        }
    }
}
