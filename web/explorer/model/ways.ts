// The ways on from one entry, and how several branches go on side by side.

import { jsonOf } from "./json.ts";
import { tagLines } from "./rules.ts";
import { firstSaid, scoreOf, shownBy, sumOf, type Limb, type Shape, type Sum } from "./shape.ts";
import type { Line, Note, Role } from "./types.ts";

/** A branch from where it parts. */
export interface Way extends Sum {
	limb: Limb;
	/** The title of the branch, if it is another than the words. */
	title: string | undefined;
	/** In how many entries of these a tool has failed. */
	failures: number;
	/** What it shows from there on. */
	lines: Line[];
	score: number | undefined;
	/** Its first words from there on, else what the branch is called; and its last ones. */
	words: string;
	last: string;
}

/**
 * Return the ways on from an entry, or with null those that begin a history: one for each entry that follows it, and
 * one for each branch that ends there. Of the branches that share a way, the one that began it stands for it, or if
 * that is deleted, the oldest.
 */
export function waysFrom(shape: Shape, entryId: string | null): Way[] {
	const place = entryId === null ? undefined : shape.places.get(entryId);
	if (entryId !== null && !place) return [];
	const own = place && place.limb.own.length > place.index + 1 ? [place.limb] : [];
	const kids = place ? place.limb.kids.filter(({ after }) => after?.index === place.index) : shape.roots;
	return [...own, ...kids].flatMap((limb) => {
		const from = place && limb === place.limb ? place.index + 1 : 0;
		const stands = limb.branch ? limb : heirOf(limb, from);
		return stands ? wayOf(stands, entryId) : [];
	});
}

/** Return a branch from an entry on that it shows, or with null from its beginning. */
export function wayOf(limb: Limb, entryId: string | null): Way {
	const all = shownBy(limb);
	const lines = all.slice(all.findIndex(({ id }) => id === entryId) + 1);
	const last = firstSaid(lines.toReversed()) ?? "";
	const words = firstSaid(lines) ?? limb.look.label;
	const title = limb.look.title === words ? undefined : limb.look.title;
	const failures = lines.filter(({ failed }) => failed).length;
	return { limb, title, failures, lines, ...sumOf(lines), score: scoreOf(limb), words, last };
}

/** Return the oldest branch that is not deleted of those that go on from an entry or a later one. */
function heirOf(limb: Limb, from: number): Limb | undefined {
	for (const kid of limb.kids) {
		const found = (kid.after?.index ?? 0) < from ? undefined : kid.branch ? kid : heirOf(kid, 0);
		if (found) return found;
	}
	return undefined;
}

/** Return the last entry that all these branches show; null if there is none. */
export function baseOf(limbs: readonly Limb[]): Line | null {
	const [first = [], ...others] = limbs.map(shownBy);
	const end = first.findIndex(({ id }, index) => others.some((lines) => lines[index]?.id !== id));
	return (end < 0 ? first.at(-1) : first[end - 1]) ?? null;
}

export type Measure = "score" | "entries" | "inputTokens" | "costUsd" | "seconds";

/** A member of the metadata of branches. */
export type Member = `metadata.${string}`;

const isMember = (by: Measure | Member): by is Member => by.startsWith("metadata.");

/** Return the members of the branches' metadata, beside the score, that are not the same in all ways. */
export function differing(ways: readonly Way[]): Member[] {
	const names = new Set(ways.flatMap(({ limb }) => Object.keys(limb.branch?.metadata ?? {})));
	names.delete("score");
	const all = [...names].map((name): Member => `metadata.${name}`);
	return all.filter((by) => new Set(ways.map((way) => told(way, by))).size > 1);
}

/** Return what a way's metadata says there, as a text: JSON, but for a text; "" if it says nothing. */
export function told({ limb }: Way, by: Member): string {
	const value = limb.branch?.metadata[by.slice("metadata.".length)];
	return value === undefined ? "" : typeof value === "string" ? value : jsonOf(value);
}

/** Return the ways in the order of a measure, equal ones by cost. Those without a value come last. */
export function sorted(ways: readonly Way[], by: Measure | Member, down: boolean): Way[] {
	const values = new Map(ways.map((way) => [way, isMember(by) ? told(way, by) : way[by]]));
	const isNone = (way: Way): boolean => values.get(way) === undefined || values.get(way) === "";
	return [...ways].sort((one, other) => {
		const [left, right] = [values.get(one), values.get(other)];
		const order = isMember(by)
			? IN_ORDER.compare(String(left), String(right))
			: Number(left ?? 0) - Number(right ?? 0);
		return (
			Number(isNone(one)) - Number(isNone(other)) || order * (down ? -1 : 1) || one.costUsd - other.costUsd
		);
	});
}

const IN_ORDER = new Intl.Collator("en", { numeric: true });

const CSV: readonly [string, (way: Way) => string | number | undefined][] = [
	["id", ({ limb }) => limb.id],
	["way", ({ words }) => words],
	["title", ({ limb }) => limb.look.title],
	["ends with", ({ last }) => last],
	["score", ({ score }) => score],
	["entries", ({ entries }) => entries],
	["input tokens", ({ inputTokens }) => inputTokens],
	["output tokens", ({ outputTokens }) => outputTokens],
	["cost in USD", ({ costUsd }) => costUsd],
	["seconds", ({ seconds }) => seconds],
	["failures", ({ failures }) => failures],
	["current", ({ limb }) => (limb.look.isCurrent ? "yes" : "")],
	["names", ({ limb }) => limb.look.names.join(" ")],
	["tags", ({ limb }) => tagLines(limb.branch?.tags ?? {}).replaceAll("\n", ", ")],
];

/** Return a table of ways as CSV (RFC 4180), with the members of the metadata that differ. */
export function csvOf(ways: readonly Way[]): string {
	const members = differing(ways).map((by) => [by, (way: Way) => told(way, by)] as const);
	const columns = [...CSV, ...members];
	const rows = [columns.map(([name]) => name), ...ways.map((way) => columns.map(([, value]) => value(way)))];
	return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Return each way as a line of JSON, as `forklore alternatives --jsonl`. notes: those on the whole tree. */
export function jsonLinesOf(ways: readonly Way[], notes: readonly Note[]): string {
	const rows = ways.map(({ limb, title: _title, words, last, score, lines, ...took }) => ({
		conversationId: limb.id,
		firstEntryId: lines[0]?.id ?? null,
		title: limb.look.title ?? null,
		first: words,
		last,
		...took,
		score: score ?? null,
		isCurrent: limb.look.isCurrent,
		tags: limb.branch?.tags ?? {},
		metadata: limb.branch?.metadata ?? {},
		...notedOf(lines, notes),
	}));
	return rows.map((row) => `${jsonOf(row)}\n`).join("");
}

/** Return the notes on a way, with the mean of their scores; null if none has one. */
function notedOf(lines: readonly Line[], all: readonly Note[]): { notes: Note[]; notesScore: number | null } {
	const ids = new Set(lines.map(({ id }) => id));
	const notes = all.filter(({ entryId }) => ids.has(entryId));
	const scores = notes.flatMap(({ score }) => score ?? []);
	const sum = scores.reduce((total, one) => total + one, 0);
	return { notes, notesScore: scores.length ? sum / scores.length : null };
}

/** A text that a spreadsheet would take for a formula gets a quotation mark before it, as OWASP has it. */
function cell(value: string | number | undefined): string {
	const isFormula =
		typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !Number.isFinite(Number(value));
	const text = `${isFormula ? "'" : ""}${value ?? ""}`;
	return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** What is best: the highest score, and of those that are good the lowest cost and the shortest time. */
export interface Best {
	/** How high a score is good; undefined: there are no scores, and each way is good. */
	good: number | undefined;
	score: number | undefined;
	costUsd: number | undefined;
	seconds: number | undefined;
}

/** Return what is best. least: how high a score is good; undefined: nine tenths of the highest. */
export function bestOf(ways: readonly Way[], least?: number): Best {
	const scores = ways.flatMap(({ score }) => score ?? []);
	const score = scores.length ? Math.max(...scores) : undefined;
	const good = score === undefined ? undefined : (least ?? (score > 0 ? 0.9 * score : score));
	const all = ways.filter((way) => good === undefined || (way.score !== undefined && way.score >= good));
	const lowest = (by: "costUsd" | "seconds"): number | undefined => {
		const found = all.map((way) => way[by]).filter((value) => value > 0);
		return ways.length > 1 && found.length ? Math.min(...found) : undefined;
	};
	return { good, score, costUsd: lowest("costUsd"), seconds: lowest("seconds") };
}

/**
 * Return what stands side by side: in each row one entry of each branch, or undefined.
 *
 * A turn begins with what a user says. The turns of the branches begin in one row, and the last entry of a turn, which
 * is the answer, stands beside the answers of the others, however many steps came before it. A turn that ends with what
 * a tool has returned has no answer yet.
 */
export function rowsOf<T extends { role: Role }>(columns: readonly (readonly T[])[]): (T | undefined)[][] {
	const turns = columns.map(turnsOf);
	const rows: (T | undefined)[][] = [];
	for (let at = 0; at < Math.max(...turns.map(({ length }) => length)); at++) {
		const parts = turns.map((all) => all[at] ?? []);
		const asked = parts.some(([first]) => first?.role === "user");
		const bodies = parts.map((part) => (part[0]?.role === "user" ? part.slice(1) : part));
		if (asked) rows.push(parts.map(([first]) => (first?.role === "user" ? first : undefined)));
		const answers = bodies.map((body) => (body.at(-1)?.role === "tool" ? undefined : body.at(-1)));
		const steps = bodies.map((body, at) => (answers[at] ? body.slice(0, -1) : body));
		for (let step = 0; step < Math.max(...steps.map(({ length }) => length)); step++)
			rows.push(steps.map((body) => body[step]));
		if (answers.some(Boolean)) rows.push(answers);
	}
	return rows;
}

function turnsOf<T extends { role: Role }>(entries: readonly T[]): T[][] {
	const turns: T[][] = [];
	for (const entry of entries) {
		if (entry.role === "user" || !turns.length) turns.push([]);
		turns.at(-1)!.push(entry);
	}
	return turns;
}
