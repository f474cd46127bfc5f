//! The tables of a plan: revisions, builds, options, hosts, metrics. Pure.

use crate::CampaignError;
use crate::campaign_plan::{BuildRecipe, HostPlan, MetricDefinition, OptionPlan, RevisionPlan};
use crate::plan_document::{Document, Patches, Text};
use crate::plan_file::Reader;

/// Time-out of a build where the plan says nothing, seconds.
const DEFAULT_BUILD_TIMEOUT_SECONDS: f64 = 3600.0;

impl Reader<'_> {
    pub(crate) fn revisions(
        &self,
        document: &Document,
    ) -> Result<Vec<RevisionPlan>, CampaignError> {
        let short = &document.campaign.revisions;
        if let (Some(first), false) = (short.first(), document.revision.is_empty()) {
            let message = "revisions: write either this list or [[revision]] tables, not both";
            return Err(self.at(first, message));
        }
        self.unique(short, "the revision")?;
        self.unique(
            document.revision.iter().map(|one| &one.name),
            "the revision",
        )?;
        let plain = |name: &str, commit: Option<String>| RevisionPlan {
            name: name.to_owned(),
            commit,
            source: None,
            patches: Vec::new(),
        };
        if short.is_empty() && document.revision.is_empty() {
            return Ok(vec![plain("", None)]);
        }
        let listed = (short.iter()).map(|text| plain(text.as_ref(), Some(text.as_ref().clone())));
        let tables = document.revision.iter().map(|one| RevisionPlan {
            name: one.name.as_ref().clone(),
            commit: one.commit.as_ref().map(|text| text.as_ref().clone()),
            source: one.source.as_ref().map(|text| self.path(text.as_ref())),
            patches: match &one.patch {
                None => Vec::new(),
                Some(Patches::One(path)) => vec![self.path(path)],
                Some(Patches::Several(paths)) => paths.iter().map(|path| self.path(path)).collect(),
            },
        });
        Ok(listed.chain(tables).collect())
    }

    pub(crate) fn builds(&self, document: &Document) -> Result<Vec<BuildRecipe>, CampaignError> {
        self.unique(document.build.iter().map(|one| &one.name), "the build")?;
        if document.build.is_empty() {
            return Ok(vec![BuildRecipe {
                name: String::new(),
                command: None,
                environment: Default::default(),
                per_host: false,
                timeout_seconds: DEFAULT_BUILD_TIMEOUT_SECONDS,
            }]);
        }
        let recipe = |one: &crate::plan_document::Build| {
            Ok(BuildRecipe {
                name: one.name.as_ref().clone(),
                command: Some(one.command.as_ref().clone()),
                environment: one.environment.clone(),
                per_host: one.per_host,
                timeout_seconds: self
                    .seconds("timeout", one.timeout.as_ref())?
                    .unwrap_or(DEFAULT_BUILD_TIMEOUT_SECONDS),
            })
        };
        document.build.iter().map(recipe).collect()
    }

    pub(crate) fn options(&self, document: &Document) -> Result<Vec<OptionPlan>, CampaignError> {
        self.unique(document.option.iter().map(|one| &one.name), "the option")?;
        if document.option.is_empty() {
            return Ok(vec![OptionPlan {
                name: String::new(),
                arguments: String::new(),
                environment: Default::default(),
            }]);
        }
        Ok((document.option.iter())
            .map(|one| OptionPlan {
                name: one.name.as_ref().clone(),
                arguments: one.arguments.clone(),
                environment: one.environment.clone(),
            })
            .collect())
    }

    pub(crate) fn hosts(&self, document: &Document) -> Result<Vec<HostPlan>, CampaignError> {
        self.unique(document.host.iter().map(|one| &one.name), "the host")?;
        if document.host.is_empty() {
            return Ok(vec![HostPlan {
                name: "any".to_owned(),
                ..HostPlan::default()
            }]);
        }
        let word = |text: &Text| {
            // A line of the job's script each.
            if text.as_ref().is_empty() || text.as_ref().chars().any(char::is_control) {
                return Err(self.at(text, "an option of sbatch is one line of text"));
            }
            Ok(text.as_ref().clone())
        };
        let optional = |text: &Option<Text>| text.as_ref().map(word).transpose();
        let host = |one: &crate::plan_document::Host| {
            Ok(HostPlan {
                name: one.name.as_ref().clone(),
                constraint: optional(&one.constraint)?,
                partition: optional(&one.partition)?,
                nodes: optional(&one.nodes)?,
                sbatch: one.sbatch.iter().map(word).collect::<Result<_, _>>()?,
                time: optional(&one.time)?,
            })
        };
        document.host.iter().map(host).collect()
    }

    pub(crate) fn metrics(
        &self,
        document: &Document,
    ) -> Result<Vec<MetricDefinition>, CampaignError> {
        self.unique(document.metric.iter().map(|one| &one.name), "the metric")?;
        let metric = |one: &genba_suite::MetricTable| {
            if let (Some(_), Some(json)) = (&one.regex, &one.json) {
                return Err(self.at(json, "a metric has a regex or a json pointer, not both"));
            }
            let definition = MetricDefinition {
                name: one.name.as_ref().clone(),
                unit: one.unit.clone(),
                direction: one.direction(),
                regex: one.regex.as_ref().map(|text| text.as_ref().clone()),
                json: one.json.as_ref().map(|text| text.as_ref().clone()),
            };
            crate::block_variants::metric(&definition)
                .map_err(|error| self.at(&one.name, error.to_string()))?;
            Ok(definition)
        };
        document.metric.iter().map(metric).collect()
    }
}
