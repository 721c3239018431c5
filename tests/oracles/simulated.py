"""The simulated ratings that the oracles and our tests both read: plain numpy, the same in every version."""

import hashlib

import numpy

# P(given | true) of five raters of a question with two answers, and the share of each answer.
CONFUSION = numpy.array(
    [
        [[0.95, 0.05], [0.08, 0.92]],
        [[0.90, 0.10], [0.05, 0.95]],
        [[0.85, 0.15], [0.20, 0.80]],
        [[0.92, 0.08], [0.25, 0.75]],
        [[0.70, 0.30], [0.10, 0.90]],
    ]
)
SHARES = numpy.array([0.5, 0.5])


def pick(random, chances):
    """A place in each row of chances, by one uniform number a row: a stream that numpy keeps."""
    return (random.random(len(chances))[:, None] > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)


def rate(seed, units, shares, confusion, missing=0.0):
    """The true values, of shape (units,), and the ratings, of shape (raters, units), NaN for none."""
    random = numpy.random.default_rng(seed)
    true = pick(random, numpy.tile(shares, (units, 1)))
    ratings = numpy.array([pick(random, errors[true]) for errors in confusion]).astype(float)
    ratings[random.random(ratings.shape) < missing] = numpy.nan
    return true, ratings


def two_answers():
    """2,000 units of two answers, by five raters who rate each."""
    return rate(17, 2_000, SHARES, CONFUSION)


def four_answers():
    """600 units of four answers, by six raters of whom three in ten say nothing."""
    random = numpy.random.default_rng(4)
    confusion = random.random((6, 4, 4)) * 0.3 + 0.7 * numpy.eye(4)
    return rate(
        5, 600, numpy.array([0.4, 0.3, 0.2, 0.1]), confusion / confusion.sum(axis=2, keepdims=True), 0.3
    )


def agent_and_annotators(kind):
    """An agent's values, of shape (80,), and those of five annotators, of whom two in ten say nothing."""
    random = numpy.random.default_rng({"accuracy": 1, "neg_rmse": 2}[kind])
    true = (random.random(80) * 5).astype(int)
    noise = numpy.array([0.25, 0.2, 0.3, 0.45, 0.6, 0.7])[:, None]
    ratings = numpy.where(
        random.random((6, 80)) < noise, (random.random((6, 80)) * 5).astype(int), true
    ).astype(float)
    ratings[1:][random.random((5, 80)) < 0.2] = numpy.nan
    return ratings[0], ratings[1:]


def digest(ratings):
    """A sum that shows whether two environments simulated the same ratings."""
    return hashlib.sha256(numpy.nan_to_num(ratings, nan=-1).astype("<i8").tobytes()).hexdigest()


def battles(number=3000, seed=5):
    """Battles of eight candidates of rising strength: (first, second, score of the first)."""
    random = numpy.random.default_rng(seed)
    names = [f"c{place}" for place in range(8)]
    strength = numpy.linspace(-1, 1, 8)
    found = []
    for _ in range(number):
        a, b = random.choice(8, 2, replace=False)
        tie = random.random() < 0.15
        won = random.random() < 1 / (1 + numpy.exp(strength[b] - strength[a]))
        found.append((names[a], names[b], 0.5 if tie else float(won)))
    return found
