import numpy as np
import pytest
from drawn import refused, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _native
from reference.native import folds as twin

UNIT, PADDING = _native.SLOT_UNIT, _native.FOLD_OF_PADDING


def problem_of(rng, n, groups):
    """A C-SVC-like problem with signs, dealt into three folds and a rest, at a feasible point of all rows."""
    X = rng.standard_normal((n, 3))
    sign = rng.choice([-1.0, 1.0], n)
    bound = rng.random(n) + 0.1
    group = rng.integers(0, groups, n) if groups else np.full(n, -1)
    a = bound * (rng.random(n) < 0.6) * rng.choice([0.5, 1.0], n)
    folds = rng.integers(-1, 3, n)
    totals = np.array([[0.9 * a[(group == k) & (folds != t)].sum() for k in range(groups)] for t in range(3)])
    K = X @ X.T + np.eye(n)
    arrays = {"sign": sign, "linear": -rng.random(n), "lower": np.zeros(n), "upper": bound, "group": group}
    return K, arrays, a, folds, totals.reshape(3, groups)


def small(rng, n, groups, **changed):
    K, arrays, a, folds, totals = problem_of(rng, n, groups)
    order = rng.permutation(n)
    shuffled = np.empty_like(K)
    shuffled[np.ix_(order, order)] = K
    return {
        "K": shuffled,
        "at": order,
        "problem": tuple(arrays.values()),
        "in_place": False,
        "a": a,
        "f": K @ (arrays["sign"] * a),
        "folds": folds,
        "totals": totals,
        "goal": 1e-9,
        "max_steps": 100_000,
        "first": 0,
        "max_operations": 10**12,
        "values": np.full(n, np.nan),
        "offsets": np.full((3, groups), np.nan),
        **changed,
    }, K


@settings(max_examples=30)
@given(n=st.integers(2, 40), groups=st.integers(0, 2), seed=seeds)
def test_values_are_those_of_the_optimum_without_a_fold(level, n, groups, seed):
    rng = np.random.default_rng(seed)
    given_, K = small(rng, n, groups)
    assert _native.solve_small_folds(**given_) == 3
    sign, linear, lower, upper, group = given_["problem"]
    Q = sign[:, None] * K * sign
    np.testing.assert_array_equal(np.isnan(given_["values"]), given_["folds"] < 0)
    for k in range(3):
        rest = np.flatnonzero(given_["folds"] != k)
        held = np.flatnonzero(given_["folds"] == k)
        if len(rest) == 0 or len(held) == 0:
            continue
        # The same fold in slots, whose variables come back: its values must be those of K and its variables.
        x, g, offsets = in_slots(Q, given_, k, np.float64)
        objective = 0.5 * x @ Q @ x + linear @ x
        least = twin.objective_without(Q, linear, lower, upper, group, given_["totals"][k], rest)
        assert objective <= least + 1e-5 * (1 + abs(least))
        np.testing.assert_allclose(x[held], 0.0)
        np.testing.assert_allclose(g, Q @ x + linear, atol=1e-9)
        np.testing.assert_allclose(given_["values"][held], (K @ (sign * x))[held], atol=1e-6)
        for j in range(groups):
            own = (group == j) & (given_["folds"] != k)
            assert x[group == j].sum() == pytest.approx(given_["totals"][k, j], abs=1e-9)
            expected = twin.offset(g, x, lower, upper, own)
            assert offsets[j] == pytest.approx(expected, abs=1e-9)
            assert given_["offsets"][k, j] == pytest.approx(expected, abs=1e-5)


def in_slots(Q, given_, k, dtype):
    """A fold by ``start_fold``, ``solve_pairs`` and ``fold_offsets``: variables, gradient and offsets by variables."""
    _, linear, lower, upper, group = given_["problem"]
    groups = given_["totals"].shape[1]
    parts, starts = [], [0]
    for j in range(max(1, groups)):
        members = np.flatnonzero(group == j) if groups else np.arange(len(group))
        parts += [members, np.full(-(len(members) + (groups == 0)) % UNIT + (groups == 0), -1)]
        starts.append(starts[-1] + sum(map(len, parts[-2:])))
    slots = np.concatenate(parts)
    real, size = np.flatnonzero(slots >= 0), len(slots)
    v = slots[real]
    K = np.zeros((size, size), dtype)
    K[np.ix_(real, real)] = Q[np.ix_(v, v)]
    a, low, high = np.zeros((3, size))
    a[real], low[real], high[real] = given_["a"][v], lower[v], upper[v]
    of_slot, g = np.full(size, PADDING), np.zeros(size, dtype)
    of_slot[real], g[real] = given_["folds"][v], (Q @ given_["a"] + linear)[v]
    if groups == 0:
        low[len(v)], high[len(v)], of_slot[len(v)] = -np.inf, np.inf, -1
    begin, end = np.array(starts[:-1]), np.array(starts[1:])
    x, rise, fall = np.empty(size), np.empty(size, dtype), np.empty(size, dtype)
    problem, state = (K, a, low, high, of_slot, begin, end), (g, x, rise, fall)
    _native.start_fold(problem, state, k, given_["totals"][k])
    diagonal = np.ascontiguousarray(K.diagonal())
    _native.solve_pairs(K, g, x, low, high, rise, fall, diagonal, begin, end, given_["goal"], given_["max_steps"])
    offsets, back = np.empty(groups), np.empty((2, len(v)))
    _native.fold_offsets(problem, state, k, offsets)
    back[0, v], back[1, v] = x[real], g[real]
    return back[0], back[1], offsets


@given(n=st.integers(1, 40), groups=st.integers(0, 2), seed=seeds)
def test_bounded_calls_and_single_precision(level, n, groups, seed):
    once, K = small(np.random.default_rng(seed), n, groups)
    parts = {**once, "values": once["values"].copy(), "offsets": once["offsets"].copy(), "max_operations": 1}
    assert _native.solve_small_folds(**once) == 3
    fold = 0
    while fold < 3:
        before, fold = fold, _native.solve_small_folds(**{**parts, "first": fold})
        assert fold == before + 1
    np.testing.assert_array_equal(parts["values"], once["values"])
    np.testing.assert_array_equal(parts["offsets"], once["offsets"])
    sign = once["problem"][0]
    Q = sign[:, None] * K * sign
    rough = {**once, "goal": 1e-3}
    single, double = (in_slots(Q, rough, 1, dtype) for dtype in (np.float32, np.float64))
    held = once["folds"] == 1
    np.testing.assert_allclose(single[1][held], double[1][held], atol=0.05)


def test_a_matrix_in_place(level):
    """One group whose variables are the rows of K in order: with columns for whole slots nothing is copied."""
    given_, K = small(np.random.default_rng(1), 20, 1)
    _, *rest = given_["problem"]
    given_.update(K=K, at=np.arange(20), problem=(np.ones(20), *rest), f=K @ given_["a"])
    _native.solve_small_folds(**given_)
    wide = np.zeros((20, UNIT))
    wide[:, :20] = K
    direct = {**given_, "K": wide, "in_place": True, "values": np.full(20, np.nan), "offsets": np.empty((3, 1))}
    _native.solve_small_folds(**direct)
    np.testing.assert_array_equal(direct["values"], given_["values"])
    np.testing.assert_array_equal(direct["offsets"], given_["offsets"])


RIGHT, _ = small(np.random.default_rng(0), 6, 1)
SIGN, LINEAR, LOWER, UPPER, GROUP = RIGHT["problem"]


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"problem": [1, 2]}, TypeError, "problem must be a tuple"),
        ({"problem": (SIGN, LINEAR, LOWER, UPPER[:5], GROUP)}, ValueError, "upper"),
        ({"problem": (SIGN, LINEAR, LOWER, UPPER, GROUP + 1)}, ValueError, "group"),
        ({"problem": (SIGN, LINEAR, LOWER, UPPER, GROUP.astype(np.int32))}, TypeError, "group"),
        ({"K": np.ones((5, 6))}, ValueError, "at must lie"),
        ({"K": np.ones((6, 6)).T[:, ::2]}, TypeError, "K must have"),
        ({"at": np.array([0, 1, 2, 3, 4, 6])}, ValueError, "at must lie"),
        ({"a": np.ones(5)}, ValueError, "at.shape"),
        ({"f": np.ones(5)}, ValueError, "f.shape"),
        ({"folds": np.zeros(7, int)}, ValueError, "folds"),
        ({"totals": np.zeros((3, 2))}, ValueError, "offsets"),
        ({"offsets": np.zeros((2, 1))}, ValueError, "offsets"),
        ({"values": np.zeros(5)}, ValueError, "values"),
        ({"first": 4}, ValueError, "folds"),
        ({"first": -1}, ValueError, "folds"),
        ({"max_steps": -1}, ValueError, "max_steps"),
        ({"max_operations": 0}, ValueError, "max_operations"),
        ({"in_place": True, "K": np.ones((9, 40)), "totals": np.zeros((3, 0)), "offsets": np.zeros((3, 0))},
         ValueError, "in_place needs one group"),
    ],
)  # fmt: skip
def test_wrong_arguments(changed, error, message):
    refused("solve_small_folds", RIGHT, changed, error, message)


def slots(size=UNIT):
    problem = {
        "K": np.ones((size, size)),
        "a": np.zeros(size),
        "lower": np.zeros(size),
        "upper": np.ones(size),
        "folds": np.zeros(size, int),
        "starts": np.array([0]),
        "stops": np.array([size]),
    }
    return problem, {name: np.zeros(size) for name in ("g", "x", "rise", "fall")}


@pytest.mark.parametrize(
    ("name", "part", "error"),
    [
        ("K", np.ones((UNIT, UNIT - 1)), ValueError),
        ("K", np.ones((UNIT, UNIT), np.float32), TypeError),
        ("a", np.zeros(3), ValueError),
        ("folds", np.zeros(3, int), ValueError),
        ("stops", np.array([UNIT + 1]), ValueError),
        ("stops", np.array([1, 2]), ValueError),
        ("starts", np.array([-1]), ValueError),
        ("x", np.zeros(3), ValueError),
        ("rise", np.zeros(UNIT, np.float32), TypeError),
        ("g", np.zeros(3), ValueError),
    ],
)
def test_wrong_slots(name, part, error):
    problem, state = slots()
    for arguments in (problem, state):
        if name in arguments:
            arguments[name] = part
    for function, last in ((_native.start_fold, np.zeros(1)), (_native.fold_offsets, np.zeros(1))):
        with pytest.raises(error, match=r"must"):
            function(tuple(problem.values()), tuple(state.values()), 0, last)


def test_wrong_tuples_and_totals():
    problem, state = (tuple(part.values()) for part in slots())
    with pytest.raises(TypeError, match="problem must be a tuple"):
        _native.start_fold(problem[:6], state, 0, np.zeros(1))
    with pytest.raises(TypeError, match="state must be a tuple"):
        _native.start_fold(problem, state[0], 0, np.zeros(1))
    with pytest.raises(ValueError, match="equalities"):
        _native.start_fold(problem, state, 0, np.zeros(2))
