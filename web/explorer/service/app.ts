// One person's session: what is open, what is shown of it, and what is told.

import { ApiError, ConflictError, type AppendedEntry, type Fork, type Forklore } from "@forklore/client";
import { newId } from "../../../clients/typescript/src/json.ts";
import { routeOf, toConversation } from "../model/route.ts";
import type { Entry, Route } from "../model/types.ts";
import { titleOf, userOf } from "../model/words.ts";
import {
	clientOf,
	isAborted,
	sentenceOf,
	SLOW,
	SLOW_MS,
	statusOf,
	type Attach,
	type Credentials,
} from "./connection.ts";
import { Draft, type Purpose } from "./drafts.ts";
import { Grove } from "./grove.ts";
import { Conversations } from "./list.ts";
import { Place } from "./place.ts";
import { Source } from "./source.ts";

const SAID_MS = 8000;
const UNDO_MS = 20_000; // so long one can take a deed back
const AGAIN_MS = 60_000; // not told again before
const gone = (): never => {
	throw new Error("its conversation is gone");
};

/** Beside the conversation. */
export type PaneName = "tree" | "memory" | "details";
/** On a narrow screen. */
export type ViewName = "list" | "talk" | "tree" | "memory";

interface Failure {
	sentence: string;
	requestId: string | undefined;
}

/** A dialog that is open: what is drawn of it, and what ends it. */
interface Opened {
	id: string;
	draw: (close: () => void) => React.ReactNode;
	close: () => void;
}

export class App extends Source {
	readonly client: Forklore;
	readonly user: string;
	readonly isAgent: boolean;
	readonly signal: AbortSignal;
	readonly list: Conversations;
	/** Where the tab keeps what belongs to this person on this server. */
	readonly keptAt: string;
	route: Route = { name: "list" };
	place: Place | undefined;
	grove: Grove | undefined;
	pane: PaneName = "tree";
	isPaneShown = true;
	/** What is shown on a narrow screen. */
	view: ViewName = "list";
	lost = "";
	/** When the server answered last. */
	answeredAt = new Date();
	said = "";
	/** What takes back the deed that is told of. */
	undo: (() => Promise<unknown>) | undefined;
	failure: Failure | undefined;
	dialogs: readonly Opened[] = [];
	/** Whether the service keeps files, as far as is known. */
	keepsFiles = true;
	/** Whether the service has a model to find what is meant; undefined: not asked yet. */
	hasModel: boolean | undefined;
	/** How one searches: for what is meant, and if so, whether outside of the open branch, too. */
	search = { isByMeaning: false, isWide: false };
	/** The hash of what is shown. */
	#at = "";
	readonly #attach: Attach;
	readonly #ended = new AbortController();
	readonly #drafts = new Map<string, Draft>();
	/** Of deeds that are not done. */
	readonly #keys = new Map<string, string>();
	#saidTimer = 0;
	/** When it was told last that the server answers again. */
	#foundAt = -AGAIN_MS;

	/** leave: called when the person signs out, or must sign in again, with a sentence that says why. */
	constructor(
		credentials: Credentials,
		server: string,
		readonly leave: (sentence: string) => void,
	) {
		super();
		this.signal = this.#ended.signal;
		this.user = userOf(credentials.token);
		this.isAgent = credentials.key !== "";
		this.keptAt = `forklore:${server}:${this.user}:`;
		const { client, attach } = clientOf(credentials, server, {
			lost: (sentence, at) => this.#lose(sentence, at),
			refused: (sentence) => this.signal.aborted || leave(sentence),
		});
		this.client = client;
		this.#attach = attach;
		this.list = new Conversations(this.client, this.signal);
	}

	/** Show what the address names, and follow it. */
	start(): void {
		const moved = () => location.hash === this.#at || this.#arrive();
		addEventListener("hashchange", moved, { signal: this.signal });
		addEventListener("click", (event) => this.#follow(event), { signal: this.signal });
		const look = () => document.hidden || void this.list.load();
		document.addEventListener("visibilitychange", look, { signal: this.signal });
		void this.list.load();
		this.list.follow().catch(() => undefined);
		this.#arrive();
	}

	/** End: no request goes out any more, and nothing listens. */
	end(): void {
		for (const dialog of this.dialogs) dialog.close();
		for (const draft of this.#drafts.values()) draft.files.end();
		this.place?.end();
		this.grove?.end();
		document.title = "forklore";
		this.#ended.abort();
	}

	go(hash: string): void {
		location.hash = hash;
		this.#arrive(); // at once: what is pressed next is meant for there
	}

	/** Go where a pressed link leads, as `go` does: the browser tells it later. */
	#follow(event: MouseEvent): void {
		const { defaultPrevented, ctrlKey, metaKey, shiftKey, altKey } = event;
		const link = event.target instanceof Element && event.target.closest<HTMLAnchorElement>('a[href^="#/"]');
		if (!link || defaultPrevented || ctrlKey || metaKey || shiftKey || altKey) return;
		event.preventDefault();
		this.go(link.hash);
	}

	/** Tell what was done. undo: takes it back. */
	say(sentence: string, undo?: () => Promise<unknown>): void {
		this.said = sentence;
		this.undo = undo;
		clearTimeout(this.#saidTimer);
		this.#saidTimer = window.setTimeout(() => this.say(""), undo ? UNDO_MS : SAID_MS);
		this.changed();
	}

	/** Show what went wrong, until it is closed. */
	readonly fail = (error: unknown): void => {
		if (isAborted(error) || this.signal.aborted) return;
		if (!(error instanceof ApiError)) console.error(error);
		const requestId = error instanceof ApiError ? error.requestId : undefined;
		this.failure = { sentence: sentenceOf(error), requestId };
		this.changed();
	};

	closeFailure(): void {
		this.failure = undefined;
		this.changed();
	}

	/** Ask once how the service can search. It never throws. */
	async learnSearch(): Promise<void> {
		if (this.hasModel !== undefined) return;
		this.hasModel = false;
		try {
			const { searchTypes = [] } = await this.client.api.checkHealth({}, { signal: this.signal });
			this.hasModel = searchTypes.includes("semantic");
			this.changed();
		} catch {
			this.hasModel = undefined; // it is asked again
		}
	}

	/** Choose how one searches. What the tree has marked belongs to another search then. */
	chooseSearch(chosen: Partial<App["search"]>): void {
		this.search = { ...this.search, ...chosen };
		this.grove?.mark([]);
		this.changed();
	}

	/** Load what is open and the list anew, after a deed. It never throws. */
	async reload(): Promise<void> {
		const { place, grove } = this;
		try {
			await Promise.all([grove?.loadForks(), place?.refresh(), this.list.load()]);
		} catch (error) {
			if (place === this.place) place?.fail(error);
		}
	}

	showPane(pane: PaneName | undefined): void {
		if (pane) this.pane = pane;
		this.isPaneShown = pane !== undefined;
		this.changed();
	}

	showView(view: ViewName): void {
		if (this.place && this.route.name !== "conversation") this.go(toConversation(this.place.id));
		this.view = view;
		if (view === "tree" || view === "memory") this.pane = view;
		this.changed();
	}

	/** Open a dialog above the others. Returns what closes it. It closes when one goes elsewhere. */
	open(draw: Opened["draw"], onClose?: () => void): () => void {
		const id = newId();
		const opener = document.activeElement as HTMLElement | null;
		const close = () => {
			if (!this.dialogs.some((one) => one.id === id)) return;
			this.dialogs = this.dialogs.filter((one) => one.id !== id);
			this.changed();
			onClose?.();
			// After the drawing: the opener may have been drawn anew meanwhile.
			requestAnimationFrame(() => {
				const again = opener?.isConnected ? opener : document.getElementById(opener?.id || "none");
				if (document.activeElement === document.body) (again ?? document.getElementById("main"))?.focus();
			});
		};
		this.dialogs = [...this.dialogs, { id, draw, close }];
		this.changed();
		return close;
	}

	/** Return the draft of a place. at: behind what is kept for this person. */
	draft(at: string, first: string, purpose: Purpose): Draft {
		const key = this.keptAt + at;
		const known = this.#drafts.get(key);
		if (known) return Object.assign(known, { purpose });
		const failed = (error: unknown) => {
			if (!document.querySelector(`[data-draft="${CSS.escape(key)}"]`)) this.fail(error);
		};
		const attach: Attach = (file, told) =>
			this.#attach(file, told).catch((error: unknown) => {
				if (error instanceof ConflictError && error.reason === "attachments_off") this.keepsFiles = false;
				throw error;
			});
		const made = new Draft(this.client, key, first, purpose, failed, attach);
		this.#drafts.set(key, made);
		return made;
	}

	hasDraft(at: string): boolean {
		return this.#drafts.has(this.keptAt + at) || this.keptAt + at in sessionStorage;
	}

	/** Return the ends of the places of all drafts whose place begins so. */
	draftsBehind(at: string): string[] {
		const all = new Set([...this.#drafts.keys(), ...Object.keys(sessionStorage)]);
		return [...all]
			.filter((key) => key.startsWith(this.keptAt + at))
			.map((key) => key.slice((this.keptAt + at).length));
	}

	/** Return what one has written in a conversation that is gone: it can be read. */
	draftsOf(id: string): Draft[] {
		const edits = Object.keys(sessionStorage).filter((key) => key.startsWith(`${this.keptAt}${id} `));
		const places = [...(this.hasDraft(id) ? [id] : []), ...edits.map((key) => key.slice(this.keptAt.length))];
		const drafts = places.map((at) => this.draft(at, "", { letterOf: gone, sent: gone }));
		for (const draft of drafts) if (!draft.isOver) draft.end();
		return drafts.filter(({ text }) => text);
	}

	dropDraft(at: string): void {
		this.#drafts.get(this.keptAt + at)?.clear();
		this.#drafts.delete(this.keptAt + at);
		this.changed();
	}

	/** Do a deed under a key that stays the same until it is done, so that it is done once. */
	async once<T>(deed: string, run: (idempotencyKey: string) => Promise<T>): Promise<T> {
		const key = this.#keys.get(deed) ?? newId();
		this.#keys.set(deed, key);
		const timer = setTimeout(() => this.say(SLOW), SLOW_MS);
		try {
			const result = await run(key);
			this.#keys.delete(deed);
			return result;
		} finally {
			clearTimeout(timer);
		}
	}

	/** Begin a branch after an entry, and open it. */
	async fork({ id: atEntryId }: Pick<Entry, "id">): Promise<void> {
		const conversationId = this.place!.id;
		const place = this.place;
		try {
			const made = await this.once(`${conversationId} after ${atEntryId}`, (idempotencyKey) =>
				this.client.api.forkConversation(
					{ conversationId, atEntryId, position: "after" },
					{ idempotencyKey, signal: this.signal },
				),
			);
			if ("data" in made) return;
			if (place === this.place) this.openFork({ ...made, conversationId: made.id, lastEntryId: atEntryId });
			this.say("This new branch goes on from here.");
		} catch (error) {
			this.fail(error);
		}
	}

	/** Take in an entry that became a branch of its own, in the place of another one. */
	openEdit(entry: AppendedEntry, from: Entry, place: Place): void {
		if (place !== this.place) return;
		const { conversationId, createdAt, id: lastEntryId } = entry;
		const fork: Fork = {
			conversationId,
			createdAt,
			lastEntryId,
			isCurrent: false,
			title: place.conversation?.title ?? null,
			tags: {},
			metadata: {},
			forkedAtConversationId: place.id,
			forkedAtEntryId: from.id,
			forkedAtPosition: "before",
		};
		this.openFork(fork, lastEntryId);
		this.grove?.addEntry(entry);
		void this.grove?.loadForks();
		void this.grove?.loadBeside();
	}

	/** Put the branch that a deed made into the tree, and open it. */
	openFork(fork: Fork, entryId?: string): void {
		this.grove?.addFork(fork);
		this.go(toConversation(fork.conversationId, entryId));
		void this.list.load();
	}

	/** Open another branch at the place after an entry. after: null for the beginning. */
	async openOther(conversationId: string, after: string | null): Promise<void> {
		try {
			const page = await this.client.api.listEntries(
				{ conversationId, channel: "history", afterCursor: after ?? undefined, limit: 1 },
				{ signal: this.signal },
			);
			this.go(toConversation(conversationId, page.data[0]?.id));
		} catch (error) {
			this.fail(error);
		}
	}

	async copyLink(hash: string): Promise<void> {
		try {
			await navigator.clipboard.writeText(new URL(hash, location.href).href);
			this.say("The link is copied.");
		} catch {
			this.go(hash);
			this.say("The browser does not allow copying: the link is in the address line.");
		}
	}

	/** Stop the answer that is written. */
	async stop(): Promise<void> {
		const { writing } = this.place ?? {};
		if (!writing) return;
		try {
			await this.client.api.stopAnswer({ conversationId: writing.conversationId, answerId: writing.id });
		} catch (error) {
			if (statusOf(error) !== 409) this.fail(error);
		}
	}

	#arrive(): void {
		this.#at = location.hash;
		this.route = routeOf(this.#at);
		this.failure = undefined;
		this.said = "";
		for (const dialog of this.dialogs) dialog.close();
		const { route } = this;
		if (route.name === "list") {
			this.#leavePlace();
			this.grove?.end();
			this.grove = undefined;
			this.view = "list";
		} else {
			const id = route.name === "compare" ? route.ids[0]! : route.id;
			const entryId = route.name === "conversation" ? route.entryId : undefined;
			if (this.view === "list") this.view = "talk";
			if (this.place?.id !== id || this.place.problem) this.#enter(id, entryId);
			else if (route.name === "conversation") void this.#goTo(this.place, entryId);
		}
		this.changed();
	}

	/** Open a conversation, and follow it until one goes elsewhere. */
	#enter(id: string, entryId: string | undefined): void {
		this.#leavePlace();
		const place = new Place(this.client, id, this.isAgent);
		this.place = place;
		if (!this.grove?.fork(id)) {
			this.grove?.end();
			this.grove = new Grove(this.client, id, () => {
				if (this.place) this.place.refresh().catch(this.place.fail.bind(this.place));
				void this.list.load();
			});
		}
		this.grove.conversationId = id;
		void this.grove.load();
		place.subscribe(() => {
			if (place === this.place && place.conversation)
				document.title = `${titleOf(place.conversation.title)} · forklore`;
			if (place.isGone && place === this.place) this.#close(place);
		});
		void place.load(entryId).then((isThere) => this.#tell(isThere));
	}

	async #goTo(place: Place, entryId: string | undefined): Promise<void> {
		if (!place.isLoaded) return;
		await place.goTo(entryId).then((isThere) => this.#tell(isThere), this.fail);
	}

	#tell(isThere: boolean | undefined): void {
		if (isThere === false) this.say("This conversation does not show that entry. This is its end.");
	}

	/** Ask no more about a conversation that is gone. What one has written there stays. */
	#close(place: Place): void {
		for (const [at, draft] of this.#drafts) if (at.includes(place.id)) draft.end();
		this.grove?.end();
		this.grove = undefined;
		this.changed();
		void this.list.load();
	}

	#leavePlace(): void {
		this.place?.end();
		this.place = undefined;
		document.title = "forklore";
	}

	#lose(sentence: string, at: Date): void {
		this.lost = sentence;
		this.answeredAt = at;
		const now = performance.now();
		if (!sentence && now > this.#foundAt + AGAIN_MS) {
			this.#foundAt = now;
			this.say("The server answers again.");
		}
		this.changed();
	}
}
