"""How much work a check does."""

from tests.service.reliability.figures import Measure


def test_ci_does_a_part_of_the_tests_and_another_one_with_another_seed() -> None:
    names = [f"test_it[{number}]" for number in range(1_000)]

    def tried(size: str, seed: int) -> set[str]:
        return {name for name in names if Measure(name, size, seed).is_tried(ci=1 / 2)}

    assert tried("gate", 7) == set(names)
    assert 400 < len(tried("ci", 7)) < 600
    assert tried("ci", 7) == tried("ci", 7)
    assert len(tried("ci", 7) | tried("ci", 8)) > 650
