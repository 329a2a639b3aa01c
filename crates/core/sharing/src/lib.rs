//! Sharing: a rate among a tree of services, by weighted max-min fairness with minima and maxima.
//!
//! This is the computation of Parley's brokers (Jeyakumar et al., "Flexible Network Bandwidth and Latency
//! Provisioning in the Datacenter", 2014, sections 3.1 and 3.2.2). Demand goes up the tree, shares come down:
//!
//! 1. A node's demand is that of its children together, at most its maximum.
//! 2. A node's share first serves the minimum of each child, as far as the child wants it. The rest, the excess, goes
//!    to the children that want more, in proportion to their weights, up to the demand of each. So a child that is
//!    not satisfied has `minimum + level * weight`: weights share the excess, not the whole.
//!
//! If the minima alone are more than the share (a link has lost capacity), each child gets an equal part of its
//! minimum, up to its demand, and no child gets more.
//!
//! Everything is an integer, in bit/s. A share is the exact one ROUNDED DOWN. So never more is handed out than there
//! is. The remainders of the divisions, less than 1 bit/s for each child that is not satisfied, are not given out,
//! and therefore no order of the services shows in any share.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | the services and their terms |
//! | `level` | the level of the water among the children of one node, in linear time |
//! | `bracket` | two levels around it, from a sample of many children |
//! | `slope` | a level as a fixed-point number |
//! | `shares` | the shares of a whole tree at once |
//! | `live` | those shares while demands change one by one |
//! | `index` | the values that `live` keeps of one node's children |
//! | `estimate` | a service's demand while a limit hides it |
//!
//! ```
//! use wayleave_sharing::{Shares, ServiceTerms, Tree};
//! use wayleave_units::Rate;
//!
//! // Parley, section 6.3: A has at most 30 Gbit/s, B at least 30 Gbit/s, both together at most 60 Gbit/s.
//! let gbit = Rate::from_gbit;
//! let mut tree = Tree::new(ServiceTerms { max: Some(gbit(60)), ..ServiceTerms::default() })?;
//! let a = tree.add(Tree::ROOT, ServiceTerms { max: Some(gbit(30)), ..ServiceTerms::default() })?;
//! let b = tree.add(Tree::ROOT, ServiceTerms { min: gbit(30), ..ServiceTerms::default() })?;
//!
//! let mut shares = Shares::default();
//! shares.compute(&tree, gbit(80), &[Rate::ZERO, gbit(50), gbit(70)]);
//! assert_eq!((shares.share(a), shares.share(b)), (gbit(15), gbit(45)));
//! // A that wants 5 Gbit/s gets them, and nothing limits it.
//! shares.compute(&tree, gbit(80), &[Rate::ZERO, gbit(5), gbit(70)]);
//! assert_eq!((shares.limit(a), shares.limit(b)), (None, Some(gbit(55))));
//! # Ok::<(), wayleave_sharing::TreeError>(())
//! ```
#![no_std]

extern crate alloc;

mod bracket;
mod claim;
mod estimate;
mod index;
mod level;
mod live;
mod shares;
mod slope;
mod tree;

pub use estimate::{DemandEstimator, EstimatorParams, UsageObservation};
pub use live::LiveShares;
pub use shares::Shares;
pub use tree::{MAX_RATE, ServiceTerms, Tree, TreeError, TreeNode};
