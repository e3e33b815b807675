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
use sp_engine::{Error, FailureKind, Result};

use crate::mcp::schema::schema_of;
use crate::mcp::tool_call::ToolCall;

/// What a tool is called, and what it does to the world.
#[derive(Debug, Clone, Copy)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for a model that has to choose.
    pub description: &'static str,
    /// What it does to the world.
    pub effect: ToolEffect,
    /// Whether it may reach beyond this machine.
    pub reach: ToolReach,
    /// Members of the result that hold text from files.
    pub data_fields: &'static [&'static str],
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing.
    ReadOnly,
    /// It adds something; twice is once.
    Additive,
    /// It may take something away; twice is once.
    Destructive,
}

/// How far a tool reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolReach {
    /// What is here.
    Local,
    /// Repositories, registries or models elsewhere, too.
    OpenWorld,
}

impl ToolSpec {
    /// A tool that looks at what is here.
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

    /// The same, with members that hold text from files.
    pub const fn with_data_fields(self, data: &'static [&'static str]) -> Self {
        Self { data_fields: data, ..self }
    }

    /// The same, with another effect.
    pub const fn with_effect(self, effect: ToolEffect) -> Self {
        Self { effect, ..self }
    }

    /// The same, that may reach beyond this machine.
    pub const fn open_world(self) -> Self {
        Self { reach: ToolReach::OpenWorld, ..self }
    }
}

type ToolFn<B> = Box<dyn Fn(&B, Value, &ToolCall) -> Result<Value> + Send + Sync>;

/// A tool of a backend.
pub struct McpTool<B> {
    /// What it is.
    pub spec: ToolSpec,
    input_schema: fn() -> Arc<JsonObject>,
    output_schema: fn() -> Arc<JsonObject>,
    run: ToolFn<B>,
}

impl<B: 'static> McpTool<B> {
    /// A tool that takes one type and gives another.
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
                Error::new(FailureKind::Usage, format!("`{}` takes other arguments", spec.name))
                    .because(why)
                    .hint("its input schema says which")
            })?;
            let output = run(backend, input, call)?;
            serde_json::to_value(output).map_err(|why| {
                Error::new(FailureKind::Data, "the result cannot be told").because(why)
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

    /// How it is listed.
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
