//! What would be gone when a recording is read: generated code, and libraries that a compiler at
//! run time wrote, loaded and deleted.
//!
//! While recording, a [`Keeper`] watches the processes of the target. Beside the recording, in
//! `RECORDING.kept/`, it leaves for each process that generated code an ELF file with its names
//! and (as far as it could be read) its bytes, with an index of what stood where and when; and
//! copies of shared objects and C files from the directory for temporary files whose names hold
//! the number of one of these processes. [`Kept`] is that directory as the reader sees it.

mod image;
mod index;
mod jitdump;
mod keeper;
mod lines;
mod process;
mod read;
mod watch;

pub use index::directory_of;
pub use keeper::Keeper;
pub use read::Kept;

pub(crate) use read::Generated;
