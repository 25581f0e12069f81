//! One tab: where it goes, what it shows, how it looks.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::wire::{self, PATIENCE, Told, Wire};

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(15);

/// How a page is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    pub width: u32,
    pub height: u32,
    pub is_dark: bool,
}

/// A tab. It stays open as long as its browser.
#[derive(Debug)]
pub struct Tab {
    wire: Arc<Wire>,
    session: String,
}

impl Tab {
    pub(crate) fn new(wire: Arc<Wire>, session: String) -> Self {
        let tab = Self { wire, session };
        for domain in ["Page", "Runtime", "Log"] {
            tab.call(&format!("{domain}.enable"), &json!({}));
        }
        tab.call("Page.setLifecycleEventsEnabled", &json!({"enabled": true}));
        tab.look(Look { width: 1280, height: 800, is_dark: false });
        tab
    }

    /// Runs a command of the protocol.
    ///
    /// # Panics
    /// With the browser's words, if it fails.
    #[track_caller]
    pub(crate) fn call(&self, method: &str, params: &Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_call(&self, method: &str, params: &Value) -> Result<Value, String> {
        self.wire.call(&self.session, method, params)
    }

    /// Opens an address, and waits until the page and everything it loads is there.
    ///
    /// # Panics
    /// If nothing answers.
    #[track_caller]
    pub fn goto(&self, url: &str) {
        let begun = self.call("Page.navigate", &json!({"url": url}));
        assert_eq!(begun.get("errorText"), None, "{url}");
        let Some(loader) = begun["loaderId"].as_str() else { return };
        let is_loaded = |told: &Told| {
            told.method == "Page.lifecycleEvent"
                && told.params["name"] == "load"
                && told.params["loaderId"] == loader
        };
        let loaded = self.wire.wait_told(url, is_loaded);
        loaded.unwrap_or_else(|error| panic!("{error}"));
    }

    /// The value of an expression of JavaScript in the page. Promises are awaited.
    ///
    /// # Panics
    /// If it throws, or can't be evaluated now.
    #[track_caller]
    pub fn js(&self, expression: &str) -> Value {
        self.try_js(expression, None).unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// `Err` also while a page gives way to the next one. `world`: another context than the page's own.
    pub(crate) fn try_js(&self, expression: &str, world: Option<&Value>) -> Result<Value, String> {
        let mut params =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        if let Some(world) = world {
            params["contextId"] = world.clone();
        }
        let mut done = self.try_call("Runtime.evaluate", &params)?;
        match done.get("exceptionDetails") {
            Some(thrown) => Err(thrown.to_string()),
            None => Ok(done["result"]["value"].take()),
        }
    }

    /// A context beside the page's own: the page's policy does not bind it, and the page does not see it.
    pub(crate) fn world(&self) -> Value {
        let frame = self.call("Page.getFrameTree", &json!({}));
        let params = json!({"frameId": frame["frameTree"]["frame"]["id"], "worldName": "tests"});
        self.call("Page.createIsolatedWorld", &params)["executionContextId"].clone()
    }

    /// Waits until an expression is true, and returns how long that took.
    ///
    /// # Panics
    /// With the page's text, if it stays false for a minute.
    #[track_caller]
    pub fn wait_for(&self, what: &str, expression: &str) -> Duration {
        let begun = Instant::now();
        let condition = format!("Boolean({expression})");
        let mut last = None;
        while begun.elapsed() < PATIENCE {
            match self.try_js(&condition, None) {
                Ok(Value::Bool(true)) => return begun.elapsed(),
                Ok(_) => {}
                Err(error) => last = Some(error),
            }
            std::thread::sleep(LOOK);
        }
        panic!("waited in vain for {what} ({last:?}); the page:\n{}", self.text());
    }

    /// Waits until the page shows these words.
    #[track_caller]
    pub fn wait_for_text(&self, words: &str) -> Duration {
        self.wait_for(
            &format!("{words:?}"),
            &format!("document.body.innerText.includes({})", json!(words)),
        )
    }

    /// What the page shows.
    pub fn text(&self) -> String {
        let text = self.try_js("document.body.innerText", None);
        text.map_or_else(|error| error, |text| text.as_str().unwrap_or_default().to_owned())
    }

    /// The path and query of the page.
    pub fn path(&self) -> String {
        self.js("location.pathname + location.search").as_str().unwrap_or_default().to_owned()
    }

    /// Changes the size of the window and the colours that the user prefers. Motion is always reduced.
    pub fn look(&self, Look { width, height, is_dark }: Look) {
        self.call(
            "Emulation.setDeviceMetricsOverride",
            &json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}),
        );
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        self.call("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// Turns the page's own JavaScript off, from the next page on. Expressions of tests still work.
    pub fn without_scripts(&self) {
        self.call("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    /// A picture of the whole page, or of the window only: PNG, or WebP where a quality is given.
    pub fn picture(&self, is_whole: bool, quality: Option<u8>) -> Vec<u8> {
        let mut params = match quality {
            Some(quality) => json!({"format": "webp", "quality": quality}),
            None => json!({"format": "png", "optimizeForSpeed": true}),
        };
        if is_whole {
            let size = self.call("Page.getLayoutMetrics", &json!({}))["cssContentSize"].take();
            params["captureBeyondViewport"] = true.into();
            params["clip"] = json!({"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1});
        }
        let taken = self.call("Page.captureScreenshot", &params);
        wire::decoded(taken["data"].as_str().unwrap_or_default())
    }

    /// Closes the tab.
    pub fn close(self) {
        let _gone = self.try_call("Page.close", &json!({}));
    }

    /// How many nodes and listeners the page has, and how many bytes its scripts hold, after a collection.
    pub fn weight(&self) -> Weight {
        self.call("HeapProfiler.enable", &json!({}));
        self.call("HeapProfiler.collectGarbage", &json!({}));
        let counted = self.call("Memory.getDOMCounters", &json!({}));
        let heap = self.call("Runtime.getHeapUsage", &json!({}));
        let number = |value: &Value| value.as_f64().unwrap_or(0.0) as u64;
        Weight {
            n_nodes: number(&counted["nodes"]),
            n_listeners: number(&counted["jsEventListeners"]),
            heap_kb: number(&heap["usedSize"]) / 1024,
        }
    }

    /// What went wrong since the last look: exceptions, errors on the console, refused loads, dialogs.
    pub fn problems(&self) -> Vec<String> {
        self.wire.drain(&self.session).iter().filter_map(problem).collect()
    }
}

/// What a page costs the browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weight {
    pub n_nodes: u64,
    pub n_listeners: u64,
    pub heap_kb: u64,
}

fn problem(told: &Told) -> Option<String> {
    let params = &told.params;
    match told.method.as_str() {
        "Page.javascriptDialogOpening" => Some(format!("a dialog: {}", params["message"])),
        "Runtime.exceptionThrown" => Some(format!("an exception: {}", params["exceptionDetails"])),
        "Log.entryAdded" if params["entry"]["level"] == "error" => {
            Some(format!("an error: {} {}", params["entry"]["text"], params["entry"]["url"]))
        }
        "Runtime.consoleAPICalled" if params["type"] == "error" => {
            Some(format!("on the console: {}", params["args"]))
        }
        _ => None,
    }
}

impl Tab {
    /// What axe-core, the usual judge of accessibility, finds on the page: nothing, if all is well. One line per violation and element.
    ///
    /// # Panics
    /// If axe-core is not installed.
    #[track_caller]
    pub fn axe(&self) -> Vec<String> {
        // In a context of its own: the page's policy forbids it to anything else, and stays as it is.
        let world = self.world();
        let run = |expression: &str| {
            self.try_js(expression, Some(&world)).unwrap_or_else(|error| panic!("axe: {error}"))
        };
        run(&format!("{}; 0", axe_source()));
        let found = run("axe.run(document, { resultTypes: ['violations'] }).then((all) => all.violations.flatMap(
               (one) => one.nodes.map((node) => [one.id, node.target.join(' '), node.failureSummary].join(' | '))))");
        let lines = found.as_array().unwrap_or_else(|| panic!("axe found {found}"));
        lines.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }
}

fn axe_source() -> &'static str {
    static SOURCE: OnceLock<String> = OnceLock::new();
    SOURCE.get_or_init(|| {
        let path = root().join(".tools/axe/node_modules/axe-core/axe.min.js");
        std::fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!(
                "axe-core is not installed ({}: {error}): run `scripts/test-tools`",
                path.display()
            )
        })
    })
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate is two folders deep").to_path_buf()
}
