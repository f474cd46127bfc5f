//! Events that the kernel describes in files: `cpu/event=0xc2,umask=0x1/` of a PMU in sysfs, and tracepoints
//! such as `sched:sched_switch`.

use std::path::Path;

use perf_event_open_sys::bindings as b;

/// Type and configuration of an event (`perf_event_attr`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Encoding {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    /// `config1` and `config2`.
    pub(crate) more: [u64; 2],
}

/// Longest file that is read, bytes: they have a number or a line.
const MAX_FILE_BYTES: usize = 4096;

/// Encodes the terms of `PMU/TERMS/` by the files below `/sys/bus/event_source/devices/PMU`.
pub(crate) fn of_pmu(pmu: &str, terms: &str) -> Result<Encoding, String> {
    encode(pmu, terms, &|file| {
        read(
            &Path::new("/sys/bus/event_source/devices")
                .join(pmu)
                .join(file),
        )
    })
}

/// Encodes a tracepoint by its id in tracefs.
pub(crate) fn of_tracepoint(system: &str, name: &str) -> Result<Encoding, String> {
    if !is_name(system) || !is_name(name) {
        return Err("it is not the name of a tracepoint".to_owned());
    }
    let roots = [
        "/sys/kernel/tracing/events",
        "/sys/kernel/debug/tracing/events",
    ];
    let id = roots.iter().find_map(|root| {
        read(&Path::new(root).join(system).join(name).join("id"))?
            .trim()
            .parse()
            .ok()
    });
    let id = id.ok_or(
        "this user cannot read its number below /sys/kernel/tracing/events, or there is none",
    )?;
    Ok(Encoding {
        kind: b::PERF_TYPE_TRACEPOINT,
        config: id,
        more: [0; 2],
    })
}

fn read(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    (text.len() <= MAX_FILE_BYTES).then_some(text)
}

/// Whether a word cannot lead to another directory.
fn is_name(word: &str) -> bool {
    let harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !word.is_empty() && word.chars().all(harmless) && !word.starts_with('.')
}

/// Deepest nesting of named events: the terms of one may not name another.
const MAX_DEPTH: u32 = 2;

fn encode(
    pmu: &str,
    terms: &str,
    file: &dyn Fn(&str) -> Option<String>,
) -> Result<Encoding, String> {
    if !is_name(pmu) {
        return Err(format!("`{pmu}` is not the name of a PMU"));
    }
    let kind = file("type").and_then(|text| text.trim().parse().ok());
    let mut encoding = Encoding {
        kind: kind.ok_or_else(|| {
            format!("there is no PMU `{pmu}` here (see /sys/bus/event_source/devices)")
        })?,
        ..Encoding::default()
    };
    add_terms(&mut encoding, terms, file, 1)?;
    Ok(encoding)
}

fn add_terms(
    encoding: &mut Encoding,
    terms: &str,
    file: &dyn Fn(&str) -> Option<String>,
    depth: u32,
) -> Result<(), String> {
    for term in terms
        .split(',')
        .map(str::trim)
        .filter(|term| !term.is_empty())
    {
        let (name, value) = match term.split_once('=') {
            Some((name, value)) => (name.trim(), Some(number(value)?)),
            None => (term, None),
        };
        if !is_name(name) {
            return Err(format!("`{name}` is not the name of a term"));
        }
        match (name, value) {
            ("config", Some(value)) => encoding.config = value,
            ("config1", Some(value)) => encoding.more[0] = value,
            ("config2", Some(value)) => encoding.more[1] = value,
            // Names for people; the period is a flag of genba's own.
            ("name", _) => {}
            _ => {
                let event = match value {
                    None if depth < MAX_DEPTH => file(&format!("events/{name}")),
                    _ => None,
                };
                if let Some(inner) = event {
                    add_terms(encoding, inner.trim(), file, depth + 1)?;
                    continue;
                }
                let format = file(&format!("format/{name}"))
                    .ok_or_else(|| format!("this PMU has neither a term nor an event `{name}`"))?;
                place(encoding, format.trim(), name, value.unwrap_or(1))?;
            }
        }
    }
    Ok(())
}

fn number(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let parsed = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number"))
}

/// Puts a value into the bits that the format names: `config:0-7,32-35`.
fn place(encoding: &mut Encoding, format: &str, name: &str, value: u64) -> Result<(), String> {
    let wrong = || format!("the kernel's format of `{name}` is not understood: {format}");
    let (word, ranges) = format.split_once(':').ok_or_else(wrong)?;
    let target = match word {
        "config" => &mut encoding.config,
        "config1" => &mut encoding.more[0],
        "config2" => &mut encoding.more[1],
        _ => return Err(wrong()),
    };
    let mut left = Some(value);
    for range in ranges.split(',') {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        let bit = |text: &str| text.trim().parse::<u32>().ok().filter(|&bit| bit < 64);
        let (low, high) = (bit(low).ok_or_else(wrong)?, bit(high).ok_or_else(wrong)?);
        let wide = (high + 1)
            .checked_sub(low)
            .filter(|&wide| wide > 0)
            .ok_or_else(wrong)?;
        let mask = if wide == 64 {
            u64::MAX
        } else {
            (1 << wide) - 1
        };
        let rest = left.unwrap_or(0);
        *target = *target & !(mask << low) | (rest & mask) << low;
        left = rest.checked_shr(wide);
    }
    match left {
        Some(rest) if rest != 0 => Err(format!("{value:#x} is too large for `{name}` ({format})")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The files of a PMU like AMD's (Linux, `arch/x86/events/amd/core.c`).
    fn synthetic(file: &str) -> Option<String> {
        let text = match file {
            "type" => "4\n",
            "format/event" => "config:0-7,32-35\n",
            "format/umask" => "config:8-15\n",
            "format/inv" => "config:23\n",
            "format/ldlat" => "config1:0-15\n",
            "format/odd" => "config:9-3\n",
            "events/cpu-cycles" => "event=0x76\n",
            "events/loop" => "loop\n",
            _ => return None,
        };
        Some(text.to_owned())
    }

    fn of(terms: &str) -> Result<Encoding, String> {
        encode("cpu", terms, &synthetic)
    }

    #[test]
    fn terms_are_placed_in_the_bits_of_their_formats() {
        let encoding = of("event=0x1c2,umask=0x03,inv,ldlat=30").expect("encoded");
        assert_eq!(encoding.kind, 4);
        assert_eq!(encoding.config, 0xc2 | 0x03 << 8 | 1 << 23 | 1 << 32);
        assert_eq!(encoding.more, [30, 0]);
        assert_eq!(of("cpu-cycles,umask=1").expect("encoded").config, 0x176);
        assert_eq!(of("config=0x1c2,config1=7").expect("encoded").more, [7, 0]);
    }

    #[test]
    fn what_a_pmu_does_not_have_is_refused_with_its_name() {
        for (terms, about) in [
            ("evnt=1", "`evnt`"),
            ("umask=0x100", "too large"),
            ("umask=x", "not a number"),
            ("odd=1", "not understood"),
            ("loop", "`loop`"),
            ("../../x", "not the name"),
        ] {
            let error = of(terms).expect_err(terms);
            assert!(error.contains(about), "{terms}: {error}");
        }
        let none = encode("nopmu", "event=1", &|_| None).expect_err("no PMU");
        assert!(none.contains("no PMU `nopmu`"), "{none}");
        assert!(of_pmu("../x", "").is_err());
        assert!(of_tracepoint("..", "x").is_err());
    }

    proptest! {
        #[test]
        fn no_terms_or_formats_panic(terms in ".{0,40}", format in ".{0,20}") {
            let file = |name: &str| match name {
                "type" => Some("8".to_owned()),
                _ => Some(format.clone()),
            };
            let _ = encode("cpu", &terms, &file);
        }
    }
}
