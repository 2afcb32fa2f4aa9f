"""Every error of the product; the class says what happens next.

SignoffError
├── ConfigError            start-up ends, exit 2; names the YAML path
├── BadInput               the caller is told what to change (exit 2, HTTP 4xx); nothing was done
│   ├── NotFound           unknown, or not this caller's: the same answer
│   ├── Conflict           the same key for something else, or already decided
│   └── Forbidden          known, but not allowed
├── ChannelError
│   ├── ChannelUnavailable retry, not before `retry_after`
│   ├── DeliveryRefused    do not retry
│   ├── DeliveryUnsure     it may have arrived: do not repeat by itself
│   └── NotAuthentic       401
├── ModelError
│   ├── ModelUnavailable   retried by the model layer; when it reaches the loop the task fails
│   ├── ModelRefused       the provider said no; the task fails
│   ├── ContextTooLong     earlier conversation is cut, then tried once more
│   └── BudgetExceeded     the task stops with what it has
├── ToolError              the model reads it, the task lives on
│   ├── BadArguments
│   ├── ToolTimeout
│   ├── ToolFailed
│   └── TargetChanged      the file is no longer what the person saw: the card is issued again
├── StorageError
│   ├── LeaseLost          another worker owns the task; this run ends without a word
│   ├── StopRequested      a person asked to stop before the run could park; nothing was written
│   └── DiskFull           nothing can be written until somebody makes room
└── Draining               no new work is taken, 503
"""

from __future__ import annotations


class SignoffError(Exception):
    """Anything the product raises on purpose; the message says what, and what to do."""


class ConfigError(SignoffError):
    """The configuration cannot be used."""


class BadInput(SignoffError):
    """What was asked for is not possible as it stands; `code` and `field` go into a JSON answer."""

    def __init__(self, message: str, *, code: str = "invalid", field: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.field = field


class NotFound(BadInput):
    """There is no such thing, or none that the caller may know of."""


class Conflict(BadInput):
    """It was already decided, or the same key stands for something else."""


class Forbidden(BadInput):
    """The caller is known and may not do this."""


class ChannelError(SignoffError):
    """Something went wrong on the way to or from a channel."""


class ChannelUnavailable(ChannelError):
    """The channel did not take it now; `retry_after` in seconds when the channel said so."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class DeliveryRefused(ChannelError):
    """The channel will never take this."""


class DeliveryUnsure(ChannelError):
    """The request went out and no answer came: it may have arrived."""


class NotAuthentic(ChannelError):
    """The event does not come from who it says."""


class ModelError(SignoffError):
    """The model gave no usable answer."""


class ModelUnavailable(ModelError):
    """The provider could not be reached or is overloaded; `retry_after` in seconds when it said so."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRefused(ModelError):
    """The provider refused the request (key, quota, content)."""


class ContextTooLong(ModelError):
    """The request is longer than the model takes."""


class BudgetExceeded(ModelError):
    """A cap of `agent.budget` is reached."""


class ToolError(SignoffError):
    """The call failed; the model reads the message and the task goes on."""


class BadArguments(ToolError):
    """The arguments do not fit the tool."""


class ToolTimeout(ToolError):
    """The tool took too long and was stopped."""


class ToolFailed(ToolError):
    """The tool could not do it."""


class TargetChanged(ToolError):
    """The file is neither what the preview showed nor what was intended."""


class StorageError(SignoffError):
    """The database or the blob store cannot be used."""


class LeaseLost(StorageError):
    """The run's owner or epoch is no longer current."""


class StopRequested(StorageError):
    """The run would wait for a person, and a person asked it to stop."""


class DiskFull(StorageError):
    """There is no room left where the database is."""


class Draining(SignoffError):
    """The process is stopping and takes no new work."""
