//! Values that figures of one run share, at most one of each type.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Value = Arc<dyn Any + Send + Sync>;

/// A store of shared values. A module of figures defines a type for the data that its figures share.
#[derive(Default)]
pub(crate) struct Shared {
    values: Mutex<HashMap<TypeId, Value>>,
}

impl Shared {
    /// Stores a value, in place of an earlier one of its type.
    pub(crate) fn insert<T: Send + Sync + 'static>(&self, value: T) {
        self.values().insert(TypeId::of::<T>(), Arc::new(value));
    }

    /// Returns the value of this type, if there is one.
    pub(crate) fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        let value = self.values().get(&TypeId::of::<T>()).cloned();
        value.and_then(|value| value.downcast().ok())
    }

    /// Returns the value of this type, which the first call makes.
    pub(crate) fn get_or_default<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let value = self.values().entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default())).clone();
        // The key is the type of the value.
        value.downcast().unwrap_or_default()
    }

    fn values(&self) -> MutexGuard<'_, HashMap<TypeId, Value>> {
        // An insertion is one step, so a panic elsewhere leaves the map whole.
        self.values.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn values_are_found_by_their_type() {
        #[derive(Default)]
        struct Counter(AtomicU32);
        let shared = Shared::default();
        assert!(shared.get::<Counter>().is_none());
        shared.get_or_default::<Counter>().0.fetch_add(2, Ordering::Relaxed);
        shared.insert("a text");
        assert_eq!(shared.get_or_default::<Counter>().0.fetch_add(3, Ordering::Relaxed), 2);
        assert_eq!(shared.get::<Counter>().map(|counter| counter.0.load(Ordering::Relaxed)), Some(5));
        assert_eq!(shared.get::<&str>().as_deref(), Some(&"a text"));
        assert!(shared.get::<String>().is_none());
    }
}
