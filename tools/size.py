"""How many lines each room has: `python -m tools.size`. docs/decisions/0036-what-is-counted.md.

A line that is blank or only a comment is not counted. Signatures are those of functions and
classes, with their decorators; docstrings are also those below a constant. Of TypeScript comments
in `/** */` are docstrings, and signatures are code. Of tests all of these are one number.
"""

import ast
import io
import subprocess
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

PROJECT = Path(__file__).parents[1]
KINDS = CODE, SIGNATURES, DOCSTRINGS, TESTS, GENERATED = (
    "code",
    "signatures",
    "docstrings",
    "tests",
    "generated",
)
LANGUAGES, BUILT = {".py", ".ts", ".tsx"}, {".css", ".html", ".js", ".json"}
PARTS = {
    "layers/core/forklore_service": "service",
    "functions": "service/functions",
    "local/forklore_local": "local",
    "clients/python/forklore": "clients",
    "clients/typescript/src": "clients/typescript",
    "clients/assistant-ui/src": "clients/assistant-ui",
    "clients/ai-sdk/src": "clients/ai-sdk",
    "clients/langgraph/src": "clients/langgraph",
    "clients/mastra/src": "clients/mastra",
    "web/explorer": "web/explorer",
    "tools": "tools",
    "examples": "examples",
}
"""The folders of code, and the parts or rooms that they are. A folder in a part is a room."""
TESTS_OF = {
    "tests/clients/python": "clients/client",
    "tests/functions": "service/functions",
    "tests/web": "web/explorer",
    "tests/examples": "examples",
    "clients/typescript/tests": "clients/typescript",
    "clients/assistant-ui/tests": "clients/assistant-ui",
    "clients/ai-sdk/tests": "clients/ai-sdk",
    "clients/langgraph/tests": "clients/langgraph",
    "clients/mastra/tests": "clients/mastra",
}
"""The folders of tests that are not called as the room that they are of."""
_UNCOUNTED = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}


def python_lines(text: str) -> Counter[str]:
    """Return the numbers of lines of a module by their kind.

    >>> python_lines('def f(\\n    x: int,\\n) -> int:\\n    "Return it."\\n\\n    return x\\n# so')
    Counter({'signatures': 3, 'docstrings': 1, 'code': 1})
    """
    kinds: dict[int, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _UNCOUNTED:
            kinds |= dict.fromkeys(range(token.start[0], token.end[0] + 1), CODE)
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                lines = range(_first(node), max(node.lineno + 1, _first(node.body[0])))
                kinds |= {line: SIGNATURES for line in lines if line in kinds}
            case ast.Expr(value=ast.Constant(value=str())):
                kinds |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), DOCSTRINGS)
    return Counter(kinds[line] for line in sorted(kinds))


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def typescript_lines(text: str) -> Counter[str]:
    """Return the numbers of lines of a module by their kind.

    >>> typescript_lines("/** Says\\n * it. */\\n// no\\n\\nexport const a = 1;\\n/* no\\n*/")
    Counter({'docstrings': 2, 'code': 1})
    """
    counts, inside = Counter[str](), ""
    for line in map(str.strip, text.splitlines()):
        inside = inside or ("/**" if line.startswith("/**") else "/*" if line.startswith("/*") else "")
        if inside:
            counts[DOCSTRINGS] += inside == "/**"
            inside = "" if "*/" in line else inside
        else:
            counts[CODE] += bool(line) and not line.startswith("//")
    return +counts


def place_of(path: PurePosixPath) -> tuple[str, bool] | None:
    """Return the room of a file, and whether it is a test; None if it is neither.

    >>> place_of(PurePosixPath("layers/core/forklore_service/usecases/reading/forks.py"))
    ('service/usecases', False)
    >>> place_of(PurePosixPath("tests/service/usecases/reading/test_forks.py"))
    ('service/usecases', True)
    """
    for folder, room in (TESTS_OF | PARTS).items():
        if path.is_relative_to(folder):
            is_test = folder in TESTS_OF or ".test." in path.name
            return (room if "/" in room else _below(room, path.relative_to(folder))), is_test
    if path.is_relative_to("tests"):
        part, _, rest = path.relative_to("tests").as_posix().partition("/")
        if part in PARTS.values():
            return _below(part, PurePosixPath(rest)), True
        return f"tests/{part}" if rest else "tests", True
    return None


def _below(part: str, path: PurePosixPath) -> str:
    return f"{part}/{path.parts[0]}" if len(path.parts) > 1 else part


def sizes(paths: Iterable[str], generated: Iterable[str]) -> Mapping[str, Counter[str]]:
    """Return the numbers of lines of each room by their kind. generated: which paths are that."""
    found, made = defaultdict[str, Counter[str]](Counter), set(generated)
    for name in paths:
        path = PurePosixPath(name)
        place = place_of(path) or ((path.parts[0], False) if name in made else None)
        if place is None or path.suffix not in (LANGUAGES | BUILT if name in made else LANGUAGES):
            continue
        room, is_test = place
        text = (PROJECT / path).read_text(encoding="utf-8")
        lines = python_lines(text) if path.suffix == ".py" else typescript_lines(text)
        if name in made:
            lines = Counter({GENERATED: len(text.splitlines())})
        found[room] += Counter({TESTS: lines.total()}) if is_test else lines
    return found


def _git(*command: str) -> str:
    return subprocess.run(["git", *command], cwd=PROJECT, capture_output=True, text=True, check=True).stdout


def main() -> None:
    """Print a row for each room, and one for each part."""
    paths = _git("ls-files").splitlines()
    marked = _git("check-attr", "linguist-generated", "--", *paths).splitlines()
    generated = [line.rsplit(": ", 2)[0] for line in marked if line.endswith(": set")]
    rooms = sizes(paths, generated)
    parts = defaultdict[str, Counter[str]](Counter)
    for room, counts in rooms.items():
        parts[room.partition("/")[0]] += counts
    print(f"{'':24}", *(f"{kind:>10}" for kind in KINDS))
    for part, total in sorted(parts.items()):
        print(_row(part.upper(), total))
        for room, counts in sorted(rooms.items()):
            if room.partition("/")[0] == part and counts != total:
                print(_row(f"  {room.partition('/')[2] or 'itself'}", counts))
    print(_row("ALL", sum(parts.values(), Counter())))


def _row(name: str, counts: Counter[str]) -> str:
    return " ".join(
        [f"{name:24}", *(f"{counts[kind] or '':>10,}" if counts[kind] else " " * 10 for kind in KINDS)]
    )


if __name__ == "__main__":
    main()
