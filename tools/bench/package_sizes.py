"""Print the size of each part of a build, as files and as a zip.

python -m tools.bench.package_sizes [--build FOLDER]

Lambda accepts at most 250 MB for a function and its layers.
"""

import argparse
import io
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tools.bench.markdown import table

BUILD = Path(__file__).parents[2] / ".aws-sam" / "build"
KB = 1000


def sizes(build: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each folder of a build, its bytes as files, and its bytes as a zip."""
    for folder in sorted(path for path in build.iterdir() if path.is_dir()):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.writestr(str(path.relative_to(folder)), path.read_bytes())
        yield folder.name, sum(path.stat().st_size for path in files), len(packed.getvalue())


def sizes_table(build: Path) -> str:
    """Return a table of the sizes in Markdown."""
    cells = [[name, f"{plain / KB:,.1f}", f"{packed / KB:,.1f}"] for name, plain, packed in sizes(build)]
    return table(["part", "files, KB", "zipped, KB"], cells)


def main() -> int:
    """Print a table; return 1 if there is no build."""
    parser = argparse.ArgumentParser(description="Print the size of each part of a build.")
    parser.add_argument(
        "--build", type=Path, default=BUILD, help="the folder of the build (default: .aws-sam/build)"
    )
    build: Path = parser.parse_args().build
    if not build.is_dir():
        print("there is no build; `make build` makes one", file=sys.stderr)
        return 1
    print(sizes_table(build))
    return 0


if __name__ == "__main__":
    sys.exit(main())
