//! The user's line of an address, from the frames that debug information has there. Pure.

use genba_symbols::{CodeFrame, is_toolchain_file};

use super::analysis_input::Place;

/// Frames of an address that are kept: templates can nest without limit.
const MAX_INLINED: usize = 16;

/// The innermost of the frames at an address that is in the user's own files, with those that it was inlined
/// into; where none is, the innermost: inlined library code is attributed to the line that uses it.
pub(crate) fn place_of(frames: &[CodeFrame]) -> Place {
    let is_users = |frame: &&CodeFrame| {
        let file = frame.file.as_deref();
        file.is_some_and(|file| !is_toolchain_file(file)) && frame.line.is_some()
    };
    let users: Vec<&CodeFrame> = frames.iter().filter(is_users).take(MAX_INLINED).collect();
    let outwards = users.into_iter().rev();
    let nested = outwards.fold(None, |within, frame| Some(place(frame, within)));
    nested
        .or_else(|| Some(place(frames.first()?, None)))
        .unwrap_or_default()
}

fn place(frame: &CodeFrame, within: Option<Place>) -> Place {
    Place {
        function: frame.function.as_ref().map(ToString::to_string),
        file: frame.file.as_ref().map(ToString::to_string),
        line: frame.line,
        inlined: frame.inlined,
        within: within.map(Box::new),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str, line: u32, inlined: bool) -> CodeFrame {
        CodeFrame {
            function: Some(function.into()),
            file: Some(file.into()),
            line: Some(line),
            column: None,
            inlined,
        }
    }

    #[test]
    fn innermost_of_the_users_frames_knows_what_it_is_within() {
        let place = place_of(&[
            frame(
                "operator[]",
                "/usr/include/c++/12/bits/stl_vector.h",
                1000,
                true,
            ),
            frame("get", "/src/row.h", 12, true),
            frame(
                "for_each",
                "/usr/include/c++/12/bits/stl_algo.h",
                3000,
                true,
            ),
            frame("sum", "/src/sum.cc", 40, false),
        ]);
        assert_eq!(
            (place.function.as_deref(), place.line),
            (Some("get"), Some(12))
        );
        let within = place.within.expect("inlined");
        assert_eq!(
            (within.function.as_deref(), within.line),
            (Some("sum"), Some(40))
        );
        assert!(place.inlined && !within.inlined && within.within.is_none());
    }

    #[test]
    fn without_a_users_frame_it_is_the_innermost() {
        let header = "/usr/include/c++/12/bits/stl_vector.h";
        let frames = [
            frame("operator[]", header, 1000, true),
            frame("at", header, 1100, false),
        ];
        let place = place_of(&frames);
        assert_eq!((place.line, place.within), (Some(1000), None));
        assert_eq!(place_of(&[]), Place::default());
    }

    #[test]
    fn frames_without_end_are_cut() {
        let frames = vec![frame("f", "/src/f.h", 1, true); 100_000];
        let place = place_of(&frames);
        let outwards = std::iter::successors(Some(&place), |one| one.within.as_deref());
        assert_eq!(outwards.count(), MAX_INLINED);
    }
}
