//! The server: tools and resources over standard input and output.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use genba_case::Case;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProgressToken, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig,
    Tool as ToolDescription, ToolAnnotations,
};
use rmcp::service::{Peer, RequestContext, RoleServer};
use rmcp::transport::io::stdio_pipes;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Mutex, Semaphore, mpsc, watch};
use tokio::time::{Instant, timeout};

use crate::answer::{DEFAULT_TOKENS, MAX_TOKENS, MIN_TOKENS};
use crate::arguments::{self, Arguments};
use crate::case_resources::Found;
use crate::child::{self, Ended, Finished, Progress, Run};
use crate::command_lines::{CASE, PATCH};
use crate::tool_result::result;
use crate::tools::{Call, CaseRead, TOOLS, Tool};
use crate::{Refusal, Workspace, case_resources};

const INSTRUCTIONS: &str = "genba measures programs: where time goes, why, and whether a change is faster. \
Way of working: investigate the slow command; read the causes with their evidence; make a patch for the first; \
try it (builds copies, checks that the output stays the same, paired runs); apply it only if the verdict is `faster`. \
Predicted gains are predictions: only bench and try measure one. Commands are lists of words, no shell lines. Only \
programs in the server's directory are run. One measurement runs at a time, as two would disturb each other.";

/// Default time limit of a call.
const DEFAULT_LIMIT_SECONDS: f64 = 600.0;
/// Longest time limit of a call.
const MAX_LIMIT_SECONDS: f64 = 24.0 * 3600.0;
/// Time between notifications of progress where nothing changes.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(3);
/// Children that may run at once, of which one measures.
const MAX_CHILDREN: u32 = 8;
/// Time that children have to end when the server ends.
const TIME_TO_END: Duration = Duration::from_secs(12);

/// Why the server could not work.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServeError(String);

/// Serves until the client closes standard input, or a signal ends the server. No child is left.
///
/// # Errors
/// The runtime cannot be made, or the client does not speak the protocol.
pub fn serve(workspace: Workspace, version: &str) -> Result<(), ServeError> {
    let failed = |error: &dyn fmt::Display| ServeError(format!("genba mcp: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| failed(&error))?;
    let (ending, ended) = watch::channel(false);
    let server = Server {
        workspace,
        version: version.to_owned(),
        measuring: Arc::new(Mutex::new(())),
        children: Arc::new(Semaphore::new(MAX_CHILDREN as usize)),
        ended,
    };
    let children = Arc::clone(&server.children);
    let served = runtime.block_on(async move {
        let served = tokio::select! {
            served = conversation(server) => served,
            stopped = stop_signal() => stopped,
        };
        let _ = ending.send(true);
        let _ = timeout(TIME_TO_END, children.acquire_many(MAX_CHILDREN)).await;
        served
    });
    // A read of standard input may still be blocked in a thread.
    runtime.shutdown_background();
    served.map_err(|error| failed(&error))
}

async fn conversation(server: Server) -> Result<(), String> {
    match rmcp::service::serve_server(server, stdio_pipes()).await {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        // A client that says nothing has not failed.
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

async fn stop_signal() -> Result<(), String> {
    let listen = |kind| signal(kind).map_err(|error| error.to_string());
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let mut hangup = listen(SignalKind::hangup())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    Ok(())
}

/// The handler of requests.
struct Server {
    workspace: Workspace,
    version: String,
    /// Two measurements at once would disturb each other.
    measuring: Arc<Mutex<()>>,
    children: Arc<Semaphore>,
    /// Becomes true when the server ends.
    ended: watch::Receiver<bool>,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("genba", self.version.clone()))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            TOOLS.iter().map(description).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = Tool::find(&request.name) else {
            let shown: String = request.name.chars().take(40).collect();
            return Err(ErrorData::invalid_params(
                format!("no tool is named {shown}"),
                None,
            ));
        };
        let given = request.arguments.unwrap_or_default();
        let result = match arguments::parse(given, tool.required, tool.optional) {
            Ok(arguments) => self.answer(tool, &arguments, context).await,
            Err(refusal) => Err(refusal),
        };
        let result = result.unwrap_or_else(|refusal| {
            CallToolResult::error(vec![ContentBlock::text(refusal.to_string())])
        });
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let listed = case_resources::list(&self.workspace, cursor.as_deref());
        let (resources, next) =
            listed.map_err(|refusal| ErrorData::invalid_params(refusal.0, None))?;
        let mut result = ListResourcesResult::with_all_items(resources);
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(
            case_resources::templates(),
        ))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let not_found = |why: String| ErrorData::resource_not_found(why, None);
        match case_resources::read(&self.workspace, &request.uri) {
            Some(Ok(Found::Ready(contents))) => Ok(ReadResourceResult::new(vec![contents]).into()),
            Some(Ok(Found::Printed(words, media_type))) => {
                let printed = self.printed(words).await;
                let text = printed.map_err(|refusal| not_found(refusal.0))?;
                let contents = ResourceContents::text(text, request.uri).with_mime_type(media_type);
                Ok(ReadResourceResult::new(vec![contents]).into())
            }
            Some(Err(refusal)) => Err(not_found(refusal.0)),
            None => Err(not_found(
                "resources are genba://case/ID/page and genba://case/ID/document".to_owned(),
            )),
        }
    }
}

fn description(tool: &Tool) -> ToolDescription {
    let schema = arguments::schema(tool.required, tool.optional);
    let annotations = ToolAnnotations::new()
        .read_only(!tool.measures)
        .destructive(false)
        .open_world(false);
    let mut described = ToolDescription::new(tool.name, tool.description, schema);
    described.title = Some(tool.title.to_owned());
    described.annotations = Some(annotations);
    described
}

impl Server {
    /// The answer to a call.
    async fn answer(
        &self,
        tool: &'static Tool,
        arguments: &Arguments,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Refusal> {
        let mut call = tool.call(arguments, &self.workspace)?;
        self.name_case(&mut call)?;
        let limit = arguments
            .time_limit_seconds
            .unwrap_or(DEFAULT_LIMIT_SECONDS);
        if !(0.1..=MAX_LIMIT_SECONDS).contains(&limit) {
            return Err(Refusal(format!(
                "time_limit_seconds must be from 0.1 to {MAX_LIMIT_SECONDS}"
            )));
        }
        let tokens = arguments
            .max_tokens
            .unwrap_or(DEFAULT_TOKENS)
            .clamp(MIN_TOKENS, MAX_TOKENS);
        let finished = self
            .run(tool, call, Duration::from_secs_f64(limit), context)
            .await?;
        match finished.ended {
            Ended::ByItself => {}
            Ended::Cancelled => return Err(Refusal("cancelled".to_owned())),
            Ended::TimeLimit => {
                return Err(Refusal(format!(
                    "ended after {limit} s, the time limit of the call (time_limit_seconds)"
                )));
            }
            Ended::TooLarge => return Err(Refusal("the document is too large".to_owned())),
        }
        Ok(result(&finished, tokens))
    }

    /// What genba prints.
    async fn printed(&self, words: Vec<String>) -> Result<String, Refusal> {
        let failed = |error: &dyn fmt::Display| Refusal(format!("genba cannot be run: {error}"));
        let _child = self
            .children
            .acquire()
            .await
            .map_err(|error| failed(&error))?;
        let run = Run {
            words,
            directory: self.workspace.root().to_owned(),
            cases: self.workspace.cases(),
            sources: self.workspace.root().to_owned(),
            limit: Duration::from_secs_f64(DEFAULT_LIMIT_SECONDS),
        };
        let (progress, _) = mpsc::unbounded_channel();
        let finished = child::run(run, progress, self.ended.clone()).await;
        let finished = finished.map_err(|error| failed(&error))?;
        match finished.document.is_empty() {
            true => Err(Refusal(finished.notes)),
            false => Ok(String::from_utf8_lossy(&finished.document).into_owned()),
        }
    }

    /// Puts the full id of the case that is read into the command line.
    fn name_case(&self, call: &mut Call) -> Result<(), Refusal> {
        let Some(wanted) = &call.case else {
            return Ok(());
        };
        let case = match wanted {
            CaseRead::Named(id) => case_resources::find(&self.workspace, id),
            CaseRead::NewestInvestigation => case_resources::newest_investigation(&self.workspace),
        }?;
        self.workspace.case(case.id())?;
        if call.line.runs_case {
            self.check_case(&case)?;
        }
        for word in call.line.words.iter_mut().filter(|word| *word == CASE) {
            case.id().clone_into(word);
        }
        Ok(())
    }

    /// Checks that the command of a case is one that a call could have named.
    fn check_case(&self, case: &Case) -> Result<(), Refusal> {
        let failed =
            |error: &dyn fmt::Display| Refusal(format!("the case cannot be read: {error}"));
        let workload = case
            .investigation()
            .map_err(|error| failed(&error))?
            .workload;
        if workload.shell.is_some() {
            return Err(Refusal(
                "the command of the case is a line for the shell: investigate it as a list of words".to_owned(),
            ));
        }
        let directory = self.workspace.directory(Some(&workload.directory))?;
        self.workspace.check_command(&workload.command, &directory)
    }

    /// Runs genba. The run goes on in a task of its own, so that it ends in order whatever becomes of the request.
    async fn run(
        &self,
        tool: &'static Tool,
        call: Call,
        limit: Duration,
        context: RequestContext<RoleServer>,
    ) -> Result<Finished, Refusal> {
        let failed = |error: &dyn fmt::Display| Refusal(format!("genba cannot be run: {error}"));
        let (cancel, cancelled) = watch::channel(false);
        // Dropped with this request: then the run is cancelled as well.
        let cancel = Arc::new(cancel);
        let on_end = Arc::downgrade(&cancel);
        let (mut server_ends, token) = (self.ended.clone(), context.ct.clone());
        let watcher = tokio::spawn(async move {
            tokio::select! {
                () = token.cancelled() => {}
                _ = server_ends.wait_for(|ended| *ended) => {}
            }
            if let Some(cancel) = on_end.upgrade() {
                let _ = cancel.send(true);
            }
        });
        let (progress, stages) = mpsc::unbounded_channel();
        let (measuring, children) = (Arc::clone(&self.measuring), Arc::clone(&self.children));
        let (cases, sources) = (self.workspace.cases(), self.workspace.root().to_owned());
        let running = tokio::spawn(async move {
            let Ok(_child) = children.acquire().await else {
                return Ok(None);
            };
            let mut waits = cancelled.clone();
            let _alone = match tool.measures {
                false => None,
                true => tokio::select! {
                    alone = measuring.lock() => Some(alone),
                    _ = waits.wait_for(|cancelled| *cancelled) => return Ok(None),
                },
            };
            // genba reads the patch while it runs.
            let patch = call.line.patch.as_deref().map(patch_file).transpose()?;
            let mut words = call.line.words;
            if let Some(file) = &patch {
                for word in words.iter_mut().filter(|word| *word == PATCH) {
                    word.push_str(&file.path().join(PATCH_FILE).to_string_lossy());
                }
            }
            let run = Run {
                words,
                directory: call.directory,
                cases,
                sources,
                limit,
            };
            child::run(run, progress, cancelled).await.map(Some)
        });
        let notifier = tokio::spawn(notify(
            context.peer,
            context.meta.get_progress_token(),
            stages,
        ));
        let finished = running.await.map_err(|error| failed(&error))?;
        watcher.abort();
        notifier.abort();
        drop(cancel);
        let finished = finished.map_err(|error: std::io::Error| failed(&error))?;
        finished.ok_or_else(|| Refusal("cancelled".to_owned()))
    }
}

/// Name of the file of a patch, which is the name of the variant.
const PATCH_FILE: &str = "patch";

/// A directory with the patch.
fn patch_file(patch: &str) -> std::io::Result<tempfile::TempDir> {
    let directory = tempfile::Builder::new().prefix("genba-mcp-").tempdir()?;
    std::fs::write(directory.path().join(PATCH_FILE), patch)?;
    Ok(directory)
}

/// Tells the client what is done now, at every stage and at intervals, until all stages are over.
async fn notify(
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    mut stages: mpsc::UnboundedReceiver<Progress>,
) {
    let Some(token) = token else {
        return;
    };
    let started = Instant::now();
    let mut stage = Progress {
        stage: "waiting for its turn".to_owned(),
        seconds_left: None,
    };
    let mut since = started;
    loop {
        match timeout(PROGRESS_INTERVAL, stages.recv()).await {
            Ok(None) => return,
            Ok(Some(next)) => {
                stage = next;
                since = Instant::now();
            }
            Err(_) => {}
        }
        let spent = started.elapsed().as_secs_f64();
        let left = (stage.seconds_left)
            .map(|left| left - since.elapsed().as_secs_f64())
            .filter(|&left| left > 0.0);
        let mut notification = ProgressNotificationParam::new(token.clone(), spent);
        notification.total = left.map(|left| spent + left);
        notification.message = Some(stage.stage.clone());
        if peer.notify_progress(notification).await.is_err() {
            return;
        }
    }
}
