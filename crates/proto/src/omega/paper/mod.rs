//! The published protocols for leaders in moving networks, for the simulator only.
