//! Conversation; in the making.
