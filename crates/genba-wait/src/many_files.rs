//! One name for many files: a program that reads thousands of them waits for their directory.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use genba_model::{WaitPlace, WaitReason};

use crate::view::State;

/// Files of one place up to which each is named.
const MAX_NAMED: usize = 4;

/// Gives waits of one place for more than a few files the name of what these have in common.
pub fn merge(states: &mut [State]) {
    let mut files: HashMap<(WaitReason, WaitPlace), BTreeSet<String>> = HashMap::new();
    for state in states.iter() {
        if let Some(file) = file(state) {
            let of_place = files
                .entry((state.reason, state.place.clone()))
                .or_default();
            of_place.insert(file.to_owned());
        }
    }
    files.retain(|_, files| files.len() > MAX_NAMED);
    for state in states {
        let common = files.get(&(state.reason, state.place.clone()));
        if let (Some(files), Some(_)) = (common, file(state)) {
            let directory = common_directory(files);
            state.object = Some(format!("{} files below {directory}", files.len()));
        }
    }
}

fn file(state: &State) -> Option<&str> {
    let is_of_files = matches!(
        state.reason,
        WaitReason::File | WaitReason::Fsync | WaitReason::PageFault
    );
    let object = state.object.as_deref().filter(|_| is_of_files);
    object.filter(|name| name.starts_with('/'))
}

/// The longest directory that has them all.
fn common_directory(files: &BTreeSet<String>) -> String {
    let first = files.first().map_or("/", String::as_str);
    let directories = Path::new(first).ancestors().skip(1);
    let mut directories = directories.filter(|directory| {
        let mut files = files.iter();
        files.all(|file| Path::new(file).starts_with(directory))
    });
    let found = directories.next().unwrap_or(Path::new("/"));
    found.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stacks::unknown_place;

    fn state(reason: WaitReason, object: &str) -> State {
        State {
            reason,
            place: unknown_place(),
            object: Some(object.to_owned()),
            stack: Vec::new(),
            entry: None,
        }
    }

    #[test]
    fn files_of_one_place_get_one_name() {
        let mut states: Vec<State> = (0..9)
            .map(|number| state(WaitReason::File, &format!("/srv/a{}/f{number}", number % 2)))
            .collect();
        states.push(state(WaitReason::File, "pipe:[7]"));
        states.push(state(WaitReason::Fsync, "/srv/log"));
        merge(&mut states);
        let names: Vec<&str> = states
            .iter()
            .filter_map(|one| one.object.as_deref())
            .collect();
        assert_eq!(names[..9], ["9 files below /srv"; 9]);
        assert_eq!(names[9..], ["pipe:[7]", "/srv/log"]);
    }

    #[test]
    fn a_few_files_keep_their_names() {
        let mut states: Vec<State> = (0..MAX_NAMED)
            .map(|number| state(WaitReason::File, &format!("/f{number}")))
            .collect();
        let before = states.clone();
        merge(&mut states);
        assert_eq!(states, before);
        states.push(state(WaitReason::File, "/one/more"));
        merge(&mut states);
        assert_eq!(states[0].object.as_deref(), Some("5 files below /"));
    }
}
