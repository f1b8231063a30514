from numpy import float32, float64, int32, int64, uint8
from numpy.typing import NDArray

# What passes read and write ------------------------------------------------------------------------------------------

class Totals:
    def __init__(self, counts: NDArray[float64], sums: NDArray[float64]) -> None: ...

class Tailed:
    def __init__(
        self,
        location: NDArray[float64],
        whitening: NDArray[float64],
        degrees: NDArray[float64],
        constant: NDArray[float64],
    ) -> None: ...

class Gaussians:
    def __init__(self, mean: NDArray[float64], covariance: NDArray[float64], log_weights: NDArray[float64]) -> None: ...

class Expected:
    def __init__(self, counts: NDArray[float64], delta: NDArray[float64], scatter: NDArray[float64]) -> None: ...

class PatternRows:
    def __init__(
        self, columns: int, ends: NDArray[int64], holes: NDArray[uint8], weights: NDArray[float64] | None, threads: int
    ) -> None: ...
    def load(self, first: int, rows: NDArray[float64]) -> None: ...
    def work(self) -> tuple[int, int]: ...
    def soft_passes(
        self, gaussians: Gaussians, mixtures: int, kept: int, expected: Expected, scores: NDArray[float64]
    ) -> None: ...
    def hard_pass(
        self, gaussians: Gaussians, labels: NDArray[int32], expected: Expected, fits: NDArray[float64]
    ) -> None: ...
    def fits(self, gaussians: Gaussians, labels: NDArray[int32], fits: NDArray[float64]) -> None: ...
    def log_likelihood(self, gaussians: Gaussians) -> tuple[float, float]: ...
    def row_scores(self, gaussians: Gaussians, out: RowScores) -> None: ...

class Clusters:
    def __init__(
        self, labels: NDArray[int32], sizes: NDArray[int64], counts: NDArray[float64], sums: NDArray[float64]
    ) -> None: ...

class ClimbSetting:
    def __init__(
        self,
        prior_moment: NDArray[float64],
        largest: NDArray[float64],
        spread: NDArray[float64],
        prior_strength: float,
        prior_top: float,
        smallest: float,
        rounding: float,
        sum_log_carrier: float,
        score_error: float,
        arrived: float,
        recent: int,
        delay: float,
        largest_factor: float,
        hard: bool,
    ) -> None: ...

class ClimbState:
    def __init__(
        self,
        models: NDArray[int32],
        natural: NDArray[float64],
        log_weights: NDArray[float64],
        counts: NDArray[float64],
        sums: NDArray[float64],
        objective: NDArray[float64],
        counts_before: NDArray[float64],
        sums_before: NDArray[float64],
        streak: NDArray[float64],
    ) -> None: ...

class RowScores:
    def __init__(
        self,
        log_sums: NDArray[float64] | None,
        tops: NDArray[float64] | None,
        shares: NDArray[float64] | None,
        scores: NDArray[float64] | None,
    ) -> None: ...

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

class StepSetting:
    def __init__(
        self,
        prior_moment: NDArray[float64],
        largest: NDArray[float64],
        spread: NDArray[float64],
        center: NDArray[float64],
        prior_strength: float,
        prior_top: float,
        smallest: float,
        rounding: float,
        spread_rounding: float,
        far: float,
        threads: int,
        variances: NDArray[float64],
        held: NDArray[float64],
    ) -> None: ...

class MixtureStep:
    def __init__(
        self,
        natural: NDArray[float64],
        log_weights: NDArray[float64],
        beyond: NDArray[float64],
        weights_beyond: NDArray[float64],
        bias: NDArray[float64],
        penalty: NDArray[float64],
        size: NDArray[float64],
    ) -> None: ...

class Mixtures:
    def __init__(
        self,
        natural: NDArray[float64],
        log_weights: NDArray[float64],
        counts: NDArray[float64],
        sums: NDArray[float64],
        before: NDArray[float64],
        weights_before: NDArray[float64],
        objective: NDArray[float64],
        gain: NDArray[float64],
        streak: NDArray[int64],
    ) -> None: ...

class Pace:
    def __init__(
        self,
        steps: int,
        later: int,
        kept: int,
        cost: float,
        limit: float,
        least: float,
        converged: float,
        patience: float,
        delay: float,
        largest_factor: float,
        offset: float,
        most_rounding: float,
        work_at_once: float,
    ) -> None: ...

class Balls:
    def __init__(
        self,
        rows_each: int,
        centers: NDArray[float64],
        anchors: NDArray[int32],
        radii: NDArray[float32],
        scale: NDArray[float64],
    ) -> None: ...

class MarginBounds:
    def __init__(self, margin_bounds: NDArray[float32], limits: NDArray[float64], balls: Balls) -> None: ...

class Step:
    def __init__(
        self,
        change: NDArray[float32],
        apart: NDArray[float32],
        rounding: float,
        gained: NDArray[float32],
        reached: NDArray[float32],
        most_gained: NDArray[float64],
        most_apart: NDArray[float64],
    ) -> None: ...

class Level:
    def __init__(
        self, rows_each: int, centers: NDArray[float64], halves: NDArray[float64], totals: NDArray[float64]
    ) -> None: ...

class Boxes:
    def __init__(self, levels: list[Level]) -> None: ...

class Candidates:
    def __init__(self, starts: NDArray[int64], names: NDArray[int32]) -> None: ...

class GroupLabels:
    def __init__(self, owners: NDArray[int32], rows: NDArray[int32]) -> None: ...

class PanelsModel:
    def __init__(
        self, factors: NDArray[float64], shifts: NDArray[float64], constants: NDArray[float64], threads: int
    ) -> None: ...

class CenteredTable:
    def __init__(self, rows: NDArray[float64] | NDArray[float32], center: NDArray[float64]) -> None: ...

class Members:
    def __init__(self, places: NDArray[int32], components: NDArray[int32], shares: NDArray[float64]) -> None: ...

# Rows and passes over them -------------------------------------------------------------------------------------------

class PackedRows64:
    def __init__(
        self, rows: int, columns: int, features: int, weights: NDArray[float64] | None, threads: int
    ) -> None: ...
    def load(self, first: int, rows: NDArray[float64]) -> None: ...
    def load_shifted(
        self,
        table: NDArray[float64] | NDArray[float32],
        shift: NDArray[float64],
        places: NDArray[int32] | None,
        lowest: NDArray[float64] | None,
        highest: NDArray[float64] | None,
    ) -> tuple[bool, bool]: ...
    def column(self) -> NDArray[float64]: ...
    def measure(self) -> None: ...
    def work(self) -> tuple[int, int]: ...
    def largest(self, out: NDArray[float64]) -> None: ...
    def hard_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        clusters: Clusters,
        margins: NDArray[float32] | None,
        centered: CenteredForm | None,
    ) -> int: ...
    def label_rows(
        self, natural: NDArray[float64], bias: NDArray[float64], labels: NDArray[int32], centered: CenteredForm | None
    ) -> None: ...
    def label_table(
        self,
        table: NDArray[float32] | NDArray[float64],
        shift: NDArray[float64],
        natural: NDArray[float64],
        bias: NDArray[float64],
        labels: NDArray[int32],
        centered: CenteredForm | None,
        lowest: NDArray[float64],
        highest: NDArray[float64],
    ) -> tuple[bool, bool]: ...
    def soft_passes(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        mixtures: int,
        kept: int,
        totals: Totals,
        scores: NDArray[float64],
        centered: CenteredForm | None,
    ) -> None: ...
    def gaussian_steps(
        self, mixtures: Mixtures, setting: StepSetting, pace: Pace, work: float
    ) -> tuple[int, float, int, list[float]]: ...
    def climb(
        self,
        setting: ClimbSetting,
        state: ClimbState,
        history: NDArray[float64],
        made: NDArray[int32],
        reached: NDArray[uint8],
    ) -> None: ...
    def log_likelihood(
        self, natural: NDArray[float64], bias: NDArray[float64], centered: CenteredForm | None
    ) -> tuple[float, float]: ...
    def row_scores(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        centered: CenteredForm | None,
        by_differences: bool,
        out: RowScores,
    ) -> None: ...
    def own_scores(self, labels: NDArray[int32], centered: CenteredForm, totals: NDArray[float64]) -> None: ...
    def label_sums(self, labels: NDArray[int32] | None, totals: Totals) -> None: ...
    def tails_pass(
        self, components: Tailed, kept: int, labels: NDArray[int32] | None, sums: NDArray[float64] | None
    ) -> tuple[float, float]: ...
    def tails_own_scores(self, components: Tailed, labels: NDArray[int32], totals: NDArray[float64]) -> None: ...
    def groups(
        self, rows_each: int, low: NDArray[float64], high: NDArray[float64], totals: NDArray[float64]
    ) -> None: ...
    def boxes_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        boxes: Boxes,
        candidates: Candidates | None,
        before: GroupLabels | None,
        after: GroupLabels,
        totals: Totals,
    ) -> int: ...
    def bounds_pass(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        clusters: Clusters,
        margins: NDArray[float32],
        bounds: MarginBounds,
        step: Step,
    ) -> tuple[int, int, int]: ...
    def bounds_log_likelihood(
        self,
        natural: NDArray[float64],
        bias: NDArray[float64],
        labels: NDArray[int32],
        bounds: MarginBounds,
        step: Step,
    ) -> tuple[float, float]: ...
    def measure_balls(self, balls: Balls, every: int, squares: NDArray[float64] | None) -> None: ...

class PackedRows32(PackedRows64):
    def load(self, first: int, rows: NDArray[float32]) -> None: ...  # type: ignore[override]
    def column(self) -> NDArray[float32]: ...  # type: ignore[override]

class SortedRows:
    def __init__(self, packed: PackedRows64, line: NDArray[float64], starts: list[int]) -> None: ...
    def hard_pass(
        self, natural: NDArray[float64], bias: NDArray[float64], totals: Totals
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
    def hard_pass(self, model: PanelsModel, labels: NDArray[int32]) -> int: ...
    def row_scores(
        self, model: PanelsModel, labels: NDArray[int32], out: RowScores, entropies: NDArray[float64] | None
    ) -> None: ...
    def soft_pass(
        self,
        model: PanelsModel,
        labels: NDArray[int32],
        table: CenteredTable,
        weights: NDArray[float64] | None,
        kept: int,
        totals: Totals,
    ) -> float: ...

def product_sums(table: CenteredTable, members: Members, totals: Totals, threads: int) -> None: ...

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
    def hard_pass(self, natural: NDArray[float64], bias: NDArray[float64], clusters: Clusters) -> int: ...
    def best(self, natural: NDArray[float64], bias: NDArray[float64], labels: NDArray[int32]) -> float: ...
    def row_scores(self, natural: NDArray[float64], bias: NDArray[float64], out: RowScores) -> None: ...
    def log_likelihood(self, natural: NDArray[float64], bias: NDArray[float64]) -> tuple[float, float]: ...
    def soft_pass(self, natural: NDArray[float64], bias: NDArray[float64], kept: int, totals: Totals) -> float: ...
    def label_sums(self, labels: NDArray[int32], totals: Totals) -> None: ...

class SparseRows64Long(SparseRows64):
    def __init__(
        self,
        values: NDArray[float64],
        columns: NDArray[int64],
        starts: NDArray[int64],
        n_columns: int,
        weights: NDArray[float64] | None,
        threads: int,
    ) -> None: ...

class SparseRows32(SparseRows64):
    def __init__(
        self,
        values: NDArray[float32],
        columns: NDArray[int32],
        starts: NDArray[int32],
        n_columns: int,
        weights: NDArray[float64] | None,
        threads: int,
    ) -> None: ...

class SparseRows32Long(SparseRows64):
    def __init__(
        self,
        values: NDArray[float32],
        columns: NDArray[int64],
        starts: NDArray[int64],
        n_columns: int,
        weights: NDArray[float64] | None,
        threads: int,
    ) -> None: ...

# Functions -----------------------------------------------------------------------------------------------------------

def add_drift(moved: NDArray[float64], lifted: NDArray[float64], balls: Balls, step: Step, threads: int) -> None: ...
def margin_order(
    labels: NDArray[int32],
    margins: NDArray[float32],
    steps: int,
    typical: float,
    most: float,
    places: NDArray[int32],
    threads: int,
) -> None: ...
def summarize_columns32(
    table: NDArray[float32],
    lowest: NDArray[float64],
    highest: NDArray[float64],
    totals: NDArray[float64],
    threads: int,
) -> tuple[bool, bool]: ...
def summarize_columns64(
    table: NDArray[float64],
    lowest: NDArray[float64],
    highest: NDArray[float64],
    totals: NDArray[float64],
    threads: int,
) -> tuple[bool, bool]: ...
def tabulate32(
    values: NDArray[float32], low: float, weights: NDArray[float64] | None, counts: NDArray[float64], threads: int
) -> None: ...
def tabulate64(
    values: NDArray[float64], low: float, weights: NDArray[float64] | None, counts: NDArray[float64], threads: int
) -> None: ...
def squares32(table: NDArray[float32], center: NDArray[float64], totals: NDArray[float64], threads: int) -> None: ...
def squares64(table: NDArray[float64], center: NDArray[float64], totals: NDArray[float64], threads: int) -> None: ...
def look_up32(
    values: NDArray[float32], low: float, table: NDArray[int32], out: NDArray[int32], threads: int
) -> None: ...
def look_up64(
    values: NDArray[float64], low: float, table: NDArray[int32], out: NDArray[int32], threads: int
) -> None: ...
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
    out: RowScores | None,
    lowest: NDArray[float64],
    highest: NDArray[float64],
    threads: int,
) -> tuple[bool, bool, float, float]: ...
def score_table64(
    table: NDArray[float64],
    shift: NDArray[float64],
    natural: NDArray[float64],
    bias: NDArray[float64],
    labels: NDArray[int32] | None,
    out: RowScores | None,
    lowest: NDArray[float64],
    highest: NDArray[float64],
    threads: int,
) -> tuple[bool, bool, float, float]: ...
def structured_natural(
    models: NDArray[int32],
    counts: NDArray[float64],
    moments: NDArray[float64],
    before: NDArray[float64],
    spread: NDArray[float64],
    smallest: float,
    rounding: float,
    threads: int,
    natural: NDArray[float64],
    safe: NDArray[uint8],
) -> None: ...
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
    setting: StepSetting,
    out: MixtureStep,
) -> bool: ...
def leaks() -> list[str] | None: ...
def instruction_sets() -> list[str]: ...
def instruction_set() -> str: ...
def use_instruction_set(name: str) -> None: ...
