import { expect, test } from "vitest";

import { duration, gapsOf } from "./costs.ts";
import { factsOf, stopAt, stopsOf, type Fact } from "./memory.ts";
import type { Entry } from "./types.ts";

const remembered = (id: string, epoch: number, ...content: unknown[]): Entry =>
	({ id, epoch, content }) as Entry;
const told = (facts: Fact[]): string[] =>
	facts.map(({ kind, topic, name, value, before }) =>
		[kind, topic, name, JSON.stringify(value), before && `was ${JSON.stringify(before)}`]
			.filter(Boolean)
			.join(" "),
	);

test("a memory has a stop behind each message after which it changed; a later epoch replaces it", () => {
	const history = ["a", "c", "e", "g"].map((id) => ({ id }));
	const context = [
		remembered("f", 2, 3),
		remembered("b", 1, 1),
		remembered("b2", 1, 2),
		remembered("f2", 2, 4),
	];
	const stops = stopsOf(context, history);
	expect(stops).toEqual([
		{ afterEntryId: "a", epoch: 1, elements: [1, 2] },
		{ afterEntryId: "e", epoch: 2, elements: [3, 4] },
	]);
	expect(["0", "a", "c", "e", "g"].map((id) => stopAt(stops, id))).toEqual([-1, 0, 0, 1, 1]);
});

test("facts are added, removed, changed or the same, by topic", () => {
	const before = [
		{ topic: "Task", goal: "pass", status: "looking" },
		"plain",
		{ facts: { rate: 0.05, tags: ["a", "b"] } },
	];
	const now = [
		{ status: "fixed", topic: "Task", goal: "pass" },
		{ facts: { tags: ["b", "c"], rate: 0.05, cause: "clock" } },
	];
	expect(told(factsOf(now, before))).toEqual([
		'edit Task status "fixed" was "looking"',
		'same Task goal "pass"',
		'same facts · tags "b"',
		'add facts · tags "c"',
		"same facts rate 0.05",
		'add facts cause "clock"',
		'del "plain"',
		'del facts · tags "a"',
	]);
});

test("messages that an agent remembers are lines, each as often as it is there", () => {
	const said = { role: "user", content: [{ type: "text", text: "Hi\nthere" }] };
	expect(told(factsOf([said, said, { role: "ai", text: "Yes" }], [said]))).toEqual([
		'same Messages "user: Hi there"',
		'add Messages "user: Hi there"',
		'add Messages "ai: Yes"',
	]);
});

test("times between messages are told in the units that fit", () => {
	const at = (time: string): { at: string } => ({ at: `2026-03-01T${time}Z` });
	expect(gapsOf([at("09:00:00.000"), at("09:00:00.212"), at("09:00:00.100")])).toEqual([0, 212, 0]);
	expect([212, 3_240, 59_970, 252_000, 7_500_000, 3e8].map(duration)).toEqual([
		"212 ms",
		"3.2 s",
		"1 min",
		"4 min 12 s",
		"2 h 5 min",
		"3 days",
	]);
});
