//! The tables of the Firefox Profiler's processed profile, as far as they are read, of versions up to 60 or so: first each
//! thread had its own, later all of them share some.

use serde::Deserialize;

/// A number that may be missing, or −1 for none.
type Index = Option<i64>;

#[derive(Deserialize)]
pub(crate) struct Profile {
    pub(crate) meta: Meta,
    #[serde(default)]
    pub(crate) libs: Vec<Library>,
    #[serde(default)]
    pub(crate) shared: Shared,
    pub(crate) threads: Vec<Thread>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Meta {
    pub(crate) preprocessed_profile_version: Option<f64>,
    #[serde(default)]
    pub(crate) categories: Option<Vec<Category>>,
    #[serde(default)]
    pub(crate) product: Option<String>,
    #[serde(default)]
    pub(crate) arguments: Option<String>,
    /// Time between samples, milliseconds.
    #[serde(default)]
    pub(crate) interval: Option<f64>,
}

#[derive(Deserialize)]
pub(crate) struct Category {
    #[serde(default)]
    pub(crate) name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Library {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) path: Option<String>,
    /// On Linux the build id.
    #[serde(default)]
    pub(crate) code_id: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Shared {
    #[serde(default)]
    pub(crate) string_array: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) stack_table: Option<StackTable>,
    #[serde(default)]
    pub(crate) frame_table: Option<FrameTable>,
    #[serde(default)]
    pub(crate) func_table: Option<FunctionTable>,
    #[serde(default)]
    pub(crate) resource_table: Option<ResourceTable>,
    #[serde(default)]
    pub(crate) sources: Option<SourceTable>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Thread {
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) pid: Option<Id>,
    #[serde(default)]
    pub(crate) tid: Option<Id>,
    pub(crate) samples: SampleTable,
    #[serde(flatten)]
    pub(crate) own: Shared,
}

/// The id of a thread or process: a number or text.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Id {
    Number(i64),
    Text(String),
}

impl Id {
    pub(crate) fn number(&self) -> i32 {
        match self {
            Self::Number(number) => i32::try_from(*number).unwrap_or(0),
            // "1234.1" is a thread that changed its name.
            Self::Text(text) => {
                let digits = text.split('.').next().unwrap_or_default();
                digits.parse().unwrap_or(0)
            }
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SampleTable {
    #[serde(default)]
    pub(crate) stack: Vec<Index>,
    #[serde(default)]
    pub(crate) time: Option<Vec<f64>>,
    #[serde(default)]
    pub(crate) time_deltas: Option<Vec<f64>>,
    #[serde(default)]
    pub(crate) weight: Option<Vec<Option<f64>>>,
    #[serde(default)]
    pub(crate) weight_type: Option<String>,
}

#[derive(Default, Deserialize)]
pub(crate) struct StackTable {
    #[serde(default)]
    pub(crate) prefix: Vec<Index>,
    #[serde(default)]
    pub(crate) frame: Vec<Index>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FrameTable {
    #[serde(default)]
    pub(crate) func: Vec<Index>,
    #[serde(default)]
    pub(crate) address: Vec<Index>,
    #[serde(default)]
    pub(crate) inline_depth: Vec<Index>,
    #[serde(default)]
    pub(crate) category: Vec<Index>,
    #[serde(default)]
    pub(crate) line: Vec<Index>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FunctionTable {
    #[serde(default)]
    pub(crate) name: Vec<Index>,
    #[serde(default)]
    pub(crate) resource: Vec<Index>,
    #[serde(default)]
    pub(crate) file_name: Vec<Index>,
    #[serde(default)]
    pub(crate) source: Vec<Index>,
    #[serde(default)]
    pub(crate) line_number: Vec<Index>,
}

#[derive(Default, Deserialize)]
pub(crate) struct ResourceTable {
    #[serde(default)]
    pub(crate) lib: Vec<Index>,
}

#[derive(Default, Deserialize)]
pub(crate) struct SourceTable {
    #[serde(default)]
    pub(crate) filename: Vec<Index>,
}

/// The entry of a column; `None` where there is none, or −1.
pub(crate) fn at(column: &[Index], index: usize) -> Option<usize> {
    let value = column.get(index).copied().flatten()?;
    usize::try_from(value).ok()
}
