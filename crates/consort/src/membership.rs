//! Members: their records, how they come and go, and the settings of failure detection.

pub use crate::case::Case;
pub use crate::error::{ForceLeaveError, JoinError, ResolveError, SetTagsError};
pub use crate::event::{Arrival, Departure};
pub use crate::farewell::Farewell;
pub use crate::member::{Member, Place, Reliability, Status};
pub use crate::members::Members;
pub use consort_proto::membership::{
    ActiveFeedback, Config, DistanceSource, Fast, HelperPolicy, Meta, MetaError, ProbeFloor,
    ProbeTimeout, SuspicionTimeout, TargetPolicy,
};
pub use consort_proto::{Incarnation, Life};
