//! Language runtimes: interpreted functions, the runtime's own metrics, live views.
//!
//! **Scope.** The functions of the last moments ([`live_view`]), by name ([`function_names`]);
//! functions of interpreted languages beside the native stack ([`script`]); the metrics that a
//! runtime reports of itself ([`shim`]).
//!
//! **Not here.** Shares, intervals and tables; recording native samples.

pub mod function_names;
pub mod live_view;
pub mod script;
pub mod shim;
