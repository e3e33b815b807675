//! JSON objects whose unknown members survive a rewrite byte for byte and in order.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The members of an object in order, each value as its raw text.
#[derive(Debug, Clone, Default)]
pub(crate) struct JsonMembers(Vec<(String, Box<RawValue>)>);

impl PartialEq for JsonMembers {
    fn eq(&self, other: &Self) -> bool {
        let text = |(key, value): &(String, Box<RawValue>)| (key.clone(), value.get().to_owned());
        self.0.len() == other.0.len() && self.0.iter().map(text).eq(other.0.iter().map(text))
    }
}

impl JsonMembers {
    /// Removes a member and deserializes it. A missing member and `null` are both `None`.
    pub(crate) fn take<T: DeserializeOwned>(&mut self, key: &str) -> serde_json::Result<Option<T>> {
        let Some(at) = self.0.iter().position(|(name, _)| name == key) else {
            return Ok(None);
        };
        let (_, raw) = self.0.remove(at);
        // Some tools write `null` for an empty field.
        if raw.get() == "null" {
            return Ok(None);
        }
        serde_json::from_str(raw.get())
            .map(Some)
            .map_err(|e| serde_json::Error::custom(format_args!("`{key}`: {e}")))
    }

    /// Removes a member and deserializes it, or fails if it is missing.
    pub(crate) fn take_required<T: DeserializeOwned>(
        &mut self,
        key: &str,
    ) -> serde_json::Result<T> {
        self.take(key)?.ok_or_else(|| serde_json::Error::custom(format_args!("`{key}` is missing")))
    }

    pub(crate) fn push(&mut self, key: String, value: Box<RawValue>) {
        self.0.push((key, value));
    }

    /// Writes all members to a map that is being serialized.
    pub(crate) fn write<S: SerializeMap>(&self, map: &mut S) -> Result<(), S::Error> {
        self.0.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))
    }
}

impl<'de> Deserialize<'de> for JsonMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct JsonMembersVisitor;
        impl<'de> Visitor<'de> for JsonMembersVisitor {
            type Value = JsonMembers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonMembers, A::Error> {
                let mut members = JsonMembers::default();
                while let Some((key, value)) = map.next_entry::<String, Box<RawValue>>()? {
                    if members.0.iter().any(|(name, _)| *name == key) {
                        return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
                    }
                    members.0.push((key, value));
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(JsonMembersVisitor)
    }
}

impl Serialize for JsonMembers {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.write(&mut map)?;
        map.end()
    }
}
