from numpy import float32, float64, int32, int64, uint8
from numpy.typing import NDArray

class CenteredForm:
    def __init__(
        self,
        mean: NDArray[float64],
        factor: NDArray[float64],
        constant: NDArray[float64],
        linear: NDArray[float64],
        places: list[int],
        linear_places: list[int],
        carried: list[bool],
    ) -> None: ...

class PackedRows64:
    def __init__(
        self, rows: int, columns: int, features: int, weights: NDArray[float64] | None, threads: int
    ) -> None: ...
    def load(self, first: int, rows: NDArray[float64]) -> None: ...
    def column(self) -> NDArray[float64]: ...
    def measure(self) -> None: ...
    def hard_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        labels: NDArray[int32],
        sizes: NDArray[int64],
        counts: NDArray[float64],
        sums: NDArray[float64],
        margins: NDArray[float32] | None,
    ) -> int: ...
    def groups(
        self, rows_each: int, low: NDArray[float64], high: NDArray[float64], totals: NDArray[float64]
    ) -> None: ...
    def boxes_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        rows_each: list[int],
        centers: list[NDArray[float64]],
        halves: list[NDArray[float64]],
        totals: list[NDArray[float64]],
        starts: NDArray[int64] | None,
        candidates: NDArray[int32] | None,
        owners_before: NDArray[int32] | None,
        labels_before: NDArray[int32] | None,
        owners: NDArray[int32],
        labels: NDArray[int32],
        counts: NDArray[float64],
        sums: NDArray[float64],
    ) -> int: ...
    def bounds_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        labels: NDArray[int32],
        sizes: NDArray[int64],
        counts: NDArray[float64],
        sums: NDArray[float64],
        margins: NDArray[float32],
        table: NDArray[float32],
        distances: NDArray[uint8],
    ) -> tuple[int, int]: ...
    def soft_passes(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        mixtures: int,
        kept: int,
        counts: NDArray[float64],
        sums: NDArray[float64],
        scores: NDArray[float64],
    ) -> None: ...
    def log_likelihood(self, natural: NDArray[float64], bias: NDArray[float64]) -> tuple[float, float]: ...
    def row_scores(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        centered: CenteredForm | None,
        by_differences: bool,
        log_sums: NDArray[float64] | None,
        tops: NDArray[float64] | None,
        shares: NDArray[float64] | None,
        scores: NDArray[float64] | None,
    ) -> None: ...
    def label_rows(
        self, natural: NDArray[float64], bias: NDArray[float64], labels: NDArray[int32], centered: CenteredForm | None
    ) -> None: ...
    def own_scores(self, labels: NDArray[int32], centered: CenteredForm, totals: NDArray[float64]) -> None: ...
    def work(self) -> tuple[int, int]: ...
    def label_sums(self, labels: NDArray[int32], counts: NDArray[float64], sums: NDArray[float64]) -> None: ...

class PackedRows32(PackedRows64):
    def load(self, first: int, rows: NDArray[float32]) -> None: ...  # type: ignore[override]

class SortedRows:
    def __init__(self, packed: PackedRows64, line: NDArray[float64], starts: list[int]) -> None: ...
    def hard_pass(
        self, natural: NDArray[float64], bias: NDArray[float64], counts: NDArray[float64], sums: NDArray[float64]
    ) -> tuple[list[int], list[int]] | None: ...

class Buckets:
    def __init__(self, borders: NDArray[float64], rows: int, rows_a_block: int) -> None: ...
    def count(self, first: int, values: NDArray[float64]) -> None: ...
    def lay_out(self) -> None: ...
    def place(
        self,
        first: int,
        values: NDArray[float64],
        weights: NDArray[float64] | None,
        line: NDArray[float64],
        line_weights: NDArray[float64] | None,
    ) -> None: ...
    def finish(self, line: NDArray[float64], weights: NDArray[float64] | None, threads: int) -> list[int]: ...

class PanelsRows:
    def __init__(self, rows: int, columns: int, threads: int) -> None: ...
    def load(self, first: int, rows: NDArray[float64]) -> None: ...
    def hard_pass(
        self,
        factors: NDArray[float64],
        shifts: NDArray[float64],
        constants: NDArray[float64],
        labels: NDArray[int32],
    ) -> int: ...
    def row_scores(
        self,
        factors: NDArray[float64],
        shifts: NDArray[float64],
        constants: NDArray[float64],
        labels: NDArray[int32],
        log_sums: NDArray[float64] | None,
        tops: NDArray[float64] | None,
        shares: NDArray[float64] | None,
        scores: NDArray[float64] | None,
        entropies: NDArray[float64] | None,
    ) -> None: ...
    def soft_pass(
        self,
        factors: NDArray[float64],
        shifts: NDArray[float64],
        constants: NDArray[float64],
        labels: NDArray[int32],
        rows: NDArray[float64] | NDArray[float32],
        center: NDArray[float64],
        weights: NDArray[float64] | None,
        kept: int,
        counts: NDArray[float64],
        sums: NDArray[float64],
    ) -> float: ...

def product_sums(
    rows: NDArray[float64] | NDArray[float32],
    center: NDArray[float64],
    places: NDArray[int32],
    components: NDArray[int32],
    shares: NDArray[float64],
    threads: int,
    counts: NDArray[float64],
    sums: NDArray[float64],
) -> None: ...

class SparseRows64:
    def __init__(
        self,
        values: NDArray[float64],
        columns: NDArray[int32],
        starts: NDArray[int32],
        n_columns: int,
        weights: NDArray[float64] | None,
        threads: int,
    ) -> None: ...
    def hard_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        labels: NDArray[int32],
        sizes: NDArray[int64],
        counts: NDArray[float64],
        sums: NDArray[float64],
    ) -> int: ...
    def best(self, natural: NDArray[float64], bias: NDArray[float64], labels: NDArray[int32]) -> float: ...
    def row_scores(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        log_sums: NDArray[float64] | None,
        tops: NDArray[float64] | None,
        shares: NDArray[float64] | None,
        scores: NDArray[float64] | None,
    ) -> None: ...
    def log_likelihood(self, natural: NDArray[float64], bias: NDArray[float64]) -> tuple[float, float]: ...
    def soft_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        kept: int,
        counts: NDArray[float64],
        sums: NDArray[float64],
    ) -> float: ...
    def label_sums(self, labels: NDArray[int32], counts: NDArray[float64], sums: NDArray[float64]) -> None: ...

def spatial_order32(rows: NDArray[float32], leaf: int, places: NDArray[int32], threads: int) -> None: ...
def spatial_order64(rows: NDArray[float64], leaf: int, places: NDArray[int32], threads: int) -> None: ...
def spread_labels(
    owners: NDArray[int32],
    labels: NDArray[int32],
    each: int,
    places: NDArray[int32],
    out: NDArray[int32],
    threads: int,
) -> None: ...
def locate(
    values: NDArray[float64], firsts: NDArray[float64], owners: NDArray[int32], labels: NDArray[int32], threads: int
) -> None: ...
def score_table32(
    table: NDArray[float32],
    shift: NDArray[float64],
    natural: NDArray[float64],
    bias: NDArray[float64],
    labels: NDArray[int32] | None,
    log_sums: NDArray[float64] | None,
    tops: NDArray[float64] | None,
    shares: NDArray[float64] | None,
    scores: NDArray[float64] | None,
    lowest: NDArray[float64],
    highest: NDArray[float64],
    threads: int,
) -> tuple[bool, bool]: ...
def score_table64(
    table: NDArray[float64],
    shift: NDArray[float64],
    natural: NDArray[float64],
    bias: NDArray[float64],
    labels: NDArray[int32] | None,
    log_sums: NDArray[float64] | None,
    tops: NDArray[float64] | None,
    shares: NDArray[float64] | None,
    scores: NDArray[float64] | None,
    lowest: NDArray[float64],
    highest: NDArray[float64],
    threads: int,
) -> tuple[bool, bool]: ...
def gaussian_natural(
    moments: NDArray[float64],
    spread: NDArray[float64],
    smallest: float,
    rounding: float,
    natural: NDArray[float64],
    safe: NDArray[uint8],
) -> None: ...
def gaussian_has_spread(
    natural: NDArray[float64], spread: NDArray[float64], rounding: float, wide: NDArray[uint8]
) -> None: ...
def gaussian_log_normalizer(natural: NDArray[float64], columns: int, values: NDArray[float64]) -> None: ...
def gaussian_step(
    counts: NDArray[float64],
    sums: NDArray[float64],
    before: NDArray[float64],
    weights_before: NDArray[float64],
    factors: NDArray[float64],
    prior_moment: NDArray[float64],
    prior_strength: float,
    prior_top: float,
    largest: NDArray[float64],
    spread: NDArray[float64],
    center: NDArray[float64],
    smallest: float,
    rounding: float,
    spread_rounding: float,
    far: float,
    threads: int,
    natural: NDArray[float64],
    log_weights: NDArray[float64],
    beyond: NDArray[float64],
    weights_beyond: NDArray[float64],
    bias: NDArray[float64],
    penalty: NDArray[float64],
    size: NDArray[float64],
) -> bool: ...
def leaks() -> list[str] | None: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
