// The messages of a chat and its answers in progress, as chat interfaces keep them.

import type { Role } from "./messages.ts";
import type { AttachedFile, EntryFields } from "./generated/operations.ts";

/**
 * A message. data: what the interface keeps beside the text, as members of the entry's content. usage: what it has
 * cost, which is counted and not shown. answerId: the answer in progress that ends with it.
 */
export interface ChatMessage {
	id: string;
	role: Exclude<Role, "tool">;
	text: string;
	data: Record<string, unknown>;
	usage?: EntryFields["usage"];
	answerId?: string | undefined;
}

/** An answer in progress of a chat. */
export interface ChatAnswer {
	id: string;
	conversationId: string;
}

/** An answer in its place. parentId: the message before it. */
export interface PlacedAnswer extends ChatAnswer {
	parentId: string | null;
}

/**
 * A message in its place. parentId: the message before it; null for what begins a history. files: the attachments that
 * its entry names.
 */
export interface PlacedMessage extends ChatMessage {
	role: "user" | "ai" | "system";
	parentId: string | null;
	createdAt: string;
	files?: AttachedFile[] | undefined;
}
