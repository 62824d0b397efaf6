"""The tables that bench/run writes, and their rows as data for bench/paired."""

import dataclasses


@dataclasses.dataclass
class Reference:
    """Something measured in the same run, in the unit of the row that is compared with it."""

    name: str
    value: float


@dataclasses.dataclass
class Row:
    section: str
    name: str
    value: float         # what bench/paired compares
    is_lower_better: bool


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def with_unit(value, unit):
    return f"{number(value)} {unit}".strip()


class Table:
    """A section: its rows are printed as they are measured."""

    rows, n_kept, missed = [], 0, []

    def __init__(self, section, title, *comment):
        self.section = section
        print(f"\n## {title}\n")
        for line in comment:
            print(line)
        if comment:
            print()
        print("| row | measured | compared with | ratio | budget | kept | details |\n|---|---|---|---|---|---|---|")

    def line(self, name, measured, reference="", ratio="", budget="", kept=None, detail=""):
        if kept is not None:
            Table.n_kept += kept
            if not kept:
                Table.missed.append(f"{self.section}: {name}")
        cells = [name, measured, reference, ratio, budget, "" if kept is None else "yes" if kept else "**no**", detail]
        print("| " + " | ".join(cell or "–" for cell in cells) + " |", flush=True)

    def keep(self, name, value, is_lower_better=True):
        Table.rows.append(Row(self.section, name, value, is_lower_better))

    def at_most(self, name, value, unit, reference, limit, detail="", compares_ratio=False):
        """The value is at most so many times the reference."""
        self.against(name, value, unit, reference, f"≤ {limit:g}", value <= limit * reference.value, detail)
        self.keep(name, value / reference.value if compares_ratio else value)

    def at_least(self, name, value, unit, reference, limit, detail=""):
        self.against(name, value, unit, reference, f"≥ {limit:g}", value >= limit * reference.value, detail)
        self.keep(name, value, is_lower_better=False)

    def against(self, name, value, unit, reference, budget, kept, detail):
        self.line(name, with_unit(value, unit), f"{reference.name}: {with_unit(reference.value, unit)}", number(value / reference.value),
                  budget, kept, detail)

    def amount(self, name, value, unit, limit, detail=""):
        """Bytes and counts do not depend on the speed of the machine: their budget is absolute."""
        self.line(name, with_unit(value, unit), budget=f"≤ {with_unit(limit, unit)}", kept=value <= limit, detail=detail)
        self.keep(name, value)

    def same(self, name, values):
        self.line(name, " and ".join(f"{value:,}" for value in values), budget="equal", kept=len(set(values)) == 1)

    def plain(self, name, value, unit, detail="", is_lower_better=True):
        """Without a budget."""
        self.line(name, with_unit(value, unit), detail=detail)
        self.keep(name, value, is_lower_better)

    def beside(self, name, measured):
        """Another program, or a part of perfd alone."""
        self.line(f"*{name}*", measured)

    def absent(self, name):
        self.beside(name, "not installed (make interop-deps)")
