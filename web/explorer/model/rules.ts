// What the service accepts, checked before anything is sent.

import type { ConversationDetails } from "./types.ts";

export type Level = ConversationDetails["accessLevel"];

/** Each includes the ones before it. */
const LEVELS: readonly Level[] = ["reader", "writer", "manager", "owner"];
const TAGS_MAX = 50;
const TAG_VALUE_MAX = 256;

export const isAtLeast = (level: Level | undefined, needed: Level): boolean =>
	level !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(needed);

/** Return the levels that a member may give and take, the lowest first. */
export const givenBy = (own: Level): Exclude<Level, "owner">[] =>
	isAtLeast(own, "manager") ? (LEVELS.slice(0, LEVELS.indexOf(own)) as Exclude<Level, "owner">[]) : [];

/** Return a tag as a line, `name:value`. A value that a line cannot show is spelled as JSON. */
export const tagLine = ([name, value]: readonly [string, string]): string =>
	value === ""
		? name
		: `${name}:${value !== value.trim() || /^"|\p{Cc}/u.test(value) ? JSON.stringify(value) : value}`;

/** Return the lines of tags, in one order. */
export const tagLines = (tags: Record<string, string>): string =>
	Object.entries(tags).map(tagLine).sort().join("\n");

/** Return whether tags have one, with a value if it is given: `name`, or `name:value`, as the service reads it. */
export function hasTag(tags: Record<string, string>, wanted: string): boolean {
	const [name = "", ...value] = wanted.split(":");
	return Object.hasOwn(tags, name) && (!value.length || tags[name] === value.join(":"));
}

/** Return the tags that lines name, and what is wrong with them. */
export function tagsOf(lines: string): { tags: Record<string, string>; wrong: string } {
	const tags = Object.create(null) as Record<string, string>;
	const wrong: string[] = [];
	for (const line of lines.split("\n").map((one) => one.trim())) {
		if (!line) continue;
		const [, name = "", text = ""] = /^([^:]*?)\s*(?::\s*(.*))?$/su.exec(line) ?? [];
		if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
			wrong.push(`“${name}” is no name of a tag: 1 to 64 of a–z, A–Z, 0–9, “_”, “.”, “-”.`);
		if (name in tags) wrong.push(`The tag “${name}” is there twice.`);
		const value = valueOf(text);
		tags[name] = value;
		if ([...value].length > TAG_VALUE_MAX)
			wrong.push(`The value of “${name}” has more than ${TAG_VALUE_MAX} characters.`);
	}
	if (Object.keys(tags).length > TAGS_MAX) wrong.push(`A conversation has at most ${TAGS_MAX} tags.`);
	return { tags, wrong: wrong[0] ?? "" };
}

function valueOf(text: string): string {
	try {
		return text.startsWith('"') ? String(JSON.parse(text)) : text;
	} catch {
		return text;
	}
}
