//! The structure of benchmark_driver's YAML: one type for each `type`.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// The `type` key, which selects the structure of the rest.
#[derive(Debug, Deserialize)]
pub struct Kind {
    #[serde(rename = "type", default)]
    pub kind: Option<String>,
}

/// `type: ruby`, the default.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ruby {
    #[serde(rename = "type", default)]
    _kind: Option<String>,
    pub name: Option<String>,
    pub prelude: Option<String>,
    pub benchmark: Jobs,
    pub teardown: Option<String>,
    pub loop_count: Option<u64>,
    pub required_ruby_version: Option<String>,
    #[serde(default)]
    pub contexts: Vec<Context>,
}

/// A context: prelude and gems with which all benchmarks run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Context {
    pub name: Option<String>,
    #[serde(default)]
    pub gems: Ordered<String>,
    #[serde(default = "yes")]
    pub require: bool,
    pub prelude: Option<String>,
}

fn yes() -> bool {
    true
}

/// One benchmark.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    pub name: Option<String>,
    pub prelude: Option<String>,
    pub script: String,
    pub teardown: Option<String>,
    pub loop_count: Option<u64>,
    pub required_ruby_version: Option<String>,
}

impl Job {
    fn script(script: String) -> Self {
        Self {
            name: None,
            prelude: None,
            script,
            teardown: None,
            loop_count: None,
            required_ruby_version: None,
        }
    }
}

/// `type: command_stdout`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandStdout {
    #[serde(rename = "type", default)]
    _kind: Option<String>,
    pub name: String,
    pub command: String,
    pub working_directory: Option<String>,
    pub metrics_type: MetricsType,
    pub stdout_to_metrics: Option<String>,
    pub metrics_regex: Option<String>,
    pub metrics_json: Option<String>,
}

/// The metric of `command_stdout`: unit and direction.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricsType {
    pub unit: String,
    pub name: Option<String>,
    pub larger_better: Option<bool>,
    #[serde(rename = "worse_word")]
    _worse_word: Option<String>,
}

/// `type: ruby_stdout`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RubyStdout {
    #[serde(rename = "type", default)]
    _kind: Option<String>,
    pub name: String,
    pub command: String,
    pub working_directory: Option<String>,
    pub metrics: Ordered<RubyMetric>,
    #[serde(default)]
    pub environment: Ordered<serde::de::IgnoredAny>,
}

/// One number of `ruby_stdout`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RubyMetric {
    pub unit: String,
    pub from_stdout: Option<String>,
    pub regex: Option<String>,
    pub json: Option<String>,
    pub larger_better: Option<bool>,
    #[serde(rename = "worse_word")]
    _worse_word: Option<String>,
}

/// A mapping in the order of the file.
#[derive(Debug)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T> Default for Ordered<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Ordered<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Pairs<T> {
            type Value = Ordered<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Ordered(pairs))
            }
        }
        deserializer.deserialize_map(Pairs(std::marker::PhantomData))
    }
}

/// `benchmark`: a script, a list of scripts and jobs, or names with scripts.
#[derive(Debug)]
pub struct Jobs(pub Vec<Job>);

impl<'de> Deserialize<'de> for Jobs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JobsVisitor).map(Self)
    }
}

struct JobsVisitor;

impl<'de> Visitor<'de> for JobsVisitor {
    type Value = Vec<Job>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a script, a list, or a mapping of names to scripts")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(vec![Job::script(text.to_owned())])
    }

    // Numbers and booleans are Ruby, too: they measure an empty benchmark.
    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        self.visit_str(&format!("{value:?}"))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut jobs = Vec::new();
        while let Some(Item(job)) = list.next_element()? {
            jobs.push(job);
        }
        Ok(jobs)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut jobs = Vec::new();
        while let Some((name, script)) = map.next_entry::<String, String>()? {
            let mut job = Job::script(script);
            job.name = Some(name);
            jobs.push(job);
        }
        Ok(jobs)
    }
}

/// An entry of the list: a script, or a job with its keys.
struct Item(Job);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ItemVisitor;
        impl<'de> Visitor<'de> for ItemVisitor {
            type Value = Job;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a script, or a mapping with `script`")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Job, E> {
                Ok(Job::script(text.to_owned()))
            }
            fn visit_i64<E: Error>(self, value: i64) -> Result<Job, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_u64<E: Error>(self, value: u64) -> Result<Job, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_f64<E: Error>(self, value: f64) -> Result<Job, E> {
                self.visit_str(&format!("{value:?}"))
            }
            fn visit_bool<E: Error>(self, value: bool) -> Result<Job, E> {
                self.visit_str(&value.to_string())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Job, A::Error> {
                Job::deserialize(serde::de::value::MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(ItemVisitor).map(Self)
    }
}
