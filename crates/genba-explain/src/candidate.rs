//! What detectors return: a cause at a site, with the share of time that a fix changes and the
//! residual fraction of it.

use genba_model::{Cause, Confirmation, Estimate, Fact, FindingSite, Fix};

use crate::finding_site::{program_site, site};
use crate::input::analysis_input::AnalysisInput;

/// A cause that a detector suspects at a site, not rated yet.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The cause.
    pub cause: Cause,
    /// Index of the function in [`AnalysisInput::functions`]; `None` if it is about the program.
    pub function: Option<usize>,
    /// Instructions that the finding names: the first of them decides the line that is shown.
    pub site: Vec<usize>,
    /// Instructions whose time would change; those of the site where empty.
    pub affected: Vec<usize>,
    /// Other functions that the same fix changes (the same line, other callers), and what would change
    /// there.
    pub copies: Vec<(usize, Vec<usize>)>,
    /// Share of all time that would change, where it is not that of `affected` in `function`.
    pub share: Option<f64>,
    /// Residual fraction of that time: time after the fix ÷ time before, 0…1.
    pub residual_fraction: Estimate,
    /// Executions of the site.
    pub executions: Option<u64>,
    /// What each costs, cycles.
    pub cycles: Option<Estimate>,
    /// What was observed.
    pub facts: Vec<Fact>,
    /// What to change.
    pub fix: Fix,
    /// How to check it.
    pub confirmation: Confirmation,
    /// Whether it holds in code that was built without optimisation as well.
    pub unoptimised_too: bool,
    /// Where it is, if not at instructions of a function of the input.
    pub at: Option<FindingSite>,
    /// Only said, never counted as a gain.
    pub advice: bool,
    /// Whether any part of the time between the bounds may go, the middle no likelier than the ends.
    pub anything_between: bool,
}

impl Candidate {
    /// Where it is shown.
    pub(crate) fn shown_at(&self, input: &AnalysisInput) -> FindingSite {
        let function = self.function.and_then(|index| input.functions.get(index));
        match (&self.at, function) {
            (Some(site), _) => site.clone(),
            // Code without a name is what is said of it.
            (None, Some(function)) if self.cause == Cause::NoSymbols => {
                site(function, &self.site).code().clone()
            }
            (None, Some(function)) => site(function, &self.site),
            (None, None) => program_site(input),
        }
    }

    /// A candidate without facts, whose fix is checked by comparing both programs.
    #[must_use]
    pub fn new(cause: Cause, function: Option<usize>, site: Vec<usize>, fix: Fix) -> Self {
        Self {
            cause,
            function,
            site,
            affected: Vec::new(),
            copies: Vec::new(),
            share: None,
            residual_fraction: Estimate {
                value: 0.5,
                low: 0.0,
                high: 1.0,
            },
            executions: None,
            cycles: None,
            facts: Vec::new(),
            fix,
            confirmation: Confirmation::Compare,
            unoptimised_too: false,
            at: None,
            advice: false,
            anything_between: false,
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn fact(mut self, fact: impl Into<Fact>) -> Self {
        self.facts.push(fact.into());
        self
    }

    /// Adds some facts.
    #[must_use]
    pub fn facts(mut self, facts: impl IntoIterator<Item: Into<Fact>>) -> Self {
        self.facts.extend(facts.into_iter().map(Into::into));
        self
    }

    /// Share of all time that would change.
    pub(crate) fn share_of_time(&self, input: &AnalysisInput) -> f64 {
        if let Some(share) = self.share {
            return share.clamp(0.0, 1.0);
        }
        let Some(function) = self.function.and_then(|index| input.functions.get(index)) else {
            return 0.0;
        };
        function.heat_of(self.affected().iter().copied()).min(1.0)
    }

    pub(crate) fn affected(&self) -> &[usize] {
        if self.affected.is_empty() {
            &self.site
        } else {
            &self.affected
        }
    }

    /// What would change, by function.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (usize, &[usize])> {
        let first = self.function.map(|function| (function, self.affected()));
        let copies = self
            .copies
            .iter()
            .map(|(function, at)| (*function, at.as_slice()));
        first.into_iter().chain(copies)
    }
}
