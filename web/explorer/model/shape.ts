// The shape of a fork tree: which branch goes on from which, what each one shows, its colour and what it is called.

import type { Branch, Line, Look, Tree } from "./types.ts";
import { clipped, shortId, visible } from "./words.ts";

const LANES = 10; // lane 0 is the first branch's
const LABEL_MAX = 80;

/** A branch in its place in the tree. */
export interface Limb {
	id: string;
	/** undefined: it is deleted, and others still show some of its entries */
	branch: Branch | undefined;
	/** Its own entries, the oldest first. */
	own: Line[];
	/** The entry that it goes on after, and whose that is; undefined: it begins a history. */
	after: Place | undefined;
	/** How many entries it shows before its own ones. */
	start: number;
	/** How many branches it goes on from. */
	depth: number;
	/** Those that go on from its entries, by place, then by age. */
	kids: Limb[];
	look: Look;
}

/** An entry in its own branch. */
export interface Place {
	limb: Limb;
	index: number;
	line: Line;
}

export interface Shape {
	/** By id; each one after the one that it goes on from. */
	limbs: ReadonlyMap<string, Limb>;
	/** Those that begin a history. */
	roots: Limb[];
	/** By the id of the entry. */
	places: ReadonlyMap<string, Place>;
}

/** Return the shape of what is loaded of a tree. */
export function shapeOf({ lines, branches }: Pick<Tree, "lines" | "branches">): Shape {
	const limbs = new Map<string, Limb>();
	const places = new Map<string, Place>();
	const listed = new Map(branches.map((branch) => [branch.conversationId, branch]));
	const limbOf = (id: string): Limb => {
		const known = limbs.get(id);
		if (known) return known;
		const branch = listed.get(id);
		const { names = [], isCurrent = false } = branch ?? {};
		const look: Look = { label: "", lane: 0, names, isCurrent };
		const limb = { id, branch, own: [], after: undefined, start: 0, depth: 0, kids: [], look };
		limbs.set(id, limb);
		return limb;
	};
	for (const line of lines) {
		const limb = limbOf(line.conversationId);
		places.set(line.id, { limb, index: limb.own.length, line });
		limb.own.push(line);
	}
	for (const { conversationId } of branches) limbOf(conversationId);

	const roots: Limb[] = [];
	for (const limb of limbs.values()) {
		const [first] = limb.own;
		const after = places.get((first ? first.parentId : limb.branch?.lastEntryId) ?? "");
		limb.after = after;
		if (after) {
			limb.start = after.limb.start + after.index + 1;
			limb.depth = after.limb.depth + 1;
		}
		(after?.limb.kids ?? roots).push(limb);
		limb.look.lane = laneOf(limb);
	}
	for (const { kids } of limbs.values())
		kids.sort((one, other) => (one.after?.index ?? 0) - (other.after?.index ?? 0));
	name(limbs, branches);
	return { limbs, roots, places };
}

/** Return a colour that the branch it goes on from has not. It follows from the ids alone, so it stays. */
function laneOf({ id, branch, after }: Limb): number {
	if (!after && !branch?.forkedAtConversationId) return 0;
	let hash = 0x811c9dc5;
	for (const one of id) hash = Math.imul(hash ^ (one.codePointAt(0) ?? 0), 0x01000193);
	const lane = 1 + ((hash >>> 0) % (LANES - 1));
	return lane === after?.limb.look.lane ? 1 + (lane % (LANES - 1)) : lane;
}

/**
 * Give each branch its label: its title, if no older branch has it, else its own first words, else a piece of its id.
 * A fork without a title of its own has that of its source. Of branches with one label the younger ones get a piece
 * of their ids.
 */
function name(limbs: ReadonlyMap<string, Limb>, branches: readonly Branch[]): void {
	const titles = new Set<string>();
	const labels = new Set<string>();
	const known = branches.flatMap(({ conversationId }) => limbs.get(conversationId) ?? []);
	for (const limb of new Set([...known, ...limbs.values()])) {
		const title = visible(limb.branch?.title ?? "").trim();
		const words = firstSaid(limb.own) ?? "";
		const own = titles.has(title) ? "" : title;
		const label = clipped((own || words).replace(/\s+/g, " ").trim(), LABEL_MAX);
		if (own) limb.look.title = own;
		titles.add(title);
		const piece = shortId(limb.id);
		if (!label) limb.look.label = `${limb.branch ? "branch" : "deleted branch"} ${piece}`;
		else limb.look.label = labels.has(label) ? `${label} · ${piece}` : label;
		labels.add(label);
	}
}

/** Return the first words of some entries: what somebody says, before what tells of a tool alone. */
export const firstSaid = (lines: readonly Line[]): string | undefined =>
	(lines.find(({ text, isTool }) => text && !isTool) ?? lines.find(({ text }) => text))?.text;

/** Return what a branch shows, the oldest first. */
export function shownBy(limb: Limb | undefined): Line[] {
	const parts: Line[][] = [];
	let end = limb?.own.length;
	for (const at of rootward(limb)) {
		parts.push(at.own.slice(0, end));
		end = (at.after?.index ?? 0) + 1;
	}
	return parts.reverse().flat();
}

/** Return a branch and those that it goes on from, the root last. */
export function* rootward(limb: Limb | undefined): Generator<Limb> {
	for (let at = limb; at; at = at.after?.limb) yield at;
}

/** Return a branch and all that go on from it, each before its own. */
export function* leafward(limb: Limb): Generator<Limb> {
	yield limb;
	for (const kid of limb.kids) yield* leafward(kid);
}

/** Return the score of a branch: a number in its metadata. */
export function scoreOf({ branch }: { branch: Pick<Branch, "metadata"> | undefined }): number | undefined {
	const score = branch?.metadata.score;
	return typeof score === "number" || score instanceof Number ? Number(score) : undefined;
}

/** What some entries used. seconds: from the earliest to the latest one. */
export interface Sum {
	entries: number;
	inputTokens: number;
	outputTokens: number;
	cachedInputTokens: number;
	costUsd: number;
	seconds: number;
}

export function sumOf(lines: readonly Pick<Line, "at" | "usage">[]): Sum {
	const total = (name: string): number =>
		lines.reduce((sum, { usage }) => sum + (Number(usage?.[name]) || 0), 0);
	const times = lines.map(({ at }) => Date.parse(at)).sort((one, other) => one - other);
	return {
		entries: lines.length,
		inputTokens: total("inputTokens"),
		outputTokens: total("outputTokens"),
		cachedInputTokens: total("cachedInputTokens"),
		costUsd: Math.round(total("costUsd") * 1e9) / 1e9, // sums of floats end in …0004
		seconds: Math.round(((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000),
	};
}

/** Return when a branch was last written to; without entries of its own, when it was made. */
export const lastUse = ({ own, branch }: Limb): string => own.at(-1)?.at ?? branch?.createdAt ?? "";

/** `Map.groupBy`, which Node 20 does not have. */
export function grouped<T, K>(all: Iterable<T>, keyOf: (one: T) => K): Map<K, T[]> {
	const groups = new Map<K, T[]>();
	for (const one of all) {
		const group = groups.get(keyOf(one));
		if (group) group.push(one);
		else groups.set(keyOf(one), [one]);
	}
	return groups;
}
