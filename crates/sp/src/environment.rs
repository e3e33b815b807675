//! What `sp` reads from its process: environment variables, directories, arguments, clock and
//! randomness.
//!
//! It all goes into one [`Context`], which is passed down. No other module reads any of it.
#![expect(clippy::disallowed_methods, reason = "the one place where the surroundings come in")]

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use sp_engine::{Context, Error, ErrorCode, EventListener, InstallConsent, Network, Result};

use crate::cli::GlobalOptions;

/// Creates the context of this process. Flags take precedence over environment variables.
pub(crate) fn context<'a>(
    options: &GlobalOptions,
    listener: &'a dyn EventListener,
) -> Result<Context<'a>> {
    let env: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let user_home =
        env.get("HOME").filter(|home| !home.is_empty()).map(PathBuf::from).ok_or_else(|| {
            Error::new(ErrorCode::NoHome, "the home directory is unknown")
                .hint("set the environment variable `HOME`")
        })?;
    let current_dir = std::env::current_dir().map_err(|e| {
        Error::new(ErrorCode::NoHome, "the current directory does not exist")
            .because(e)
            .hint("change to a directory that exists")
    })?;
    let home = env.get("SKILLPACK_HOME").filter(|home| !home.is_empty());
    let home = home.map_or_else(|| user_home.join(".skillpack"), |home| current_dir.join(home));
    arm_faults(&env)?;
    Ok(Context {
        cache: options.cache_dir.as_ref().map(|dir| current_dir.join(dir)),
        now: now(&env),
        wall_clock,
        random,
        run_id: run_id(),
        limits: options.limit.clone(),
        network: if options.offline { Network::Offline } else { Network::Allowed },
        user_home,
        home,
        current_dir,
        env,
        consent: InstallConsent::default(),
        listener,
    })
}

/// Returns an environment variable, if it is valid Unicode.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Reads a file of limited size.
pub(crate) fn read_text(path: &Path, limit: u64) -> std::result::Result<String, String> {
    let mut text = String::new();
    let read =
        std::fs::File::open(path).and_then(|file| file.take(limit).read_to_string(&mut text));
    read.map(|_| text).map_err(|why| why.to_string())
}

/// Sets the current time and a new run ID in the context of a long-running server.
pub(crate) fn refresh(context: &mut Context<'_>) {
    context.now = now(&context.env);
    context.run_id = run_id();
}

/// Returns the arguments after `sp`, or `None` if one of them is not valid Unicode.
pub(crate) fn arguments() -> Option<Vec<String>> {
    std::env::args_os().skip(1).map(|argument| argument.into_string().ok()).collect()
}

pub(crate) fn current_program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|e| Error::new(ErrorCode::NoHome, "cannot determine the path of `sp`").because(e))
}

/// Returns the time to record. `SOURCE_DATE_EPOCH` overrides it, for reproducible builds.
fn now(env: &BTreeMap<String, String>) -> Timestamp {
    let stopped = env.get("SOURCE_DATE_EPOCH").and_then(|epoch| epoch.parse().ok());
    let stopped = stopped.and_then(|epoch| Timestamp::from_second(epoch).ok());
    stopped.unwrap_or_else(|| Timestamp::try_from(SystemTime::now()).unwrap_or_default())
}

fn wall_clock() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX) + clock_offset()
}

/// Returns by how many nanoseconds the clock is ahead, which `SP_CLOCK_OFFSET` sets in seconds in
/// debug builds only. It lets a test see files as settled without waiting.
fn clock_offset() -> i64 {
    if !cfg!(debug_assertions) {
        return 0;
    }
    let seconds = std::env::var("SP_CLOCK_OFFSET").ok().and_then(|text| text.parse().ok());
    seconds.unwrap_or(0_i64).saturating_mul(1_000_000_000)
}

fn random(bytes: &mut [u8]) -> std::io::Result<()> {
    getrandom::fill(bytes).map_err(std::io::Error::other)
}

/// Returns an ID that is unique on this machine: the time with the process ID.
fn run_id() -> String {
    let seconds = Timestamp::try_from(SystemTime::now())
        .unwrap_or_default()
        .strftime("%Y%m%dT%H%M%S")
        .to_string();
    format!("{seconds}-{:x}-{:x}", std::process::id(), wall_clock() & 0xffff_ffff)
}

/// Injects a fault into a file-system call, in debug builds only.
///
/// `SP_FAULT=kill@17` kills the process at call 17; `28@3` fails call 3 with error number 28;
/// `5@9+` fails call 9 and every later one with error number 5.
#[cfg(debug_assertions)]
fn arm_faults(env: &BTreeMap<String, String>) -> Result<()> {
    use sp_engine::fault::{FaultKind, FaultPlan, arm, trace};
    let wrong = || {
        Error::new(
            ErrorCode::InvalidFaultSpec,
            "SP_FAULT is not of the form `kill@N` or `ERRNO@N[+]`",
        )
    };
    if let Some(path) = env.get("SP_FAULT_TRACE") {
        trace(&PathBuf::from(path)).map_err(|e| {
            Error::new(ErrorCode::InvalidFaultSpec, "SP_FAULT_TRACE cannot be written").because(e)
        })?;
    }
    if let Some(path) = env.get("SP_READ_TRACE") {
        sp_engine::read_trace::start(&PathBuf::from(path)).map_err(|e| {
            Error::new(ErrorCode::InvalidFaultSpec, "SP_READ_TRACE cannot be written").because(e)
        })?;
    }
    let Some(text) = env.get("SP_FAULT") else {
        return Ok(());
    };
    let (strike, at) = text.split_once('@').ok_or_else(wrong)?;
    let strike = match strike {
        "kill" => FaultKind::Kill,
        number => FaultKind::Errno(number.parse().map_err(|_| wrong())?),
    };
    let onwards = at.ends_with('+');
    let at = at.trim_end_matches('+').parse().map_err(|_| wrong())?;
    arm(FaultPlan { kind: strike, first_call: at, is_repeated: onwards });
    Ok(())
}

#[cfg(not(debug_assertions))]
fn arm_faults(_: &BTreeMap<String, String>) -> Result<()> {
    Ok(())
}
