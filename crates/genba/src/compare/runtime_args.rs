//! Metrics of the language runtime itself, and requests to a Rack application.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use genba_experiment::{MetricPlan, Plan};
use genba_model::Direction;
use genba_runtime::shim::{PER_REQUEST, Reporter, RuntimeChoice, Shims, reported};

use crate::exit_code::Failure;

/// The runtime whose metrics are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RuntimeArg {
    /// CRuby.
    Ruby,
    /// CPython.
    Python,
    /// Whichever runtime a command starts.
    Auto,
}

/// Metrics of the runtime and requests.
#[derive(Debug, ClapArgs)]
pub struct RuntimeArgs {
    /// Read the runtime's own metrics: garbage collections and their time, objects allocated, heap
    /// pages, methods compiled. The program needs no change.
    #[arg(long, value_enum, value_name = "WHICH")]
    pub runtime: Option<RuntimeArg>,

    /// Send requests to this Rack application (config.ru or a Ruby file) inside its process, and
    /// compare the cost of one request; each COMMAND then starts Ruby, as in `ruby --mjit`.
    #[arg(long, value_name = "APP")]
    pub per_request: Option<PathBuf>,

    /// Measured requests per run.
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "per_request",
          value_parser = clap::value_parser!(u32).range(1..))]
    pub requests: u32,

    /// Warm-up requests per run, not measured.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 100,
        requires = "per_request"
    )]
    pub requests_warmup: u32,

    /// Paths requested in turn, separated by commas.
    #[arg(
        long,
        value_name = "PATHS",
        default_value = "/",
        requires = "per_request"
    )]
    pub request_paths: String,
}

impl RuntimeArgs {
    /// The command line as it runs: with the program that sends requests, if requests are measured.
    /// The shims must live as long as the command.
    pub fn command(&self, command: &str, shims: Option<&Shims>) -> String {
        match (&self.per_request, shims) {
            (Some(_), Some(shims)) => format!("{command} {}", shims.requests().display()),
            _ => command.to_owned(),
        }
    }

    /// The definition of a runtime's metric as the primary metric; `None` if `name` is not one.
    pub fn metric(&self, name: &str, iterations: bool) -> Result<Option<MetricPlan>, Failure> {
        let Some(one) = reported(name) else {
            return Ok(None);
        };
        let runtime = self.runtime.is_some();
        let (asked, option) = match one.by {
            Reporter::Requests => (self.per_request.is_some(), "--per-request APP"),
            Reporter::Runtime => (runtime, "--runtime ruby|python|auto"),
            Reporter::Iterations => (runtime && iterations, "--runtime and --per-iteration N"),
        };
        if !asked {
            return Err(Failure::usage(format!(
                "the metric {name:?} needs {option}"
            )));
        }
        let direction = if one.more {
            Direction::MoreIsBetter
        } else {
            Direction::LessIsBetter
        };
        Ok(Some(MetricPlan::channel(name, one.unit, Some(direction))))
    }

    /// Writes the shims, if the arguments need them.
    pub fn shims(&self) -> Result<Option<Shims>, Failure> {
        if self.runtime.is_none() && self.per_request.is_none() {
            return Ok(None);
        }
        let shims = Shims::new();
        let cannot = |error| {
            Failure::usage(format!(
                "cannot write the files that the runtime loads: {error}"
            ))
        };
        shims.map(Some).map_err(cannot)
    }

    /// Sets the shims and requests in the environment of a plan's commands.
    pub fn prepare_plan(&self, plan: &mut Plan, shims: &Shims) -> Result<(), Failure> {
        let which = self.runtime.map(|runtime| match runtime {
            RuntimeArg::Ruby => RuntimeChoice::Ruby,
            RuntimeArg::Python => RuntimeChoice::Python,
            RuntimeArg::Auto => RuntimeChoice::Both,
        });
        for variant in &mut plan.variants {
            let iterations = variant.iterations;
            let environment = &mut variant.spec.environment;
            if let Some(which) = which {
                let set = shims.environment(which, iterations, &|name| environment.get(name));
                for (name, value) in set {
                    environment.set(name, value);
                }
            }
            if let Some(app) = &self.per_request {
                let app = std::path::absolute(app)
                    .map_err(|error| Failure::usage(format!("{}: {error}", app.display())))?;
                if !app.is_file() {
                    return Err(Failure::usage(format!(
                        "{} does not exist: --per-request needs the file of a Rack application",
                        app.display()
                    )));
                }
                environment.set("GENBA_RACK_APP", app);
                environment.set("GENBA_REQUESTS", self.requests.to_string());
                environment.set("GENBA_REQUESTS_WARMUP", self.requests_warmup.to_string());
                environment.set("GENBA_REQUEST_PATHS", &self.request_paths);
            }
        }
        if self.per_request.is_some() {
            let less = Some(Direction::LessIsBetter);
            plan.metrics
                .push(MetricPlan::channel(PER_REQUEST, "seconds", less));
        }
        Ok(())
    }
}
