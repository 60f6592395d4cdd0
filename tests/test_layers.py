"""The one-way flow: a module imports only from layers above it, and some libraries only in their one place.

Imports are read from the source with ``ast``: absolute and relative, at the top of a module and inside functions, as
statements, as attributes of the package (``maxmargin.svm``), and by name. By name is any text that is the dotted name
of a module of ours, in a call or in a table, and any call of ``import_module`` or ``__import__``.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import maxmargin
from maxmargin.runtime.exports import stub_names

ROOT = Path(maxmargin.__file__).parent

# Each line may import from the lines before it and from itself. Modules of one line may import each other.
LAYERS = [
    ["runtime"],
    ["invariances"],
    ["data"],
    ["kernels"],
    ["problems"],
    ["solvers"],
    ["svm"],
    ["large_scale"],
    ["kernel_methods"],
    ["model_selection"],
    ["inspection"],
    ["io"],
    ["digits"],
    ["displays"],
    ["lab"],
    ["cli"],
    ["__main__"],
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

# library -> the packages and modules that may import it
ONLY_IN = {
    "matplotlib": {"displays"},
    "click": {"cli"},
    "rich": {"cli"},
    "threading": {
        "runtime.threads",
        "runtime.control",
        "runtime.interrupts",
        "runtime.callbacks",
        "svm.patching",
        "lab",
    },
    "_thread": set(),
    "concurrent": {"runtime.threads"},
    "multiprocessing": set(),
    "joblib": set(),
    "threadpoolctl": {"runtime.threads"},
    "dask": {"large_scale.dask"},
    "distributed": {"large_scale.dask"},
    "starlette": {"lab", "cli._server"},
    "uvicorn": {"lab", "cli._server"},
    "openpyxl": {"data.rows"},
}

FILES = sorted(ROOT.rglob("*.py"))
PUBLIC = {  # public name -> its layer, from the table of public names
    name: module.split(".")[0] for module, names in stub_names(ROOT / "__init__.pyi")[0].items() for name in names
}
NAME_OF_OURS = re.compile(r"maxmargin(\.\w+)+(:\w+)?")  # of a module, or of what is in it


def module_of(path, root=ROOT):
    """("solvers", "smo") for solvers/smo.py, ("solvers",) for solvers/__init__.py, () for the package itself."""
    parts = path.relative_to(root).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def imports(source, module, is_package):
    """Every import of the source as (line, full dotted name, names taken from it)."""
    tree = ast.parse(source)
    shown, ours = names_to_show(tree), names_of_the_package(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, []
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            target = node.module or ""
            yield node.lineno, absolute(target, node.level, module, is_package) if node.level else target, names
        elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") in ours:
            yield node.lineno, "maxmargin", [node.attr]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in shown:
            if NAME_OF_OURS.fullmatch(node.value):
                yield node.lineno, node.value.split(":")[0], []
        elif isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            yield from ((node.lineno, name, []) for name in imported_by_call(node, module, is_package))


def absolute(target, level, module, is_package):
    """The full name of ``level`` dots and a target in a module."""
    here = ("maxmargin", *module)
    return ".".join((*here[: len(here) - level + is_package], *([target] if target else [])))


def names_of_the_package(tree):
    """What a file calls the package: ``mm`` after ``import maxmargin as mm``."""
    found = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {"maxmargin"} | {alias.asname for alias in found if alias.name == "maxmargin" and alias.asname}


def names_to_show(tree):
    """The texts that only say under which name a class is to be shown: ``__module__ = "maxmargin.io"``."""
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__module__"]
    }


def called(node):
    """The last name of what a call calls."""
    return getattr(node.func, "attr", getattr(node.func, "id", ""))


def imported_by_call(node, module, is_package):
    """What a call imports, if that is written in it. Where it is put together, as in ``f"maxmargin.svm.{name}"``, the
    part before the first gap; a name taken from a table stands in the table, and is found there."""
    given = dict(zip(("name", "package"), node.args, strict=False)) | {word.arg: word.value for word in node.keywords}
    name = given.get("name")
    first = name.values[0] if isinstance(name, ast.JoinedStr) else name.left if isinstance(name, ast.BinOp) else name
    text, package = (getattr(part, "value", None) for part in (first, given.get("package")))
    if not isinstance(text, str) or NAME_OF_OURS.fullmatch(text):
        return
    level = len(text) - len(text.lstrip("."))
    if level and isinstance(package, str):
        module, is_package = package.split(".")[1:], True
    whole = absolute(text[level:], level, module, is_package) if level else text
    in_any = first is not name and re.fullmatch(r"maxmargin(\.\w*)?", whole)
    yield "maxmargin.?" if in_any else whole


def layers_of(target, names):
    """The layers of this package that an import reaches; ``from maxmargin import SVC`` reaches where SVC is."""
    parts = target.split(".")
    if parts[0] != "maxmargin":
        return []
    if len(parts) > 1:
        return [parts[1]]
    return [PUBLIC.get(name, name) for name in names if not name.startswith("__")]


def back_imports(source, module, is_package=False):
    """Messages for every import from a layer below."""
    if not module or module[0] not in LEVEL:  # the package's own file names everything; see the test above for others
        return []
    mine = LEVEL[module[0]]
    return [
        f"{'/'.join(module)}.py, line {line}: {module[0]} is above {layer} and must not import it"
        for line, target, names in imports(source, module, is_package)
        for layer in layers_of(target, names)
        if layer == "?" or LEVEL.get(layer, -1) > mine
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_has_a_place(path):
    module = module_of(path)
    assert not module or module[0] in LEVEL, (
        f"maxmargin.{module[0]} is in no layer: place it in LAYERS of tests/test_layers.py and in docs/architecture.md."
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    assert back_imports(path.read_text(), module_of(path), path.name == "__init__.py") == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_libraries_stay_in_their_place(path):
    module = module_of(path)
    inside = {".".join(module[:length]) for length in range(len(module) + 1)}
    for line, target, _ in imports(path.read_text(), module, path.name == "__init__.py"):
        library = target.split(".")[0]
        places = ONLY_IN.get(library, inside)
        assert inside & places, (
            f"{path.relative_to(ROOT)}, line {line}: {library} may be imported in {sorted(places) or 'no module'} only."
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_validation_calls_scikit_learn_s_validation(path):
    if module_of(path) == ("runtime", "validation"):
        return
    validators = {"validate_data", "check_array", "check_X_y", "column_or_1d"}
    for node in ast.walk(ast.parse(path.read_text())):
        used = set()
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module.startswith("sklearn"):
            used = {alias.name for alias in node.names} & validators
        elif isinstance(node, ast.Attribute):
            used = {node.attr} & validators
        assert not used, f"{path.relative_to(ROOT)}, line {node.lineno}: {used} belongs in runtime/validation.py only."


@pytest.mark.parametrize("name", ["control.py", "interrupts.py"])
def test_control_takes_nothing_but_events_from_threading(name):
    """Run control may wait for nobody: an event, and which thread this is."""
    tree = ast.parse((ROOT / "runtime" / name).read_text())
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "threading"
    }
    assert used <= {"Event", "current_thread", "main_thread"}


# The checker itself


@pytest.mark.parametrize(
    ("source", "module"),
    [
        ("import maxmargin.svm", ("kernels", "base")),
        ("from maxmargin.svm import SVC", ("kernels", "gram")),
        ("from maxmargin import SVC", ("kernels", "gram")),
        ("from maxmargin import problems, svm", ("problems", "optimality")),
        ("from ..svm import SVC", ("solvers", "smo")),
        ("from .. import svm", ("solvers", "smo")),
        ("from .. import svm", ("kernels", "gram")),
        ("from ..svm.kernel.estimator import KernelSVM", ("kernels", "gram")),
        ("def f():\n    if True:\n        from maxmargin.cli import main", ("digits",)),
        ("import numpy\nfrom maxmargin import problems as g", ("kernels", "dot")),
        ("import importlib\nread = importlib.import_module('maxmargin.io').read_batches", ("large_scale", "estimator")),
        ("def f():\n    return import_module(name='maxmargin.svm.kernel.estimator')", ("kernels", "gram")),
        ("__import__('maxmargin.svm')", ("kernels", "gram")),
        ("import_module('.svm', 'maxmargin')", ("solvers", "smo")),
        ("import_module('..svm.pipeline', package='maxmargin.kernels')", ("kernels", "gram")),
        ("import_module('..svm', __package__)", ("solvers", "smo")),
        ("import_module(f'maxmargin.svm.{name}')", ("kernels", "gram")),
        ("import_module('maxmargin.svm.' + name)", ("kernels", "gram")),
        ("import_module(f'maxmargin.{name}')", ("kernels", "gram")),
        ("import_module('maxmargin.' + name)", ("kernels", "gram")),
        ("TABLE = {'fit': 'maxmargin.svm:SVC'}\nimport_module(TABLE[name].split(':')[0])", ("kernels", "gram")),
        ("import sys\nsys.modules['maxmargin.svm']", ("kernels", "gram")),
        ("import maxmargin\nmaxmargin.SVC()", ("kernels", "gram")),
        ("import maxmargin as mm\nmm.SVC()", ("kernels", "gram")),
        ("import maxmargin\ndef f():\n    return maxmargin.io.read_batches", ("large_scale", "estimator")),
    ],
)
def test_the_checker_finds_back_imports(source, module):
    assert len(back_imports(source, module)) == 1


@pytest.mark.parametrize(
    ("source", "module", "is_package"),
    [
        ("from maxmargin.runtime.validation import Array", ("kernels", "base"), False),
        ("from .base import Kernel", ("kernels", "dot"), False),
        ("from .base import Kernel", ("kernels",), True),
        ("from ..kernels.gram import operator", ("solvers", "smo"), False),
        ("from maxmargin.solvers.hulls import nearest_points", ("solvers", "smo"), False),
        ("from maxmargin import __version__", ("runtime", "validation"), False),
        ("from maxmargin import SVC", ("digits",), False),
        ("from maxmargin.kernel_methods.k_means import KernelKMeans", ("kernel_methods", "two_sample"), False),
        ("import numpy.linalg, scipy.sparse as sp", ("runtime", "validation"), False),
        ("text = 'import maxmargin.cli'  # import maxmargin.cli", ("runtime", "validation"), False),
        ("def f():\n    from maxmargin.data.batches import read_batches", ("large_scale", "estimator"), False),
        ("import_module('maxmargin.kernels')", ("kernels", "gram"), False),
        ("import_module(f'maxmargin.svm.{name}')", ("svm",), True),
        ("import_module('.gram', 'maxmargin')", ("solvers", "smo"), False),
        ("import_module('scipy.sparse')", ("kernels", "gram"), False),
        ("class E(ValueError):\n    __module__ = 'maxmargin.io'", ("_readers", "source"), False),
        ("import maxmargin\nmaxmargin.__version__", ("runtime", "validation"), False),
    ],
)
def test_the_checker_lets_other_imports_pass(source, module, is_package):
    assert back_imports(source, module, is_package) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_constant_is_defined_once(path):
    """A second definition silently replaces the first, also for the code that meant the first."""
    names = [
        name.id
        for statement in ast.parse(path.read_text()).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store) and name.id.isupper()
    ]
    assert len(names) == len(set(names))
