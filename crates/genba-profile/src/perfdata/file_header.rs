//! The header of a file: events, feature sections, and where the records are.

use std::ops::Range;

use super::attr::Attr;
use super::byte_cursor::Cursor;
use super::feature_sections::{Features, FileEvent, bit, numbers};
use super::record::{Raw, kind};
use crate::error::ReadError;

/// Size of the header of a file that is not a pipe's.
pub const HEADER_SIZE: usize = 104;
/// First bytes of every little-endian file.
pub const MAGIC: &[u8; 8] = b"PERFILE2";

/// The parts of a file.
#[derive(Clone, Debug)]
pub struct Structure {
    /// Events, at least one.
    pub events: Vec<FileEvent>,
    /// Description of host and command.
    pub features: Features,
    /// The bytes that contain the records.
    pub data: Range<usize>,
    /// Why the end is missing, if it is.
    pub cut_short: Option<String>,
}

/// Parses the header of a recording; `name` is for messages.
///
/// # Errors
/// When the data is not perf.data, or describes no event.
pub fn parse(data: &[u8], name: &str) -> Result<Structure, ReadError> {
    let not = || ReadError::NotARecording(name.to_owned());
    let mut c = Cursor::new(data);
    let magic = c.take(8).ok_or_else(not)?;
    if magic == b"2ELIFREP" {
        return Err(ReadError::BigEndian(name.to_owned()));
    }
    if magic != MAGIC {
        return Err(not());
    }
    let damaged = |what: &str| ReadError::Damaged {
        name: name.to_owned(),
        what: what.to_owned(),
    };
    let header_size = c
        .u64()
        .ok_or_else(|| damaged("it ends within its header"))?;
    let mut out = if header_size == 16 {
        pipe(data)
    } else {
        regular(data, c).ok_or_else(|| damaged("it ends within its header or attributes"))?
    };
    // The event descriptions have the names. They are matched by id, else by order.
    let described = std::mem::take(&mut out.features.events);
    if out.events.is_empty() {
        out.events = described;
    } else {
        for (index, event) in out.events.iter_mut().enumerate() {
            let same_id = described
                .iter()
                .find(|d| !d.ids.is_empty() && d.ids.first() == event.ids.first());
            let found = same_id.or_else(|| described.get(index));
            if event.name.is_none() {
                event.name = found.and_then(|d| d.name.clone());
            }
        }
    }
    if out.events.is_empty() {
        return Err(damaged("it describes no event"));
    }
    Ok(out)
}

fn section(c: &mut Cursor<'_>) -> Option<(u64, u64)> {
    Some((c.u64()?, c.u64()?))
}

fn slice(data: &[u8], (offset, size): (u64, u64)) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    data.get(start..end)
}

fn regular(data: &[u8], mut c: Cursor<'_>) -> Option<Structure> {
    let attr_size = usize::try_from(c.u64()?).ok()?;
    let attrs = section(&mut c)?;
    let records = section(&mut c)?;
    section(&mut c)?; // event types, of no use since Linux 3
    let bits = [c.u64()?, c.u64()?, c.u64()?, c.u64()?];

    let body = attr_size.checked_sub(16).filter(|&n| n >= Attr::MIN_SIZE)?;
    let mut events = Vec::new();
    // Attributes may share a list of ids, so the total is bounded by the file's size.
    let mut ids_left = data.len() / 8;
    for entry in slice(data, attrs)?.chunks_exact(attr_size) {
        let mut ids = Cursor::new(&entry[body..]);
        let ids = slice(data, section(&mut ids)?).unwrap_or(&[]);
        let ids = &ids[..ids.len().min(ids_left * 8)];
        ids_left -= ids.len() / 8;
        events.push(FileEvent {
            attr: Attr::parse(&entry[..body])?,
            name: None,
            ids: numbers(ids),
        });
    }

    let start = usize::try_from(records.0)
        .ok()
        .filter(|&s| s <= data.len())?;
    let end = usize::try_from(records.1)
        .ok()
        .and_then(|size| start.checked_add(size))
        .filter(|&end| end <= data.len() && records.1 != 0);
    let mut features = Features::default();
    let mut cut_short = None;
    if let Some(end) = end {
        let mut table = Cursor::new(&data[end..]);
        for number in (0..bit::END).filter(|n| bits[(n / 64) as usize] >> (n % 64) & 1 == 1) {
            let Some(content) = section(&mut table) else {
                cut_short = Some("the file ends before its description of the machine".to_owned());
                break;
            };
            if let Some(content) = slice(data, content) {
                features.add(number, content);
            }
        }
    } else if records.1 == 0 && bits == [0; 4] {
        cut_short = Some("the recorder was killed before it could close the file".to_owned());
    } else {
        cut_short = Some(format!(
            "the file has {} of the {} bytes of records that it should have",
            data.len() - start,
            records.1
        ));
    }
    Some(Structure {
        events,
        features,
        data: start..end.unwrap_or(data.len()),
        cut_short,
    })
}

/// Parses the stream form, whose events are described by records before the kernel's first.
fn pipe(data: &[u8]) -> Structure {
    let mut events = Vec::new();
    let mut features = Features::default();
    let mut at = 16;
    while let Some((raw, size)) = data.get(at..).and_then(Raw::parse) {
        match raw.kind {
            kind::HEADER_ATTR => {
                if let Some(event) = header_attr(raw.body) {
                    events.push(event);
                }
            }
            kind::HEADER_FEATURE => {
                let mut c = Cursor::new(raw.body);
                if let Some(number) = c.u64().and_then(|n| u32::try_from(n).ok()) {
                    features.add(number, c.rest());
                }
            }
            kind if kind < kind::USER_FIRST => break,
            _ => {}
        }
        at += size + trailing(&raw);
    }
    Structure {
        events,
        features,
        data: 16.min(data.len())..data.len(),
        cut_short: None,
    }
}

fn header_attr(body: &[u8]) -> Option<FileEvent> {
    let attr = Attr::parse(body)?;
    let size = (u32::from_le_bytes(body.get(4..8)?.try_into().ok()?) as usize).max(Attr::MIN_SIZE);
    Some(FileEvent {
        attr,
        name: None,
        ids: numbers(body.get(size..)?),
    })
}

/// The number of bytes after a record that belong to it but are not in its size.
#[must_use]
pub fn trailing(raw: &Raw<'_>) -> usize {
    let mut c = Cursor::new(raw.body);
    match raw.kind {
        kind::HEADER_TRACING_DATA => c.u32().map_or(0, |n| n as usize),
        kind::AUXTRACE => c.u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0),
        _ => 0,
    }
}
