//! SkillBag: a workspace's own skills, installed from sources, resolved, and made ready for an agent.

mod change;
mod get;
mod located;
mod manage;
mod offers;
mod ready;
mod resolve;
mod source;
pub(crate) mod workspace;

pub use get::{GetRequest, Steps, Upgrade, get};
pub use manage::{deps, init, list, remove, repair, source_init, sync};
pub use ready::{RunRequest, Save, enter, params, run};
pub use workspace::find_root;
