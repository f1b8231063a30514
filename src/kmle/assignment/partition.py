"""Who belongs to which component, in whatever form an engine keeps it."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ..kernels import GroupLabels, locate, spread_labels
from ..numerics.arrays import Array
from ..numerics.threads import for_each

if TYPE_CHECKING:
    from .rows import Rows

Labels = NDArray[np.int32]

DIGEST_BYTES = 16


class Partition(ABC):
    """The outcome of a hard pass: comparable, and turned into one label a row only when asked."""

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """The component of each row, (n,)."""

    @abstractmethod
    def same_as(self, other: "Partition") -> bool:
        """Whether no row has another label."""

    @cached_property
    def digest(self) -> bytes:
        """A few bytes that stand for the labels: equal ones have equal digests, and others will not in practice."""
        labels = self.labels
        # Fewer bytes are hashed sooner, and few components need only one a row.
        narrow = np.min_scalar_type(labels.max(initial=0))
        return _digest(np.ascontiguousarray(labels, narrow))


@dataclass(frozen=True, eq=False)
class Remembered(Partition):
    """Labels that are no longer there; their digest still tells whether others are the same."""

    told: bytes

    @property
    def labels(self) -> Labels:
        raise ValueError("these labels were not kept, only what tells them from others")

    @cached_property
    def digest(self) -> bytes:
        return self.told

    def same_as(self, other: Partition) -> bool:
        return self.digest == other.digest


def noted(labels: Labels, n_components: int) -> NDArray[Any]:
    """A copy of labels that others go on changing, in as few bytes as will do."""
    return labels.astype(np.min_scalar_type(max(n_components - 1, 0)))


@dataclass(frozen=True, eq=False)
class Labelled(Partition):
    """One label a row, in whole numbers of any size. An engine whose pass changed nothing gives the same object again.

    `changed_from` is the one before, from which some label is known to differ.
    """

    values: NDArray[Any]
    changed_from: ref["Labelled"] | None = None

    @property
    def labels(self) -> Labels:
        return self.values.astype(np.int32, copy=False)

    def same_as(self, other: Partition) -> bool:
        if self is other:
            return True
        if self.changed_from is not None and self.changed_from() is other:
            return False
        return _equal(self, other)


@dataclass(frozen=True, eq=False)
class Reordered(Partition):
    """One label a row, in another order: `places` says which row stands at each place.

    `changed_from` is the one before, from which some label is known to differ.
    """

    values: NDArray[Any]
    places: Labels
    changed_from: ref[Partition] | None = None
    n_threads: int = 1

    @property
    def labels(self) -> Labels:
        return spread_labels(GroupLabels.of_rows(self.values.astype(np.int32)), self.places, self.n_threads)

    def same_as(self, other: Partition) -> bool:
        if self is other:
            return True
        if self.changed_from is not None and self.changed_from() is other:
            return False
        if isinstance(other, Reordered) and other.places is self.places:
            return np.array_equal(self.values, other.values)
        return _equal(self, other)


@dataclass(frozen=True, eq=False)
class Intervals(Partition):
    """Cells of a line: `cuts` are the places on the sorted `line` where the owner changes (first 0, last n)."""

    rows: "Rows"
    line: Array
    cuts: NDArray[np.intp]
    owners: Labels

    @property
    def labels(self) -> Labels:
        # Equal values share a cell, so the first value of each cell tells its rows from those before.
        firsts = self.line[self.cuts[1:-1]]
        labels = np.empty(len(self.rows), dtype=np.int32)

        def fill(block: slice) -> None:
            labels[block] = locate(self.rows.along_line(block), firsts, self.owners)

        for_each(fill, self.rows.line_blocks(), self.rows.n_threads)
        return labels

    @cached_property
    def digest(self) -> bytes:
        # The cells say all; no label need be written out for it.
        return _digest(self.cuts, self.owners)

    def same_as(self, other: Partition) -> bool:
        if isinstance(other, Intervals) and other.line is self.line:
            return np.array_equal(self.cuts, other.cuts) and np.array_equal(self.owners, other.owners)
        return _equal(self, other)


@dataclass(frozen=True, eq=False)
class Grouped(Partition):
    """Labels of groups of rows in another order: `places` says which row stands at each place.

    `changed_from` is the one before, from which some label is known to differ.
    """

    groups: GroupLabels
    places: Labels
    n_threads: int = 1
    changed_from: ref["Grouped"] | None = None

    @property
    def labels(self) -> Labels:
        return spread_labels(self.groups, self.places, self.n_threads)

    @cached_property
    def digest(self) -> bytes:
        return _digest(self.groups.owners, self.groups.mixed_rows())

    def same_as(self, other: Partition) -> bool:
        if self is other:
            return True
        if self.changed_from is not None and self.changed_from() is other:
            return False
        if isinstance(other, Grouped) and other.places is self.places:
            return self.groups.same_as(other.groups)
        return _equal(self, other)


def _digest(*arrays: NDArray[Any]) -> bytes:
    # Processors have instructions for this one; a few of its bytes are enough.
    told = sha256(usedforsecurity=False)
    for array in arrays:
        told.update(array.data)
    return told.digest()[:DIGEST_BYTES]


def _equal(one: Partition, other: Partition) -> bool:
    """Label by label, or by digest where labels were not kept."""
    if isinstance(other, Remembered):
        return one.digest == other.digest
    return np.array_equal(one.labels, other.labels)
