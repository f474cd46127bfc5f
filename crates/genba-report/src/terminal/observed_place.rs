//! `genba observe`: what bursts showed of a place, instruction by instruction.

use genba_model::{ObservedInstruction, ObservedPlace};
use genba_units::format;

use crate::Screen;
use crate::safe_text::{file_name, sanitise};
use crate::terminal::messages::{remark, wrap};
use crate::terminal::screen::{DIM, STRONG};
use crate::wording::observed_instruction::{executions, facts};

/// Renders the instructions under their source lines, with what each did.
#[must_use]
pub fn observed_place(all: &ObservedPlace, screen: Screen) -> String {
    let mut out = format!(
        "{} seen in {} of {}\n",
        format::plural_short(all.observed_instructions, "instruction"),
        format::plural(u64::from(all.bursts), "burst"),
        format::plural(u64::from(all.threads), "thread"),
    );
    let mut before: Option<(&Option<String>, Option<u32>, &Option<String>)> = None;
    for one in &all.instructions {
        let place = (&one.file, one.line, &one.function);
        if before != Some(place) {
            let function = one.function.as_deref().unwrap_or("[unknown]");
            let line = match (&one.file, one.line) {
                (Some(file), Some(line)) => format!("  {}:{line}", file_name(file)),
                _ => format!("  {}", file_name(&one.module)),
            };
            let head = screen.paint(STRONG, &sanitise(function));
            out.push_str(&format!(
                "\n{head}{}\n",
                screen.paint(DIM, &sanitise(&line))
            ));
            before = Some(place);
        }
        instruction(&mut out, one, screen);
    }
    if all.instructions.is_empty() {
        out.push_str("\nno burst met this place: it takes little time, or has another name\n");
    }
    out.push('\n');
    for note in &all.notes {
        remark(&mut out, note, screen);
    }
    out
}

/// Columns before what an instruction did.
const INDENT_COLUMNS: usize = 6;

fn instruction(out: &mut String, one: &ObservedInstruction, screen: Screen) {
    let address = screen.paint(DIM, &format!("{:8x}", one.address));
    let executions = screen.paint(DIM, &executions(one));
    out.push_str(&format!(
        "  {address}  {}  {executions}\n",
        sanitise(&one.text)
    ));
    for fact in facts(one) {
        let width = screen.columns().saturating_sub(INDENT_COLUMNS);
        for line in wrap(&sanitise(&fact), width) {
            out.push_str(&format!("{:INDENT_COLUMNS$}{line}\n", ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_of_an_instruction_stand_below_it() {
        let all = crate::test_fixtures::observed_place();
        let text = observed_place(&all, Screen::default());
        assert!(!text.contains('\x1b'), "{text}");
        for wanted in [
            "a.c:7",
            "mov eax, [rdi]",
            "L2 30",
            "stride 64",
            "loads 0 in 90",
            "heap",
        ] {
            assert!(text.contains(wanted), "{wanted} in {text}");
        }
        assert!(!text.contains("memory"), "{text}");
    }
}
