//! Cases about one workload: its profile, and all that was found, in parts and put together.

use genba_model::{Annotation, Document, Investigation, Profile, RunSummary};

use crate::{Case, Phase, Result, stacks};

impl Case {
    /// Keeps the profile; its stacks go into a table of their own.
    ///
    /// # Errors
    /// As [`Case::put_document`].
    pub fn put_profile(&self, profile: &Profile) -> Result<()> {
        let transaction = self
            .connection()
            .unchecked_transaction()
            .map_err(self.fail())?;
        stacks::write(&transaction, &profile.collapsed).map_err(self.fail())?;
        let bare = without_stacks(profile);
        self.check_round_trip("profile", &bare)?;
        self.put("profile", &bare)?;
        transaction.commit().map_err(self.fail())
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
            profile.collapsed =
                stacks::read(self.connection()).map_err(|failure| match failure {
                    stacks::Failure::Sqlite(error) => self.fail()(error),
                    stacks::Failure::Shape(what) => self.corrupt(what),
                })?;
        }
        Ok(Some(profile))
    }

    /// Everything that the case holds, put together again. What was not reached is empty: an
    /// interrupted case has its runs and, without a `summary` document, no metrics.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn investigation(&self) -> Result<Investigation> {
        let stored: Option<RunSummary> = self.get_document("summary")?;
        let (metrics, outliers) = stored.map(|s| (s.metrics, s.outliers)).unwrap_or_default();
        Ok(Investigation {
            case: self.id().to_owned(),
            genba: self.get("genba")?.unwrap_or_default(),
            started: self.get("started")?.unwrap_or_default(),
            workload: self.required("workload")?,
            host: self.required("host")?,
            hazards: self.get_document("hazards")?.unwrap_or_default(),
            runs: RunSummary {
                runs: self.runs(Phase::Measure)?,
                metrics,
                outliers,
            },
            noise_floor: self.get_document("noise_floor")?.unwrap_or_default(),
            stat: self.get_document("stat")?,
            profile: self.profile()?,
            script: self.get_document("script")?,
            annotations: self
                .get_document::<Vec<Annotation>>("annotations")?
                .unwrap_or_default(),
            findings: self.get_document("findings")?.unwrap_or_default(),
            notes: self.get_document("notes")?.unwrap_or_default(),
        })
    }

    /// Keeps all parts of an investigation but its runs, which [`Case::add_run`] brought.
    ///
    /// # Errors
    /// As [`Case::put_document`]; or a number in it is none (NaN or infinite), which JSON does
    /// not have and which would make the case unreadable.
    pub fn put_investigation(&self, all: &Investigation) -> Result<()> {
        self.check_round_trip("summary", &all.runs.metrics)?;
        self.check_round_trip("noise_floor", &all.noise_floor)?;
        self.check_round_trip("stat", &all.stat)?;
        self.check_round_trip("script", &all.script)?;
        self.check_round_trip("annotations", &all.annotations)?;
        self.check_round_trip("findings", &all.findings)?;
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
        if let Some(stat) = &all.stat {
            self.put("stat", stat)?;
        }
        if let Some(profile) = &all.profile {
            self.put_profile(profile)?;
        }
        if let Some(script) = &all.script {
            self.put("script", script)?;
        }
        self.put("annotations", &all.annotations)?;
        self.put("findings", &all.findings)?;
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
