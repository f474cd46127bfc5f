//! A start request as bytes. Pure but for reading genba's own environment.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::protocol::{HEADER, Header, MAX_BODY, MAX_MASK, START, Start, request};
use crate::{CommandSpec, RunError};

/// Writes header and body of a start request into `frame`. `start` brings flags and streams;
/// counts and sizes are filled in here. Returns the size of arguments and environment.
///
/// # Errors
/// What no program can be given: zero bytes, too much, impossible names and numbers.
pub fn start_request(
    frame: &mut Vec<u8>,
    spec: &CommandSpec,
    program: &Path,
    directory: Option<&Path>,
    mut start: Start,
) -> Result<usize, RunError> {
    let mask = spec
        .cpus
        .as_deref()
        .map(cpu_mask)
        .transpose()?
        .unwrap_or_default();
    start.mask = mask.len() as u32;
    start.timeout = spec.timeout.map_or(0, |time| nanoseconds(time).max(1));
    start.grace = nanoseconds(spec.grace);
    start.argc = u32::try_from(spec.argv.len()).map_err(|_| too_long(spec, usize::MAX))?;

    frame.clear();
    frame.resize(HEADER + START, 0);
    frame.extend_from_slice(&mask);
    push(frame, program.as_os_str(), "the program's path")?;
    push(
        frame,
        directory.map_or(OsStr::new(""), Path::as_os_str),
        "the directory",
    )?;
    let before = frame.len();
    for argument in &spec.argv {
        push(frame, argument, "an argument")?;
    }
    let mut variables = spec.environment.variables();
    if let Some(pass) = &spec.pass_fd {
        if pass.number < 3 {
            let why = "0, 1 and 2 are the standard streams".to_owned();
            return Err(RunError::Descriptor {
                number: pass.number,
                why,
            });
        }
        start.extra = true;
        start.extra_number = pass.number as u32;
        if let Some(name) = &pass.variable {
            variables.retain(|(other, _)| other != name);
            variables.push((name.clone(), pass.number.to_string().into()));
        }
    }
    for (name, value) in &variables {
        let bytes = name.as_bytes();
        // The shell's own exported functions and a leading `=` do occur in real environments;
        // only what would change the meaning of the pair is refused.
        if bytes.is_empty() || bytes.iter().skip(1).any(|&byte| byte == b'=') {
            return Err(RunError::VariableName {
                name: name.to_string_lossy().into_owned(),
            });
        }
        frame.extend_from_slice(bytes);
        frame.push(b'=');
        push(frame, value, "an environment variable")?;
    }
    start.envc = u32::try_from(variables.len()).map_err(|_| too_long(spec, usize::MAX))?;

    let bytes = frame.len() - before;
    let body = frame.len() - HEADER;
    if body > MAX_BODY {
        return Err(too_long(spec, bytes));
    }
    let header = Header {
        kind: request::START,
        body: body as u32,
        fds: start.fds(),
    };
    for (place, byte) in frame
        .iter_mut()
        .zip(header.encode().into_iter().chain(start.encode()))
    {
        *place = byte;
    }
    Ok(bytes)
}

fn too_long(spec: &CommandSpec, bytes: usize) -> RunError {
    RunError::TooLong {
        program: spec.program(),
        bytes,
    }
}

fn nanoseconds(time: std::time::Duration) -> u64 {
    // Half the range, so that it can be added to a clock's reading.
    u64::try_from(time.as_nanos())
        .unwrap_or(u64::MAX)
        .min(u64::MAX / 2)
}

fn push(frame: &mut Vec<u8>, text: &OsStr, what: &str) -> Result<(), RunError> {
    let bytes = text.as_bytes();
    if bytes.contains(&0) {
        return Err(RunError::ZeroByte {
            what: format!("{what} ({text:?})"),
        });
    }
    frame.extend_from_slice(bytes);
    frame.push(0);
    Ok(())
}

fn cpu_mask(cpus: &[usize]) -> Result<Vec<u8>, RunError> {
    let refuse = |why: &str| RunError::Affinity {
        cpus: cpus.to_vec(),
        source: std::io::Error::new(std::io::ErrorKind::InvalidInput, why.to_owned()),
    };
    let last = *cpus
        .iter()
        .max()
        .ok_or_else(|| refuse("the list is empty"))?;
    if last >= MAX_MASK * 8 {
        return Err(refuse("CPU number out of range"));
    }
    let mut mask = vec![0u8; (last / 64 + 1) * 8];
    for &cpu in cpus {
        if let Some(byte) = mask.get_mut(cpu / 8) {
            *byte |= 1 << (cpu % 8);
        }
    }
    Ok(mask)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_request_says_of_itself_what_it_holds() {
        let mut spec = CommandSpec::direct(["prog", "a", ""]);
        spec.environment.clear = true;
        spec.environment.set("X", "1");
        spec.cpus = Some(vec![0, 65]);
        let mut frame = Vec::new();
        let start = Start::default();
        let program = Path::new("/bin/prog");
        start_request(&mut frame, &spec, program, None, start).expect("a request");
        let header = Header::decode(frame.first_chunk().expect("header")).expect("header");
        assert_eq!(header.body as usize, frame.len() - HEADER);
        let body = &frame[HEADER..];
        let start = Start::decode(body).expect("start");
        assert_eq!((start.argc, start.envc, start.mask), (3, 1, 16));
        assert_eq!(start.grace, 500_000_000);
        assert_eq!(
            &body[START..START + 16],
            [1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]
        );
        assert_eq!(&body[START + 16..], b"/bin/prog\0\0prog\0a\0\0X=1\0");
    }

    #[test]
    fn impossible_things_are_refused() {
        let refused = |spec: &CommandSpec| {
            start_request(
                &mut Vec::new(),
                spec,
                Path::new("/x"),
                None,
                Start::default(),
            )
            .expect_err("refused")
        };
        let mut spec = CommandSpec::direct(["a\0b"]);
        assert!(matches!(refused(&spec), RunError::ZeroByte { .. }));
        spec = CommandSpec::direct(["a"]);
        spec.cpus = Some(Vec::new());
        assert!(matches!(refused(&spec), RunError::Affinity { .. }));
        spec.cpus = Some(vec![usize::MAX]);
        assert!(matches!(refused(&spec), RunError::Affinity { .. }));
        spec.cpus = None;
        spec.environment.set("A=B", "x");
        assert!(matches!(refused(&spec), RunError::VariableName { .. }));
    }

    proptest! {
        #[test]
        fn the_mask_has_just_the_cpus(cpus in prop::collection::btree_set(0usize..8192, 1..20)) {
            let list: Vec<usize> = cpus.iter().copied().collect();
            let mask = cpu_mask(&list).expect("a mask");
            let set: Vec<usize> = (0..mask.len() * 8)
                .filter(|cpu| mask[cpu / 8] & 1 << (cpu % 8) != 0)
                .collect();
            prop_assert_eq!(set, list);
        }

        #[test]
        fn hostile_starts_are_refused_or_consistent(body in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(start) = Start::decode(&body) {
                prop_assert!(start.mask as usize + START <= body.len());
                prop_assert!(start.argc as usize + start.envc as usize <= body.len());
            }
        }
    }
}
