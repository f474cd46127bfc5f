//! Which change a user means. Pure.

use genba_model::{ChangeOrigin, HistoryChange};

/// Fewest characters of a hash that name a commit.
const MIN_HASH: usize = 4;

/// The change that `name` means: that at a commit with this hash or beginning of one, else one whose
/// range begins or ends there. Of several, one that the host did not cause, then the most probable
/// one. `None` if there is none.
#[must_use]
pub fn named_change<'a>(changes: &'a [HistoryChange], name: &str) -> Option<&'a HistoryChange> {
    if name.len() < MIN_HASH {
        return None;
    }
    let best = |has_name: &dyn Fn(&HistoryChange) -> bool| {
        (changes.iter().filter(|one| has_name(one))).max_by(|a, b| {
            let of_code = |one: &HistoryChange| one.origin != ChangeOrigin::Host;
            (of_code(a).cmp(&of_code(b))).then(a.probability.total_cmp(&b.probability))
        })
    };
    best(&|one| one.commit.starts_with(name)).or_else(|| {
        best(&|one| one.last_before.starts_with(name) || one.first_after.starts_with(name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use genba_model::Estimate;

    fn change(commit: &str, origin: ChangeOrigin, probability: f64) -> HistoryChange {
        HistoryChange {
            series: 0,
            benchmark: String::new(),
            variant: String::new(),
            metric: String::new(),
            unit: String::new(),
            host: String::new(),
            commit: commit.to_owned(),
            subject: String::new(),
            last_before: format!("before{commit}"),
            first_after: format!("after{commit}"),
            before: Estimate::exact(1.0),
            after: Estimate::exact(1.0),
            change: Estimate::exact(1.0),
            worse: true,
            probability,
            origin,
            environment: Vec::new(),
        }
    }

    #[test]
    fn a_change_is_named_by_its_commit_or_by_an_end_of_its_range() {
        let all = [
            change("aaaa1", ChangeOrigin::Host, 1.0),
            change("aaaa1", ChangeOrigin::Code, 0.8),
            change("bbbb1", ChangeOrigin::Undetermined, 0.9),
        ];
        let found = |name: &str| named_change(&all, name).map(|one| (&*one.commit, one.origin));
        assert_eq!(found("aaaa"), Some(("aaaa1", ChangeOrigin::Code)));
        assert_eq!(
            found("afterbbbb"),
            Some(("bbbb1", ChangeOrigin::Undetermined))
        );
        assert_eq!((found("aa"), found(""), found("cccc")), (None, None, None));
    }
}
