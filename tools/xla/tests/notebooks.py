"""Runs the cells of a notebook in this process, as a kernel would."""

from __future__ import annotations

import ast
import json
import pathlib
from typing import Any


def run_notebook(path: pathlib.Path, replaced: dict[str, str]) -> tuple[dict[str, Any], list[Any]]:
    """Runs every code cell, and returns the variables and the values that the cells show.

    `replaced` maps texts of the cells to other texts; each must be there.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for old in replaced:
        assert any(old in cell for cell in cells), f"{path.name} has no {old}"
    variables: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, cell in enumerate(cells):
        for old, new in replaced.items():
            cell = cell.replace(old, new)
        tree = ast.parse(cell)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), variables)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), variables)
            if value is not None:
                shown.append(value)
    return variables, shown
