//! The listener, on a thread of its own.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, Method, Request, Response, header};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use substrate_core::page::{self, Nonces};
use substrate_core::{Cx, PageBody, PageRequest};
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore};
use tokio::task::{LocalSet, spawn_blocking, spawn_local};
use tokio::time::timeout;

use crate::form::Fields;
use crate::keys::{KeyInfo, Kind};
use crate::layout::{Layout, NavItem};
use crate::respond::{guard, html, refused, see_other};
use crate::settings;
use crate::site::{Refusal, Site};
use crate::stream::{self, Live};
use crate::{api, assets, gate};

/// How long a browser may take to send the head of a request.
const HEAD: Duration = Duration::from_secs(5);

/// How long a request may take, its body included. Streams begin within it.
const REQUEST: Duration = Duration::from_secs(20);

/// The most that a head may be long.
const MAX_HEAD: usize = 16 << 10;

/// The most connections at once.
const MAX_OPEN: usize = 512;

/// Threads that render: one of them may be busy for tabs. More would only wait for each other, and each keeps memory.
const MAX_THREADS: usize = 3;

/// A running listener. It ends when this is dropped.
#[derive(Debug)]
pub struct Listening {
    end: Arc<Notify>,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.end.notify_one();
    }
}

/// Serves the dashboard on a thread until the result is dropped.
pub fn listen(site: Arc<Site>, listener: TcpListener) -> std::io::Result<Listening> {
    listener.set_nonblocking(true)?;
    let end = Arc::new(Notify::new());
    let ends = Arc::clone(&end);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(MAX_THREADS)
        .thread_keep_alive(Duration::from_secs(5))
        .thread_name("dashboard")
        .on_thread_start(step_back)
        .build()?;
    std::thread::Builder::new().name("dashboard".to_owned()).spawn(move || {
        step_back();
        LocalSet::new().block_on(&runtime, async {
            tokio::select! {
                () = accept_all(site, listener) => {}
                () = ends.notified() => {}
            }
        });
        runtime.shutdown_background();
    })?;
    Ok(Listening { end })
}

/// Lets hooks go first. A page may come a little later, and an agent waits for its hook.
fn step_back() {
    // On Linux this is about the calling thread, elsewhere about the whole daemon.
    #[cfg(target_os = "linux")]
    let _stays = rustix::process::setpriority_process(None, 10);
}

async fn accept_all(site: Arc<Site>, listener: TcpListener) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let places = Arc::new(Semaphore::new(MAX_OPEN));
    let live = Live::new(Arc::clone(&site));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let (site, live) = (Arc::clone(&site), Arc::clone(&live));
                drop(spawn_local(async move {
                    serve(site, live, stream).await;
                    drop(place);
                }));
            }
            // Most likely out of file descriptors.
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

async fn serve(site: Arc<Site>, live: Arc<Live>, stream: TcpStream) {
    let _slower = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<hyper::body::Incoming>| {
        let (site, live) = (Arc::clone(&site), Arc::clone(&live));
        async move { Ok::<_, Infallible>(answer(site, live, request.map(Body::new)).await) }
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD)
        .half_close(false);
    if let Err(error) = http.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection of the dashboard ended");
    }
}

/// Answers any request, within its time and with all headers.
async fn answer(site: Arc<Site>, live: Arc<Live>, request: Request<Body>) -> Response<Body> {
    let as_json = ["/api/", "/do/"].iter().any(|prefix| request.uri().path().starts_with(prefix))
        && (request.uri().path().starts_with("/api/")
            || gate::content_type(request.headers()) == Some("application/json"));
    let routed = timeout(REQUEST, route(site, live, request)).await;
    let late = || (Refusal::new(408, "the request took too long"), "/".to_owned());
    let mut response = match routed.unwrap_or_else(|_| Err(late())) {
        Ok(response) => response,
        Err((refusal, back)) => refused(&refusal, as_json, &back),
    };
    guard(response.headers_mut());
    response
}

type Refused = (Refusal, String);

async fn route(
    site: Arc<Site>,
    live: Arc<Live>,
    request: Request<Body>,
) -> Result<Response<Body>, Refused> {
    let home = |refusal| (refusal, "/".to_owned());
    let (method, headers) = (request.method(), request.headers());
    let host = gate::admit(&site, method, request.uri(), headers).map_err(home)?.to_owned();
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    if let Some(file) = assets::find(&path).filter(|_| *method != Method::POST) {
        return Ok(file);
    }
    if path == "/enter" {
        return enter(&site, &host, &request, &query).map_err(home);
    }
    let holder = gate::signed_in(&site, &host, headers).map_err(home)?;
    if *method == Method::POST {
        if path.starts_with("/do/") {
            return api::act(site, holder, request).await;
        }
        return Err(home(Refusal::new(405, "this page takes no forms")));
    }
    if path == "/stream" {
        return stream::begin(live, holder, headers, &query).map_err(home);
    }
    let on_thread = spawn_blocking(move || match path.strip_prefix("/api/") {
        Some(words) => api::read(&site, words, &query),
        None => whole_page(&site, &holder, &path, &query)
            .and_then(Layout::page)
            .map(|page| html(200, page)),
    });
    on_thread.await.unwrap_or_else(|_| Err(Refusal::new(500, "the page panicked"))).map_err(home)
}

/// Exchanges the key of a URL for a cookie, and leads away from that URL.
fn enter(
    site: &Site,
    host: &str,
    request: &Request<Body>,
    query: &str,
) -> Result<Response<Body>, Refusal> {
    if gate::is_a_look_ahead(request.method(), request.headers()) {
        return Err(Refusal::new(403, "a key is used by opening its address"));
    }
    let given = Fields::of_form(query).take("key").unwrap_or_default();
    let issued = site.change_keys(|keys, now, random| keys.exchange(&given, now, random));
    let issued = issued.ok_or_else(|| {
        Refusal::new(403, "this key was used before, has expired, or never was one")
            .hint("run `substrate ui` again: each address works once")
    })?;
    let name = gate::cookie_name(host.rsplit(':').next().unwrap_or_default());
    let lasts_s = (issued.info.expires_ms - issued.info.made_ms) / 1_000;
    let cookie =
        format!("{name}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={lasts_s}", issued.key);
    let mut response = see_other("/");
    let cookie =
        HeaderValue::from_str(&cookie).map_err(|error| Refusal::new(500, error.to_string()))?;
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    tracing::info!(
        key = issued.info.id,
        device = issued.info.kind == Kind::Device,
        "a browser signed in"
    );
    Ok(response)
}

/// Renders one page inside its layout.
pub(crate) fn whole_page(
    site: &Site,
    holder: &KeyInfo,
    path: &str,
    query: &str,
) -> Result<Layout, Refusal> {
    let found = site.pages().find_map(|page| Some((page, page::matched(page.path, path)?)));
    let (page, segments) = match found {
        Some((page, segments)) => (Some(page), segments),
        None if path == settings::PATH => (None, Vec::new()),
        None => {
            return Err(
                Refusal::new(404, "there is no such page").hint("the header lists the views")
            );
        }
    };
    let here = if query.is_empty() { path.to_owned() } else { format!("{path}?{query}") };
    let fields = Fields::of_form(query);
    let secret = site.keys().secret.clone();
    let request = PageRequest {
        here: here.clone(),
        segments,
        caller: site.host.caller(None),
        may_act: holder.may_act,
        nonces: Nonces::new(&secret, holder.id),
        query: fields.0,
    };
    let (mut nav, mut newest) = (Vec::new(), 0);
    let body = site.render(&mut |cx| {
        newest = stream::newest(cx)?;
        nav = views(site, cx, path)?;
        match page {
            Some(page) => (page.render)(cx, &request).map_err(Refusal::from),
            None => settings::render(site, holder, cx),
        }
    })?;
    let PageBody { title, html: main } = body;
    let query = request.field("q").unwrap_or_default().to_owned();
    let has = |path: &str| site.pages().any(|page| page.path == path);
    let (has_search, has_health) = (has("/search"), has("/health"));
    let foot = site.host.about();
    let state = String::new();
    Ok(Layout { title, nav, query, main, foot, newest, here, state, has_search, has_health })
}

/// The views in the header, with their numbers.
fn views(
    site: &Site,
    cx: &mut Cx<'_>,
    here: &str,
) -> Result<Vec<NavItem>, substrate_core::DbError> {
    let mut pages: Vec<_> = site.pages().filter(|page| page.nav.is_some()).collect();
    pages.sort_by_key(|page| page.nav);
    pages
        .into_iter()
        .map(|page| {
            let (count, counts) = match page.badge {
                Some(badge) => ((badge.count)(cx)?, badge.word),
                None => (0, ""),
            };
            let is_here = page.path == here
                || (page.path.len() > 1 && here.starts_with(&format!("{}/", page.path)))
                || (page.path == "/lanes" && here == "/agent");
            Ok(NavItem { page, is_here, count, counts })
        })
        .collect()
}
