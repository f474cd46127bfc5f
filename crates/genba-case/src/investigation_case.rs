//! Cases of investigations: profile, annotations, findings and their export.

use genba_model::{
    Annotation, Document, Finding, Investigation, Profile, RunSummary, SampledAddresses, StackTree,
};

use crate::{Case, Error, Phase, Result, stack_tables};

/// Kind of the document of samples by address.
const SAMPLED_ADDRESSES: &str = "sampled_addresses";

impl Case {
    /// Stores the profile; its stacks go into separate tables.
    ///
    /// # Errors
    /// As [`Case::put_document`].
    pub fn put_profile(&self, profile: &Profile) -> Result<()> {
        let transaction = self
            .connection()
            .unchecked_transaction()
            .map_err(self.fail())?;
        stack_tables::write(&transaction, &profile.collapsed).map_err(self.fail())?;
        let bare = without_stacks(profile);
        self.check_round_trip("profile", &bare)?;
        self.put("profile", &bare)?;
        transaction.commit().map_err(self.fail())
    }

    /// Stores the samples of the recording by address, so that code can be annotated without reading it again.
    ///
    /// # Errors
    /// As [`Case::put_document`].
    pub fn put_sampled_addresses(&self, addresses: &SampledAddresses) -> Result<()> {
        self.put(SAMPLED_ADDRESSES, addresses)
    }

    /// The samples of the recording by address; cases of an earlier genba and of generated code have none.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn sampled_addresses(&self) -> Result<Option<SampledAddresses>> {
        self.get_document(SAMPLED_ADDRESSES)
    }

    /// The profile with its stacks.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn profile(&self) -> Result<Option<Profile>> {
        let Some(mut profile) = self.get_document::<Profile>("profile")? else {
            return Ok(None);
        };
        if profile.collapsed.is_empty() {
            profile.collapsed = stack_tables::read(self.connection())
                .map_err(|failure| self.fail_stacks(failure))?;
        }
        Ok(Some(profile))
    }

    /// The stacks of the profile as a tree: a tenth of the memory that written-out stacks take.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn stack_tree(&self) -> Result<StackTree> {
        stack_tables::read_tree(self.connection()).map_err(|failure| self.fail_stacks(failure))
    }

    fn fail_stacks(&self, failure: stack_tables::Failure) -> crate::Error {
        match failure {
            stack_tables::Failure::Sqlite(error) => self.fail()(error),
            stack_tables::Failure::Shape(what) => self.corrupt(what),
        }
    }

    /// The investigation with those stacks only that a page can show: frames of less than `min_share` of the time, and those
    /// deeper than `max_depth`, count for their callers.
    ///
    /// # Errors
    /// As [`Case::investigation`].
    pub fn investigation_for_page(
        &self,
        min_share: f64,
        max_depth: usize,
    ) -> Result<Investigation> {
        let mut profile = self.get_document::<Profile>("profile")?;
        if let Some(profile) = &mut profile
            && profile.collapsed.is_empty()
        {
            let tree = self.stack_tree()?;
            let least = (tree.total() as f64 * min_share) as u64;
            profile.collapsed = tree.pruned(least, max_depth).rows();
        }
        self.investigation_with(profile)
    }

    /// The investigation without the stacks of its profile.
    ///
    /// # Errors
    /// As [`Case::investigation`].
    pub fn investigation_without_stacks(&self) -> Result<Investigation> {
        self.investigation_with(self.get_document("profile")?)
    }

    /// The investigation, assembled from its parts. Missing parts are empty: an interrupted case has
    /// runs, and without a `summary` document no metrics.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn investigation(&self) -> Result<Investigation> {
        self.investigation_with(self.profile()?)
    }

    fn investigation_with(&self, profile: Option<Profile>) -> Result<Investigation> {
        let stored: Option<RunSummary> = self.get_document("summary")?;
        let (metrics, outliers) = stored.map(|s| (s.metrics, s.outliers)).unwrap_or_default();
        Ok(Investigation {
            case: self.id().to_owned(),
            genba: self.get("genba")?.unwrap_or_default(),
            started: self.get("started")?.unwrap_or_default(),
            workload: self.workload()?,
            host: self.required("host")?,
            hazards: self.get_document("hazards")?.unwrap_or_default(),
            attached: self.get_document("attached")?,
            runs: RunSummary {
                runs: self.runs(Phase::Measure)?,
                metrics,
                outliers,
            },
            noise_floor: self.get_document("noise_floor")?.unwrap_or_default(),
            stat: self.get_document("stat")?,
            profile,
            script: self.get_document("script")?,
            annotations: self
                .get_document::<Vec<Annotation>>("annotations")?
                .unwrap_or_default(),
            observed: self.get_document("observed_places")?,
            waits: self.get_document("waits")?,
            findings: self.get_document("findings")?.unwrap_or_default(),
            places: self.get_document("places")?.unwrap_or_default(),
            input_bytes: self.get_document("input_bytes")?,
            notes: self.get_document("notes")?.unwrap_or_default(),
        })
    }

    /// A finding by its number, from 1 on.
    ///
    /// # Errors
    /// There is none, or the file is damaged.
    pub fn finding(&self, number: u32) -> Result<Finding> {
        let findings: Vec<Finding> = self.get_document("findings")?.unwrap_or_default();
        let many = findings.len();
        let index = (number as usize).checked_sub(1);
        (index.and_then(|index| findings.into_iter().nth(index))).ok_or_else(|| Error::NoFinding {
            case: self.id().to_owned(),
            many,
            number,
        })
    }

    /// Stores all parts of an investigation except its runs, which [`Case::add_run`] stores.
    ///
    /// # Errors
    /// As [`Case::put_document`]; also if it contains NaN or an infinite number, which JSON cannot
    /// represent.
    pub fn put_investigation(&self, all: &Investigation) -> Result<()> {
        self.check_round_trip("summary", &all.runs.metrics)?;
        self.check_round_trip("noise_floor", &all.noise_floor)?;
        self.check_round_trip("stat", &all.stat)?;
        self.check_round_trip("script", &all.script)?;
        self.check_round_trip("annotations", &all.annotations)?;
        self.check_round_trip("observed_places", &all.observed)?;
        self.check_round_trip("waits", &all.waits)?;
        self.check_round_trip("findings", &all.findings)?;
        self.check_round_trip("places", &all.places)?;
        self.put(
            "summary",
            &RunSummary {
                runs: Vec::new(),
                metrics: all.runs.metrics.clone(),
                outliers: all.runs.outliers.clone(),
            },
        )?;
        self.put("hazards", &all.hazards)?;
        self.put("noise_floor", &all.noise_floor)?;
        if let Some(attached) = &all.attached {
            self.check_round_trip("attached", attached)?;
            self.put("attached", attached)?;
        }
        if let Some(stat) = &all.stat {
            self.put("stat", stat)?;
        }
        if let Some(profile) = &all.profile {
            self.put_profile(profile)?;
        }
        if let Some(script) = &all.script {
            self.put("script", script)?;
        }
        if let Some(waits) = &all.waits {
            self.put("waits", waits)?;
        }
        self.put("annotations", &all.annotations)?;
        if let Some(observed) = &all.observed {
            self.put("observed_places", observed)?;
        }
        self.put("findings", &all.findings)?;
        self.put("places", &all.places)?;
        if let Some(bytes) = all.input_bytes {
            self.put("input_bytes", &bytes)?;
        }
        self.put("notes", &all.notes)
    }

    /// The case as one JSON document (`kind` `investigation`) that [`crate::Store::import`]
    /// reads on another machine, without the binaries.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn export(&self) -> Result<Document<Investigation>> {
        Ok(Document::new("investigation", self.investigation()?))
    }
}

/// A copy of all but the stacks, which are most of a profile. Written field by field, so that
/// a field added to [`Profile`] cannot be forgotten.
fn without_stacks(profile: &Profile) -> Profile {
    Profile {
        event: profile.event.clone(),
        imported_from: profile.imported_from.clone(),
        thread_times: profile.thread_times.clone(),
        command: profile.command.clone(),
        samples: profile.samples,
        lost: profile.lost,
        throttled: profile.throttled,
        duration_seconds: profile.duration_seconds,
        kernel_share: profile.kernel_share,
        stacks: profile.stacks,
        truncated_stacks: profile.truncated_stacks,
        functions: profile.functions.clone(),
        lines: profile.lines.clone(),
        modules: profile.modules.clone(),
        threads: profile.threads.clone(),
        edges: profile.edges.clone(),
        collapsed: Vec::new(),
        concentration: profile.concentration.clone(),
        notes: profile.notes.clone(),
        counted: profile.counted.clone(),
    }
}
