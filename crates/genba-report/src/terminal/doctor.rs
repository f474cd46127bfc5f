//! `genba host doctor` on a terminal.

use genba_model::{Doctor, VerdictName};
use genba_units::format as number;

use super::messages::{note, warning};
use crate::{Screen, sanitise};

/// What the machine can measure: the smallest visible differences, and what disturbs.
#[must_use]
pub fn doctor(found: &Doctor, screen: Screen) -> String {
    let host = &found.host;
    let mut text = format!(
        "{}, {} CPUs{}\n{}: {} a run\n\n",
        sanitise(&host.cpu),
        host.cpus,
        (host.virtualisation.as_ref())
            .map_or(String::new(), |name| format!(", {}", sanitise(name))),
        sanitise(&found.command),
        number::seconds(found.run_seconds),
    );
    let seen: Vec<String> = (found.metrics.iter())
        .filter_map(|one| {
            Some(format!(
                "{} in {}",
                number::share(one.visible?),
                sanitise(&one.metric)
            ))
        })
        .collect();
    let time = number::duration(found.seconds);
    if seen.is_empty() {
        text.push_str(&format!(
            "{time} is too short to show any difference: increase --budget\n"
        ));
    } else {
        text.push_str(&format!(
            "smallest visible difference in {time}: {}\n",
            seen.join(", ")
        ));
    }
    for one in &found.metrics {
        let verdict = match one.verdict {
            VerdictName::Same => "same, as expected",
            VerdictName::Undecided => "undecided, not a false alarm",
            VerdictName::Faster | VerdictName::Slower => {
                "different: a false alarm, expected once in twenty times"
            }
        };
        text.push_str(&format!(
            "  {:<13} {} pairs, standard deviation of a pair {}; compared with itself: {verdict}\n",
            sanitise(&one.metric),
            one.pairs,
            number::share(one.scatter),
        ));
    }
    if !found.hazards.is_empty() {
        text.push('\n');
    }
    for hazard in &found.hazards {
        let remedy = hazard
            .remedy
            .as_ref()
            .map_or(String::new(), |remedy| format!("\n{remedy}"));
        text.push_str(&warning(&format!("{}{remedy}", hazard.text), screen));
    }
    for sentence in &found.notes {
        text.push_str(&note(sentence, screen));
    }
    text
}
