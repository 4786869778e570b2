// The commands of forklore that the page names. Pure.

/** The agents' programs that take a session from outside, as `forklore resume --in` names them. */
export const PROGRAMS = [
	["claude-code", "Claude Code"],
	["codex", "Codex"],
	["opencode", "opencode"],
	["pi", "pi"],
	["copilot-cli", "Copilot CLI"],
	["gemini-cli", "Gemini CLI"],
	["qwen-code", "Qwen Code"],
	["goose", "Goose"],
	["llm", "llm"],
	["openhands", "OpenHands"],
	["continue", "Continue"],
] as const;

/** What `forklore export` writes; "": the whole tree, which `forklore import` reads. */
export const FORMATS = [
	["", "the whole tree, for forklore import", "jsonl"],
	["markdown", "this branch as Markdown", "md"],
	["messages", "this branch as messages of a model's API", "json"],
	["claude-code", "this branch as a session of Claude Code", "jsonl"],
	["chatgpt", "this branch as an export of ChatGPT", "json"],
] as const;

/** Return a word of a command as a shell reads it. */
const word = (text: string): string =>
	/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** name: of a conversation, or its id. */
export const resumeCommand = (name: string, program: string): string =>
	`forklore resume ${word(name)} --in ${program}`;

export function exportCommand(name: string, format: string): string {
	const ending = FORMATS.find(([one]) => one === format)![2];
	return `forklore export ${word(name)}${format && ` --format ${format}`} --output conversation.${ending}`;
}
