"""Results of all rounds, and the table of them.

A result is one number a round, or none. A ratio is taken within each round, where both contestants met the same machine, and the
median is that of the rounds' ratios.
"""

import statistics

GROWTH = 1.1  # what counts as constant
PEERS = ("curator", "curator-mutex", "kazoo")


def text_of(numbers, digits):
    """Median and, of several rounds, the least and the greatest."""
    middle = f"{statistics.median(numbers):,.{digits}f}"
    if len(numbers) == 1:
        return middle
    return f"{middle} [{min(numbers):,.{digits}f}-{max(numbers):,.{digits}f}]"


class Measure:
    """One line: what it is called, how exactly it is shown, and which ratios of ours are wanted.

    `most` is {contestant: the greatest ratio of ours that is aimed at}; `least` likewise. `limit` is one for our own number; `like` is a Measure with a shorter queue, beside which
    ours is not to grow.
    """

    def __init__(self, name, digits=0, most=None, least=None, limit=None, like=None):
        self.name = name
        self.digits = digits
        self.most = most or {}
        self.least = least or {}
        self.limit = limit
        self.like = like
        self.results = {}

    def add(self, contestant, number):
        self.results.setdefault(contestant, []).append(number)

    def ratios(self, other):
        return [mine / theirs for mine, theirs in zip(self.results.get("ours", []), self.results.get(other, [])) if theirs]

    def verdicts(self):
        """A phrase for each aim."""
        for sign, aims, met in (("<=", self.most, lambda ratio, aim: ratio <= aim), (">=", self.least, lambda ratio, aim: ratio >= aim)):
            for other, aim in aims.items():
                ratios = self.ratios(other)
                if ratios:
                    yield f"{'met' if met(statistics.median(ratios), aim) else 'MISSED'} ({sign} {aim:g} x {other})"
        if self.limit is not None and "ours" in self.results:
            yield f"{'met' if statistics.median(self.results['ours']) < self.limit else 'MISSED'} (under {self.limit:g})"
        if self.like is not None and "ours" in self.results and "ours" in self.like.results:
            growth = statistics.median(self.results["ours"]) / statistics.median(self.like.results["ours"])
            yield f"{'met' if growth < GROWTH else 'MISSED'} (the same as in a short queue: x {growth:.2f})"


def against_peers(aim):
    return {peer: aim for peer in PEERS}


def rows(measures, contestants, aims):
    for measure in measures:
        if not measure.results:
            continue
        yield [measure.name, *(text_of(measure.results[name], measure.digits) if name in measure.results else "" for name in contestants)]
        ratios = {name: measure.ratios(name) for name in contestants if name != "ours"}
        if any(ratios.values()):
            yield ["    ours to it", *(text_of(ratios[name], 2) if ratios.get(name) else "" for name in contestants)]
        verdicts = ", ".join(measure.verdicts()) if aims else ""
        if verdicts:
            yield [f"    aim: {verdicts}"]


def print_table(measures, contestants, aims):
    table = [["", *contestants], *rows(measures, contestants, aims)]
    widths = [max(len(row[column]) for row in table if len(row) > column and len(row) > 1) for column in range(len(contestants) + 1)]
    for row in table:
        print("  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip())
