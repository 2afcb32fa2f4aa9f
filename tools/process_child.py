"""The far end of the process pool: takes calls from standard input, answers on standard output.

It imports little, because it is started anew whenever one had to be killed.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import resource
import signal
import struct
import sys
import traceback
import warnings
from dataclasses import dataclass
from types import TracebackType
from typing import Any, BinaryIO

from agent.errors import ToolError

LENGTH = struct.Struct("!Q")
"""What goes before each message: the number of its bytes."""

_PR_SET_PDEATHSIG = 1  # prctl(2)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What became of a call: a value or an error of the function, or the type and the frames of what killed it."""

    value: Any = None
    error: ToolError | None = None
    crash: str | None = None
    frames: str = ""


def serve(parent: int, memory_bytes: int) -> None:
    """Answer calls until standard input ends or the parent does."""
    _die_with(parent)
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    calls, answers = sys.stdin.buffer, _own_output()

    def report(kind: type[BaseException], _: BaseException, frames: TracebackType | None) -> None:
        # The message stays here, because it may quote a file.
        _send(answers, Answer(crash=kind.__name__, frames="".join(traceback.format_tb(frames))))

    sys.excepthook = report
    while header := calls.read(LENGTH.size):
        function, args = pickle.loads(calls.read(*LENGTH.unpack(header)))  # noqa: S301 - from our own parent
        try:
            answer = Answer(value=function(*args))
        except ToolError as error:
            answer = Answer(error=error)
        _send(answers, answer)


def _die_with(parent: int) -> None:
    """A parent that is killed takes this process along, also in the middle of a call."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before that was set
        os._exit(1)


def _own_output() -> BinaryIO:
    """Standard output for answers alone: what a function prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


def _send(answers: BinaryIO, answer: Answer) -> None:
    message = pickle.dumps(answer)
    answers.write(LENGTH.pack(len(message)) + message)
    answers.flush()
