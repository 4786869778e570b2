// The history of a whole fork tree, as a message tree, and the ways on from one place of it.

import { NotFoundError } from "./errors.ts";
import type {
	Fork,
	ListedEntry,
	ListEntriesArguments,
	ListForksArguments,
	Operations,
} from "./generated/operations.ts";
import { pagesOf } from "./pages.ts";
import type { Sent } from "./wire.ts";

/** The history of a fork tree: each entry once, and each branch, both the oldest first. */
export interface Tree {
	/** parentId: the entry before it; null for what begins a history. */
	entries: ListedEntry[];
	/** lastEntryId: the last entry that the branch shows; null if it shows none. */
	branches: Fork[];
}

/** How a branch goes on from a place, and what that took. */
export interface Way {
	/** The branch that began it; if that is deleted, the oldest that shows it. */
	conversationId: string;
	/** Where it begins; null without entries. */
	firstEntryId: string | null;
	title: string | null;
	/** The first 100 characters of its first and its last entry with a text. */
	first: string;
	last: string;
	entries: number;
	/** In how many of these a tool has failed. */
	failures: number;
	inputTokens: number;
	outputTokens: number;
	cachedInputTokens: number;
	costUsd: number;
	/** From its first to its last entry. */
	seconds: number;
	/** The number `score` in the branch's metadata. */
	score: number | null;
	isCurrent: boolean;
	tags: Fork["tags"];
	metadata: Fork["metadata"];
}

const PAGE_ENTRIES = 1000;
const PAGE_ROWS = 200;

/**
 * Return the history of the fork tree of a conversation: two requests, if one page holds each list.
 *
 * The branches are listed first, so that the entries that they show last are there, unless a branch is deleted
 * meanwhile. missing: `empty` for a conversation that may not exist; then the tree is empty, by one request.
 * view: of the entries.
 */
export async function treeOf(
	api: Operations,
	conversationId: string,
	{ missing, view, ...sent }: Sent & Pick<ListForksArguments, "missing"> & Pick<ListEntriesArguments, "view">,
): Promise<Tree> {
	const branches = await branchesOf(api, conversationId, { missing, ...sent });
	if (branches.length === 0) return { entries: [], branches };
	const given = { conversationId, allForks: true, channel: "history", limit: PAGE_ENTRIES, view } as const;
	const entries = await pagesOf((afterCursor) => api.listEntries({ ...given, afterCursor }, sent)).list();
	return { entries, branches };
}

/** Return the branches of the fork tree of a conversation, the oldest first. missing: as of `treeOf`. */
export const branchesOf = async (
	api: Operations,
	conversationId: string,
	{ missing, ...sent }: Sent & Pick<ListForksArguments, "missing">,
): Promise<Fork[]> =>
	pagesOf((afterCursor) =>
		api.listForks({ conversationId, missing, limit: PAGE_ROWS, afterCursor }, sent),
	).list();

/**
 * Return the ways on from the place just before an entry: its own, and all others.
 *
 * tree: entries with the view `line`. Each entry that follows the place begins a way. A fork that was made there, and
 * has no entries yet, is a way, too. Throws NotFoundError if no branch shows the entry.
 */
export function waysBeside({ entries, branches }: Tree, entryId: string): Way[] {
	const byId = new Map(entries.map((one) => [one.id, one]));
	const asked = byId.get(entryId);
	if (!asked) throw new NotFoundError(`no branch of the tree shows the entry ${entryId}`, { status: 404 });
	const place = asked.parentId;
	const begun = new Map<string, Way>();
	const ended: Way[] = [];
	for (const branch of branches) {
		const shown: ListedEntry[] = [];
		let at = branch.lastEntryId;
		for (let one; at !== place && (one = byId.get(at ?? "")); at = one.parentId) shown.unshift(one);
		const [first] = shown;
		const isBeginner = first?.conversationId === branch.conversationId;
		if (first && at === place && (isBeginner || !begun.has(first.id)))
			begun.set(first.id, wayOf(branch, shown));
		else if (!first && at === place && isBare(branch, byId)) ended.push(wayOf(branch, []));
	}
	const ways = [...begun].sort(([one], [other]) => (one < other ? -1 : 1));
	return [...ways.map(([, way]) => way), ...ended];
}

/** Whether a fork has no entries of its own. */
const isBare = (branch: Fork, byId: ReadonlyMap<string, ListedEntry>): boolean =>
	branch.forkedAtConversationId !== undefined &&
	byId.get(branch.lastEntryId ?? "")?.conversationId !== branch.conversationId;

function wayOf(branch: Fork, shown: readonly ListedEntry[]): Way {
	const { conversationId, title, isCurrent, tags, metadata } = branch;
	const score: unknown = metadata["score"];
	const lines = shown.flatMap(({ line }) => line ?? []);
	const said = lines.filter(({ text, tool }) => text && !tool);
	const texts = (said.length ? said : lines.filter(({ text }) => text)).flatMap(({ text }) => text ?? []);
	const times = shown.map(({ createdAt }) => Date.parse(createdAt));
	const total = (name: string): number =>
		shown.reduce((sum, { usage }) => sum + (Number(usage?.[name]) || 0), 0);
	return {
		conversationId,
		firstEntryId: shown[0]?.id ?? null,
		title,
		first: texts[0] ?? "",
		last: texts.at(-1) ?? "",
		entries: shown.length,
		failures: lines.filter(({ failed }) => failed).length,
		inputTokens: total("inputTokens"),
		outputTokens: total("outputTokens"),
		cachedInputTokens: total("cachedInputTokens"),
		costUsd: Math.round(total("costUsd") * 1e9) / 1e9, // sums of floats end in …0004
		seconds: times.length ? (Math.max(...times) - Math.min(...times)) / 1000 : 0,
		score: typeof score === "number" || score instanceof Number ? Number(score) : null,
		isCurrent,
		tags,
		metadata,
	};
}
