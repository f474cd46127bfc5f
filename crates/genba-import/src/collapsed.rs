//! Collapsed stacks: `outer;inner weight`, a stack a line, as stackcollapse-perf, inferno, async-profiler and
//! py-spy write them.
//!
//! Suffixes of names say what code it is (`_[k]` kernel, `_[i]` inlined, `_[j]` compiled, as
//! `stackcollapse-perf --all` and async-profiler have them); py-spy writes `function (file:line)`.

use genba_model::{CodeKind, SampleUnit, Sampled, SampledDetail, SampledFunction};

use crate::stacks::Stacks;
use crate::{ImportError, ImportFormat, Result};

/// Lines that are looked at to recognise the format.
const FIRST_LINES: usize = 20;
/// Name of the weight, which the format does not have.
const EVENT: &str = "weight";

/// Whether text has stacks with weights.
pub(crate) fn is_collapsed(bytes: &[u8]) -> bool {
    let is_text = |byte: &u8| *byte >= b' ' || matches!(byte, b'\t' | b'\r' | 0x1b);
    let mut lines = (bytes.split(|&byte| byte == b'\n')).filter(|line| !line.is_empty());
    let mut found = false;
    for line in lines.by_ref().take(FIRST_LINES) {
        if !line.iter().all(is_text) {
            return false;
        }
        let text = String::from_utf8_lossy(line);
        if text.starts_with('#') {
            continue;
        }
        match split(&text) {
            Some((stack, _)) => found |= !stack.is_empty(),
            None => return false,
        }
    }
    found
}

/// The stack and the weight of a line. py-spy writes samples without a stack as a blank and their number.
fn split(line: &str) -> Option<(&str, u64)> {
    let (stack, weight) = line.trim_end().rsplit_once([' ', '\t'])?;
    let weight = match weight.parse::<u64>() {
        Ok(weight) => weight,
        // Some programs write averages.
        Err(_) => {
            let is_number = weight
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.');
            let weight: f64 = weight.parse().ok().filter(|_| is_number)?;
            weight.round() as u64
        }
    };
    Some((stack.trim_end(), weight))
}

pub(crate) fn read(bytes: &[u8], event: Option<&str>) -> Result<SampledDetail> {
    if let Some(name) = event.filter(|name| *name != EVENT) {
        return Err(ImportError::NoSuchEvent {
            name: name.to_owned(),
            known: vec![EVENT.to_owned()],
        });
    }
    let format = ImportFormat::Collapsed;
    let mut stacks = Stacks::new(format, EVENT, SampleUnit::Count);
    let thread = stacks.named_thread("");
    let mut frames = Vec::new();
    let (mut weights_before, mut lines) = (0u64, 0u64);
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end();
        if text.is_empty() || text.starts_with('#') {
            continue;
        }
        let Some((stack, weight)) = split(text) else {
            let what = format!("line {} has no weight at its end", index + 1);
            return Err(ImportError::damaged(format, what));
        };
        lines += 1;
        weights_before += u64::from(split(stack).is_some());
        frames.clear();
        let names: Vec<&str> = stack.split(';').collect();
        // Deeper callers are not kept, but told from a stack that is as deep as can be.
        let first = names.len().saturating_sub(crate::stacks::MAX_DEPTH + 1);
        for name in &names[first..] {
            frames.push(frame(&mut stacks, name));
        }
        if let Some(stack) = stacks.stack(&frames)? {
            stacks.sample(Sampled {
                thread,
                stack,
                time_ns: None,
                weight,
                samples: 0,
            });
        }
    }
    if lines > 0 && weights_before == lines {
        let what = "each line has two weights: this is a difference of two profiles (difffolded.pl); read the \
                    two themselves, with genba diff";
        return Err(ImportError::damaged(format, what));
    }
    let mut detail = stacks.finish();
    detail.notes.push(
        "collapsed stacks do not say what their weights are, nor how many samples they are of: shares have \
         no intervals"
            .to_owned(),
    );
    Ok(detail)
}

fn frame(stacks: &mut Stacks, name: &str) -> u32 {
    let (mut name, mut kind, mut inlined) = (name.trim(), CodeKind::User, false);
    for (suffix, of_suffix) in [
        ("_[k]", CodeKind::Kernel),
        ("_[j]", CodeKind::Generated),
        // Compiled by the first compiler, interpreted: of async-profiler.
        ("_[1]", CodeKind::Generated),
        ("_[0]", CodeKind::Generated),
        ("_[i]", CodeKind::User),
    ] {
        if let Some(bare) = name.strip_suffix(suffix).filter(|bare| !bare.is_empty()) {
            (name, kind, inlined) = (bare, of_suffix, suffix == "_[i]");
            break;
        }
    }
    let (name, place) = match place(name) {
        Some((name, file, line)) => (name, Some((file, line))),
        None => (name, None),
    };
    let name = match name {
        "" => "[unknown]",
        name => name,
    };
    let file = place.map(|(file, _)| stacks.builder.file(file));
    let function = SampledFunction {
        name: name.to_owned(),
        module: None,
        file,
        line: None,
        kind,
    };
    stacks.frame(function, file, place.map(|(_, line)| line), inlined)
}

/// The parts of `function (file:line)`.
fn place(name: &str) -> Option<(&str, &str, u32)> {
    let (function, place) = name.strip_suffix(')')?.rsplit_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!function.is_empty() && !file.is_empty()).then_some((function, file, line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(detail: &SampledDetail, sample: usize) -> Vec<String> {
        let mut names: Vec<String> = (detail.frames_of(detail.samples[sample].stack))
            .map(|frame| detail.function(frame).name.clone())
            .collect();
        names.reverse();
        names
    }

    #[test]
    fn stacks_kinds_and_lines_are_read() {
        let text = "# made by x\nmain;operator new(unsigned long) 5\nmain;read_[k] 2.0\r\nmain;f_[i] 1\n\n\
                    <module> (a b.py:3);work (lib/a.py:12) 7\n";
        assert!(is_collapsed(text.as_bytes()));
        let detail = read(text.as_bytes(), None).expect("it is read");
        assert_eq!(detail.total_weight(), 15);
        assert_eq!(names(&detail, 0), ["main", "operator new(unsigned long)"]);
        assert_eq!(names(&detail, 1), ["main", "read"]);
        assert!(detail.event.kernel);
        assert_eq!(names(&detail, 3), ["<module>", "work"]);
        let leaf = detail.frames_of(detail.samples[3].stack).next();
        let leaf = leaf.expect("a frame");
        assert_eq!(leaf.line, Some(12));
        assert_eq!(
            detail.files[leaf.file.expect("a file") as usize],
            "lib/a.py"
        );
    }

    #[test]
    fn differences_of_profiles_and_lines_without_weights_are_refused() {
        let error = read(b"a;b 1 2\na;c 3 4\n", None).expect_err("two weights");
        assert!(error.to_string().contains("genba diff"), "{error}");
        let error = read(b"a;b 1\na;b x\n", None).expect_err("no weight");
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(!is_collapsed(b"some text\n") && !is_collapsed(b" 3\n"));
        assert!(is_collapsed(b" 34\na;b 1\n"));
        assert_eq!(
            read(b" 34\na;b 1\n", None)
                .map(|one| one.total_weight())
                .ok(),
            Some(35)
        );
        assert!(!is_collapsed(b"\n\n"));
        assert!(!is_collapsed(b"a 1\0\n"));
    }

    #[test]
    fn deep_stacks_keep_their_innermost_frames() {
        let deep: Vec<String> = (0..2000).map(|level| format!("f{level}")).collect();
        let text = format!("{} 3\n", deep.join(";"));
        let detail = read(text.as_bytes(), None).expect("it is read");
        let names = names(&detail, 0);
        assert_eq!(names.len(), crate::stacks::MAX_DEPTH + 1);
        assert_eq!(names[0], "[deeper callers]");
        assert_eq!(names.last().map(String::as_str), Some("f1999"));
        // One that is as deep as can be has no such frame.
        let text = format!("{} 3\n", deep[..crate::stacks::MAX_DEPTH].join(";"));
        let detail = read(text.as_bytes(), None).expect("it is read");
        assert_eq!(self::names(&detail, 0)[0], "f0");
    }
}
