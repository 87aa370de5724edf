"""From a source's partition to the target's (D4, D6)."""

from __future__ import annotations

from lakebed.dependencies.dates import converted
from lakebed.dependencies.events import Partition, Target
from lakebed.errors import DependencyError
from lakebed.manifest import Dependency, Derived


def target_of(derived: Derived, dependency: Dependency, partition: Partition) -> Target:
    """The target that a source partition belongs to.

    DependencyError `partition_not_derivable` or `value_does_not_parse` where a target with partitions would be left
    without one: never is the whole table meant instead.
    """
    name = derived.name.lower()
    if derived.partition_column is None:
        return Target(name, None)
    column, format_, mask = (
        dependency.field_column,
        dependency.date_expression,
        derived.partition_python_mask,
    )
    if column is None or format_ is None or mask is None:
        raise _not_derivable(derived, dependency, "its column or a date format is not declared")
    value = partition.value(column)
    if value is None:
        raise _not_derivable(derived, dependency, f"{partition} has no value of {column!r}")
    try:
        return Target(name, converted(value, format_, dependency.relativedelta_attributes, mask))
    except DependencyError as error:
        if error.code == "date_out_of_range":
            raise _not_derivable(derived, dependency, error.what) from None
        raise


def is_mapped(derived: Derived, dependency: Dependency) -> bool:
    """Whether partitions of the source correspond to partitions of the target; else the table is one input as a whole."""
    return derived.partition_column is not None and dependency.field_column is not None


def _not_derivable(derived: Derived, dependency: Dependency, why: str) -> DependencyError:
    return DependencyError(
        f"the partition of {derived.name} cannot be told from {dependency.table_name}: {why}",
        code="partition_not_derivable",
        hint="field_column names a partition column of the source, date_expression says how its values are written",
    )
