//! Parses `/proc/PID/stat` and `/proc/PID/io`, and finds descendants. Pure.

/// A process as `/proc` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Process id.
    pub pid: i32,
    /// Its parent.
    pub parent: i32,
    /// Whether it is more than a zombie.
    pub alive: bool,
    /// Whether it descends from the launcher; set by [`mark_descendants`].
    pub ours: bool,
}

/// Reads the beginning of `/proc/PID/stat`: `PID (name) STATE PARENT …`. The name may hold
/// anything, parentheses and line ends too, so what counts is what follows the last `)`.
pub fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let mut fields = stat.get(close + 1..)?.split(|&byte| byte == b' ').skip(1);
    let state = *fields.next()?.first()?;
    let parent = number(fields.next()?)?;
    let alive = !matches!(state, b'Z' | b'X' | b'x');
    Some(Process {
        pid,
        parent,
        alive,
        ours: false,
    })
}

/// Bytes that reading calls returned, of the text of `/proc/PID/io`.
pub fn bytes_read(io: &[u8]) -> Option<u64> {
    let mut lines = io.split(|&byte| byte == b'\n');
    let digits = lines.find_map(|line| line.strip_prefix(b"rchar: "))?;
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |value, &digit| {
        let digit = digit.checked_sub(b'0').filter(|&digit| digit < 10)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// A decimal process id.
pub fn number(digits: &[u8]) -> Option<i32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0i32, |value, &digit| {
        let digit = digit.checked_sub(b'0').filter(|&digit| digit < 10)?;
        value.checked_mul(10)?.checked_add(i32::from(digit))
    })
}

/// Marks the descendants of `root`. The table is in the order of process ids, as `/proc`
/// lists them; a parent's id may be larger than its child's once ids have wrapped, hence the
/// passes until nothing changes.
pub fn mark_descendants(table: &mut [Process], root: i32) {
    loop {
        let mut changed = false;
        for index in 0..table.len() {
            let Some(&Process {
                parent,
                ours: false,
                ..
            }) = table.get(index)
            else {
                continue;
            };
            let ours = parent == root
                || (table.binary_search_by_key(&parent, |process| process.pid))
                    .is_ok_and(|at| table.get(at).is_some_and(|process| process.ours));
            if let Some(process) = table.get_mut(index).filter(|_| ours) {
                process.ours = true;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}
