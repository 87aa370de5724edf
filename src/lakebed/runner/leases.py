"""Who works on a dataset. A lease saves work, no more: that nothing is applied twice, the tables see to (G1)."""

from __future__ import annotations

import os
import socket
import threading
import uuid
from types import TracebackType
from typing import Self

from lakebed.control import ControlStore
from lakebed.errors import ConflictError, LakebedError

SECONDS = 60.0
_HERE = f"{socket.gethostname()}/{os.getpid()}/{uuid.uuid4().hex[:8]}"


class Lease:
    """Taken on entry where it is free (`ours` tells), kept alive by a thread, given back on exit.

    Of a process on this machine that has died the lease is taken at once; of one elsewhere when its time is over.
    """

    def __init__(
        self, store: ControlStore, dataset: str, holder: str = _HERE, seconds: float = SECONDS
    ) -> None:
        self._store, self._dataset, self._seconds = store, dataset, seconds
        self._holder = f"{holder}/{threading.get_ident()}"
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep, daemon=True)
        self.ours = False

    @classmethod
    def of(cls, store: ControlStore, dataset: str) -> Self:
        return cls(store, dataset)

    def __enter__(self) -> Self:
        holder = self._store.lease_holder(self._dataset)
        if holder is not None and _has_died(holder):
            self._store.release_lease(self._dataset, holder)
        self.ours = self._store.take_lease(self._dataset, self._holder, seconds=self._seconds)
        if self.ours:
            self._keeper.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._keeper.is_alive():  # or it would take the lease once more when it is given back
            self._keeper.join(self._seconds)
        if self.ours:
            self._store.release_lease(self._dataset, self._holder)

    def demand(self, what: str) -> None:
        """For work that somebody asks for by hand: it does not wait for its turn."""
        if not self.ours:
            raise ConflictError(
                f"another run is at work on {what}", code="busy", hint="wait for it, then try again"
            )

    def check(self) -> None:
        """Before a commit: is it still ours?"""
        if not self.ours:
            raise ConflictError(
                "another run has taken this dataset over",
                code="lease_lost",
                where=self._dataset,
                hint="nothing of this batch was written; the other run goes on with it",
            )

    def _keep(self) -> None:
        while not self._over.wait(self._seconds / 3):
            try:
                self.ours = self._store.take_lease(self._dataset, self._holder, seconds=self._seconds)
            except LakebedError:  # the store does not answer now: the next time tells
                continue
            if not self.ours:
                return


def _has_died(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    host, _, rest = holder.partition("/")
    number = rest.partition("/")[0]
    if host != socket.gethostname() or not number.isdigit():
        return False
    if int(number) == os.getpid():  # a container that was started again has the same name and numbers
        return not holder.startswith(f"{_HERE}/")
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it lives, and is somebody else's
        return False
    return False
