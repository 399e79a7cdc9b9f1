"""Define every error that Lodestar raises on purpose, with the exit code of the command line.

    LodestarError                      1
    ├── UsageError                     2   the question or option cannot be used
    ├── InputError                     3   a file is not what was expected (place and line in the message)
    ├── DatabaseError                  4   Neo4j answered with an error
    │   ├── DatabaseUnavailableError   4   nothing listens at the address
    │   ├── AuthenticationError        4   Neo4j refused the user or the password
    │   ├── UnsupportedVersionError    4   Lodestar does not support this version of Neo4j
    │   ├── QueryTimeoutError          4   a query exceeded its timeout
    │   └── LoadInProgressError        4   another load is running on this graph
    ├── GraphError                     5   the graph lacks something that is needed (empty, no index, unknown relation)
    │   ├── EntityNotFoundError        5   no entity has this id, or the question mentions no known entity
    │   └── StaleCatalogueError        5   the graph has a relation that is not in the catalogue read earlier
    ├── EmbeddedServerError            6   the embedded Neo4j could not be started, stopped or reset
    │   └── PortTakenError             6   another process listens at the port
    ├── DownloadError                  7   a file could not be fetched or is not the pinned one
    ├── EncoderError                   8   the sentence encoder could not be loaded
    │   └── CheckpointError            8   a trained scorer is missing, damaged, or was trained on another graph
    ├── LLMError                       9   the language model failed, refused or sent something unreadable
    ├── StorageError                  10   a disk or the memory has no room, or a folder cannot be written
    └── MissingExtraError             11   a package is not installed that an extra of Lodestar brings

A message says what was expected, what was found, where, and what to do next, in one line.
After Ctrl-C the command line exits with 130.
"""

from __future__ import annotations


class LodestarError(Exception):
    """Root of all errors that a user can act on; anything else is a bug."""

    exit_code = 1


class UsageError(LodestarError):
    """The question or an option cannot be used as it is."""

    exit_code = 2


class InputError(LodestarError):
    """A file is not what was expected."""

    exit_code = 3


class DatabaseError(LodestarError):
    """Neo4j answered with an error."""

    exit_code = 4


class DatabaseUnavailableError(DatabaseError):
    """Nothing answers at the database's address."""


class AuthenticationError(DatabaseError):
    """Neo4j refused the user or the password."""


class UnsupportedVersionError(DatabaseError):
    """The server is not a Neo4j that Lodestar supports."""


class QueryTimeoutError(DatabaseError):
    """A query exceeded its timeout and was ended."""


class LoadInProgressError(DatabaseError):
    """Another load is running on this graph."""


class GraphError(LodestarError):
    """The graph lacks something that is needed."""

    exit_code = 5


class EntityNotFoundError(GraphError):
    """No entity has this id, or the question mentions no known entity."""


class StaleCatalogueError(GraphError):
    """The graph has a relation that is not in the catalogue read earlier: more was loaded since then."""


class EmbeddedServerError(LodestarError):
    """The embedded Neo4j could not be started, stopped or reset."""

    exit_code = 6


class PortTakenError(EmbeddedServerError):
    """Another process listens at the requested port."""


class DownloadError(LodestarError):
    """A file could not be fetched, or the fetched file is not the pinned one."""

    exit_code = 7


class EncoderError(LodestarError):
    """The sentence encoder could not be loaded."""

    exit_code = 8


class CheckpointError(EncoderError):
    """A trained scorer is missing, damaged, or was trained on another graph."""


class LLMError(LodestarError):
    """The language model failed, refused, or sent something unreadable."""

    exit_code = 9


class StorageError(LodestarError):
    """The disk or the memory is full, or a folder cannot be written."""

    exit_code = 10


class MissingExtraError(LodestarError):
    """A package is not installed that an extra brings (`extras.py`)."""

    exit_code = 11
