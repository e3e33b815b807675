//! What was made of bytes, kept by their digest as long as there is room. Bytes never change, so neither does it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use sp_tree::{Content, Digest};

/// So many bytes of unpacked skills are kept.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// What can be kept.
pub trait Weigh {
    /// How many bytes it takes, more or less.
    fn weight(&self) -> u64;
}

/// What was made lately. What came first goes first.
pub struct Kept<T: ?Sized> {
    most: u64,
    inside: Mutex<Inside<T>>,
}

struct Inside<T: ?Sized> {
    made: HashMap<Digest, Arc<T>>,
    order: VecDeque<Digest>,
    weight: u64,
}

impl<T: Weigh + ?Sized> Kept<T> {
    /// Room for so many bytes.
    pub fn new(most: u64) -> Self {
        Self { most, inside: Mutex::new(Inside { made: HashMap::new(), order: VecDeque::new(), weight: 0 }) }
    }

    /// What is made of the bytes with this digest; it is made if it is not here. Whoever wants something else
    /// meanwhile does not wait for it.
    pub fn get<E>(&self, digest: &Digest, make: impl FnOnce() -> Result<Arc<T>, E>) -> Result<Arc<T>, E> {
        let known = self.inside.lock().unwrap_or_else(PoisonError::into_inner).made.get(digest).cloned();
        if let Some(made) = known {
            return Ok(made);
        }
        let made = make()?;
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).keep(*digest, &made, self.most);
        Ok(made)
    }
}

impl<T: Weigh + ?Sized> Inside<T> {
    fn keep(&mut self, digest: Digest, made: &Arc<T>, most: u64) {
        // Somebody else may have made it at the same time.
        if self.made.insert(digest, Arc::clone(made)).is_some() {
            return;
        }
        self.order.push_back(digest);
        self.weight += made.weight();
        while self.weight > most
            && let Some(oldest) = self.order.pop_front().and_then(|digest| self.made.remove(&digest))
        {
            self.weight -= oldest.weight();
        }
    }
}

/// The skills of a package, by the path of each in it.
pub type PackedSkills = Arc<[(String, Content)]>;

/// The skills of packages that were wanted lately, unpacked.
pub type Unpacked = Kept<[(String, Content)]>;

impl Weigh for [(String, Content)] {
    fn weight(&self) -> u64 {
        self.iter().map(|(_, content)| content.size()).sum()
    }
}

impl Default for Unpacked {
    fn default() -> Self {
        Self::new(MOST_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    impl Weigh for str {
        fn weight(&self) -> u64 {
            self.len() as u64
        }
    }

    fn get(kept: &Kept<str>, text: &str) -> bool {
        let mut was_made = false;
        let made = kept.get(&Digest::of(text.as_bytes()), || {
            was_made = true;
            Ok::<_, Infallible>(text.into())
        });
        assert_eq!(&*made.unwrap(), text);
        was_made
    }

    #[test]
    fn what_came_first_goes_first_when_there_is_no_room() {
        let kept = Kept::new(10);
        assert!(get(&kept, "four") && get(&kept, "five5") && !get(&kept, "four"));
        assert!(get(&kept, "two") && !get(&kept, "five5") && get(&kept, "four"));
        // What is larger than all of the room is made, and not kept.
        assert!(get(&kept, "more than ten") && get(&kept, "more than ten") && get(&kept, "two"));
    }
}
