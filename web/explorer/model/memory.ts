// What an agent remembered at a message, and what changed there. Pure.

import { isObject, jsonOf } from "./json.ts";
import { blocksIn } from "./parts.ts";
import type { Entry } from "./types.ts";
import { oneLine } from "./words.ts";

/** A place of the memory's own history: after which message it changed, and what it holds from there on. */
export interface Stop {
	/** The message before the change; null for what was there at first. */
	afterEntryId: string | null;
	epoch: number;
	elements: readonly unknown[];
}

/** A line of the memory. before: what stood there, if it has changed. */
export interface Fact {
	kind: "same" | "add" | "del" | "edit";
	topic: string;
	name: string;
	value: unknown;
	before?: unknown;
}

/**
 * Return the places at which a memory changed, oldest first.
 *
 * context: the context entries of one client, of all epochs. history: the entries that are shown.
 */
export function stopsOf(context: readonly Entry[], history: readonly Pick<Entry, "id">[]): Stop[] {
	const stops: Stop[] = [];
	for (const { id, epoch = 1, content } of [...context].sort((one, other) => (one.id < other.id ? -1 : 1))) {
		const afterEntryId = history.findLast((one) => one.id < id)?.id ?? null;
		const last = stops.at(-1);
		if (last && epoch < last.epoch) continue;
		const elements = last?.epoch === epoch ? [...last.elements, ...content] : content;
		if (last?.afterEntryId === afterEntryId) stops.pop(); // several changes after one message are one
		stops.push({ afterEntryId, epoch, elements });
	}
	return stops;
}

/** Return the place of the memory at a message: the last change that is not after it; -1 before the first one. */
export const stopAt = (stops: readonly Stop[], entryId: string): number =>
	stops.findLastIndex(({ afterEntryId }) => afterEntryId === null || afterEntryId <= entryId);

/** Return what a memory holds beside what it held before, in the order in which it stands there; what is gone last. */
export function factsOf(now: readonly unknown[], before: readonly unknown[]): Fact[] {
	const [lines, old] = [now.flatMap(linesOf), before.flatMap(linesOf)];
	const take = (fits: (line: Line) => boolean): Line | undefined => {
		const at = old.findIndex(fits);
		return at < 0 ? undefined : old.splice(at, 1)[0];
	};
	const isOf = (one: Line, other: Line): boolean => one.topic === other.topic && one.name === other.name;
	const kept = lines.map((one) => take((held) => isOf(one, held) && one.text === held.text));
	const found = lines.map(({ text: _, ...fact }, at): Fact => {
		if (kept[at]) return { kind: "same", ...fact };
		const replaced = fact.name === "" ? undefined : take((held) => isOf(held, { ...fact, text: "" }));
		return replaced ? { kind: "edit", ...fact, before: replaced.value } : { kind: "add", ...fact };
	});
	return [...found, ...old.map(({ text: _, ...fact }): Fact => ({ kind: "del", ...fact }))];
}

interface Line {
	topic: string;
	name: string;
	value: unknown;
	/** The value as JSON, the same for equal values. */
	text: string;
}

const line = (topic: string, name: string, value: unknown): Line => ({
	topic,
	name,
	value,
	text: jsonOf(sorted(value)),
});

/** Return the lines of an element: a message is one, an object has one for each member, anything else is one. */
function linesOf(element: unknown): Line[] {
	if (!isObject(element)) return [line("", "", element)];
	const { role, text, content } = element;
	if (typeof role === "string" && (text !== undefined || content !== undefined)) {
		const words = blocksIn(text ?? content).map((one) => (one.kind === "text" ? one.text : jsonOf(one)));
		return [
			{
				...line("Messages", "", `${role.toLowerCase()}: ${oneLine(words.join(" "), 2_000)}`),
				text: jsonOf(sorted(element)),
			},
		];
	}
	const named = ["topic", "name", "title", "key", "type", "kind", "id"].find(
		(one) => typeof element[one] === "string",
	);
	const topic = named === undefined ? "" : String(element[named]);
	const rest = Object.entries(element).filter(([name]) => name !== named);
	return rest.length
		? rest.flatMap(([name, value]) => memberLines(topic, name, value))
		: [line("", "", topic)];
}

/** A list of plain values has a line for each of them. */
function memberLines(topic: string, name: string, value: unknown): Line[] {
	if (Array.isArray(value) && value.length && value.every((one) => !isObject(one)))
		return value.map((one) => line(topic === "" ? name : `${topic} · ${name}`, "", one));
	if (topic === "" && isObject(value))
		return Object.entries(value).flatMap(([inner, held]) => memberLines(name, inner, held));
	return [line(topic, name, value)];
}

function sorted(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(sorted);
	if (!isObject(value)) return value;
	const members = Object.entries(value).map(([name, held]) => [name, sorted(held)] as const);
	return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}
