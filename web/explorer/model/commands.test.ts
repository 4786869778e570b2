import { expect, test } from "vitest";

import { exportCommand, resumeCommand } from "./commands.ts";

test("a name stands in a command as a shell reads it", () => {
	expect(resumeCommand("trip", "codex")).toBe("forklore resume trip --in codex");
	expect(resumeCommand("it's; rm -rf ~", "pi")).toBe("forklore resume 'it'\\''s; rm -rf ~' --in pi");
	expect(resumeCommand("$(x)", "pi")).toBe("forklore resume '$(x)' --in pi");
	expect(exportCommand("trip", "")).toBe("forklore export trip --output conversation.jsonl");
	expect(exportCommand("a b", "markdown")).toBe(
		"forklore export 'a b' --format markdown --output conversation.md",
	);
});
