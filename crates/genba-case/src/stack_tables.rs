//! Stacks as a tree with every frame name stored once: ten thousand stacks of sixty frames
//! are a few thousand distinct names and nodes.

use std::collections::HashMap;

use genba_model::{StackNode, StackRow, StackTree};
use rusqlite::{Connection, Transaction};

/// Bound on the text that the stacks of a file may expand to. A hostile tree of n nodes can
/// expand to n² frames.
const MAX_EXPANDED_BYTES: usize = 512 << 20;

/// Replaces the stacks of the case.
pub(crate) fn write(transaction: &Transaction<'_>, rows: &[StackRow]) -> rusqlite::Result<()> {
    transaction.execute_batch("DELETE FROM stack; DELETE FROM frame;")?;
    let mut add_frame = transaction.prepare("INSERT INTO frame (id, name) VALUES (?1, ?2)")?;
    let mut add_node = transaction
        .prepare("INSERT INTO stack (id, parent, frame, weight) VALUES (?1,?2,?3,?4)")?;
    let mut frames: HashMap<&str, i64> = HashMap::new();
    let mut nodes: HashMap<(i64, i64), i64> = HashMap::new();
    // (parent, frame, own weight) by id - 1; written at the end, when the weights are known.
    let mut tree: Vec<(i64, i64, u64)> = Vec::new();
    for row in rows {
        let mut at = 0;
        for name in &row.frames {
            let next = frames.len() as i64 + 1;
            let frame = match frames.entry(name) {
                std::collections::hash_map::Entry::Occupied(known) => *known.get(),
                std::collections::hash_map::Entry::Vacant(new) => {
                    add_frame.execute((next, name))?;
                    *new.insert(next)
                }
            };
            at = *nodes.entry((at, frame)).or_insert_with(|| {
                tree.push((at, frame, 0));
                tree.len() as i64
            });
        }
        if at > 0 {
            let weight = &mut tree[at as usize - 1].2;
            *weight = weight.saturating_add(row.weight);
        }
    }
    for (index, (parent, frame, weight)) in tree.iter().enumerate() {
        // SQLite's integers are signed; a weight beyond that would be three centuries.
        let weight = i64::try_from(*weight).unwrap_or(i64::MAX);
        add_node.execute((index as i64 + 1, parent, frame, weight))?;
    }
    Ok(())
}

/// What reading can find wrong.
pub(crate) enum Failure {
    Sqlite(rusqlite::Error),
    Shape(&'static str),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Most frames that a tree may have: that many take 150 MB.
const MAX_NODES: usize = 4_000_000;
/// Most text of the names of a tree, bytes.
const MAX_NAMES_BYTES: usize = 64 << 20;
/// Longer names are cut.
const MAX_NAME_CHARS: usize = 1_000;

/// The stacks of the case as the tree that they are stored as.
pub(crate) fn read_tree(connection: &Connection) -> Result<StackTree, Failure> {
    let mut tree = StackTree::default();
    let mut numbers: HashMap<i64, u32> = HashMap::new();
    let mut bytes = 0usize;
    let mut query = connection.prepare("SELECT id, substr(name, 1, ?1) FROM frame")?;
    let mut found = query.query([MAX_NAME_CHARS as i64])?;
    while let Some(row) = found.next()? {
        let name: String = row.get(1)?;
        bytes = bytes.saturating_add(name.len() + size_of::<String>());
        if bytes > MAX_NAMES_BYTES {
            return Err(Failure::Shape("more text in its stacks than any case has"));
        }
        numbers.insert(row.get(0)?, tree.names.len() as u32);
        tree.names.push(name);
    }
    // By the ids in rising order.
    let mut ids: Vec<i64> = Vec::new();
    let mut query =
        connection.prepare("SELECT id, parent, frame, weight FROM stack ORDER BY id")?;
    let mut found = query.query([])?;
    while let Some(row) = found.next()? {
        let (id, parent, frame): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Ok(own) = u64::try_from(row.get::<_, i64>(3)?) else {
            return Err(Failure::Shape("a stack with a negative weight"));
        };
        let Some(&name) = numbers.get(&frame) else {
            return Err(Failure::Shape("a stack with a frame that has no name"));
        };
        let parent = match parent {
            0 => None,
            parent => match ids.binary_search(&parent) {
                Ok(index) => Some(index as u32),
                Err(_) => return Err(Failure::Shape("a stack whose caller is missing")),
            },
        };
        if ids.len() == MAX_NODES {
            return Err(Failure::Shape(
                "more frames in its stacks than any case has",
            ));
        }
        ids.push(id);
        tree.nodes.push(StackNode {
            parent,
            name,
            own,
            total: 0,
        });
    }
    tree.add_totals();
    Ok(tree)
}

/// The stacks of the case, in the order of the tree.
pub(crate) fn read(connection: &Connection) -> Result<Vec<StackRow>, Failure> {
    let mut frames: HashMap<i64, String> = HashMap::new();
    let mut bytes = 0usize;
    let mut query = connection.prepare("SELECT id, name FROM frame")?;
    let mut found = query.query([])?;
    while let Some(row) = found.next()? {
        let name: String = row.get(1)?;
        bytes = bytes.saturating_add(name.len());
        if bytes > MAX_EXPANDED_BYTES {
            return Err(Failure::Shape("more text in its stacks than any case has"));
        }
        frames.insert(row.get(0)?, name);
    }
    let mut nodes: HashMap<i64, (i64, i64)> = HashMap::new();
    let mut rows = Vec::new();
    let mut query =
        connection.prepare("SELECT id, parent, frame, weight FROM stack ORDER BY id")?;
    let mut found = query.query([])?;
    while let Some(row) = found.next()? {
        let (id, parent, frame): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let weight: i64 = row.get(3)?;
        let Ok(weight) = u64::try_from(weight) else {
            return Err(Failure::Shape("a stack with a negative weight"));
        };
        // A parent that came before makes the walk below end.
        if parent >= id || (parent != 0 && !nodes.contains_key(&parent)) {
            return Err(Failure::Shape("a stack whose caller is missing"));
        }
        nodes.insert(id, (parent, frame));
        if weight == 0 {
            continue;
        }
        let mut stack = Vec::new();
        let mut at = id;
        while let Some((up, frame)) = nodes.get(&at) {
            let Some(name) = frames.get(frame) else {
                return Err(Failure::Shape("a stack with a frame that has no name"));
            };
            bytes = bytes.saturating_add(name.len() + size_of::<String>());
            if bytes > MAX_EXPANDED_BYTES {
                return Err(Failure::Shape("more text in its stacks than any case has"));
            }
            stack.push(name.clone());
            at = *up;
        }
        stack.reverse();
        rows.push(StackRow {
            frames: stack,
            weight,
        });
    }
    Ok(rows)
}
