//! What the user agrees to before content is installed.

use clap::Args;
use sp_engine::{CapabilityConsent, Context, InstallConsent};

/// Options of commands that install content.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct ConsentArgs {
    /// Install the content although its audit has this finding; repeat for several
    #[arg(long, value_name = "FINDING-ID", hide_short_help = true)]
    pub accept: Vec<String>,
}

/// Options of commands that update installed skills.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct UpdateConsentArgs {
    #[command(flatten)]
    pub consent: ConsentArgs,
    /// Accept the capabilities that updates add to skills
    #[arg(long, hide_short_help = true)]
    pub accept_capabilities: bool,
}

impl ConsentArgs {
    /// Returns the context of an operation that has this consent.
    pub(crate) fn apply_to<'a>(&self, context: &Context<'a>) -> Context<'a> {
        let consent = InstallConsent { findings: self.accept.clone(), ..InstallConsent::default() };
        Context { consent, ..context.clone() }
    }
}

impl UpdateConsentArgs {
    /// Returns the context of an operation that has this consent.
    pub(crate) fn apply_to<'a>(&self, context: &Context<'a>) -> Context<'a> {
        let mut context = self.consent.apply_to(context);
        if self.accept_capabilities {
            context.consent.capabilities = CapabilityConsent::All;
        }
        context
    }
}
