"""What the documentation says of programs is what the readers and the writers do."""

from forklore.importing.readers import importers
from forklore.sessions.programs import PROGRAMS
from tools.session_table import BEGIN, END, PAGE, table


def test_the_table_of_programs_is_as_the_readers_and_writers_make_it() -> None:
    _, _, rest = PAGE.read_text().partition(BEGIN)

    assert rest.partition(END)[0].strip() == table().strip(), "python -m tools.session_table --write"


def test_each_program_has_a_reader() -> None:
    assert {one.name for one in PROGRAMS} <= set(importers())
