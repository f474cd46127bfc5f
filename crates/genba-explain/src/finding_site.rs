//! Where a finding is: function, file and lines of instructions.

use genba_model::{FindingSite, ScriptFunction, ScriptProfile};

use crate::input::analysis_input::{AnalysisInput, FunctionInput, Place};
use crate::input::user_lines::site_of;
use genba_symbols::{is_system_module, is_toolchain_file};

/// Where instructions are; of code that the user cannot change the site is the user's line that leads to it; inlined
/// code is reported with the line that it was inlined for.
#[must_use]
pub fn site(function: &FunctionInput, instructions: &[usize]) -> FindingSite {
    let places = || {
        instructions
            .iter()
            .filter_map(|&at| function.places.get(at))
    };
    let first = places().find(|place| place.line.is_some());
    // Lines of one file and one function only make a range.
    let same = |place: &&Place| {
        first.is_some_and(|first| place.file == first.file && place.function == first.function)
    };
    let lines = || places().filter(same).filter_map(|place| place.line);
    let name = first
        .and_then(|place| place.function.clone())
        .unwrap_or_else(|| function.function.clone());
    let here = FindingSite {
        function: name,
        module: function.module.clone(),
        file: first.and_then(|place| place.file.clone()),
        line: lines().min(),
        end_line: lines().max(),
        addresses: instructions
            .iter()
            .filter_map(|&at| function.code.get(at).map(|i| i.address))
            .collect(),
        called_from: first
            .and_then(|first| inlined_for(&function.function, &function.module, first))
            .map(Box::new),
        inside: None,
    };
    match users_call(function, first) {
        Some(user) => FindingSite {
            inside: Some(Box::new(here)),
            ..user
        },
        None => here,
    }
}

/// The user's call that leads to code that they cannot change: of a library's header, or of a library without lines
/// where they have some.
fn users_call(function: &FunctionInput, first: Option<&Place>) -> Option<FindingSite> {
    let of_header = || {
        let file = first.and_then(|first| first.file.as_deref());
        function.is_library_template() || file.is_some_and(is_toolchain_file)
    };
    let without_lines = || !function.has_lines() && is_system_module(&function.module);
    if let Some(user) = function.user_callers.first() {
        let theirs = user.place.line.is_some() && user.module != function.module;
        let leads = match function.own {
            true => of_header() || theirs && without_lines(),
            false => true,
        };
        return leads.then(|| FindingSite {
            called_from: inlined_for(&user.function, &user.module, &user.place).map(Box::new),
            ..site_of(&user.function, &user.module, user.address, &user.place)
        });
    }
    let caller = (function.callers.iter()).find(|caller| caller.own && !function.own)?;
    let mut site = site_of(
        &caller.function,
        &caller.module,
        caller.address,
        &caller.place,
    );
    site.function.clone_from(&caller.function);
    Some(site)
}

/// The call that a place of a function was inlined for, with those around it.
fn inlined_for(function: &str, module: &str, place: &Place) -> Option<FindingSite> {
    let within = place.within.as_deref()?;
    Some(FindingSite {
        called_from: inlined_for(function, module, within).map(Box::new),
        addresses: Vec::new(),
        ..site_of(function, module, 0, within)
    })
}

/// The site of a finding about the whole program: its hottest user function.
pub(crate) fn program_site(input: &AnalysisInput) -> FindingSite {
    let own = input.functions.iter().find(|function| function.own);
    match own.or(input.functions.first()) {
        Some(function) => {
            let mut site = site(function, &[]);
            site.addresses.clear();
            site
        }
        None => FindingSite {
            function: "the program".to_owned(),
            module: String::new(),
            file: None,
            line: None,
            end_line: None,
            addresses: Vec::new(),
            called_from: None,
            inside: None,
        },
    }
}

/// A line of a script.
pub(crate) fn of_script_line(
    script: &ScriptProfile,
    function: &ScriptFunction,
    line: u32,
) -> FindingSite {
    FindingSite {
        function: function.function.clone(),
        module: script.runtimes.first().cloned().unwrap_or_default(),
        file: Some(function.file.clone()),
        line: Some(line),
        end_line: None,
        addresses: Vec::new(),
        called_from: None,
        inside: None,
    }
}

/// An instruction, behind one of the function in which all of `parts` stand if it is of an accessor that was inlined there:
/// to whoever reads the source, the loop around accessors is the walk. That one is among `members`.
pub(crate) fn of_all_of_them(
    function: &FunctionInput,
    parts: impl Iterator<Item = usize>,
    mut members: impl Iterator<Item = usize>,
    at: usize,
) -> Vec<usize> {
    let places = &function.places;
    // Functions with the line that each was inlined for, from the outermost one on.
    let frames = |at: usize| {
        let outwards = std::iter::successors(places.get(at), |one| one.within.as_deref());
        let mut frames: Vec<(Option<&str>, Option<u32>)> = outwards
            .map(|one| {
                let call = one.within.as_ref().and_then(|within| within.line);
                (one.function.as_deref(), call)
            })
            .collect();
        frames.reverse();
        frames
    };
    let own = frames(at);
    let common = parts.fold(own.len(), |common, one| {
        let both = own.iter().zip(frames(one));
        both.take_while(|(a, b)| **a == *b).count().min(common)
    });
    let whole = &own[..common];
    let first = members.find(|&one| frames(one) == whole);
    match first.filter(|_| (1..own.len()).contains(&common)) {
        Some(first) => vec![first, at],
        None => vec![at],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::analysis_input::UserCall;
    use crate::tests::synthetic::looped;

    #[test]
    fn inlined_code_is_called_from_where_it_was_inlined() {
        let mut function = looped(1.0, 0, &[0.5, 0.5], |a| a.nop());
        let outer = Place {
            function: Some("sum".to_owned()),
            line: Some(40),
            ..Place::default()
        };
        function.places[1].within = Some(Box::new(outer));
        function.places[1].inlined = true;
        assert_eq!(site(&function, &[0]).called_from, None);
        let from = site(&function, &[1]).called_from.expect("a call");
        assert_eq!((from.function.as_str(), from.line), ("sum", Some(40)));
    }

    #[test]
    fn instance_of_a_template_is_named_by_the_users_line() {
        let mut function = looped(1.0, 0, &[0.5, 0.5], |a| a.nop());
        let user = UserCall {
            function: "rank".to_owned(),
            place: Place {
                line: Some(36),
                ..Place::default()
            },
            ..UserCall::default()
        };
        function.user_callers = vec![user];
        assert_eq!(site(&function, &[0]).inside, None, "the user's own");
        function.of_library = vec![true; function.code.len()];
        let found = site(&function, &[0]);
        assert_eq!((found.function.as_str(), found.line), ("rank", Some(36)));
        assert_eq!(found.code().addresses, [function.code[0].address]);
    }

    #[test]
    fn library_without_lines_is_named_by_the_users_call() {
        let mut function = looped(1.0, 0, &[0.5, 0.5], |a| a.nop());
        function.places = vec![Place::default(); function.code.len()];
        function.user_callers = vec![UserCall {
            function: "store".to_owned(),
            module: "/srv/app/packer".to_owned(),
            place: Place {
                line: Some(36),
                ..Place::default()
            },
            ..UserCall::default()
        }];
        assert_eq!(site(&function, &[0]).inside, None, "a program of theirs");
        function.module = "/usr/lib/x86_64-linux-gnu/libz.so.1".to_owned();
        assert_eq!(site(&function, &[0]).function, "store");
        function.user_callers[0].place.line = None;
        assert_eq!(site(&function, &[0]).inside, None, "no better known");
    }
}
