"""Cline's command line: a folder for each session in `~/.cline/data/sessions`."""

from pathlib import Path
from typing import ClassVar

from tools.programs.program import Cutting, Program, Told
from tools.programs.stand_in import Call, Script
from tools.programs.story import Story, lines_of
from tools.programs.world import KEY, World

_NOTES = ["`<user_input>` around what a person typed is the program's"]


class Cline(Program):
    name = "cline"
    version = "3.0.65"
    packages = (f"cline@{version}",)
    command = "node_modules/.bin/cline"
    store = ".cline/data/sessions"
    variables: ClassVar = {"CLINE_TELEMETRY_DISABLED": "1"}
    resumes = False
    story = Story(
        lambda command: Call("run_commands", {"commands": [command]}),
        lambda asked: [Call("spawn_agent", {"systemPrompt": "You look.", "task": asked})],
    )

    def script(self) -> Script:
        return self.story.script()

    def set_up(self, world: World) -> None:
        told = ["-p", "openai-compatible", "-k", KEY, "-m", "stand-in", "-b", f"{world.stand_in.url}/v1"]
        world.run(self.start(world), "auth", *told)

    def talk(self, world: World) -> Told:
        one = self.story
        assert one.helper is not None
        begun = [one.depth, one.count, one.weigh, one.helper]
        with world.terminal(self.start(world), "--tui") as terminal:
            terminal.wait_for("What can I do for you", "any other key to close")  # or a praise of a plan
            terminal.wait_for_keys()
            for turn in begun:
                self.say(world, terminal, turn)
            terminal.order("/fork", "Y/Enter to confirm")
            terminal.press("Enter")
            terminal.wait_for("Forked into new session")
            self.say(world, terminal, one.tide)
            terminal.press("C-c", "C-c", after=1)
        start = lines_of(*begun)
        tree = {"fork": [*start, *lines_of(one.tide)], "source": start}
        return Told([tree], {one.weather.said: lines_of(one.weather)}, notes=_NOTES)

    def cut(self, world: World, fixtures: Path) -> None:
        cutting = Cutting(world)
        folder = world.home / self.store
        for source in sorted(folder.glob("*/*.json")):
            cutting.json(source, fixtures / "sessions" / source.relative_to(folder), {"system_prompt"})
