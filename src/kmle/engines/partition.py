"""Which component each row belongs to, in the form an engine keeps it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Labels

DIGEST_BYTES = 16


class Partition(ABC):
    """The outcome of a hard pass: comparable, and written out as one label per row only when asked for.

    An engine whose pass changed nothing returns the same object again. `changed_from` is an earlier partition from
    which some label is known to differ.
    """

    changed_from: "ref[Any] | None" = None

    @property
    @abstractmethod
    def labels(self) -> Labels:
        """The component of each row, (n,)."""

    @cached_property
    def digest(self) -> bytes:
        """A few bytes that stand for the labels: equal labels have equal digests, others do not in practice."""
        labels = self.labels
        # Fewer bytes are hashed sooner, and few components need only one per row.
        return _digest(np.ascontiguousarray(labels, np.min_scalar_type(labels.max(initial=0))))

    def renumbered(self, numbers: Labels) -> Any:
        """The labels with other numbers, (n,)."""
        labels: Any = self.labels
        if isinstance(labels, np.ndarray):
            return numbers[labels]
        return labels.map_blocks(numbers.__getitem__, dtype=np.int32)  # a Dask array stays one

    def same_as(self, other: "Partition") -> bool:
        """Whether no row has another label."""
        if self is other:
            return True
        if self.changed_from is not None and self.changed_from() is other:
            return False
        return self._equals(other)

    def _equals(self, other: "Partition") -> bool:
        if isinstance(other, Remembered):
            return self.digest == other.digest
        return np.array_equal(self.labels, other.labels)


@dataclass(frozen=True, eq=False)
class Labelled(Partition):
    """One label per row, in whole numbers of any size."""

    values: NDArray[Any]
    changed_from: "ref[Any] | None" = None

    @property
    def labels(self) -> Labels:
        return self.values.astype(np.int32, copy=False)

    def renumbered(self, numbers: Labels) -> Labels:
        return numbers[self.values]  # from few bytes at once to those of labels


@dataclass(frozen=True, eq=False)
class Compact(Partition):
    """Labels in fewer numbers than rows, or in another order: `key` gives all there is to know, `write` the labels.

    Keys of partitions with the same `layout` (an order of the rows, a sorted line, chunks) can be compared.
    """

    key: Callable[[], tuple[NDArray[Any], ...]]
    write: Callable[[], Labels]
    layout: object
    changed_from: "ref[Any] | None" = None
    found_by: Any = None
    """The parameters of the pass that found them, where they are sent to where the rows are."""
    hashes_key: bool = True
    """Whether the digest is that of the key; otherwise that of the labels, which does not depend on the layout."""

    @property
    def labels(self) -> Labels:
        return self.write()

    @cached_property
    def digest(self) -> bytes:
        return _digest(*self.key()) if self.hashes_key else Partition.digest.func(self)  # type: ignore[attr-defined]

    def _equals(self, other: Partition) -> bool:
        if isinstance(other, Compact) and other.layout is self.layout:
            return all(np.array_equal(mine, theirs) for mine, theirs in zip(self.key(), other.key(), strict=True))
        return super()._equals(other)


@dataclass(frozen=True, eq=False)
class Remembered(Partition):
    """Labels of a checkpoint, of which only the digest was kept."""

    known_digest: bytes

    @property
    def labels(self) -> Labels:
        raise ValueError("these labels were not kept, only their digest")

    @cached_property
    def digest(self) -> bytes:
        return self.known_digest

    def _equals(self, other: Partition) -> bool:
        return self.digest == other.digest


def noted(labels: Labels, n_components: int) -> NDArray[Any]:
    """A copy of labels that change later, in as few bytes as will do."""
    return labels.astype(np.min_scalar_type(max(n_components - 1, 0)))


def _digest(*arrays: NDArray[Any]) -> bytes:
    # Processors have instructions for this one; a few of its bytes are enough.
    hasher = sha256(usedforsecurity=False)
    for array in arrays:
        hasher.update(np.ascontiguousarray(array).data)
    return hasher.digest()[:DIGEST_BYTES]
