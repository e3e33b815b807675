//! TOML values as JSON, and back.

use serde_json::{Map, Value as Plain};
use toml_edit::{Array, InlineTable, Item, Key, Table, Value};

/// Converts a JSON value to TOML on one line.
pub(crate) fn to_toml_value(value: &Plain) -> Value {
    match value {
        Plain::Null => Value::from(""),
        Plain::Bool(truth) => Value::from(*truth),
        Plain::Number(number) => match number.as_i64() {
            Some(whole) => Value::from(whole),
            None => Value::from(number.as_f64().unwrap_or_default()),
        },
        Plain::String(text) => Value::from(text.as_str()),
        Plain::Array(items) => Value::Array(items.iter().map(to_toml_value).collect::<Array>()),
        Plain::Object(members) => {
            let members = members.iter().map(|(key, value)| (Key::new(key), to_toml_value(value)));
            Value::InlineTable(members.collect::<InlineTable>())
        }
    }
}

/// Converts a TOML table to JSON; types that JSON does not have become text.
pub(crate) fn table_to_json(table: &Table) -> Map<String, Plain> {
    table.iter().map(|(key, item)| (key.to_owned(), item_to_json(item))).collect()
}

pub(crate) fn item_to_json(item: &Item) -> Plain {
    match item {
        Item::None => Plain::Null,
        Item::Table(table) => table_to_json(table).into(),
        Item::ArrayOfTables(list) => {
            list.iter().map(|table| Plain::Object(table_to_json(table))).collect()
        }
        Item::Value(value) => value_to_json(value),
    }
}

fn value_to_json(value: &Value) -> Plain {
    match value {
        Value::String(text) => text.value().as_str().into(),
        Value::Integer(number) => (*number.value()).into(),
        Value::Boolean(truth) => (*truth.value()).into(),
        Value::Float(number) => {
            let float = *number.value();
            serde_json::Number::from_f64(float)
                .map_or_else(|| format!("{float:?}").into(), Plain::Number)
        }
        Value::Datetime(time) => time.value().to_string().into(),
        Value::Array(items) => items.iter().map(value_to_json).collect(),
        Value::InlineTable(table) => {
            table.iter().map(|(key, value)| (key.to_owned(), value_to_json(value))).collect()
        }
    }
}
