"""What an algorithm must have."""

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from ..problem.problem import LearningProblem, Parameters
from .state import State


class Algorithm(Protocol):
    """A way of learning: a first state, and a step that never lowers the objective (`online` alone may)."""

    @property
    def name(self) -> str:
        """Its short name."""
        ...

    @property
    def monotone(self) -> bool:
        """Whether the objective never falls."""
        ...

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        """Returns the state before the first step.

        Parameters
        ----------
        problem : LearningProblem
            The data and the model.
        parameters : Parameters
            Where to start.

        Returns
        -------
        State
            The state.
        """
        ...

    def step(self, problem: LearningProblem, state: State) -> State:
        """Makes one step.

        Parameters
        ----------
        problem : LearningProblem
            The data and the model.
        state : State
            The state before.

        Returns
        -------
        State
            The next state; `finished` says why there is no further one.
        """
        ...


@runtime_checkable
class Remembering(Protocol):
    """An algorithm that carries more than its state from step to step."""

    def memory(self) -> dict[str, Any]:
        """Returns what the algorithm carries beside its state, for a checkpoint.

        Returns
        -------
        dict
            Numbers and texts by name.
        """
        ...

    def restore(self, problem: LearningProblem, parameters: Parameters, memory: Mapping[str, Any]) -> None:
        """Prepares to go on from a checkpoint, instead of `init`.

        Parameters
        ----------
        problem : LearningProblem
            The data and the model.
        parameters : Parameters
            The parameters of the state to go on from.
        memory : mapping
            What `memory` returned.
        """
        ...
