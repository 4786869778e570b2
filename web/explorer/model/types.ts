// The shapes that several rooms know. The answers of the service have the client's own types.

import type { ConversationDetails, Fork, ListedEntry } from "@forklore/client";

export type {
	AnswerLog,
	AttachedFile,
	ConversationDetails,
	Fork,
	Hit,
	Membership,
	Name,
	Note,
	Transfer,
	Trashed,
} from "@forklore/client";

/** An entry as a list shows it. `parentId`: the history entry that is shown just before it. */
export type Entry = ListedEntry;

export type Role = "user" | "ai" | "system" | "tool" | "other";

/**
 * An entry of the tree, as a line: all that the tree draws of it.
 *
 * conversationId: the branch that it was appended to. `id`s sort by time, as text.
 */
export interface Line extends Pick<
	Entry,
	| "id"
	| "conversationId"
	| "parentId"
	| "createdAt"
	| "userId"
	| "agentId"
	| "mergedFromConversationId"
	| "copiedFromConversationId"
	| "usage"
> {
	role: Role;
	/** When it was said: what was imported, at its source. */
	at: string;
	/** The first words of what it says; "" if it says nothing. */
	text: string;
	/** It tells of a tool alone. */
	isTool?: boolean;
	/** A tool has failed in it. */
	failed?: boolean;
}

/** A branch of the tree: what the service lists of a fork, and what the page knows beside it. */
export interface Branch extends Fork {
	/** Names of the user that point to it. */
	names: readonly string[];
}

/** The history of a fork tree: each entry once, and each branch, both the oldest first. */
export interface Tree {
	lines: readonly Line[];
	branches: readonly Branch[];
	/** Trees that an entry of this one started. */
	children: readonly ConversationDetails[];
}

/** How a branch is shown, everywhere the same. */
export interface Look {
	/** Its own title, else its own first words, else a short id. */
	label: string;
	/** Its own title, which no older branch has. */
	title?: string;
	/** The number of its colour: `--lane-0` to `--lane-9`. */
	lane: number;
	names: readonly string[];
	isCurrent: boolean;
}

/** What the page shows, as its address says. */
export type Route =
	| { name: "list" }
	| { name: "conversation"; id: string; entryId?: string | undefined }
	| { name: "tree"; id: string }
	/** Each once; the first one is what the others are held against. */
	| { name: "compare"; ids: readonly string[] }
	/** entryId: the entry that all alternatives follow; null: the beginning. */
	| { name: "alternatives"; id: string; entryId: string | null };
