//! Tools: the type that lists one and runs it.
//!
//! A [`ToolSpec`] is what clients see of a tool: its name, its description and what it may change.
//! An [`McpTool`] adds the schemas of its input and output, which are derived from the types that
//! its function takes and returns. A tool is generic over the backend that it runs on, and knows
//! nothing else about it.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool as Listed, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use sp_engine::{Error, ErrorCode, Result};

use crate::mcp::schema::schema_of;
use crate::mcp::tool_call::ToolCall;

/// What clients see of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    pub name: &'static str,
    pub title: &'static str,
    /// Read by models, to decide when to call the tool.
    pub description: &'static str,
    pub effect: ToolEffect,
    pub reach: ToolReach,
    /// Members of the result that contain text from files. They are quoted.
    pub data_fields: &'static [&'static str],
}

/// What a tool changes. All tools are idempotent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    ReadOnly,
    Additive,
    /// May delete or replace something.
    Destructive,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolReach {
    Local,
    /// May use the network: repositories, registries or models.
    OpenWorld,
}

impl ToolSpec {
    /// A tool that changes nothing and does not use the network.
    pub const fn read_only(
        name: &'static str,
        title: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            title,
            description,
            effect: ToolEffect::ReadOnly,
            reach: ToolReach::Local,
            data_fields: &[],
        }
    }

    pub const fn with_data_fields(self, data: &'static [&'static str]) -> Self {
        Self { data_fields: data, ..self }
    }

    pub const fn with_effect(self, effect: ToolEffect) -> Self {
        Self { effect, ..self }
    }

    pub const fn open_world(self) -> Self {
        Self { reach: ToolReach::OpenWorld, ..self }
    }
}

type ToolFn<B> = Box<dyn Fn(&B, Value, &ToolCall) -> Result<Value> + Send + Sync>;

/// A tool that runs on a backend of type `B`.
pub struct McpTool<B> {
    pub spec: ToolSpec,
    input_schema: fn() -> Arc<JsonObject>,
    output_schema: fn() -> Arc<JsonObject>,
    run: ToolFn<B>,
}

impl<B: 'static> McpTool<B> {
    /// Creates a tool from a function. The schemas are derived from its input and output types.
    pub fn new<I, O>(
        spec: ToolSpec,
        run: impl Fn(&B, I, &ToolCall) -> Result<O> + Send + Sync + 'static,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema,
        O: Serialize + JsonSchema,
    {
        let run = move |backend: &B, input: Value, call: &ToolCall| {
            let input = serde_json::from_value(input).map_err(|why| {
                Error::new(
                    ErrorCode::InvalidArguments,
                    format!("invalid arguments for `{}`", spec.name),
                )
                .because(why)
                .hint("see the input schema of the tool")
            })?;
            let output = run(backend, input, call)?;
            serde_json::to_value(output).map_err(|why| {
                Error::new(ErrorCode::Internal, "cannot serialize the result").because(why)
            })
        };
        Self {
            spec,
            input_schema: schema_of::<I>,
            output_schema: schema_of::<O>,
            run: Box::new(run),
        }
    }

    /// Runs the tool on arguments that a client sent.
    pub(crate) fn run(&self, backend: &B, input: Value, call: &ToolCall) -> Result<Value> {
        (self.run)(backend, input, call)
    }

    /// The definition that `tools/list` returns.
    pub(crate) fn definition(&self) -> Listed {
        let ToolSpec { name, title, description: about, effect, reach, .. } = self.spec;
        let annotations = ToolAnnotations::with_title(title)
            .read_only(effect == ToolEffect::ReadOnly)
            .destructive(effect == ToolEffect::Destructive)
            .idempotent(true)
            .open_world(reach == ToolReach::OpenWorld);
        Listed::new(name, about, (self.input_schema)())
            .with_title(title)
            .with_raw_output_schema((self.output_schema)())
            .with_annotations(annotations)
    }
}
