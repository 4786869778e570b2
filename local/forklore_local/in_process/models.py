"""Models of language whose weights come inside a package. Nothing is downloaded.

`wordllama` (MIT) holds a vector of 256 numbers for each token of English. The mean of a text's
tokens is its vector. Its own code needs more packages than its two files do, which are read here.
"""

import json
import pkgutil
import sys
import threading
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from forklore_local.in_process.folder import DataError
from forklore_service.storage.embedded_texts import Embed, EmbeddedTexts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

WORDLLAMA: Final = "wordllama"
YOURS: Final = "yours"
"""The name of a function that has none."""
Model: TypeAlias = Embed | Literal["wordllama"]
"""A function of the caller's, or the name of a model whose weights come inside a package.

A function may have a name, as its attribute `model`.
"""
_WEIGHTS, _TOKENS = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_NEEDED = (WORDLLAMA, "numpy", "tokenizers")


def nearness_by(model: Embed | str | None) -> EmbeddedTexts | None:
    """Return what compares texts by a model. Raises DataError for one that is not there."""
    if model is None:
        return None
    if not isinstance(model, str):
        name = getattr(model, "model", None)
        if isinstance(name, str) and name and name.isprintable():
            return EmbeddedTexts(model, name, is_named=True)
        return EmbeddedTexts(model, YOURS)
    if model != WORDLLAMA:
        raise DataError(f"there is no model {model!r} for recall: name {WORDLLAMA!r}, or give a function")
    return EmbeddedTexts(Wordllama(), WORDLLAMA)


def nearness_named(named: str | None) -> EmbeddedTexts | None:
    """Return what compares texts by a model that a command line names; a function by `module:name`.

    Raises DataError, with a line for people, if there is none.
    """
    if named is None or ":" not in named:
        return nearness_by(named)
    sys.path.append(str(Path.cwd()))  # a script has its own folder there
    try:
        function = pkgutil.resolve_name(named)
    except (ImportError, AttributeError, ValueError) as error:
        raise DataError(f"the model for recall, {named}, cannot be imported: {error}") from error
    if not callable(function):
        raise DataError(f"the model for recall, {named}, is no function")
    return nearness_by(function)


def is_installed() -> bool:
    """Tell whether the packages of the extra `recall` are there."""
    return all(find_spec(name) is not None for name in _NEEDED)


class Wordllama:
    """Returns a vector of each text; zeros for one without tokens. It is loaded when it is needed.

    Threads may share it. Raises DataError, when it is made, if its packages are not installed.
    """

    def __init__(self) -> None:
        if not is_installed():
            raise DataError("a model for recall is not installed: pip install 'forklore[recall]'")
        self._loading = threading.Lock()

    def __call__(self, texts: list[str]) -> list[list[float]]:
        with self._loading:
            tokenizer, weights = self._tokenizer, self._weights
        tokens = (tokenizer.encode(text, add_special_tokens=False).ids for text in texts)
        return [weights[some].sum(axis=0, dtype="float32").tolist() for some in tokens]

    @cached_property
    def _tokenizer(self) -> "Tokenizer":
        from tokenizers import Tokenizer

        made = Tokenizer.from_file(str(_package() / _TOKENS))
        made.no_padding()
        made.no_truncation()
        return made

    @cached_property
    def _weights(self) -> Any:
        """A row of half floats for each token, as the file has them: it is not read as a whole.

        Source: the format of safetensors; the length of its header, the header, the numbers.
        """
        import numpy as np

        path = _package() / _WEIGHTS
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            described = json.loads(file.read(length))["embedding.weight"]
        begin, shape = 8 + length + described["data_offsets"][0], tuple(described["shape"])
        return np.memmap(path, dtype="float16", mode="r", offset=begin, shape=shape)


def _package() -> Path:
    found = find_spec(WORDLLAMA)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent
