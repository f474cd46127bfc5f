//! `genba mcp` with the client of its own SDK: sessions of an agent, refusals, cancellation.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command as StdCommand, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{scratch, tool_exists};
use rmcp::handler::client::ClientHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ProgressNotificationParam, ReadResourceRequestParams,
    ResourceContents,
};
use rmcp::service::{NotificationContext, RoleClient, RunningService, ServiceExt as _};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

/// Longest time in which something must have happened. Far more than it takes.
const LIMIT: Duration = Duration::from_secs(60);

/// A client that remembers what it was told about progress.
#[derive(Clone, Default)]
struct Agent {
    progress: Arc<Mutex<Vec<ProgressNotificationParam>>>,
}

impl ClientHandler for Agent {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.lock().expect("not poisoned").push(params);
    }
}

/// A session with a server for a directory.
struct Session {
    service: RunningService<RoleClient, Agent>,
    server: Child,
    agent: Agent,
}

impl Session {
    async fn start(directory: &Path, allowed: &str) -> Self {
        let mut server = Command::new(env!("CARGO_BIN_EXE_genba"))
            .args(["mcp", "--allow", allowed])
            .arg(directory)
            .env_remove("GENBA_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("genba starts");
        let streams = (
            server.stdout.take().expect("a stream"),
            server.stdin.take().expect("a stream"),
        );
        let agent = Agent::default();
        let service = agent.clone().serve(streams).await.expect("initialised");
        Self {
            service,
            server,
            agent,
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> (bool, String, Value) {
        let result = self.service.call_tool(request(tool, arguments)).await;
        let result: CallToolResult = result.unwrap_or_else(|error| panic!("{tool}: {error}"));
        let value = serde_json::to_value(&result).expect("JSON");
        let text = value["content"][0]["text"]
            .as_str()
            .expect("text")
            .to_owned();
        let failed = value["isError"] == true;
        // A rough count that is below what any tokenizer gives: the limit is 2,000.
        assert!(value.to_string().len() < 2_000 * 8, "{tool}: {text}");
        (failed, text, value["structuredContent"].clone())
    }

    /// An answer that is not an error.
    async fn answer(&self, tool: &str, arguments: Value) -> (String, Value) {
        let (failed, text, structured) = self.call(tool, arguments).await;
        assert!(!failed, "{tool}: {text}");
        (text, structured)
    }

    async fn refusal(&self, tool: &str, arguments: Value) -> String {
        let (failed, text, _) = self.call(tool, arguments.clone()).await;
        assert!(failed, "{tool} {arguments}: {text}");
        text
    }

    async fn resource(&self, uri: &str) -> Result<String, String> {
        let request = ReadResourceRequestParams::new(uri);
        let read = self.service.read_resource(request).await;
        match read.map_err(|error| error.to_string())?.contents.first() {
            Some(ResourceContents::TextResourceContents { text, .. }) => Ok(text.clone()),
            other => Err(format!("{other:?}")),
        }
    }

    /// Closes the streams and waits until the server has ended.
    async fn end(mut self) {
        let _ = self.service.cancel().await;
        let ended = tokio::time::timeout(LIMIT, self.server.wait()).await;
        let ended = ended.expect("it ends").expect("it was started");
        assert!(ended.success(), "{ended}");
    }
}

fn request(tool: &str, arguments: Value) -> CallToolRequestParams {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object");
    };
    CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments)
}

fn in_runtime(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(test);
}

/// A project of one program of the corpus, built, and the patch that mends it.
fn project(directory: &Path, name: &str) -> String {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../corpus")
        .join(name);
    let [slow, fast] = ["slow.c", "fast.c"].map(|file| corpus.join(file));
    fs::copy(&slow, directory.join("prog.c")).expect("copied");
    fs::write(
        directory.join("Makefile"),
        "prog: prog.c\n\tgcc -O2 -g $< -o $@\n",
    )
    .expect("written");
    let built = StdCommand::new("make").current_dir(directory).output();
    assert!(built.expect("make runs").status.success());
    let diff = StdCommand::new("diff")
        .args(["-u", "--label", "a/prog.c", "--label", "b/prog.c"])
        .args([&slow, &fast])
        .output()
        .expect("diff runs");
    String::from_utf8(diff.stdout).expect("UTF-8")
}

fn can_build(test: &str) -> bool {
    ["gcc", "make", "diff"]
        .iter()
        .all(|tool| tool_exists(test, tool))
}

/// From "it is slow" to the gain of a patch, with nothing but tools. Gains are counted instructions, which do
/// not depend on how busy the machine is.
#[test]
fn agent_goes_from_slow_program_to_measured_gain_of_a_patch() {
    if !can_build("mcp session") {
        return;
    }
    for (name, arguments) in [
        ("currency-ledger", ["50000", "60"]),
        ("access-log", ["20000", "6"]),
        ("hex-printer", ["200", "60"]),
    ] {
        let directory = scratch();
        let patch = project(directory.path(), name);
        let command = json!(["./prog", arguments[0], arguments[1]]);
        in_runtime(async {
            let session = Session::start(directory.path(), "make").await;
            let (found, _) = session
                .answer(
                    "investigate",
                    json!({"command": command, "budget_seconds": 0.5}),
                )
                .await;
            assert!(
                found.contains("WHERE") && found.contains("prog.c:"),
                "{name}: {found}"
            );
            let (causes, _) = session.answer("explain", json!({})).await;
            assert!(
                causes.contains("gain") || causes.contains("catalogue"),
                "{name}: {causes}"
            );
            let (annotated, _) = session
                .answer("annotate", json!({"function": "main", "max_tokens": 400}))
                .await;
            assert!(annotated.contains("main"), "{name}: {annotated}");
            let (tried, verdicts) = session
                .answer(
                    "try",
                    json!({"command": command, "build": ["make"],
                        "patch": patch, "metric": "exact-instructions", "budget_seconds": 30}),
                )
                .await;
            let verdict = &verdicts["verdicts"][0];
            assert_eq!(verdict["variant"], "patch", "{name}: {tried}");
            assert_eq!(verdict["verdict"], "faster", "{name}: {tried}");
            assert!(
                verdict["speedup"]["low"].as_f64() > Some(1.05),
                "{name}: {verdict}"
            );
            assert!(
                !session
                    .agent
                    .progress
                    .lock()
                    .expect("not poisoned")
                    .is_empty()
            );
            let case = verdicts["case"].as_str().expect("a case");
            let page = session.resource(&format!("genba://case/{case}/page")).await;
            assert!(page.expect("a page").contains("<html"));
            let document = session
                .resource(&format!("genba://case/{case}/document"))
                .await;
            let document: Value =
                serde_json::from_str(&document.expect("a document")).expect("JSON");
            assert_eq!(document["kind"], "trial");
            let listed = session.service.list_all_resources().await.expect("a list");
            assert!(
                listed.iter().any(|one| one.uri.contains(case)),
                "{listed:?}"
            );
            session.end().await;
        });
    }
}

#[test]
fn patch_that_changes_what_the_program_prints_gets_no_verdict() {
    if !can_build("mcp refused verdict") {
        return;
    }
    let directory = scratch();
    let patch = project(directory.path(), "currency-ledger");
    let wrong = patch.replace("return amount;", "return amount + 1;");
    assert_ne!(wrong, patch);
    in_runtime(async {
        let session = Session::start(directory.path(), "make").await;
        let (failed, text, verdicts) = session
            .call(
                "try",
                json!({"command": ["./prog", "5000", "100"], "build": ["make"], "patch": wrong,
                    "budget_seconds": 5}),
            )
            .await;
        assert!(
            failed && text.starts_with("NO VERDICT for patch: prints something else"),
            "{text}"
        );
        assert_eq!(verdicts["verdicts"][0]["verdict"], "refused");
        assert!(verdicts["verdicts"][0]["speedup"].is_null());
        session.end().await;
    });
}

#[test]
fn nothing_is_run_or_read_outside_of_the_directory() {
    if !can_build("mcp directory") {
        return;
    }
    let around = scratch();
    let root = around.path().join("project");
    fs::create_dir(&root).expect("made");
    let secret = around.path().join("secret.c");
    fs::write(&secret, "the secret line\n").expect("written");
    let patch = project(&root, "currency-ledger");
    symlink(&secret, root.join("link")).expect("a link");
    symlink("/bin/echo", root.join("echo")).expect("a link");
    // Debug information names a file outside.
    let spying = format!(
        "#include <stdio.h>\nint main(void) {{ unsigned s = 0;\n#line 1 \"{}\"\n\
         for (unsigned i = 0; i < 200000000; i++) s = s * 31 + i;\n printf(\"%u\\n\", s); }}\n",
        secret.display()
    );
    fs::write(root.join("spy.c"), spying).expect("written");
    let built = StdCommand::new("gcc")
        .args(["-O1", "-g", "spy.c", "-o", "spy"])
        .current_dir(&root)
        .status();
    assert!(built.expect("gcc runs").success());
    in_runtime(async {
        let session = Session::start(&root, "make").await;
        let outside = "outside of";
        for command in [
            json!(["/bin/echo", "x"]),
            json!(["./echo", "x"]),
            json!(["../project/../secret.c"]),
            json!(["./prog", "/etc/passwd"]),
            json!(["./prog", "link"]),
            json!(["./prog", "--input=../secret.c"]),
        ] {
            for tool in ["investigate", "wait"] {
                let said = session.refusal(tool, json!({"command": command})).await;
                assert!(said.contains(outside), "{command}: {said}");
            }
            let bench = json!({"commands": [{"name": "a", "command": command}]});
            assert!(session.refusal("bench", bench).await.contains(outside));
        }
        let said = session
            .refusal("investigate", json!({"command": ["echo", "x"]}))
            .await;
        assert!(said.contains("--allow echo"), "{said}");
        let said = session.refusal(
            "investigate",
            json!({"command": ["./prog"], "directory": "/"}),
        );
        assert!(said.await.contains(outside));
        let up = patch
            .replace("a/prog.c", "a/../secret.c")
            .replace("b/prog.c", "b/../secret.c");
        let said = session.refusal(
            "try",
            json!({"command": ["./prog"], "build": ["make"], "patch": up}),
        );
        assert!(said.await.contains(outside));
        session
            .refusal("explain", json!({"case": "../secret.c"}))
            .await;
        session
            .refusal("annotate", json!({"case": "link", "function": "main"}))
            .await;
        for uri in [
            "genba://case/../../secret.c/page",
            "genba://case/latest/../page",
            "file:///etc/passwd",
        ] {
            assert!(session.resource(uri).await.is_err(), "{uri}");
        }

        let investigate = json!({"command": ["./spy"], "budget_seconds": 0.5});
        let (text, _) = session.answer("investigate", investigate).await;
        let (annotated, _) = session
            .answer("annotate", json!({"function": "main"}))
            .await;
        for text in [text, annotated] {
            assert!(
                text.contains("secret.c") && !text.contains("the secret line"),
                "{text}"
            );
        }
        // A page of a case may have been replaced by a link.
        let listed = session.service.list_all_resources().await.expect("a list");
        let uri = listed
            .iter()
            .find(|one| one.uri.ends_with("/page"))
            .expect("a page")
            .uri
            .clone();
        assert!(session.resource(&uri).await.is_ok());
        let case = uri
            .trim_start_matches("genba://case/")
            .trim_end_matches("/page");
        let page = root.join(".genba").join(case).join("case.html");
        fs::remove_file(&page).expect("there was one");
        symlink(&secret, &page).expect("a link");
        assert!(session.resource(&uri).await.is_err());
        session.end().await;
    });
    assert_eq!(
        fs::read_to_string(&secret).expect("there"),
        "the secret line\n"
    );
}

/// A program that writes its process id and that of a child, and then waits.
fn waiting(directory: &Path) -> PathBuf {
    let script = directory.join("waiting");
    fs::write(
        &script,
        "#!/bin/sh\necho $$ >>ids\nsleep 1000 &\necho $! >>ids\nwait\n",
    )
    .expect("written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&script, mode).expect("made executable");
    directory.join("ids")
}

async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + LIMIT;
    while !done() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn ids(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Whether any of these processes is there, and has not merely not been waited for.
fn any_alive(ids: &[String]) -> bool {
    ids.iter().any(|id| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        (stat.rsplit(") ").next()).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    })
}

#[test]
fn cancelled_call_leaves_no_process_and_the_next_one_works() {
    let directory = scratch();
    let file = waiting(directory.path());
    in_runtime(async {
        let session = Session::start(directory.path(), "true").await;
        for tool in ["investigate", "wait", "bench"] {
            let _ = fs::remove_file(&file);
            let arguments = match tool {
                "bench" => json!({"commands": [{"name": "a", "command": ["./waiting"]}]}),
                _ => json!({"command": ["./waiting"]}),
            };
            // A request that is dropped is cancelled.
            tokio::select! {
                answer = session.call(tool, arguments) => panic!("{tool}: {answer:?}"),
                () = until("the program runs", || ids(&file).len() >= 2) => {}
            }
            let started = ids(&file);
            until("no process is left", || !any_alive(&started)).await;
        }
        // Two at once: the second waits for the first, and may be cancelled meanwhile.
        let _ = fs::remove_file(&file);
        tokio::select! {
            answer = session.call("wait", json!({"command": ["./waiting"]})) => panic!("{answer:?}"),
            answer = session.call("wait", json!({"command": ["./waiting", "2"]})) => panic!("{answer:?}"),
            () = until("the program runs", || ids(&file).len() >= 2) => {}
        }
        let (text, _) = session
            .answer(
                "bench",
                json!({"commands": [{"name": "a", "command": ["true"]}], "budget_seconds": 0.3}),
            )
            .await;
        assert!(text.contains("true"), "{text}");
        let limited = json!({"command": ["./waiting"], "time_limit_seconds": 1});
        let said = session.refusal("wait", limited).await;
        assert!(said.contains("time limit"), "{said}");
        let started = ids(&file);
        until("no process is left", || !any_alive(&started)).await;
        session.end().await;
    });
}

#[test]
fn end_of_the_server_leaves_no_process() {
    for how in ["closed", "SIGTERM", "SIGKILL"] {
        let directory = scratch();
        let file = waiting(directory.path());
        in_runtime(async {
            let session = Session::start(directory.path(), "true").await;
            let running = session.service.peer().clone();
            let call = tokio::spawn(async move {
                let arguments = json!({"command": ["./waiting"]});
                running
                    .call_tool(request("investigate", arguments))
                    .await
                    .is_ok()
            });
            until("the program runs", || ids(&file).len() >= 2).await;
            let started = ids(&file);
            let Session {
                service,
                mut server,
                ..
            } = session;
            let id = i32::try_from(server.id().expect("it runs")).expect("an id");
            let pid = rustix::process::Pid::from_raw(id).expect("an id");
            match how {
                "closed" => drop(service.cancel().await),
                "SIGTERM" => {
                    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent")
                }
                _ => {
                    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("sent")
                }
            }
            let ended = tokio::time::timeout(LIMIT, server.wait()).await;
            assert!(ended.is_ok(), "{how}: the server goes on");
            until("no process is left", || !any_alive(&started)).await;
            call.abort();
        });
    }
}

#[test]
fn unknown_tools_and_arguments_are_errors_that_say_so() {
    let directory = scratch();
    in_runtime(async {
        let session = Session::start(directory.path(), "true").await;
        let tools = session.service.list_all_tools().await.expect("a list");
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        let all = [
            "investigate",
            "explain",
            "prove",
            "fix",
            "annotate",
            "observe",
            "wait",
            "bench",
            "try",
            "bisect",
        ];
        assert_eq!(names, all);
        // What an agent reads before it asks anything should be small.
        let size = serde_json::to_string(&tools).expect("JSON").len();
        assert!(size < 14_000, "{size} bytes of descriptions");
        assert!(
            session
                .service
                .call_tool(request("rm", json!({})))
                .await
                .is_err()
        );
        assert!(
            session
                .refusal("investigate", json!({}))
                .await
                .contains("`command` is missing")
        );
        let said = session
            .refusal("investigate", json!({"command": ["true"], "patch": "x"}))
            .await;
        assert!(said.contains("no argument `patch`"), "{said}");
        let said = session.refusal("explain", json!({})).await;
        assert!(said.contains("investigate a command first"), "{said}");
        let said = session.refusal("explain", json!({"case": "7f3a"})).await;
        assert!(said.contains("7f3a"), "{said}");
        session.end().await;
    });
}
