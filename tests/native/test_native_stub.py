"""The typed stub lists what the extension module has, no more and no less."""

import ast
from pathlib import Path

import maxmargin
from maxmargin import _native

STUB = Path(maxmargin.__file__).parent / "_native.pyi"


def test_stub_lists_the_module():
    listed = []
    for node in ast.parse(STUB.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            listed.append(node.name)
        elif isinstance(node, ast.AnnAssign):
            listed.append(node.target.id)
    assert len(set(listed)) == len(listed)
    assert set(listed) == {name for name in dir(_native) if not name.startswith("__")}
