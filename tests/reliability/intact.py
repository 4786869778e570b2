from typing import Any


def assert_intact(store: Any, *, settled: bool = False) -> None: ...
