"""What lakebed must do, in plain Python: an independent model written from the semantics alone.

`Model` takes a feed, a history and batches in the form of the conformance cases and says what the table, the report, the
rejected rows and the errors must be. It keeps the events delivered and computes everything else from them each time: slow,
but there is nothing in it that could be out of step. It shares no code with `lakebed` and needs no Spark.
"""

from tests.oracle.model import Model, Outcome, Refused

__all__ = ["Model", "Outcome", "Refused"]
