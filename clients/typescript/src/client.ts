// The client.

import { resultOf } from "./answering.ts";
import { located, read, upload } from "./attaching.ts";
import { callOf } from "./calls.ts";
import { Conversation } from "./conversation.ts";
import { InputError } from "./errors.ts";
import { newId } from "./json.ts";
import {
	SHAPES,
	type AttachedFile,
	type Attachment,
	type ConversationDetails,
	type CreateConversation,
	type Hit,
	type ListConversationsArguments,
	type Name,
	type Operations,
	type SearchConversations,
	type Trashed,
} from "./generated/operations.ts";
import { pagesOf, refusePaging, type Pages } from "./pages.ts";
import { asked, HITS, type Recalled } from "./questions.ts";
import {
	checked,
	connectionOf,
	send,
	USUAL,
	type Connection,
	type Credential,
	type Limits,
} from "./sending.ts";
import type { Keyed, Matched, RawAnswer, Sent } from "./wire.ts";

/** How a client is made. */
export interface Options extends Partial<Limits> {
	/** The user's token; on the local server this is the user's id. A function is called for each sending. */
	token?: Credential | undefined;
	/** The agent's API key. A function is called for each sending. */
	clientKey?: Credential | undefined;
	/** What to send with, in place of the global `fetch`. */
	fetch?: typeof fetch | undefined;
}

/** What `conversations` takes. pageRows: how many conversations are asked for at a time. */
export type ConversationsOptions = Sent &
	Omit<ListConversationsArguments, "limit" | "afterCursor"> & { pageRows?: number };

/** What `search` takes beside the query. */
export type SearchOptions = Sent &
	Omit<SearchConversations, "query" | "limit" | "afterCursor"> & { pageRows?: number };

/** How a file is uploaded. name: its own, of a `File`. contentType: its own, of a `Blob` that has one. */
export interface UploadOptions extends Pick<Sent, "signal"> {
	name?: string | undefined;
	contentType?: string | undefined;
}

const PAGE_ROWS = 100;
const ANSWER_S = 5; // to answer in, after the wait

/** Return the input with a `wait` that ends before the client's patience. */
function held(input: { wait?: number }, { timeoutMs, deadlineMs }: Limits): object {
	const { wait, ...rest } = input;
	const longest = Math.floor(Math.min(timeoutMs, deadlineMs) / 1000) - ANSWER_S;
	return wait === undefined || longest < 1 ? rest : { ...rest, wait: Math.min(wait, longest) };
}

/** A client of forklore. It holds nothing that has to be closed. */
export class Forklore {
	/** Every operation of the service, under its name. */
	readonly api: Operations;

	readonly #url: string;
	readonly #options: Options;
	readonly #connection: Connection;
	readonly #limits: Limits;
	readonly #send: (
		name: keyof Operations,
		given: object,
		options: Keyed & Matched,
		made: typeof resultOf,
	) => Promise<unknown>;

	/** url: the address of the API. Throws InputError for what is no address. */
	constructor(url: string, options: Options = {}) {
		const { token, clientKey, fetch: given } = options;
		const { timeoutMs = USUAL.timeoutMs, deadlineMs = USUAL.deadlineMs, retries = USUAL.retries } = options;
		const connection = connectionOf(url, { token, clientKey, fetch: given ?? ((...sent) => fetch(...sent)) });
		const within = checked({ timeoutMs, deadlineMs, retries });
		this.#url = url;
		this.#options = options;
		this.#connection = connection;
		this.#limits = within;
		this.#send = async (name, input, sent, made) => {
			const call = callOf(name, SHAPES[name], held(input, within), sent);
			const answer = await send(call, connection, within, sent.signal);
			sent.onAnswer?.(answer);
			return made(call, answer);
		};
		const operations = (Object.keys(SHAPES) as (keyof Operations)[]).map((name) => [
			name,
			(input: object = {}, sent: Keyed & Matched = {}) => this.#send(name, input, sent, resultOf),
		]);
		this.api = Object.fromEntries(operations) as Operations;
	}

	/** Return the same client with other limits. What is not given stays. */
	withOptions(limits: Partial<Limits>): Forklore {
		return new Forklore(this.#url, { ...this.#options, ...limits });
	}

	/**
	 * Call an operation by its name; return the answer as it came. An error is an answer, too.
	 *
	 * given: path, query and body fields side by side. Throws InputError for an unknown operation, and NoAnswerError
	 * without any answer.
	 */
	async call(operation: string, given: object = {}, options: Keyed & Matched = {}): Promise<RawAnswer> {
		if (!Object.hasOwn(SHAPES, operation)) {
			throw new InputError(`there is no operation ${JSON.stringify(operation)}`, "operation");
		}
		return this.#send(
			operation as keyof Operations,
			given,
			options,
			(_, answer) => answer,
		) as Promise<RawAnswer>;
	}

	/** Return the conversation that a name points to; its first entry makes both if need be. */
	named(name: string): Conversation {
		return new Conversation(this, undefined, name);
	}

	/** Return the conversation with an id; without an id one that its first entry makes. */
	conversation(id?: string): Conversation {
		if (id === "") throw new InputError("an id is not empty", "id");
		return new Conversation(this, id ?? newId());
	}

	/** Make a conversation without entries. */
	async create(options: CreateConversation & Keyed = {}): Promise<Conversation> {
		const { idempotencyKey, signal, ...fields } = options;
		return new Conversation(this, (await this.api.createConversation(fields, { idempotencyKey, signal })).id);
	}

	/**
	 * Return the caller's conversations, what was used last first: what is told of each.
	 *
	 * To talk in one, hand its id to `conversation`.
	 */
	conversations(options: ConversationsOptions = {}): Pages<ConversationDetails> {
		refusePaging(options);
		const { pageRows: limit = PAGE_ROWS, signal, ...chosen } = options;
		return pagesOf((afterCursor) =>
			this.api.listConversations({ ...chosen, limit, afterCursor }, { signal }),
		);
	}

	/** Return the caller's deleted trees that `conversation(id).restore` brings back. */
	trash(options: Sent = {}): Pages<Trashed> {
		return pagesOf((afterCursor) => this.api.listTrash({ limit: PAGE_ROWS, afterCursor }, options));
	}

	/** Return the entries that fit a query, the best first. `+word` and `"some words"` must occur. */
	search(query: string, options: SearchOptions = {}): Pages<Hit> {
		refusePaging(options);
		const { pageRows: limit, signal, ...chosen } = options;
		return pagesOf((afterCursor) =>
			this.api.searchConversations({ ...chosen, query, limit, afterCursor }, { signal }),
		);
	}

	/**
	 * Return the entries that fit a question best, of all that the caller may see.
	 *
	 * By meaning and words where the service has a model, else by words. Marks demand nothing here: to demand words,
	 * `search`. With `around` each hit has its whole exchange, and so many on each side; no hit has a lower score than
	 * `minScore`.
	 */
	async recall(question: string, options: Sent & Recalled = {}): Promise<Hit[]> {
		const { limit = HITS, around, minScore, ...sent } = options;
		return (await this.api.searchConversations({ query: asked(question), limit, around, minScore }, sent))
			.data;
	}

	/** Return the caller's names that begin with `prefix`; `deleted` ones lead nowhere. */
	names(options: Sent & { prefix?: string } = {}): Pages<Name> {
		const { prefix, signal } = options;
		return pagesOf((afterCursor) =>
			this.api.listNames({ prefix, limit: PAGE_ROWS, afterCursor }, { signal }),
		);
	}

	/** Delete a name; what it points to stays. One of `names` goes only if nobody has moved it. */
	async deleteName(name: string | Name, options: Sent = {}): Promise<void> {
		const held = typeof name === "string" ? { name } : { name: name.name, expectRevision: name.revision };
		await this.api.deleteName(held, options);
	}

	// Files

	/**
	 * Upload a file and return it, so that entries can name it: `say(…, { files: [it] })`.
	 *
	 * Up to 1 MB is one request; of more the bytes go to an address of their own, and not again if the service has
	 * them. Throws InputError for a file without a name, ConflictError with the reason `attachments_off` if the
	 * deployment keeps none, and NoAnswerError if the bytes do not arrive.
	 */
	async upload(file: Blob | Uint8Array, options: UploadOptions = {}): Promise<Attachment> {
		const own = file as { name?: string; type?: string };
		const name = options.name ?? own.name;
		if (!name) throw new InputError("the file has no name: give one", "name");
		const type = own.type?.split(";", 1)[0] ?? "";
		const contentType = options.contentType ?? (type === "" ? "application/octet-stream" : type);
		return upload(this.#way, file, { name, contentType, signal: options.signal });
	}

	/**
	 * Return the bytes of an attachment: one of an entry's `attachments`, what `upload` returns, or an id.
	 *
	 * conversationId: one that shows it, for who sees it in very many trees. Throws NotFoundError for one that the
	 * caller may not read, or whose bytes are gone.
	 */
	async read(
		attachment: AttachedFile | Attachment | string,
		options: Pick<Sent, "signal"> & { conversationId?: string | undefined } = {},
	): Promise<Blob> {
		return read(this.#way, typeof attachment === "string" ? attachment : attachment.id, options);
	}

	/** Return an address that the service names, such as the `url` of an attachment, as one for other programs. */
	located(address: string): string {
		return located(address, this.#connection);
	}

	get #way() {
		return { api: this.api, connection: this.#connection, limits: this.#limits };
	}
}
