//! Generated scripts, and translation of their line numbers to the user's code.

use super::Part;

/// A script for an interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Text of the script.
    pub text: String,
    /// Where its lines come from.
    pub map: SourceMap,
}

/// Source map of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceMap {
    /// First line in the script (from 1), number of lines, label.
    pieces: Vec<(u64, u64, String)>,
}

impl SourceMap {
    /// Says that `count` lines from `first` on are those of `label`.
    pub(crate) fn add(&mut self, first: u64, count: u64, label: &str) {
        self.pieces.push((first, count, label.to_owned()));
    }

    /// The piece of code and the line in it (from 1) that a line of the script comes from.
    #[must_use]
    pub fn find(&self, line: u64) -> Option<(&str, u64)> {
        self.pieces
            .iter()
            .find(|(first, count, _)| (*first..first.saturating_add(*count)).contains(&line))
            .map(|(first, _, label)| (label.as_str(), line - first + 1))
    }

    /// An interpreter's message with the lines of the script replaced by those of the user's
    /// code: `/tmp/x.rb:12:` (Ruby) and `File "/tmp/x.py", line 12` (Python).
    #[must_use]
    pub fn translate(&self, message: &str, script: &str) -> String {
        let quoted = format!("File \"{script}\", line ");
        let plain = format!("{script}:");
        let lines = message.lines().map(|line| {
            let line = self.replace(line, &quoted);
            self.replace(&line, &plain)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn replace(&self, text: &str, before: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(before) {
            let (head, tail) = rest.split_at(at);
            let number = &tail[before.len()..];
            let digits = number.bytes().take_while(u8::is_ascii_digit).count();
            let place = number[..digits].parse().ok().and_then(|n| self.find(n));
            result.push_str(head);
            match place {
                Some((label, line)) => result.push_str(&format!("{label}, line {line}")),
                None => result.push_str(&tail[..before.len() + digits]),
            }
            rest = &number[digits..];
        }
        result + rest
    }
}

/// Puts a script together line by line.
#[derive(Default)]
pub(crate) struct Builder {
    text: String,
    lines: u64,
    map: SourceMap,
}

impl Builder {
    /// Appends generated lines.
    pub fn own(&mut self, text: &str) {
        self.text.push_str(text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.text.push('\n');
        }
        self.lines = self.text.matches('\n').count() as u64;
    }

    /// Appends lines of the user.
    pub fn part(&mut self, part: &Part) {
        let first = self.lines + 1;
        self.own(&part.text);
        self.map.add(first, self.lines + 1 - first, &part.label);
    }

    pub fn finish(self) -> Generated {
        Generated {
            text: self.text,
            map: self.map,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_in_messages_are_translated_to_the_users_code() {
        let mut builder = Builder::default();
        builder.own("# ours\n");
        builder.part(&Part::new("prelude", "a = 1\nb = 2"));
        builder.own("while true\n");
        builder.part(&Part::new("script of \"x\"", "c\nd\n"));
        builder.own("end\n");
        let script = builder.finish();
        assert_eq!(script.text, "# ours\na = 1\nb = 2\nwhile true\nc\nd\nend\n");
        assert_eq!(script.map.find(3), Some(("prelude", 2)));
        assert_eq!(script.map.find(4), None);
        let ruby = "/t/x.rb:6:in `<main>': undefined (NameError)\n\tfrom /t/x.rb:4:in `y'";
        assert_eq!(
            script.map.translate(ruby, "/t/x.rb"),
            "script of \"x\", line 2:in `<main>': undefined (NameError)\n\tfrom /t/x.rb:4:in `y'"
        );
        let python = "  File \"/t/x.rb\", line 5, in f";
        assert_eq!(
            script.map.translate(python, "/t/x.rb"),
            "  script of \"x\", line 1, in f"
        );
    }

    proptest! {
        #[test]
        fn any_message_is_translated(message in "(.|x:|[0-9]|\n){0,200}", parts in prop::collection::vec("(.|\n){0,40}", 0..4)) {
            let mut builder = Builder::default();
            for (index, text) in parts.iter().enumerate() {
                builder.part(&Part::new(format!("p{index}"), text.clone()));
            }
            let script = builder.finish();
            let lines = script.text.matches('\n').count() as u64;
            for line in 1..=lines {
                prop_assert!(script.map.find(line).is_some());
            }
            prop_assert!(script.map.find(lines + 1).is_none());
            let _ = script.map.translate(&message, "x");
        }
    }
}
