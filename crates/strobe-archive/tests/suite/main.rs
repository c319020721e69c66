//! The archive's files from outside: what is written is read, and damaged bytes are an error.

mod answers;
mod bytes;
mod hostile;
