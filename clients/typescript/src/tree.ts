// The history of a whole fork tree, as a message tree.

import type { Sent } from "./calls.ts";
import type { Fork, ListedEntry, Operations } from "./operations.ts";
import { pagesOf } from "./pages.ts";

/** An entry of a fork tree. parentId: the entry shown before it; null for what begins a history. */
export type TreeEntry = ListedEntry & { parentId: string | null };

/** A branch of a fork tree. lastEntryId: the last entry that it shows; null if it shows none. */
export type Branch = Fork & { lastEntryId: string | null };

/** The history of a fork tree: each entry once, and each branch, both the oldest first. */
export interface Tree {
	entries: TreeEntry[];
	branches: Branch[];
}

const PAGE_ENTRIES = 1000;
const PAGE_ROWS = 200;

/**
 * Return the history of the fork tree of a conversation: two requests, if one page holds each list.
 *
 * An entry stands behind the one before it in its conversation, and the first one where its branch was forked. A
 * branch whose source was deleted, or that leaves it at an entry of a context, is also read by itself: where it
 * begins stands nowhere else.
 */
export async function treeOf(api: Operations, conversationId: string, sent: Sent): Promise<Tree> {
	const history = async (of: { conversationId: string; allForks?: boolean }): Promise<ListedEntry[]> =>
		pagesOf((afterCursor) =>
			api.listEntries({ ...of, channel: "history", limit: PAGE_ENTRIES, afterCursor }, sent),
		).list();
	const listed = await history({ conversationId, allForks: true });
	const forks = await pagesOf((afterCursor) =>
		api.listForks({ conversationId, limit: PAGE_ROWS, afterCursor }, sent),
	).list();

	const entries = new Map(listed.map((entry) => [entry.id, entry]));
	const branches = new Map(forks.map((fork) => [fork.conversationId, fork]));
	const parents = new Map<string, string | null>();
	const lastOwn = new Map<string, string>();
	for (const { id, conversationId: own } of listed) {
		const before = lastOwn.get(own);
		if (before !== undefined) parents.set(id, before);
		lastOwn.set(own, id);
	}
	const isReadable = ({ forkedAtConversationId: source, forkedAtEntryId: anchor }: Fork): boolean =>
		source === undefined || anchor === undefined || (branches.has(source) && entries.has(anchor));
	const lastShown = new Map<string, string | null>();
	for (const fork of forks.filter((one) => !isReadable(one))) {
		let before: string | null = null;
		for (const entry of await history({ conversationId: fork.conversationId })) {
			entries.set(entry.id, entry);
			parents.set(entry.id, before);
			before = entry.id;
		}
		lastShown.set(fork.conversationId, before);
	}

	/** Return the last entry that a branch inherits. */
	const inheritedBy = ({ forkedAtEntryId: anchor, forkedAtPosition: position }: Fork): string | null => {
		const entry = anchor === undefined ? undefined : entries.get(anchor);
		if (entry === undefined) return null;
		return position === "after" ? entry.id : (parentOf(entry) ?? null);
	};
	/** Return the entry before an entry; undefined if its branch was deleted while the lists were read. */
	const parentOf = ({ id, conversationId: own }: ListedEntry): string | null | undefined => {
		const branch = branches.get(own);
		if (!parents.has(id) && branch) parents.set(id, inheritedBy(branch));
		return parents.get(id);
	};
	return {
		entries: [...entries.values()]
			.sort((one, other) => (one.id < other.id ? -1 : 1))
			.flatMap((entry) => {
				const parentId = parentOf(entry);
				return parentId === undefined ? [] : [{ ...entry, parentId }];
			}),
		branches: forks.map((fork) => {
			const own = lastShown.get(fork.conversationId) ?? lastOwn.get(fork.conversationId);
			return { ...fork, lastEntryId: own ?? inheritedBy(fork) };
		}),
	};
}
