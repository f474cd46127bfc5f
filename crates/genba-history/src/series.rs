//! Series and how they are selected.

use genba_model::SeriesSummary;

use crate::engine::Value;
use crate::recording_rows::direction;
use crate::{History, Result};

/// Which series; an empty text selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeriesFilter {
    /// Project, exactly.
    pub project: String,
    /// Benchmark: exactly, or a part of its name where none has exactly this name.
    pub benchmark: String,
    /// Variant, exactly.
    pub variant: String,
    /// Metric, exactly.
    pub metric: String,
    /// Beginning of the host's id, or of the name of a machine.
    pub host: String,
    /// Branch that has measurements in the series, exactly.
    pub branch: String,
}

impl History {
    /// The series that a filter selects, by project, benchmark, variant, metric and host.
    ///
    /// # Errors
    /// The database fails or is damaged.
    pub fn series(&mut self, filter: &SeriesFilter) -> Result<Vec<SeriesSummary>> {
        let exact = self.select_series(filter, "s.benchmark = ?2")?;
        if !exact.is_empty() {
            return Ok(exact);
        }
        // `instr` and `strpos` have different names; replacing shows the same.
        self.select_series(filter, "replace(s.benchmark, ?2, '') <> s.benchmark")
    }

    fn select_series(
        &mut self,
        filter: &SeriesFilter,
        benchmark: &str,
    ) -> Result<Vec<SeriesSummary>> {
        let sql = format!(
            "SELECT s.id, s.project, s.benchmark, s.variant, s.metric, s.unit, s.direction, s.host, \
             (SELECT count(*) FROM genba_measurement m WHERE m.series = s.id AND m.role = 0 \
              AND (?6 = '' OR m.branch = ?6)) \
             FROM genba_series s WHERE (?1 = '' OR s.project = ?1) AND (?2 = '' OR {benchmark}) \
             AND (?3 = '' OR s.variant = ?3) AND (?4 = '' OR s.metric = ?4) \
             AND (substr(s.host, 1, length(?5)) = ?5 \
              OR substr(s.host, 1, 5) = 'name:' AND substr(s.host, 6, length(?5)) = ?5) \
             ORDER BY s.project, s.benchmark, s.variant, s.metric, s.host"
        );
        let parameters: Vec<Value> = [
            &filter.project,
            &filter.benchmark,
            &filter.variant,
            &filter.metric,
            &filter.host,
            &filter.branch,
        ]
        .map(Value::from)
        .to_vec();
        let rows = self.engine.query(&sql, &parameters)?;
        let series = rows.iter().map(|row| {
            Some(SeriesSummary {
                id: row.integer(0)?,
                project: row.text(1)?,
                benchmark: row.text(2)?,
                variant: row.text(3)?,
                metric: row.text(4)?,
                unit: row.text(5)?,
                direction: direction(row.integer(6)?),
                host: row.text(7)?,
                measurements: row.integer(8)?.unsigned_abs(),
            })
        });
        let series: Vec<SeriesSummary> = series
            .collect::<Option<_>>()
            .ok_or_else(|| self.corrupt("a series cannot be read"))?;
        Ok((series.into_iter().filter(|one| one.measurements > 0)).collect())
    }
}
