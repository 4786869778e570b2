// The history of a whole fork tree, as a message tree.

import type { Fork, ListedEntry, ListForksArguments, Operations } from "./generated/operations.ts";
import { pagesOf } from "./pages.ts";
import type { Sent } from "./wire.ts";

/** The history of a fork tree: each entry once, and each branch, both the oldest first. */
export interface Tree {
	/** parentId: the entry before it; null for what begins a history. */
	entries: ListedEntry[];
	/** lastEntryId: the last entry that the branch shows; null if it shows none. */
	branches: Fork[];
}

const PAGE_ENTRIES = 1000;
const PAGE_ROWS = 200;

/**
 * Return the history of the fork tree of a conversation: two requests, if one page holds each list.
 *
 * The branches are listed first, so that the entries that they show last are there, unless a branch is deleted
 * meanwhile. missing: `empty` for a conversation that may not exist; then the tree is empty, by one request.
 */
export async function treeOf(
	api: Operations,
	conversationId: string,
	{ missing, ...sent }: Sent & Pick<ListForksArguments, "missing">,
): Promise<Tree> {
	const branches = await branchesOf(api, conversationId, { missing, ...sent });
	if (branches.length === 0) return { entries: [], branches };
	const given = { conversationId, allForks: true, channel: "history", limit: PAGE_ENTRIES } as const;
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
