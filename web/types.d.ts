// The shapes that several rooms know. For the type checker alone: it is not served. docs/api.md describes the answers.

type App = import("./app.js").App;
type Grove = import("./service/grove.js").Grove;
type Opened = import("./service/opened.js").Opened;

/** What is open. Its requests end, and `signal` comes, when one goes elsewhere. */
interface Place {
	conversationId: string;
	opened: Opened;
	grove: Grove;
	signal: AbortSignal;
	api: Api;
	/** those with which `opened` was loaded, as JSON */
	branches?: string;
}

/** What stands in an element. What is null, undefined, false or "" is left out. */
type Child = Node | string | number | null | undefined | false;

type Side = "older" | "newer";
type Role = "user" | "ai" | "system" | "tool" | "other";

/** What an entry says. rest: what none of the others shows, undefined if there is nothing. */
interface Message {
	role: Role;
	text: string;
	events: unknown[];
	attachments: Record<string, unknown>[];
	rest: unknown;
}

/** What the tree keeps of an entry of the history. `id` sorts by time, as text; `conversationId` is the owner. */
interface Dot extends Pick<
	Entry,
	"id" | "conversationId" | "parentId" | "userId" | "clientId" | "agentId" | "createdAt" | "usage"
> {
	role: Role;
	line: string;
}

/** What an entry of the context changed. dropped: what the epoch before held and this one does not. */
interface Change {
	entry: Entry;
	added: unknown[];
	dropped: unknown[];
	/** How many elements stayed. */
	kept: number;
}

interface Epoch {
	epoch: number;
	elements: unknown[];
	changes: Change[];
}

/** An entry that is shown. */
interface Card {
	entry: Entry;
	element: HTMLElement;
	switcher: HTMLElement;
}

interface ExampleMessage {
	message_id: string;
	role: string;
	text: string;
	replies?: ExampleMessage[];
}

interface ExampleTree {
	message_tree_id: string;
	prompt: ExampleMessage;
}

type Route =
	| { name: "list" }
	| { name: "conversation"; id: string; entryId: string | undefined }
	| { name: "compare"; id: string; otherId: string };

type AccessLevel = "reader" | "writer" | "manager" | "owner";
type Position = "before" | "after" | "blank";

interface Usage {
	inputTokens?: number;
	outputTokens?: number;
	cachedInputTokens?: number;
	costUsd?: number;
}

type Metrics = Required<Usage> & { entries: number };

interface ForkPoint {
	forkedAtConversationId?: string;
	forkedAtEntryId?: string;
	forkedAtPosition?: Position;
}

interface Conversation extends ForkPoint {
	id: string;
	title: string | null;
	ownerUserId: string;
	accessLevel: AccessLevel;
	isCurrent: boolean;
	agentId?: string;
	tags: Record<string, string>;
	metadata: object;
	createdAt: string;
	updatedAt: string;
	lastMessagePreview?: string;
	startedByConversationId?: string;
	startedByEntryId?: string;
	metrics: Metrics;
}

interface Fork extends ForkPoint {
	conversationId: string;
	title: string | null;
	/** The last entry of the history that it shows. */
	lastEntryId: string | null;
	isCurrent: boolean;
	createdAt: string;
}

interface Entry {
	id: string;
	conversationId: string;
	/** The entry of the history that is shown just before it. */
	parentId: string | null;
	userId: string;
	clientId?: string;
	agentId?: string;
	channel: "history" | "context";
	epoch?: number;
	key?: string;
	contentType: string;
	content: unknown[];
	/** Whether its author was erased. Then it has no content. */
	erased?: boolean;
	usage?: Usage;
	mergedFromConversationId?: string;
	mergedUpToEntryId?: string;
	copiedFromConversationId?: string;
	copiedFromEntryId?: string;
	createdAt: string;
	/** The other conversations that go on differently from the place before this entry. */
	alternatives?: string[];
}

interface Page<R> {
	data: R[];
	afterCursor: string | null;
}

interface EntryPage extends Page<Entry> {
	beforeCursor: string | null;
	alternativesAtEnd?: string[];
}

interface Membership {
	conversationId: string;
	userId: string;
	accessLevel: AccessLevel;
	createdAt: string;
}

interface Transfer {
	id: string;
	conversationId: string;
	fromUserId: string;
	toUserId: string;
	createdAt: string;
}

interface Ancestor {
	conversationId: string;
	title?: string;
	removed?: boolean;
	inheritedUpToEntryId?: string;
}

interface Hit {
	conversationId: string;
	conversationTitle: string | null;
	entryId: string;
	createdAt: string;
	highlights: string[];
}

interface ComparedBranch extends Page<Entry> {
	conversationId: string;
}

interface Comparison {
	base: { entryId: string | null };
	branches: [ComparedBranch, ComparedBranch];
}

/** The operations of the service that the page uses, under the names that docs/api.md gives them. */
interface Api {
	listConversations(query: Query): Promise<Page<Conversation>>;
	searchConversations(body: object): Promise<Page<Hit>>;
	createConversation(body: object, key: string): Promise<Conversation>;
	getConversation(id: string): Promise<Conversation>;
	updateConversation(id: string, body: object): Promise<Conversation>;
	/** Returns the status: 204, or 202 while something of it goes on in the background. */
	deleteConversation(id: string, scope: "tree" | "branch"): Promise<number>;
	appendEntry(id: string, body: object, key: string): Promise<Entry>;
	listEntries(id: string, query: Query, once?: boolean): Promise<EntryPage>;
	compareConversations(id: string, query: Query): Promise<Comparison>;
	listAncestors(id: string): Promise<{ data: Ancestor[] }>;
	forkConversation(id: string, body: object, key: string): Promise<Conversation>;
	promoteConversation(id: string, key: string): Promise<null>;
	mergeConversation(id: string, body: object, key: string): Promise<{ data: Entry[] }>;
	listForks(id: string, query: Query, once?: boolean): Promise<Page<Fork>>;
	listMemberships(id: string, query: Query): Promise<Page<Membership>>;
	shareConversation(id: string, body: object, key: string): Promise<Membership>;
	updateMembership(id: string, userId: string, accessLevel: string): Promise<Membership>;
	removeMembership(id: string, userId: string): Promise<null>;
	listTransfers(query: Query): Promise<Page<Transfer>>;
	requestTransfer(body: object, key: string): Promise<Transfer>;
	acceptTransfer(id: string, key: string): Promise<null>;
	deleteTransfer(id: string): Promise<null>;
}

/** How its operations are asked for. */
interface ApiWays {
	ask(method: string, path: string, sent?: Sent): Promise<any>;
	write(name: string): (id: string, body: object, key: string) => Promise<any>;
	read(name: string): (id: string, query?: Query, once?: boolean) => Promise<any>;
}

/** The parameters of a request: null, undefined and "" are left out. */
type Query = Record<string, string | number | boolean | null | undefined>;

/** Who sends the requests. key: the API key of an agent, or "" for a person alone. */
interface Credentials {
	token: string;
	key: string;
}

interface Told {
	/** Called with a sentence when the service does not answer, and with "" when it does again. */
	lost(sentence: string): void;
	/** Called with a sentence when the credentials are good no more, or are for another server. */
	refused(sentence: string): void;
}

interface Sent {
	query?: Query;
	body?: unknown;
	/** The Idempotency-Key: the same for the same deed, however often it is sent. */
	key?: string;
	signal?: AbortSignal;
	/** Do not try again. */
	once?: boolean;
}

interface Answer {
	status: number;
	body: any;
}

interface Http {
	send: Send;
	/** After how many milliseconds to ask for news: the shortest time that was told since the last call. */
	pace: () => number;
}

type HttpOf = (credentials: Credentials, server: string, settings: Told & { signal: AbortSignal }) => Http;
/** path: after `/v1`. */
type Send = (method: string, path: string, sent?: Sent) => Promise<Answer>;
type Attempt = (method: string, path: string, sent: Sent, signal: AbortSignal) => Promise<Answer>;
type Fetch = (url: string, signal: AbortSignal, request: RequestInit) => Promise<[Response, string]>;

/** What the service tells of a problem. */
interface Failure {
	status?: number;
	details?: any;
	requestId?: string;
}

/** Of 2025 in TypeScript. A number as it is spelled: JSON.stringify writes it so. */
interface JSON {
	parse(text: string, reviver: (name: string, value: any, context: { source: string }) => unknown): any;
	rawJSON(text: string): Readonly<{ rawJSON: string }>;
}
