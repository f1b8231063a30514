"""Trees over the components: balls in natural coordinates, by which whole groups of components are ruled out at once.

Every assignment of the paper is a search for the largest <t, theta_j> + b_j. Over the components of a ball of center c
and radius r that is at most <t, c> + |t| r + max b, which is what additively weighted Bregman balls come to in these
coordinates. Two ways of cutting are offered: ball trees halve along the widest direction, vantage-point trees by the
distance to one of the components.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...numerics.arrays import Array

LEAF = 16


@dataclass(frozen=True)
class Node:
    """A ball that holds components: either cut in two, or a leaf with its members."""

    center: Array
    radius: float
    highest_bias: float
    members: NDArray[np.intp]
    children: tuple["Node", ...] = ()


def ball_tree(natural: Array, bias: Array, members: NDArray[np.intp]) -> Node:
    """Cut at the median along the direction in which the members spread most."""
    theta = natural[members]
    center = theta.mean(axis=0)
    node = _ball(theta, center, bias, members)
    if len(members) <= LEAF or node.radius == 0:
        return node
    axis = int(np.argmax(np.ptp(theta, axis=0)))
    order = np.argsort(theta[:, axis], kind="stable")
    half = len(members) // 2
    children = tuple(ball_tree(natural, bias, members[part]) for part in (order[:half], order[half:]))
    return Node(node.center, node.radius, node.highest_bias, members, children)


def vantage_point_tree(natural: Array, bias: Array, members: NDArray[np.intp]) -> Node:
    """Cut at the median distance from a vantage point: the member farthest from the mean."""
    theta = natural[members]
    vantage = theta[np.argmax(np.linalg.norm(theta - theta.mean(axis=0), axis=1))]
    node = _ball(theta, vantage, bias, members)
    if len(members) <= LEAF or node.radius == 0:
        return node
    order = np.argsort(np.linalg.norm(theta - vantage, axis=1), kind="stable")
    half = len(members) // 2
    children = tuple(vantage_point_tree(natural, bias, members[part]) for part in (order[:half], order[half:]))
    return Node(node.center, node.radius, node.highest_bias, members, children)


def _ball(theta: Array, center: Array, bias: Array, members: NDArray[np.intp]) -> Node:
    radius = float(np.linalg.norm(theta - center, axis=1).max())
    return Node(center, radius, float(bias[members].max()), members)


TREES = {"ball-tree": ball_tree, "vp-tree": vantage_point_tree}


def winners(root: Node, natural: Array, bias: Array, points: Array) -> NDArray[np.intp]:
    """The component with the highest score at each point (m, D); all points go down the tree together."""
    best, winner = np.full(len(points), -np.inf), np.zeros(len(points), dtype=np.intp)
    lengths = np.linalg.norm(points, axis=1)
    stack = [(root, np.arange(len(points)))]
    while stack:
        node, at = stack.pop()
        at = at[points[at] @ node.center + lengths[at] * node.radius + node.highest_bias > best[at]]
        if len(at) and node.children:
            stack += [(child, at) for child in node.children]
        elif len(at):
            scores = points[at] @ natural[node.members].T + bias[node.members]
            top = scores.max(axis=1)
            better = top > best[at]
            winner[at[better]] = node.members[scores.argmax(axis=1)[better]]
            best[at[better]] = top[better]
    return winner


def survivors(
    root: Node, natural: Array, bias: Array, centers: Array, halves: Array, error_bound: Array
) -> NDArray[np.bool_]:
    """For each box (m, D) the components (m, k) that may win in it; all boxes go down the tree together.

    The best component at the center is the one to beat: a component stays if the difference of the two scores, a linear
    function, is positive somewhere in the box. `error_bound` (m,) is the rounding error of scores there.
    """
    possible = np.zeros((len(centers), len(natural)), dtype=bool)
    star = winners(root, natural, bias, centers)
    theta_star, needed = natural[star], bias[star] - error_bound
    reach = np.linalg.norm(np.abs(centers) + halves, axis=1)

    def margin(at: NDArray[np.intp], theta: Array) -> Array:
        """The largest <t, theta - theta_star> over each box."""
        difference = theta - theta_star[at]
        return np.asarray((centers[at] * difference + halves[at] * np.abs(difference)).sum(axis=1))

    stack = [(root, np.arange(len(centers)))]
    while stack:
        node, at = stack.pop()
        at = at[margin(at, node.center) + reach[at] * node.radius + node.highest_bias >= needed[at]]
        if len(at) and node.children:
            stack += [(child, at) for child in node.children]
        elif len(at):
            for j in node.members:
                possible[at, j] = margin(at, natural[j]) + bias[j] >= needed[at]
    return possible
