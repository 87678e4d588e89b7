"""Runs the cells of a notebook, or the Python of a document, as a kernel would."""

from __future__ import annotations

import ast
import json
import pathlib
import re
from typing import Any


def cells_of(path: pathlib.Path) -> list[str]:
    """Returns the code cells of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def python_blocks(path: pathlib.Path) -> list[str]:
    """Returns the blocks of Python in a Markdown document."""
    text = path.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run_cells(
    cells: list[str], replaced: dict[str, str], variables: dict[str, Any] | None = None
) -> tuple[dict[str, Any], list[Any]]:
    """Runs the cells in this process; returns the variables and the values that the cells show.

    `replaced` maps texts of the cells to other texts. `variables` are those of earlier cells.
    """
    names = variables if variables is not None else {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(cells):
        for old, new in replaced.items():
            cell = cell.replace(old, new)
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            if value is not None:
                shown.append(value)
    return names, shown
