// What the service takes and answers, and how each operation is called.
//
// Generated from the table of operations by `python -m tools.client`. Do not change it by hand.

import type { Keyed, Matched, Sent, Shape } from "../wire.ts";

/** More characters than these are refused before they are sent. */
export const BODY_CHARACTERS_MAX = 5_500_000;
/** A larger file cannot be attached. */
export const ATTACHMENT_BYTES_MAX = 100_000_000;
/** More bytes of a file are sent to an address of their own. */
export const ATTACHMENT_INLINE_BYTES_MAX = 999_999;
/** An entry names at most so many files. */
export const ATTACHMENTS_PER_ENTRY_MAX = 10;

/** What callers say of a conversation. */
export const DESCRIPTION = ["title", "tags", "metadata"] as const;

/** What is noted on an entry: a text, a score, or both; or that it is pinned. */
export interface AddNote {
	pinned?: boolean | undefined;
	score?: number | null | undefined;
	text?: string | null | undefined;
}

/** An attachment as an auditor sees it. `userId`: who has uploaded it, unless erased. */
export interface AdminAttachment {
	contentType: string;
	createdAt: string;
	id: string;
	name: string;
	sha256: string;
	size: number;
	state: "pending" | "ready" | "removed";
	url?: string;
	urlExpiresAt?: string;
	userId?: string;
}

/** Attachments of a user in the order of `sha256`, without links. */
export interface AdminAttachmentPage {
	afterCursor: string | null;
	data: AdminAttachment[];
}

/** A conversation as an auditor sees it. `clientId`: the client that its context is bound to. */
export interface AdminConversation {
	accessLevel: "owner" | "manager" | "writer" | "reader";
	agentId?: string;
	answering?: Answering;
	archived?: boolean;
	branches?: number;
	clientId?: string;
	createdAt: string;
	forkedAtConversationId?: string;
	forkedAtEntryId?: string;
	forkedAtPosition?: "before" | "after" | "blank";
	historyEntries?: number;
	id: string;
	isCurrent: boolean;
	lastMessagePreview?: string;
	lastUsedAt: string;
	metadata: Record<string, unknown>;
	metrics: Metrics;
	ownerUserId: string;
	pinned?: boolean;
	startedByConversationId?: string;
	startedByEntryId?: string;
	tags: Record<string, string>;
	title: string | null;
	updatedAt: string;
}

/** Conversations in the list's order. */
export interface AdminConversationPage {
	afterCursor: string | null;
	data: AdminConversation[];
}

/** A name as an auditor sees it, with whose it is. `deleted`: the conversation is deleted. */
export interface AdminName {
	clientId?: string;
	conversationId: string;
	createdAt: string;
	data: Record<string, unknown>;
	deleted?: boolean;
	name: string;
	previousConversationId?: string;
	revision: number;
	updatedAt: string;
	userId: string;
}

/** Names of a user: those without a client, then client by client. */
export interface AdminNamePage {
	afterCursor: string | null;
	data: AdminName[];
}

/** What to search for; without `userId` in every tree. */
export interface AdminSearchConversations {
	afterCursor?: string | null | undefined;
	around?: number | null | undefined;
	conversationId?: string | null | undefined;
	includeEntry?: boolean | null | undefined;
	limit?: number | null | undefined;
	minScore?: number | null | undefined;
	query: string;
	searchType?: "auto" | "fulltext" | "semantic" | readonly ("fulltext" | "semantic")[] | null | undefined;
	userId?: string | null | undefined;
}

/** A conversation that is shown in part, up to `inheritedUpToEntryId`. */
export interface Ancestor {
	conversationId: string;
	inheritedUpToEntryId?: string;
	removed?: boolean;
	title?: string;
}

/** Whose entries a conversation shows, the oldest first; the last one is the conversation. */
export interface Ancestors {
	data: Ancestor[];
}

/** Which trees are listed: those that no conversation started, those that one did, or both. */
export type Ancestry = "roots" | "children" | "all";

/** An answer with its pieces after a position. */
export interface AnswerLog {
	afterEntryId: string | null;
	agentId?: string;
	clientId?: string;
	conversationId: string;
	createdAt: string;
	entryConversationId?: string;
	entryId?: string;
	id: string;
	parts: Part[];
	position: number;
	state: "open" | "silent" | "stopped" | "finished" | "dropped";
	userId: string;
}

/**
 * An answer that is written piece by piece. `position`: of the last thing in its log.
 *
 * A `finished` one has become the entry `entryId` of `entryConversationId`.
 */
export interface AnswerStatus {
	afterEntryId: string | null;
	agentId?: string;
	clientId?: string;
	conversationId: string;
	createdAt: string;
	entryConversationId?: string;
	entryId?: string;
	id: string;
	position: number;
	state: "open" | "silent" | "stopped" | "finished" | "dropped";
	userId: string;
}

/**
 * An answer that is not ended. `since`: when it was begun. A list of conversations reads no
 * `state`.
 */
export interface Answering {
	afterEntryId: string | null;
	answerId: string;
	since: string;
	state?: "open" | "silent" | "stopped" | "finished" | "dropped";
	userId: string;
}

/** One entry, or several at once. */
export type Append = AppendEntry | AppendEntries;

/** One entry, or several at once, for the conversation that a name points to. */
export type AppendByName = AppendEntryByName | AppendEntriesByName;

/** Entries to append, all or none, in order. */
export interface AppendEntries {
	answerId?: string | null | undefined;
	context?: PresentContext | null | undefined;
	entries: readonly EntryFields[];
	forkedAtConversationId?: string | null | undefined;
	forkedAtEntryId?: string | null | undefined;
	forkedAtKey?: string | null | undefined;
	forkedAtPosition?: "before" | "after" | "head" | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	name?: MoveName | null | undefined;
	promote?: boolean | null | undefined;
	startedByConversationId?: string | null | undefined;
	startedByEntryId?: string | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
}

/** Entries to append to the conversation that a name points to, all or none, in order. */
export interface AppendEntriesByName {
	answerId?: string | null | undefined;
	context?: PresentContext | null | undefined;
	data?: Record<string, unknown> | null | undefined;
	entries: readonly EntryFields[];
	forkedAtConversationId?: string | null | undefined;
	forkedAtEntryId?: string | null | undefined;
	forkedAtKey?: string | null | undefined;
	forkedAtPosition?: "before" | "after" | "head" | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	name: string;
	promote?: boolean | null | undefined;
	startedByConversationId?: string | null | undefined;
	startedByEntryId?: string | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
}

/** One entry to append. `metadata` is that of the entry. */
export interface AppendEntry {
	agentId?: string | null | undefined;
	answerId?: string | null | undefined;
	channel?: string | null | undefined;
	content: readonly unknown[];
	contentType: string;
	context?: PresentContext | null | undefined;
	epoch?: number | null | undefined;
	forkedAtConversationId?: string | null | undefined;
	forkedAtEntryId?: string | null | undefined;
	forkedAtKey?: string | null | undefined;
	forkedAtPosition?: "before" | "after" | "head" | null | undefined;
	indexedContent?: string | null | undefined;
	key?: string | null | undefined;
	mergedFromConversationId?: string | null | undefined;
	mergedUpToEntryId?: string | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	name?: MoveName | null | undefined;
	promote?: boolean | null | undefined;
	startedByConversationId?: string | null | undefined;
	startedByEntryId?: string | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
	usage?: { cachedInputTokens?: number | undefined; costUsd?: number | undefined; inputTokens?: number | undefined; outputTokens?: number | undefined; } | null | undefined;
	userId?: string | null | undefined;
}

/** One entry to append to the conversation that a name points to. `metadata` is the entry's. */
export interface AppendEntryByName {
	agentId?: string | null | undefined;
	answerId?: string | null | undefined;
	channel?: string | null | undefined;
	content: readonly unknown[];
	contentType: string;
	context?: PresentContext | null | undefined;
	data?: Record<string, unknown> | null | undefined;
	epoch?: number | null | undefined;
	forkedAtConversationId?: string | null | undefined;
	forkedAtEntryId?: string | null | undefined;
	forkedAtKey?: string | null | undefined;
	forkedAtPosition?: "before" | "after" | "head" | null | undefined;
	indexedContent?: string | null | undefined;
	key?: string | null | undefined;
	mergedFromConversationId?: string | null | undefined;
	mergedUpToEntryId?: string | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	name: string;
	promote?: boolean | null | undefined;
	startedByConversationId?: string | null | undefined;
	startedByEntryId?: string | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
	usage?: { cachedInputTokens?: number | undefined; costUsd?: number | undefined; inputTokens?: number | undefined; outputTokens?: number | undefined; } | null | undefined;
	userId?: string | null | undefined;
}

/** The next piece: it stands at the position just after `after`. */
export interface AppendToAnswer {
	after: number;
	content: readonly unknown[];
}

/** The entry, or with `entries` in the request `data` with all of them. */
export type Appended = AppendedEntry | Entries;

/** The entry that was appended. */
export interface AppendedEntry {
	agentId?: string;
	attachments?: AttachedFile[];
	channel: "history" | "context";
	clientId?: string;
	content: unknown[];
	contentType: string;
	context?: Synced;
	conversationId: string;
	copiedFromConversationId?: string;
	copiedFromEntryId?: string;
	createdAt: string;
	epoch?: number;
	erased?: boolean;
	id: string;
	key?: string;
	mergedFromConversationId?: string;
	mergedUpToEntryId?: string;
	metadata?: Record<string, unknown>;
	parentId: string | null;
	usage?: Record<string, unknown>;
	userId: string;
}

/** Where the part stands: what the next one is `after`. */
export interface AppendedPart {
	position: number;
}

/** Which trees are listed: those that the user has not archived, all, or only archived ones. */
export type Archived = "exclude" | "include" | "only";

/** A file that the content of an entry names. `url`: its bytes, until `urlExpiresAt`. */
export interface AttachedFile {
	contentType: string;
	id: string;
	name: string;
	size: number;
	url?: string;
	urlExpiresAt?: string;
}

/**
 * A file beside the log. `url`: its bytes, until `urlExpiresAt`, if they are there.
 *
 * `pending`: nobody has seen its bytes yet. `removed`: an admin has removed them.
 */
export interface Attachment {
	contentType: string;
	createdAt: string;
	id: string;
	name: string;
	sha256: string;
	size: number;
	state: "pending" | "ready" | "removed";
	url?: string;
	urlExpiresAt?: string;
}

/** The last history entry that both conversations show; null: there is none. */
export interface Base {
	entryId: string | null;
}

/** Which entry the answer follows: the one that is named, or the last one of the history. */
export interface BeginAnswer {
	afterEntryId?: string | null | undefined;
	afterKey?: string | null | undefined;
	agentId?: string | null | undefined;
	id?: string | null | undefined;
	takeOver?: boolean | null | undefined;
}

/** What a member may do from now on. */
export interface ChangedMembership {
	accessLevel: "owner" | "manager" | "writer" | "reader";
	children: number;
	conversationId: string;
	createdAt: string;
	userId: string;
}

/** What a conversation shows of the history after the base, oldest first. */
export interface ComparedBranch {
	afterCursor: string | null;
	conversationId: string;
	data: Entry[];
}

/** Where two conversations part, and how each goes on: first the one in the path. */
export interface Comparison {
	base: Base;
	branches: ComparedBranch[];
}

/** A conversation as its member sees it. */
export interface ConversationDetails {
	accessLevel: "owner" | "manager" | "writer" | "reader";
	agentId?: string;
	answering?: Answering;
	archived?: boolean;
	branches?: number;
	createdAt: string;
	forkedAtConversationId?: string;
	forkedAtEntryId?: string;
	forkedAtPosition?: "before" | "after" | "blank";
	historyEntries?: number;
	id: string;
	isCurrent: boolean;
	lastMessagePreview?: string;
	lastUsedAt: string;
	metadata: Record<string, unknown>;
	metrics: Metrics;
	ownerUserId: string;
	pinned?: boolean;
	startedByConversationId?: string;
	startedByEntryId?: string;
	tags: Record<string, string>;
	title: string | null;
	updatedAt: string;
}

/** Conversations in the list's order. */
export interface ConversationPage {
	afterCursor: string | null;
	data: ConversationDetails[];
}

/** Equal forks that were made together. */
export interface Conversations {
	data: ConversationDetails[];
}

/** A conversation of your own; without `upToEntryId` with everything that the source shows. */
export interface CopyConversation {
	id?: string | null | undefined;
	title?: string | null | undefined;
	upToEntryId?: string | null | undefined;
}

/** A tree of your own. `id`: of its root. */
export interface CopyTree {
	id?: string | null | undefined;
}

/** A conversation without entries; without an `id`, one is made. */
export interface CreateConversation {
	agentId?: string | null | undefined;
	id?: string | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
	userId?: string | null | undefined;
}

/** What people without an account read by the link, and for how many days. */
export interface CreateLink {
	allForks?: boolean | undefined;
	days?: number | undefined;
	keepOnTransfer?: boolean | undefined;
	upToEntryId?: string | null | undefined;
	userIds?: boolean | undefined;
}

/** A new link. `secret` stands in its address, and is told only this once. */
export interface CreatedLink {
	allForks: boolean;
	conversationId: string;
	createdAt: string;
	endsAt: string;
	id: string;
	keepOnTransfer: boolean;
	opens: number;
	secret: string;
	upToEntryId?: string;
	userIds: boolean;
}

/** Entries appended together, in order. */
export interface Entries {
	context?: Synced;
	data: Entry[];
}

/** What was appended. `parentId`: the history entry that is shown just before it. */
export interface Entry {
	agentId?: string;
	attachments?: AttachedFile[];
	channel: "history" | "context";
	clientId?: string;
	content: unknown[];
	contentType: string;
	conversationId: string;
	copiedFromConversationId?: string;
	copiedFromEntryId?: string;
	createdAt: string;
	epoch?: number;
	erased?: boolean;
	id: string;
	key?: string;
	mergedFromConversationId?: string;
	mergedUpToEntryId?: string;
	metadata?: Record<string, unknown>;
	parentId: string | null;
	usage?: Record<string, unknown>;
	userId: string;
}

/** One entry. Without a `channel` it goes to history and its content is opaque. */
export interface EntryFields {
	agentId?: string | null | undefined;
	channel?: string | null | undefined;
	content: readonly unknown[];
	contentType: string;
	epoch?: number | null | undefined;
	indexedContent?: string | null | undefined;
	key?: string | null | undefined;
	mergedFromConversationId?: string | null | undefined;
	mergedUpToEntryId?: string | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	usage?: { cachedInputTokens?: number | undefined; costUsd?: number | undefined; inputTokens?: number | undefined; outputTokens?: number | undefined; } | null | undefined;
	userId?: string | null | undefined;
}

/**
 * Entries, oldest first. At the end of the view stand two more members.
 *
 * `alternativesAtEnd`: those that go on where this one ends. `answering`: the answer that is
 * written there.
 */
export interface EntryPage {
	afterCursor: string | null;
	alternativesAtEnd?: string[];
	answering?: Answering;
	beforeCursor: string | null;
	data: ListedEntry[];
}

/** Whom to erase. */
export interface EraseUser {
	userId: string;
}

/** The erasure of a user: what stands for the user now, and how many things were changed. */
export interface Erasure {
	createdAt: string;
	entries: number;
	finishedAt?: string;
	id: string;
	memberships: number;
	passes: number;
	pseudonym: string;
	state: "running" | "done";
	trees: number;
}

/** A conversation of a fork tree. `lastEntryId`: the last history entry that it shows. */
export interface Fork {
	agentId?: string;
	answering?: Answering;
	conversationId: string;
	createdAt: string;
	forkedAtConversationId?: string;
	forkedAtEntryId?: string;
	forkedAtPosition?: "before" | "after" | "blank";
	isCurrent: boolean;
	lastEntryId: string | null;
	metadata: Record<string, unknown>;
	tags: Record<string, string>;
	title: string | null;
}

/** A fork before or after an entry, named by `atEntryId` or `atKey`; without one at the head. */
export interface ForkConversation {
	agentId?: string | null | undefined;
	atEntryId?: string | null | undefined;
	atKey?: string | null | undefined;
	count?: number | null | undefined;
	id?: string | null | undefined;
	metadata?: Record<string, unknown> | null | undefined;
	name?: MoveName | null | undefined;
	position?: "before" | "after" | null | undefined;
	promote?: boolean | null | undefined;
	resetMetrics?: boolean | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
	userId?: string | null | undefined;
}

/** The conversations of a fork tree, oldest first. */
export interface ForkPage {
	afterCursor: string | null;
	data: Fork[];
}

/** The fork, or with `count` in the request `data` with all of them. */
export type Forked = ConversationDetails | Conversations;

/**
 * The service answers. `version`, `commit`: of a server on one machine, where it is known.
 *
 * `startedAt`: of a server that forgets all when it stops. `searchTypes`: how it can search, if it
 * has a model of meaning, too.
 */
export interface Health {
	commit?: string;
	searchTypes?: ("fulltext" | "semantic")[];
	startedAt?: string;
	status: "ok";
	version?: string;
}

/**
 * An entry that fits the query. `highlights`: its text around the words. `score`: how well.
 *
 * `around`: whole exchanges with it, oldest first.
 */
export interface Hit {
	agentId?: string;
	around?: Entry[];
	conversationId: string;
	conversationTitle: string | null;
	createdAt: string;
	entry?: Entry;
	entryId: string;
	highlights: string[];
	line: Line;
	score: number;
}

/**
 * What an entry says, on one line: the role and the first words of it.
 *
 * `tool`, `failed`: the first tool that its first element names, and whether one of these failed.
 * `holds`: what its first element has beside role and text. `saidAt`: when it was said elsewhere.
 */
export interface Line {
	failed?: boolean;
	holds?: ("attachments" | "data" | "events" | "other")[];
	role?: string;
	saidAt?: string;
	text?: string;
	tool?: string;
}

/**
 * A link by which people without an account read. It ends at `endsAt`.
 *
 * `upToEntryId`: the last entry that it shows; left out if it shows the whole fork tree. `opens`:
 * how often it was opened.
 */
export interface Link {
	allForks: boolean;
	conversationId: string;
	createdAt: string;
	endsAt: string;
	id: string;
	keepOnTransfer: boolean;
	opens: number;
	upToEntryId?: string;
	userIds: boolean;
}

/** The links of a fork tree that have not ended, oldest first. */
export interface LinkPage {
	afterCursor: string | null;
	data: Link[];
}

/** What a link leads to. `allForks`: it shows the whole fork tree, and what is said later. */
export interface LinkedConversation {
	allForks: boolean;
	conversationId: string;
	endsAt: string;
	title: string | null;
}

/**
 * What was said. `userId`: only if who has made the link asked for it.
 *
 * `alternatives`: conversations that go on differently here, if the link shows them.
 */
export interface LinkedEntry {
	agentId?: string;
	alternatives?: string[];
	attachments?: AttachedFile[];
	content: unknown[];
	contentType: string;
	createdAt: string;
	erased?: boolean;
	id: string;
	userId?: string;
}

/** Entries, oldest first, as people without an account see them. */
export interface LinkedEntryPage {
	afterCursor: string | null;
	alternativesAtEnd?: string[];
	beforeCursor: string | null;
	data: LinkedEntry[];
}

/**
 * An entry in a list. `alternatives`: the conversations that go on differently before it.
 *
 * `line`: with `view` = `line`, in place of `content` and `metadata`. `content` is empty then.
 */
export interface ListedEntry {
	agentId?: string;
	alternatives?: string[];
	attachments?: AttachedFile[];
	channel: "history" | "context";
	clientId?: string;
	content: unknown[];
	contentType: string;
	conversationId: string;
	copiedFromConversationId?: string;
	copiedFromEntryId?: string;
	createdAt: string;
	epoch?: number;
	erased?: boolean;
	id: string;
	key?: string;
	line?: Line;
	mergedFromConversationId?: string;
	mergedUpToEntryId?: string;
	metadata?: Record<string, unknown>;
	parentId: string | null;
	usage?: Record<string, unknown>;
	userId: string;
}

/** What a user may do in a fork tree. */
export interface Membership {
	accessLevel: "owner" | "manager" | "writer" | "reader";
	conversationId: string;
	createdAt: string;
	userId: string;
}

/** The members of a fork tree, oldest first. */
export interface MembershipPage {
	afterCursor: string | null;
	data: Membership[];
}

/**
 * Which entries of another branch to copy; without `afterEntryId` those after the last one that
 * both branches show. Of these, the conversation gets what it has not got yet; with `again` all.
 *
 * `withContext`: the agent's context as the other branch shows it becomes that of the
 * conversation.
 */
export interface MergeConversation {
	afterEntryId?: string | null | undefined;
	again?: boolean | null | undefined;
	fromConversationId: string;
	upToEntryId?: string | null | undefined;
	withContext?: boolean | null | undefined;
}

/** Sums over the appends, on top of what a fork started with. */
export interface Metrics {
	cachedInputTokens: number;
	costUsd: number;
	entries: number;
	inputTokens: number;
	outputTokens: number;
}

/** Which conversations of a tree are listed. */
export type Mode = "latest-fork" | "current" | "roots" | "all";

/**
 * A name of yours that points to the new fork from now on.
 *
 * `expectRevision`: the revision that you know; 0: the name must be new.
 */
export interface MoveName {
	expectRevision?: number | null | undefined;
	name: string;
}

/**
 * A name and where it points.
 *
 * `previousConversationId`: where it pointed before that. `deleted`: you cannot see the
 * conversation any more. It is deleted, or you are no member.
 */
export interface Name {
	conversationId: string;
	createdAt: string;
	data: Record<string, unknown>;
	deleted?: boolean;
	name: string;
	previousConversationId?: string;
	revision: number;
	updatedAt: string;
}

/** Names in the order of their UTF-8 bytes. */
export interface NamePage {
	afterCursor: string | null;
	data: Name[];
}

/** Nothing at all. */
export type NoFields = Record<never, never>;

/**
 * A note on an entry. `conversationId`: the one that the entry was written in.
 *
 * `clientId`: the agent that has written it. `pinned`: it pins the entry, and says no more.
 */
export interface Note {
	clientId?: string;
	conversationId: string;
	createdAt: string;
	entryId: string;
	id: string;
	pinned?: boolean;
	score?: number;
	text?: string;
	userId: string;
}

/** Notes in the order of their entries, those on one entry oldest first. */
export interface NotePage {
	afterCursor: string | null;
	data: Note[];
}

/** Which trees come first: those that were used last, or those that were created last. */
export type Order = "used" | "created";

/** A piece of an answer. Without content it only says that somebody is at it. */
export interface Part {
	content: unknown[];
	position: number;
}

/** An agent's whole present context. */
export interface PresentContext {
	agentId?: string | null | undefined;
	basedOnEntryId?: string | null | undefined;
	content: readonly unknown[];
	contentType: string;
}

/** How far a removal went. */
export interface RemovedMembership {
	children: number;
}

/** Whose fork tree to offer, named by any of its conversations, and to whom. */
export interface RequestTransfer {
	conversationId: string;
	newOwnerUserId: string;
	userId?: string | null | undefined;
}

/** Which side of a transfer the caller is on. */
export type TransferRole = "sender" | "recipient" | "all";

/** What a deletion deletes: the fork tree of a conversation, or the conversation alone. */
export type Scope = "tree" | "branch";

/** A conversation of the fork tree, and its score; without one, its score is taken away. */
export interface Scored {
	conversationId: string;
	score?: number | null | undefined;
}

/** What to search for: words to rank by; `+word` and `"some words"` must occur in an entry. */
export interface SearchConversations {
	afterCursor?: string | null | undefined;
	around?: number | null | undefined;
	conversationId?: string | null | undefined;
	includeEntry?: boolean | null | undefined;
	limit?: number | null | undefined;
	minScore?: number | null | undefined;
	query: string;
	searchType?: "auto" | "fulltext" | "semantic" | readonly ("fulltext" | "semantic")[] | null | undefined;
}

/** Hits, the best first. `complete`: whether all that you may see was ranked together. */
export interface SearchPage {
	afterCursor: string | null;
	complete: boolean;
	data: Hit[];
}

/** The request that brings the bytes of an attachment, until `expiresAt`. */
export interface Sending {
	expiresAt: string;
	headers: Record<string, string>;
	method: string;
	url: string;
}

/**
 * A name, and where it points from now on.
 *
 * `expectRevision`: the revision that you know; 0: the name must be new. `data` stay without new
 * ones.
 */
export interface SetName {
	conversationId: string;
	data?: Record<string, unknown> | null | undefined;
	expectRevision?: number | null | undefined;
	name: string;
}

/** The scores of some conversations of a fork tree, each named once. */
export interface SetScores {
	scores: readonly Scored[];
}

/** A user, and what they may do. */
export interface ShareConversation {
	accessLevel: "manager" | "writer" | "reader";
	children?: "include" | "keep" | undefined;
	userId: string;
}

/** The agent's whole present context, as one entry. */
export interface SyncContext {
	agentId?: string | null | undefined;
	basedOnEntryId?: string | null | undefined;
	channel?: string | null | undefined;
	content: readonly unknown[];
	contentType: string;
	usage?: { cachedInputTokens?: number | undefined; costUsd?: number | undefined; inputTokens?: number | undefined; outputTokens?: number | undefined; } | null | undefined;
	userId?: string | null | undefined;
}

/**
 * What a sync did. `entry`: null if nothing was written. `lastEntryId`: the last context entry
 * now.
 */
export interface Synced {
	entry: Entry | null;
	epoch: number | null;
	epochIncremented: boolean;
	lastEntryId: string | null;
	noOp: boolean;
}

/** An ownership that is offered. */
export interface Transfer {
	conversationId: string;
	createdAt: string;
	fromUserId: string;
	id: string;
	toUserId: string;
}

/** Pending transfers, oldest first. */
export interface TransferPage {
	afterCursor: string | null;
	data: Transfer[];
}

/** Deleted fork trees, the newest tree first. */
export interface TrashPage {
	afterCursor: string | null;
	data: Trashed[];
}

/**
 * A deleted fork tree that can be restored, as its current branch, or a branch of a live tree.
 *
 * `keptUntil`: when it is removed, if nobody restores it before.
 */
export interface Trashed {
	createdAt: string;
	deletedAt: string;
	id: string;
	keptUntil: string;
	ownerUserId: string;
	scope: "tree" | "branch";
	title: string | null;
}

/** What to replace; `title: null` clears it. */
export interface UpdateConversation {
	metadata?: Record<string, unknown> | null | undefined;
	tags?: Record<string, string> | null | undefined;
	title?: string | null | undefined;
	userId?: string | null | undefined;
}

/** What the member may do from now on. */
export interface UpdateMembership {
	accessLevel: "manager" | "writer" | "reader";
}

/** A file. Without `content` the answer says where to send its bytes. */
export interface UploadAttachment {
	content?: string | null | undefined;
	contentType: string;
	name: string;
	sha256: string;
	size: number;
}

/** An attachment. `upload`: how to send its bytes, if they are not there. */
export interface UploadedAttachment {
	contentType: string;
	createdAt: string;
	id: string;
	name: string;
	sha256: string;
	size: number;
	state: "pending" | "ready" | "removed";
	upload?: Sending;
	url?: string;
	urlExpiresAt?: string;
}


/** What `createConversation` takes. */
export type CreateConversationArguments = CreateConversation;

/** What `listConversations` takes. */
export type ListConversationsArguments = {
	wait?: number | undefined;
	mode?: Mode | undefined;
	order?: Order | undefined;
	ancestry?: Ancestry | undefined;
	archived?: Archived | undefined;
	pinned?: boolean | undefined;
	query?: string | undefined;
	agentId?: string | undefined;
	tag?: string | undefined;
	createdSince?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `getConversation` takes. */
export type GetConversationArguments = {
	conversationId: string;
	wait?: number | undefined;
};

/** What `updateConversation` takes. */
export type UpdateConversationArguments = {
	conversationId: string;
} & UpdateConversation;

/** What `setScores` takes. */
export type SetScoresArguments = {
	conversationId: string;
} & SetScores;

/** What `deleteConversation` takes. */
export type DeleteConversationArguments = {
	conversationId: string;
	scope?: Scope | undefined;
	forGood?: boolean | undefined;
};

/** What `listTrash` takes. */
export type ListTrashArguments = {
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `restoreConversation` takes. */
export type RestoreConversationArguments = {
	conversationId: string;
};

/** What `forkConversation` takes. */
export type ForkConversationArguments = {
	conversationId: string;
} & ForkConversation;

/** What `promoteConversation` takes. */
export type PromoteConversationArguments = {
	conversationId: string;
};

/** What `listForks` takes. */
export type ListForksArguments = {
	conversationId: string;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	missing?: "empty" | undefined;
};

/** What `listChildren` takes. */
export type ListChildrenArguments = {
	conversationId: string;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	startedByEntryId?: string | undefined;
};

/** What `appendEntry` takes. */
export type AppendEntryArguments = {
	conversationId: string;
} & Append;

/** What `syncContext` takes. */
export type SyncContextArguments = {
	conversationId: string;
} & SyncContext;

/** What `lookUpEntry` takes. */
export type LookUpEntryArguments = {
	conversationId: string;
	key: string;
};

/** What `listEntries` takes. */
export type ListEntriesArguments = {
	conversationId: string;
	wait?: number | undefined;
	channel?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	beforeCursor?: string | undefined;
	tail?: boolean | undefined;
	upToEntryId?: string | undefined;
	allForks?: boolean | undefined;
	forks?: "all" | undefined;
	own?: boolean | undefined;
	alternatives?: boolean | undefined;
	view?: "full" | "line" | undefined;
	epoch?: "latest" | "all" | number | undefined;
};

/** What `getEntry` takes. */
export type GetEntryArguments = {
	conversationId: string;
	entryId: string;
};

/** What `compareConversations` takes. */
export type CompareConversationsArguments = {
	conversationId: string;
	with: string;
	limit?: number | undefined;
};

/** What `listAncestors` takes. */
export type ListAncestorsArguments = {
	conversationId: string;
};

/** What `beginAnswer` takes. */
export type BeginAnswerArguments = {
	conversationId: string;
} & BeginAnswer;

/** What `appendToAnswer` takes. */
export type AppendToAnswerArguments = {
	conversationId: string;
	answerId: string;
} & AppendToAnswer;

/** What `getAnswer` takes. */
export type GetAnswerArguments = {
	conversationId: string;
	answerId: string;
	wait?: number | undefined;
	after?: number | undefined;
};

/** What `stopAnswer` takes. */
export type StopAnswerArguments = {
	conversationId: string;
	answerId: string;
};

/** What `deleteAnswer` takes. */
export type DeleteAnswerArguments = {
	conversationId: string;
	answerId: string;
};

/** What `mergeConversation` takes. */
export type MergeConversationArguments = {
	conversationId: string;
} & MergeConversation;

/** What `copyConversation` takes. */
export type CopyConversationArguments = {
	conversationId: string;
} & CopyConversation;

/** What `copyTree` takes. */
export type CopyTreeArguments = {
	conversationId: string;
} & CopyTree;

/** What `searchConversations` takes. */
export type SearchConversationsArguments = SearchConversations;

/** What `listMemberships` takes. */
export type ListMembershipsArguments = {
	conversationId: string;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `shareConversation` takes. */
export type ShareConversationArguments = {
	conversationId: string;
} & ShareConversation;

/** What `updateMembership` takes. */
export type UpdateMembershipArguments = {
	conversationId: string;
	userId: string;
	children?: "include" | "keep" | undefined;
} & UpdateMembership;

/** What `removeMembership` takes. */
export type RemoveMembershipArguments = {
	conversationId: string;
	userId: string;
	children?: "include" | "keep" | undefined;
};

/** What `archiveConversation` takes. */
export type ArchiveConversationArguments = {
	conversationId: string;
};

/** What `unarchiveConversation` takes. */
export type UnarchiveConversationArguments = {
	conversationId: string;
};

/** What `createLink` takes. */
export type CreateLinkArguments = {
	conversationId: string;
} & CreateLink;

/** What `listLinks` takes. */
export type ListLinksArguments = {
	conversationId: string;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `deleteLink` takes. */
export type DeleteLinkArguments = {
	conversationId: string;
	linkId: string;
};

/** What `pinConversation` takes. */
export type PinConversationArguments = {
	conversationId: string;
	afterConversationId?: string | undefined;
};

/** What `unpinConversation` takes. */
export type UnpinConversationArguments = {
	conversationId: string;
};

/** What `requestTransfer` takes. */
export type RequestTransferArguments = RequestTransfer;

/** What `listTransfers` takes. */
export type ListTransfersArguments = {
	wait?: number | undefined;
	role?: TransferRole | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `getTransfer` takes. */
export type GetTransferArguments = {
	transferId: string;
};

/** What `deleteTransfer` takes. */
export type DeleteTransferArguments = {
	transferId: string;
};

/** What `acceptTransfer` takes. */
export type AcceptTransferArguments = {
	transferId: string;
} & NoFields;

/** What `openLink` takes. */
export type OpenLinkArguments = {
	secret: string;
	conversationId?: string | undefined;
};

/** What `listLinkedEntries` takes. */
export type ListLinkedEntriesArguments = {
	secret: string;
	conversationId?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	beforeCursor?: string | undefined;
	tail?: boolean | undefined;
};

/** What `addNote` takes. */
export type AddNoteArguments = {
	conversationId: string;
	entryId: string;
} & AddNote;

/** What `listNotes` takes. */
export type ListNotesArguments = {
	conversationId: string;
	wait?: number | undefined;
	entryId?: string | undefined;
	allForks?: boolean | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `deleteNote` takes. */
export type DeleteNoteArguments = {
	conversationId: string;
	entryId: string;
	noteId: string;
};

/** What `setName` takes. */
export type SetNameArguments = SetName;

/** What `listNames` takes. */
export type ListNamesArguments = {
	wait?: number | undefined;
	prefix?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `lookUpName` takes. */
export type LookUpNameArguments = {
	name: string;
};

/** What `deleteName` takes. */
export type DeleteNameArguments = {
	name: string;
	expectRevision?: number | undefined;
};

/** What `appendEntryByName` takes. */
export type AppendEntryByNameArguments = AppendByName;

/** What `listEntriesByName` takes. */
export type ListEntriesByNameArguments = {
	name: string;
	wait?: number | undefined;
	channel?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	beforeCursor?: string | undefined;
	tail?: boolean | undefined;
	upToEntryId?: string | undefined;
	allForks?: boolean | undefined;
	forks?: "all" | undefined;
	own?: boolean | undefined;
	alternatives?: boolean | undefined;
	view?: "full" | "line" | undefined;
	epoch?: "latest" | "all" | number | undefined;
};

/** What `uploadAttachment` takes. */
export type UploadAttachmentArguments = UploadAttachment;

/** What `getAttachment` takes. */
export type GetAttachmentArguments = {
	attachmentId: string;
	conversationId?: string | undefined;
};

/** What `adminListConversations` takes. */
export type AdminListConversationsArguments = {
	justification?: string | undefined;
	userId?: string | undefined;
	wait?: number | undefined;
	mode?: Mode | undefined;
	ancestry?: Ancestry | undefined;
	agentId?: string | undefined;
	tag?: string | undefined;
	createdSince?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `adminGetConversation` takes. */
export type AdminGetConversationArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
};

/** What `adminListTrash` takes. */
export type AdminListTrashArguments = {
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	userId: string;
};

/** What `adminListForks` takes. */
export type AdminListForksArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	missing?: "empty" | undefined;
};

/** What `adminListChildren` takes. */
export type AdminListChildrenArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	startedByEntryId?: string | undefined;
};

/** What `adminLookUpEntry` takes. */
export type AdminLookUpEntryArguments = {
	conversationId: string;
	justification?: string | undefined;
	key: string;
};

/** What `adminListEntries` takes. */
export type AdminListEntriesArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	channel?: string | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	beforeCursor?: string | undefined;
	tail?: boolean | undefined;
	upToEntryId?: string | undefined;
	allForks?: boolean | undefined;
	forks?: "all" | undefined;
	own?: boolean | undefined;
	alternatives?: boolean | undefined;
	view?: "full" | "line" | undefined;
};

/** What `adminGetEntry` takes. */
export type AdminGetEntryArguments = {
	conversationId: string;
	entryId: string;
	justification?: string | undefined;
};

/** What `adminCompareConversations` takes. */
export type AdminCompareConversationsArguments = {
	conversationId: string;
	justification?: string | undefined;
	with: string;
	limit?: number | undefined;
};

/** What `adminListAncestors` takes. */
export type AdminListAncestorsArguments = {
	conversationId: string;
	justification?: string | undefined;
};

/** What `adminGetAnswer` takes. */
export type AdminGetAnswerArguments = {
	conversationId: string;
	answerId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	after?: number | undefined;
};

/** What `adminSearchConversations` takes. */
export type AdminSearchConversationsArguments = {
	justification?: string | undefined;
} & AdminSearchConversations;

/** What `adminListMemberships` takes. */
export type AdminListMembershipsArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `adminListLinks` takes. */
export type AdminListLinksArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `adminListNotes` takes. */
export type AdminListNotesArguments = {
	conversationId: string;
	justification?: string | undefined;
	wait?: number | undefined;
	entryId?: string | undefined;
	allForks?: boolean | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
};

/** What `adminListNames` takes. */
export type AdminListNamesArguments = {
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	userId: string;
};

/** What `adminLookUpName` takes. */
export type AdminLookUpNameArguments = {
	justification?: string | undefined;
	name: string;
	userId: string;
	clientId?: string | undefined;
};

/** What `adminGetAttachment` takes. */
export type AdminGetAttachmentArguments = {
	attachmentId: string;
	justification?: string | undefined;
};

/** What `adminDeleteConversation` takes. */
export type AdminDeleteConversationArguments = {
	conversationId: string;
	justification?: string | undefined;
	scope?: Scope | undefined;
	forGood?: boolean | undefined;
};

/** What `adminRestoreConversation` takes. */
export type AdminRestoreConversationArguments = {
	conversationId: string;
	justification?: string | undefined;
};

/** What `adminDeleteName` takes. */
export type AdminDeleteNameArguments = {
	justification?: string | undefined;
	name: string;
	userId: string;
	clientId?: string | undefined;
	expectRevision?: number | undefined;
};

/** What `adminDeleteLink` takes. */
export type AdminDeleteLinkArguments = {
	conversationId: string;
	linkId: string;
	justification?: string | undefined;
};

/** What `adminDeleteNote` takes. */
export type AdminDeleteNoteArguments = {
	conversationId: string;
	entryId: string;
	noteId: string;
	justification?: string | undefined;
};

/** What `adminListAttachments` takes. */
export type AdminListAttachmentsArguments = {
	justification?: string | undefined;
	wait?: number | undefined;
	limit?: number | undefined;
	afterCursor?: string | undefined;
	userId: string;
};

/** What `adminRemoveAttachment` takes. */
export type AdminRemoveAttachmentArguments = {
	attachmentId: string;
	justification?: string | undefined;
};

/** What `adminEraseUser` takes. */
export type AdminEraseUserArguments = {
	justification?: string | undefined;
} & EraseUser;

/** What `adminGetErasure` takes. */
export type AdminGetErasureArguments = {
	erasureId: string;
	justification?: string | undefined;
};

/** Every operation of the service, under its name. */
export interface Operations {
	/**
	 * Tell that the service answers. It asks nothing of the table.
	 *
	 * Needs no credentials. On one machine it also tells the version, and is 503 with the `reason`
	 * while the store cannot be used.
	 */
	checkHealth(given?: Record<string, never>, options?: Sent): Promise<Health>;
	/**
	 * Create a conversation without entries.
	 *
	 * You become its owner. Without an `id` the service chooses one. Appending to an id that does not
	 * exist creates the conversation, too.
	 */
	createConversation(given?: CreateConversationArguments, options?: Keyed): Promise<ConversationDetails>;
	/**
	 * List the caller's conversations, tree by tree, the tree that was used last first.
	 *
	 * With `order=created` the newest root comes first. `mode` chooses which conversations of a fork
	 * tree are shown, `query` those with a text in their title, `agentId` and `tag` (`name` or
	 * `name:value`) those that have them; `pinned` only what you have pinned, in the order of your
	 * pins. A page may be short, even empty: only an `afterCursor` of null ends the list.
	 */
	listConversations(given?: ListConversationsArguments, options?: Sent): Promise<ConversationPage>;
	/**
	 * Show a conversation.
	 *
	 * For every member of its fork tree.
	 */
	getConversation(given: GetConversationArguments, options?: Sent): Promise<ConversationDetails>;
	/**
	 * Replace a conversation's title, tags or metadata.
	 *
	 * For writers. What the body names is replaced as a whole, the rest stays. `title: null` clears
	 * the title. With `If-Match` only if `updatedAt` has not changed.
	 */
	updateConversation(given: UpdateConversationArguments, options?: Matched): Promise<ConversationDetails>;
	/**
	 * Score conversations of the fork tree, all or none: what evaluations say of tries.
	 *
	 * For writers. A score is the number `score` in a conversation's metadata; the rest of its
	 * metadata stays. Each conversation's `updatedAt` moves.
	 */
	setScores(given: SetScoresArguments, options?: Keyed): Promise<void>;
	/**
	 * Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.
	 *
	 * Every tree started from what is deleted goes with it. The tree is for the owner, a branch for
	 * managers: other branches keep what they inherited from it. Either can be restored while it is in
	 * the trash; `forGood` takes it out, or never puts it there. Deleting the last branch is deleting
	 * the tree. 202 says that closing a very wide tree goes on in the background. An id cannot be used
	 * again for 30 days after its tree has left the trash.
	 */
	deleteConversation(given: DeleteConversationArguments, options?: Sent): Promise<void>;
	/**
	 * List the fork trees and branches that you can restore, those of the newest tree first.
	 *
	 * What went only with the conversation that had started it comes back with that, and is not
	 * listed. A page may be short, even empty: only an `afterCursor` of null ends the list.
	 */
	listTrash(given?: ListTrashArguments, options?: Sent): Promise<TrashPage>;
	/**
	 * Restore a deleted branch, or the fork tree of a conversation, with all that went with it.
	 *
	 * For the owner; a branch for whoever may delete it. Members, names, lists and attachments are as
	 * they were, and a tree's retention begins anew. A conversation that is not deleted is answered as
	 * it is. What had been started by a conversation comes back after that one.
	 */
	restoreConversation(given: RestoreConversationArguments, options?: Sent): Promise<ConversationDetails>;
	/**
	 * Fork a conversation before or after an entry, or at its head. Nothing is copied.
	 *
	 * For writers. The fork shows what its source showed up to `atEntryId`, excluded or included as
	 * `position` says, or everything without it. Later entries of either are not shown in the other.
	 * With `count` that many equal forks are made, and the answer is `{"data": […]}`. With `promote`
	 * the fork becomes the tree's current branch.
	 */
	forkConversation(given: ForkConversationArguments, options?: Keyed & Matched): Promise<Forked>;
	/**
	 * Make a conversation the current branch of its fork tree.
	 *
	 * For writers. The last promotion wins. Until one is made, the root is the current branch.
	 */
	promoteConversation(given: PromoteConversationArguments, options?: Keyed): Promise<void>;
	/**
	 * List every conversation of the fork tree, the root and the asked one included, oldest first.
	 *
	 * For every member. Each says where it was forked, and which entry of the history it shows last.
	 * With `missing=empty` a conversation that does not exist is an empty list and no 404.
	 */
	listForks(given: ListForksArguments, options?: Sent): Promise<ForkPage>;
	/**
	 * List the conversations that this one has started, oldest first, as far as you may see them.
	 *
	 * A child is a conversation for a delegated task: see `startedByConversationId` at appendEntry.
	 * With `startedByEntryId` only those that the entry has started.
	 */
	listChildren(given: ListChildrenArguments, options?: Sent): Promise<ConversationPage>;
	/**
	 * Append one entry, or several at once; a conversation that does not exist is created.
	 *
	 * For writers. An unknown conversation is created; with `forkedAtConversationId` as a fork, with
	 * `startedByConversationId` as a child. `If-Match` appends only behind the entry that it names,
	 * and `promote` makes the conversation its tree's current branch. Only agents may write to the
	 * `context` channel, and give `context`: their whole present context, which is synced in the same
	 * step.
	 */
	appendEntry(given: AppendEntryArguments, options?: Keyed & Matched): Promise<Appended>;
	/**
	 * Bring an agent's stored context to its present one: nothing, the rest, or a new epoch is
	 * written.
	 *
	 * For agents: authorize with an API key as well (`client`). `content` is the whole present
	 * context; the service compares it with the stored one and writes the difference.
	 */
	syncContext(given: SyncContextArguments, options?: Keyed): Promise<Synced>;
	/**
	 * Show the entry that a conversation shows under a key.
	 *
	 * For every member. Of several entries the nearest is shown: one of the conversation itself before
	 * an inherited one.
	 */
	lookUpEntry(given: LookUpEntryArguments, options?: Sent): Promise<Entry>;
	/**
	 * List what a conversation shows, oldest first; with `allForks` every entry of its fork tree.
	 *
	 * For every member. The cursors are ids of entries. `tail` gives the page at the end, still the
	 * oldest first. Users see the history; agents their own context as well. With `alternatives`, each
	 * history entry names the conversations that go on differently before it. With `view` = `line`
	 * each entry has a `line` in place of its content.
	 */
	listEntries(given: ListEntriesArguments, options?: Sent): Promise<EntryPage>;
	/**
	 * Show one entry that a conversation shows.
	 *
	 * For every member. Context is shown only to the agent that it belongs to.
	 */
	getEntry(given: GetEntryArguments, options?: Sent): Promise<Entry>;
	/**
	 * Compare two conversations of a fork tree: where they part, and how each goes on.
	 *
	 * For every member. `base` is the last history entry that both show. `data` begins after it;
	 * `listEntries` with `channel=history` goes on from an `afterCursor`.
	 */
	compareConversations(given: CompareConversationsArguments, options?: Sent): Promise<Comparison>;
	/**
	 * List the conversations whose entries a conversation shows, the oldest first, and itself.
	 *
	 * For every member.
	 */
	listAncestors(given: ListAncestorsArguments, options?: Sent): Promise<Ancestors>;
	/**
	 * Begin an answer that is written piece by piece, after an entry that the conversation shows.
	 *
	 * For writers. A conversation has one such answer at a time. One into which nothing was written
	 * for 30 seconds is ended for the new one, and so is one of the same user and client: with
	 * `takeOver` `true` any other one, too, with `false` none of these. An append with its `answerId`
	 * finishes it, in this conversation or in a fork. `If-Match` as for appendEntry. Everything of it
	 * is gone 24 hours after it was begun.
	 */
	beginAnswer(given: BeginAnswerArguments, options?: Keyed & Matched): Promise<AnswerStatus>;
	/**
	 * Write the next piece of an answer.
	 *
	 * For the user who has begun it. `after` is the position of the piece before it; the beginning has
	 * 0. The same request again has the same answer, so it needs no `Idempotency-Key`. A piece without
	 * content says that somebody is still at it: send one at least every 30 seconds.
	 */
	appendToAnswer(given: AppendToAnswerArguments, options?: Sent): Promise<AppendedPart>;
	/**
	 * Show an answer that is written piece by piece, with the pieces after a position.
	 *
	 * For every member. `position` in the answer is the `after` of the next request.
	 */
	getAnswer(given: GetAnswerArguments, options?: Sent): Promise<AnswerLog>;
	/**
	 * Stop an answer: nothing more is written to it.
	 *
	 * For writers. Who writes it learns it from the answer to the next piece, and finishes or deletes
	 * it; so may any other writer.
	 */
	stopAnswer(given: StopAnswerArguments, options?: Sent): Promise<AnswerStatus>;
	/**
	 * End an answer without an entry.
	 *
	 * For writers. A finished one cannot be deleted.
	 */
	deleteAnswer(given: DeleteAnswerArguments, options?: Sent): Promise<void>;
	/**
	 * Append copies of what another branch of the fork tree shows, all or none, in order.
	 *
	 * For writers. At most 50 history entries of the other branch: those after the last one that both
	 * branches show, or after `afterEntryId`, up to `upToEntryId` or the end. What the conversation
	 * has already is left out, unless `again`. A copy names its original and has no `usage`.
	 * `withContext` is for agents: in the same step their context becomes that of the other branch.
	 * 200 says that nothing was written.
	 */
	mergeConversation(given: MergeConversationArguments, options?: Keyed & Matched): Promise<Entries>;
	/**
	 * Copy a conversation to a new fork tree that belongs to you alone.
	 *
	 * For every member. At most 1,000 history entries, all that the conversation shows or those up to
	 * `upToEntryId`. A copy names its original and has no `usage`. Without an `id` the service chooses
	 * one; with an `id`, the same request sent again goes on with a copy that did not end.
	 */
	copyConversation(given: CopyConversationArguments, options?: Keyed): Promise<ConversationDetails>;
	/**
	 * Copy the whole fork tree of a conversation, with its branches, to one of your own.
	 *
	 * For every member. At most 30 branches and 1,000 entries, with the context of every client.
	 * Members, names, links, pins and notes stay behind, and an answer in progress. The answer is the
	 * copy of this conversation. With an `id`, the same request sent again completes a copy that did
	 * not end.
	 */
	copyTree(given: CopyTreeArguments, options?: Keyed): Promise<ConversationDetails>;
	/**
	 * Find the entries that have words of a query, those that fit best first.
	 *
	 * It looks through the history of every conversation that you may see, or of the one with
	 * `conversationId`: texts, events, tools, file names, `indexedContent` and `agentId`. `+word` and
	 * `"some words"` must occur, anywhere; a query of these alone finds the newest first. A page may
	 * be short, even empty: only an `afterCursor` of null ends the search.
	 */
	searchConversations(given: SearchConversationsArguments, options?: Sent): Promise<SearchPage>;
	/**
	 * List who may use the conversation's fork tree, oldest first.
	 *
	 * For every member.
	 */
	listMemberships(given: ListMembershipsArguments, options?: Sent): Promise<MembershipPage>;
	/**
	 * Make a user a member of the conversation's fork tree.
	 *
	 * Owners let managers, writers and readers in, managers writers and readers. It holds for every
	 * fork. With `children=include` also for what was started from here, where you may do so.
	 */
	shareConversation(given: ShareConversationArguments, options?: Keyed): Promise<Membership>;
	/**
	 * Change a member's access level.
	 *
	 * By the rules of sharing, for the level that the member has now and the new one. A lower level is
	 * also for what was started from here, unless `children=keep`. 202 says that this goes on in the
	 * background.
	 */
	updateMembership(given: UpdateMembershipArguments, options?: Sent): Promise<ChangedMembership>;
	/**
	 * End a membership: that of a member you have a say in, or your own.
	 *
	 * By the rules of sharing; everybody but the owner may leave. A transfer to the member goes, too.
	 * So do memberships of what was started from here, unless `children=keep`. 202 says that this goes
	 * on in the background.
	 */
	removeMembership(given: RemoveMembershipArguments, options?: Sent): Promise<RemovedMembership>;
	/**
	 * Archive the conversation's fork tree, for you alone.
	 *
	 * For every member. Your lists of conversations leave it out, unless they ask for it with
	 * `archived`. Nothing else changes, and nothing for other members.
	 */
	archiveConversation(given: ArchiveConversationArguments, options?: Sent): Promise<void>;
	/**
	 * Take the conversation's fork tree out of your archive.
	 *
	 * For every member.
	 */
	unarchiveConversation(given: UnarchiveConversationArguments, options?: Sent): Promise<void>;
	/**
	 * Make a link by which people without an account read the conversation.
	 *
	 * For managers. It shows the history up to now, or up to `upToEntryId`, and nothing that is said
	 * later; with `allForks` the whole fork tree, and what is said later, too. It ends after `days`,
	 * with the conversation, and with a transfer unless `keepOnTransfer`. The `secret` is told only in
	 * this answer, and again to who repeats the request with its `Idempotency-Key`.
	 */
	createLink(given: CreateLinkArguments, options?: Keyed): Promise<CreatedLink>;
	/**
	 * List the links to the conversation's fork tree that have not ended, oldest first.
	 *
	 * For managers. Nobody can see their secrets.
	 */
	listLinks(given: ListLinksArguments, options?: Sent): Promise<LinkPage>;
	/**
	 * End a link at once.
	 *
	 * For managers. Its `id` comes from createLink or listLinks.
	 */
	deleteLink(given: DeleteLinkArguments, options?: Sent): Promise<void>;
	/**
	 * Pin the conversation's fork tree, for you alone, or move the pin among yours.
	 *
	 * For every member. It comes first, or after the pinned tree of `afterConversationId`. Lists of
	 * conversations show `pinned`, and with `pinned=true` only your pins, in this order.
	 */
	pinConversation(given: PinConversationArguments, options?: Sent): Promise<void>;
	/**
	 * Unpin the conversation's fork tree.
	 *
	 * For every member.
	 */
	unpinConversation(given: UnpinConversationArguments, options?: Sent): Promise<void>;
	/**
	 * Offer the ownership of a conversation's fork tree to a member.
	 *
	 * For the owner. The member has to accept it; one can be pending at a time.
	 */
	requestTransfer(given: RequestTransferArguments, options?: Keyed): Promise<Transfer>;
	/**
	 * List the pending transfers that you have sent or that wait for you, oldest first.
	 *
	 * `role` chooses those that you have sent or that wait for you.
	 */
	listTransfers(given?: ListTransfersArguments, options?: Sent): Promise<TransferPage>;
	/**
	 * Show a pending transfer to its sender or recipient.
	 *
	 * Its `id` comes from requestTransfer or listTransfers. To everybody else it is 404.
	 */
	getTransfer(given: GetTransferArguments, options?: Sent): Promise<Transfer>;
	/**
	 * Cancel a transfer as its sender, or decline it as its recipient.
	 *
	 * Its `id` comes from requestTransfer or listTransfers. Nobody's level changes.
	 */
	deleteTransfer(given: DeleteTransferArguments, options?: Sent): Promise<void>;
	/**
	 * Become the owner; the sender becomes a manager.
	 *
	 * For the recipient. Its `id` comes from listTransfers.
	 */
	acceptTransfer(given: AcceptTransferArguments, options?: Keyed): Promise<void>;
	/**
	 * Show what a link leads to, and count that it was opened.
	 *
	 * For who has its secret, without credentials. A secret that is unknown, one whose link has ended
	 * and one of a deleted conversation get the same 404. What `conversationId` asks for is not
	 * counted.
	 */
	openLink(given: OpenLinkArguments, options?: Sent): Promise<LinkedConversation>;
	/**
	 * List the history that a link shows, oldest first.
	 *
	 * For who has its secret, without credentials. There is no context in it, and nothing of members.
	 */
	listLinkedEntries(given: ListLinkedEntriesArguments, options?: Sent): Promise<LinkedEntryPage>;
	/**
	 * Write a note on a history entry that the conversation shows: a text, a score, or both.
	 *
	 * Or pin the entry; the answer of one that is pinned already is its pin. For writers. A note
	 * belongs to the entry, so every branch that shows the entry shows it. It is no part of a history,
	 * and no context; no search finds it, and no link shows it.
	 */
	addNote(given: AddNoteArguments, options?: Keyed): Promise<Note>;
	/**
	 * List the notes on what the conversation shows, in the order of its entries.
	 *
	 * For every member. With `entryId` those on this entry, oldest first. With `allForks` those on all
	 * that its fork tree shows, conversation by conversation.
	 */
	listNotes(given: ListNotesArguments, options?: Sent): Promise<NotePage>;
	/**
	 * Delete a note.
	 *
	 * For who has written it, and for managers; a pin for every writer.
	 */
	deleteNote(given: DeleteNoteArguments, options?: Sent): Promise<void>;
	/**
	 * Make a name, or point it to another conversation.
	 *
	 * For every member of the conversation. A name is yours: names of other users and of other clients
	 * never meet. `expectRevision` moves it only if nobody has moved it meanwhile.
	 */
	setName(given: SetNameArguments, options?: Keyed): Promise<Name>;
	/**
	 * List your names that begin with `prefix`, in the order of their UTF-8 bytes.
	 *
	 * An agent lists the names of its own client. A name whose conversation you cannot see any more is
	 * `deleted`.
	 */
	listNames(given?: ListNamesArguments, options?: Sent): Promise<NamePage>;
	/**
	 * Show a name and where it points.
	 *
	 * `deleted` says that you cannot see its conversation any more.
	 */
	lookUpName(given: LookUpNameArguments, options?: Sent): Promise<Name>;
	/**
	 * Delete a name; its conversation stays as it is.
	 *
	 * The name can be used again at once. `expectRevision` deletes it only if nobody has moved it
	 * meanwhile.
	 */
	deleteName(given: DeleteNameArguments, options?: Sent): Promise<void>;
	/**
	 * Append to the conversation that a name points to; a name that does not exist is made.
	 *
	 * The first append by a name makes the conversation and the name at once. Later ones follow the
	 * name, even if it moves at the same moment; one whose caller cannot see the conversation any more
	 * makes a new one, which takes the name. The rest of the body is that of appendEntry. `data`
	 * replaces the name's.
	 */
	appendEntryByName(given: AppendEntryByNameArguments, options?: Keyed & Matched): Promise<Appended>;
	/**
	 * List what the conversation shows that a name points to, oldest first.
	 *
	 * For every member. The parameters and the answer are those of `listEntries`.
	 */
	listEntriesByName(given: ListEntriesByNameArguments, options?: Sent): Promise<EntryPage>;
	/**
	 * Begin to upload a file, or upload a small one at once.
	 *
	 * The answer has an id, which an entry then names among the `attachments` of its content. Without
	 * `content` in the request it says, in `upload`, where to send the bytes. What no entry names is
	 * gone after a day. The same bytes again, with the same type, are the same attachment.
	 */
	uploadAttachment(given: UploadAttachmentArguments, options?: Sent): Promise<UploadedAttachment>;
	/**
	 * Show an attachment, with a link to its bytes that is valid for some minutes.
	 *
	 * For who has uploaded it, and for every member of a fork tree with an entry that names it. Of 100
	 * trees that name it one is found; `conversationId` says which one.
	 */
	getAttachment(given: GetAttachmentArguments, options?: Sent): Promise<Attachment>;
	/**
	 * List everybody's conversations, or those of one user, tree by tree, the newest root first.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListConversations(given?: AdminListConversationsArguments, options?: Sent): Promise<AdminConversationPage>;
	/**
	 * Show any conversation, with the client that its context is bound to.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminGetConversation(given: AdminGetConversationArguments, options?: Sent): Promise<AdminConversation>;
	/**
	 * List the fork trees that a user has deleted and can restore, the newest tree first.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListTrash(given: AdminListTrashArguments, options?: Sent): Promise<TrashPage>;
	/**
	 * List every conversation of the fork tree, the root and the asked one included, oldest first.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListForks(given: AdminListForksArguments, options?: Sent): Promise<ForkPage>;
	/**
	 * List the conversations that any conversation has started, oldest first.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListChildren(given: AdminListChildrenArguments, options?: Sent): Promise<AdminConversationPage>;
	/**
	 * Show the entry that any conversation shows under a key.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminLookUpEntry(given: AdminLookUpEntryArguments, options?: Sent): Promise<Entry>;
	/**
	 * List what any conversation shows, oldest first, with the context of all clients and epochs.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListEntries(given: AdminListEntriesArguments, options?: Sent): Promise<EntryPage>;
	/**
	 * Show one entry that any conversation shows, of any client.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminGetEntry(given: AdminGetEntryArguments, options?: Sent): Promise<Entry>;
	/**
	 * Compare two conversations of a fork tree: where they part, and how each goes on.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminCompareConversations(given: AdminCompareConversationsArguments, options?: Sent): Promise<Comparison>;
	/**
	 * List the conversations whose entries a conversation shows, the oldest first, and itself.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListAncestors(given: AdminListAncestorsArguments, options?: Sent): Promise<Ancestors>;
	/**
	 * Show an answer that is written piece by piece, with the pieces after a position.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminGetAnswer(given: AdminGetAnswerArguments, options?: Sent): Promise<AnswerLog>;
	/**
	 * Find the entries that have words of a query, in everybody's history or in one user's.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminSearchConversations(given: AdminSearchConversationsArguments, options?: Sent): Promise<SearchPage>;
	/**
	 * List who may use the conversation's fork tree, oldest first.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListMemberships(given: AdminListMembershipsArguments, options?: Sent): Promise<MembershipPage>;
	/**
	 * List the links to the fork tree of any conversation, oldest first.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListLinks(given: AdminListLinksArguments, options?: Sent): Promise<LinkPage>;
	/**
	 * List the notes on what any conversation shows, in the order of its entries.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListNotes(given: AdminListNotesArguments, options?: Sent): Promise<NotePage>;
	/**
	 * List all names of a user: those without a client, then client by client.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListNames(given: AdminListNamesArguments, options?: Sent): Promise<AdminNamePage>;
	/**
	 * Show a name of any user and where it points.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminLookUpName(given: AdminLookUpNameArguments, options?: Sent): Promise<AdminName>;
	/**
	 * Show any attachment, with who has uploaded it.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminGetAttachment(given: AdminGetAttachmentArguments, options?: Sent): Promise<AdminAttachment>;
	/**
	 * Delete the conversation's whole fork tree, or with `scope=branch` this branch alone.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminDeleteConversation(given: AdminDeleteConversationArguments, options?: Sent): Promise<void>;
	/**
	 * Restore the deleted fork tree of any conversation.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminRestoreConversation(given: AdminRestoreConversationArguments, options?: Sent): Promise<AdminConversation>;
	/**
	 * Delete a name of any user; its conversation stays as it is.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminDeleteName(given: AdminDeleteNameArguments, options?: Sent): Promise<void>;
	/**
	 * End a link to any conversation at once.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminDeleteLink(given: AdminDeleteLinkArguments, options?: Sent): Promise<void>;
	/**
	 * Delete a note on an entry of any conversation.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminDeleteNote(given: AdminDeleteNoteArguments, options?: Sent): Promise<void>;
	/**
	 * List the attachments that a user has uploaded, in the order of their `sha256`.
	 *
	 * For callers with the role `auditor`; `admin` implies `auditor`.
	 */
	adminListAttachments(given: AdminListAttachmentsArguments, options?: Sent): Promise<AdminAttachmentPage>;
	/**
	 * Delete the bytes of an attachment, whoever shows it.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminRemoveAttachment(given: AdminRemoveAttachmentArguments, options?: Sent): Promise<void>;
	/**
	 * Erase a user: delete their trees, end their memberships, and erase what they wrote elsewhere.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminEraseUser(given: AdminEraseUserArguments, options?: Keyed): Promise<Erasure>;
	/**
	 * Show how far an erasure has come. It does not name the user.
	 *
	 * For callers with the role `admin`; `admin` implies `auditor`.
	 */
	adminGetErasure(given: AdminGetErasureArguments, options?: Sent): Promise<Erasure>;
}

/** How each operation is called, by its name. */
export const SHAPES: Record<keyof Operations, Shape> = {
	checkHealth: {"method": "GET", "path": "/v1/health", "isRead": true, "answers": ["status"]},
	createConversation: {"method": "POST", "path": "/v1/conversations", "hasBody": true, "takesKey": true, "lengthsMax": {"agentId": 255, "title": 500}, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	listConversations: {"method": "GET", "path": "/v1/conversations", "isRead": true, "lengthsMax": {"agentId": 255, "query": 500}, "answers": ["afterCursor", "data"]},
	getConversation: {"method": "GET", "path": "/v1/conversations/{conversationId}", "isRead": true, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	updateConversation: {"method": "PATCH", "path": "/v1/conversations/{conversationId}", "hasBody": true, "takesIfMatch": true, "lengthsMax": {"title": 500}, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	setScores: {"method": "POST", "path": "/v1/conversations/{conversationId}/scores", "hasBody": true, "takesKey": true, "lengthsMax": {"scores": 40, "scores[].conversationId": 1000}},
	deleteConversation: {"method": "DELETE", "path": "/v1/conversations/{conversationId}"},
	listTrash: {"method": "GET", "path": "/v1/trash", "isRead": true, "answers": ["afterCursor", "data"]},
	restoreConversation: {"method": "POST", "path": "/v1/conversations/{conversationId}/restore", "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	forkConversation: {"method": "POST", "path": "/v1/conversations/{conversationId}/fork", "hasBody": true, "takesKey": true, "takesIfMatch": true, "lengthsMax": {"agentId": 255, "atEntryId": 1000, "atKey": 128, "title": 500}, "answers": []},
	promoteConversation: {"method": "POST", "path": "/v1/conversations/{conversationId}/promote", "takesKey": true},
	listForks: {"method": "GET", "path": "/v1/conversations/{conversationId}/forks", "isRead": true, "answers": ["afterCursor", "data"]},
	listChildren: {"method": "GET", "path": "/v1/conversations/{conversationId}/children", "isRead": true, "lengthsMax": {"startedByEntryId": 1000}, "answers": ["afterCursor", "data"]},
	appendEntry: {"method": "POST", "path": "/v1/conversations/{conversationId}/entries", "hasBody": true, "takesKey": true, "takesIfMatch": true, "lengthsMax": {"agentId": 255, "answerId": 1000, "content": 1000, "contentType": 127, "entries": 50, "entries[].agentId": 255, "entries[].content": 1000, "entries[].contentType": 127, "entries[].indexedContent": 32768, "entries[].key": 128, "entries[].mergedFromConversationId": 1000, "entries[].mergedUpToEntryId": 1000, "forkedAtConversationId": 1000, "forkedAtEntryId": 1000, "forkedAtKey": 128, "indexedContent": 32768, "key": 128, "mergedFromConversationId": 1000, "mergedUpToEntryId": 1000, "startedByConversationId": 1000, "startedByEntryId": 1000, "title": 500}, "answers": []},
	syncContext: {"method": "POST", "path": "/v1/conversations/{conversationId}/entries/sync", "hasBody": true, "takesKey": true, "lengthsMax": {"agentId": 255, "basedOnEntryId": 1000, "content": 1000, "contentType": 127}, "answers": ["entry", "epoch", "epochIncremented", "lastEntryId", "noOp"]},
	lookUpEntry: {"method": "GET", "path": "/v1/conversations/{conversationId}/entries/lookup", "isRead": true, "lengthsMax": {"key": 128}, "answers": ["channel", "content", "contentType", "conversationId", "createdAt", "id", "parentId", "userId"]},
	listEntries: {"method": "GET", "path": "/v1/conversations/{conversationId}/entries", "isRead": true, "answers": ["afterCursor", "beforeCursor", "data"]},
	getEntry: {"method": "GET", "path": "/v1/conversations/{conversationId}/entries/{entryId}", "isRead": true, "answers": ["channel", "content", "contentType", "conversationId", "createdAt", "id", "parentId", "userId"]},
	compareConversations: {"method": "GET", "path": "/v1/conversations/{conversationId}/compare", "isRead": true, "lengthsMax": {"with": 1000}, "answers": ["base", "branches"]},
	listAncestors: {"method": "GET", "path": "/v1/conversations/{conversationId}/ancestors", "isRead": true, "answers": ["data"]},
	beginAnswer: {"method": "POST", "path": "/v1/conversations/{conversationId}/answers", "hasBody": true, "takesKey": true, "takesIfMatch": true, "lengthsMax": {"afterEntryId": 1000, "afterKey": 128, "agentId": 255}, "answers": ["afterEntryId", "conversationId", "createdAt", "id", "position", "state", "userId"]},
	appendToAnswer: {"method": "POST", "path": "/v1/conversations/{conversationId}/answers/{answerId}/parts", "hasBody": true, "lengthsMax": {"content": 1000}, "answers": ["position"]},
	getAnswer: {"method": "GET", "path": "/v1/conversations/{conversationId}/answers/{answerId}", "isRead": true, "answers": ["afterEntryId", "conversationId", "createdAt", "id", "parts", "position", "state", "userId"]},
	stopAnswer: {"method": "POST", "path": "/v1/conversations/{conversationId}/answers/{answerId}/stop", "answers": ["afterEntryId", "conversationId", "createdAt", "id", "position", "state", "userId"]},
	deleteAnswer: {"method": "DELETE", "path": "/v1/conversations/{conversationId}/answers/{answerId}"},
	mergeConversation: {"method": "POST", "path": "/v1/conversations/{conversationId}/merge", "hasBody": true, "takesKey": true, "takesIfMatch": true, "lengthsMax": {"afterEntryId": 1000, "fromConversationId": 1000, "upToEntryId": 1000}, "answers": ["data"]},
	copyConversation: {"method": "POST", "path": "/v1/conversations/{conversationId}/copy", "hasBody": true, "takesKey": true, "lengthsMax": {"title": 500, "upToEntryId": 1000}, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	copyTree: {"method": "POST", "path": "/v1/conversations/{conversationId}/copy-tree", "hasBody": true, "takesKey": true, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	searchConversations: {"method": "POST", "path": "/v1/conversations/search", "hasBody": true, "isRead": true, "lengthsMax": {"conversationId": 1000, "query": 500}, "answers": ["afterCursor", "complete", "data"]},
	listMemberships: {"method": "GET", "path": "/v1/conversations/{conversationId}/memberships", "isRead": true, "answers": ["afterCursor", "data"]},
	shareConversation: {"method": "POST", "path": "/v1/conversations/{conversationId}/memberships", "hasBody": true, "takesKey": true, "lengthsMax": {"userId": 255}, "answers": ["accessLevel", "conversationId", "createdAt", "userId"]},
	updateMembership: {"method": "PATCH", "path": "/v1/conversations/{conversationId}/memberships", "hasBody": true, "query": ["children", "userId"], "lengthsMax": {"userId": 255}, "answers": ["accessLevel", "children", "conversationId", "createdAt", "userId"]},
	removeMembership: {"method": "DELETE", "path": "/v1/conversations/{conversationId}/memberships", "lengthsMax": {"userId": 255}, "answers": ["children"]},
	archiveConversation: {"method": "PUT", "path": "/v1/conversations/{conversationId}/archive"},
	unarchiveConversation: {"method": "DELETE", "path": "/v1/conversations/{conversationId}/archive"},
	createLink: {"method": "POST", "path": "/v1/conversations/{conversationId}/links", "hasBody": true, "takesKey": true, "answers": ["allForks", "conversationId", "createdAt", "endsAt", "id", "keepOnTransfer", "opens", "secret", "userIds"]},
	listLinks: {"method": "GET", "path": "/v1/conversations/{conversationId}/links", "isRead": true, "answers": ["afterCursor", "data"]},
	deleteLink: {"method": "DELETE", "path": "/v1/conversations/{conversationId}/links/{linkId}"},
	pinConversation: {"method": "PUT", "path": "/v1/conversations/{conversationId}/pin", "lengthsMax": {"afterConversationId": 1000}},
	unpinConversation: {"method": "DELETE", "path": "/v1/conversations/{conversationId}/pin"},
	requestTransfer: {"method": "POST", "path": "/v1/ownership-transfers", "hasBody": true, "takesKey": true, "lengthsMax": {"conversationId": 1000, "newOwnerUserId": 255}, "answers": ["conversationId", "createdAt", "fromUserId", "id", "toUserId"]},
	listTransfers: {"method": "GET", "path": "/v1/ownership-transfers", "isRead": true, "answers": ["afterCursor", "data"]},
	getTransfer: {"method": "GET", "path": "/v1/ownership-transfers/{transferId}", "isRead": true, "answers": ["conversationId", "createdAt", "fromUserId", "id", "toUserId"]},
	deleteTransfer: {"method": "DELETE", "path": "/v1/ownership-transfers/{transferId}"},
	acceptTransfer: {"method": "POST", "path": "/v1/ownership-transfers/{transferId}/accept", "hasBody": true, "takesKey": true},
	openLink: {"method": "GET", "path": "/v1/links/{secret}", "isRead": true, "lengthsMax": {"conversationId": 1000}, "answers": ["allForks", "conversationId", "endsAt", "title"]},
	listLinkedEntries: {"method": "GET", "path": "/v1/links/{secret}/entries", "isRead": true, "lengthsMax": {"conversationId": 1000}, "answers": ["afterCursor", "beforeCursor", "data"]},
	addNote: {"method": "POST", "path": "/v1/conversations/{conversationId}/entries/{entryId}/notes", "hasBody": true, "takesKey": true, "lengthsMax": {"text": 2000}, "answers": ["conversationId", "createdAt", "entryId", "id", "userId"]},
	listNotes: {"method": "GET", "path": "/v1/conversations/{conversationId}/notes", "isRead": true, "lengthsMax": {"entryId": 1000}, "answers": ["afterCursor", "data"]},
	deleteNote: {"method": "DELETE", "path": "/v1/conversations/{conversationId}/entries/{entryId}/notes/{noteId}"},
	setName: {"method": "POST", "path": "/v1/names", "hasBody": true, "takesKey": true, "lengthsMax": {"conversationId": 1000, "name": 255}, "answers": ["conversationId", "createdAt", "data", "name", "revision", "updatedAt"]},
	listNames: {"method": "GET", "path": "/v1/names", "isRead": true, "lengthsMax": {"prefix": 255}, "answers": ["afterCursor", "data"]},
	lookUpName: {"method": "GET", "path": "/v1/names/lookup", "isRead": true, "lengthsMax": {"name": 255}, "answers": ["conversationId", "createdAt", "data", "name", "revision", "updatedAt"]},
	deleteName: {"method": "DELETE", "path": "/v1/names", "lengthsMax": {"name": 255}},
	appendEntryByName: {"method": "POST", "path": "/v1/names/entries", "hasBody": true, "takesKey": true, "takesIfMatch": true, "lengthsMax": {"agentId": 255, "answerId": 1000, "content": 1000, "contentType": 127, "entries": 50, "entries[].agentId": 255, "entries[].content": 1000, "entries[].contentType": 127, "entries[].indexedContent": 32768, "entries[].key": 128, "entries[].mergedFromConversationId": 1000, "entries[].mergedUpToEntryId": 1000, "forkedAtConversationId": 1000, "forkedAtEntryId": 1000, "forkedAtKey": 128, "indexedContent": 32768, "key": 128, "mergedFromConversationId": 1000, "mergedUpToEntryId": 1000, "name": 255, "startedByConversationId": 1000, "startedByEntryId": 1000, "title": 500}, "answers": []},
	listEntriesByName: {"method": "GET", "path": "/v1/names/entries", "isRead": true, "lengthsMax": {"name": 255}, "answers": ["afterCursor", "beforeCursor", "data"]},
	uploadAttachment: {"method": "POST", "path": "/v1/attachments", "hasBody": true, "lengthsMax": {"contentType": 127, "name": 255}, "answers": ["contentType", "createdAt", "id", "name", "sha256", "size", "state"]},
	getAttachment: {"method": "GET", "path": "/v1/attachments/{attachmentId}", "isRead": true, "lengthsMax": {"conversationId": 1000}, "answers": ["contentType", "createdAt", "id", "name", "sha256", "size", "state"]},
	adminListConversations: {"method": "GET", "path": "/v1/admin/conversations", "isRead": true, "lengthsMax": {"agentId": 255, "justification": 1000, "userId": 255}, "answers": ["afterCursor", "data"]},
	adminGetConversation: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	adminListTrash: {"method": "GET", "path": "/v1/admin/trash", "isRead": true, "lengthsMax": {"justification": 1000, "userId": 255}, "answers": ["afterCursor", "data"]},
	adminListForks: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/forks", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["afterCursor", "data"]},
	adminListChildren: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/children", "isRead": true, "lengthsMax": {"justification": 1000, "startedByEntryId": 1000}, "answers": ["afterCursor", "data"]},
	adminLookUpEntry: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/entries/lookup", "isRead": true, "lengthsMax": {"justification": 1000, "key": 128}, "answers": ["channel", "content", "contentType", "conversationId", "createdAt", "id", "parentId", "userId"]},
	adminListEntries: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/entries", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["afterCursor", "beforeCursor", "data"]},
	adminGetEntry: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/entries/{entryId}", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["channel", "content", "contentType", "conversationId", "createdAt", "id", "parentId", "userId"]},
	adminCompareConversations: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/compare", "isRead": true, "lengthsMax": {"justification": 1000, "with": 1000}, "answers": ["base", "branches"]},
	adminListAncestors: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/ancestors", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["data"]},
	adminGetAnswer: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/answers/{answerId}", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["afterEntryId", "conversationId", "createdAt", "id", "parts", "position", "state", "userId"]},
	adminSearchConversations: {"method": "POST", "path": "/v1/admin/conversations/search", "hasBody": true, "isRead": true, "query": ["justification"], "lengthsMax": {"conversationId": 1000, "justification": 1000, "query": 500, "userId": 255}, "answers": ["afterCursor", "complete", "data"]},
	adminListMemberships: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/memberships", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["afterCursor", "data"]},
	adminListLinks: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/links", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["afterCursor", "data"]},
	adminListNotes: {"method": "GET", "path": "/v1/admin/conversations/{conversationId}/notes", "isRead": true, "lengthsMax": {"entryId": 1000, "justification": 1000}, "answers": ["afterCursor", "data"]},
	adminListNames: {"method": "GET", "path": "/v1/admin/names", "isRead": true, "lengthsMax": {"justification": 1000, "userId": 255}, "answers": ["afterCursor", "data"]},
	adminLookUpName: {"method": "GET", "path": "/v1/admin/names/lookup", "isRead": true, "lengthsMax": {"clientId": 255, "justification": 1000, "name": 255, "userId": 255}, "answers": ["conversationId", "createdAt", "data", "name", "revision", "updatedAt", "userId"]},
	adminGetAttachment: {"method": "GET", "path": "/v1/admin/attachments/{attachmentId}", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["contentType", "createdAt", "id", "name", "sha256", "size", "state"]},
	adminDeleteConversation: {"method": "DELETE", "path": "/v1/admin/conversations/{conversationId}", "lengthsMax": {"justification": 1000}},
	adminRestoreConversation: {"method": "POST", "path": "/v1/admin/conversations/{conversationId}/restore", "lengthsMax": {"justification": 1000}, "answers": ["accessLevel", "createdAt", "id", "isCurrent", "lastUsedAt", "metadata", "metrics", "ownerUserId", "tags", "title", "updatedAt"]},
	adminDeleteName: {"method": "DELETE", "path": "/v1/admin/names", "lengthsMax": {"clientId": 255, "justification": 1000, "name": 255, "userId": 255}},
	adminDeleteLink: {"method": "DELETE", "path": "/v1/admin/conversations/{conversationId}/links/{linkId}", "lengthsMax": {"justification": 1000}},
	adminDeleteNote: {"method": "DELETE", "path": "/v1/admin/conversations/{conversationId}/entries/{entryId}/notes/{noteId}", "lengthsMax": {"justification": 1000}},
	adminListAttachments: {"method": "GET", "path": "/v1/admin/attachments", "isRead": true, "lengthsMax": {"justification": 1000, "userId": 255}, "answers": ["afterCursor", "data"]},
	adminRemoveAttachment: {"method": "DELETE", "path": "/v1/admin/attachments/{attachmentId}", "lengthsMax": {"justification": 1000}},
	adminEraseUser: {"method": "POST", "path": "/v1/admin/erasures", "hasBody": true, "takesKey": true, "query": ["justification"], "lengthsMax": {"justification": 1000, "userId": 255}, "answers": ["createdAt", "entries", "id", "memberships", "passes", "pseudonym", "state", "trees"]},
	adminGetErasure: {"method": "GET", "path": "/v1/admin/erasures/{erasureId}", "isRead": true, "lengthsMax": {"justification": 1000}, "answers": ["createdAt", "entries", "id", "memberships", "passes", "pseudonym", "state", "trees"]},
};
