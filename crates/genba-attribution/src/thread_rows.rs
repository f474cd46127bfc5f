//! Rows of threads with the names of their processes.

use std::collections::HashMap;

use genba_model::ThreadRow;

/// Returns the rows by share, with the names of their processes. They come in the order in which the recording names them: a
/// process has the name that its first thread had last, after the last exec.
pub(crate) fn by_share(rows: impl Iterator<Item = ThreadRow>) -> Vec<ThreadRow> {
    let mut rows: Vec<ThreadRow> = rows.collect();
    let mut names: HashMap<i32, String> = HashMap::new();
    for row in rows
        .iter()
        .filter(|row| row.tid == row.pid && !row.name.is_empty())
    {
        names.insert(row.pid, row.name.clone());
    }
    for row in &mut rows {
        // Of a first thread without samples the name is not known.
        let name = names.entry(row.pid).or_insert_with(|| row.name.clone());
        row.process.clone_from(name);
    }
    rows.sort_by(|a, b| {
        (b.self_share.value.total_cmp(&a.self_share.value)).then(a.tid.cmp(&b.tid))
    });
    rows
}

#[cfg(test)]
mod tests {
    use genba_model::Estimate;

    use super::*;

    #[test]
    fn process_has_the_name_of_its_first_thread_after_the_last_exec() {
        let row = |pid, tid, name: &str, share| ThreadRow {
            pid,
            tid,
            name: name.to_owned(),
            process: String::new(),
            self_share: Estimate::exact(share),
        };
        let rows = [
            row(7, 7, "pyenv", 0.1),
            row(7, 9, "worker", 0.3),
            row(7, 7, "python3", 0.4),
            row(8, 11, "pool", 0.2),
        ];
        let rows = by_share(rows.into_iter());
        let names: Vec<(&str, &str)> = (rows.iter())
            .map(|row| (row.name.as_str(), row.process.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("python3", "python3"),
                ("worker", "python3"),
                ("pool", "pool"),
                ("pyenv", "python3")
            ]
        );
    }
}
