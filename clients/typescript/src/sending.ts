// Sends a call over HTTP, again and again while that can change something.

import { findsNothing } from "./answering.ts";
import { mayBeRepeated, PRINTABLE } from "./calls.ts";
import { InputError, NoAnswerError, UnexpectedAnswerError } from "./errors.ts";
import type { RawAnswer, Call } from "./wire.ts";

/** A text, or what returns one for each sending, such as a token that is renewed. */
export type Credential = string | (() => string | Promise<string>);

/** Where calls are sent, and on whose behalf. */
export interface Connection {
	readonly url: string;
	readonly token: Credential | undefined;
	readonly clientKey: Credential | undefined;
	readonly fetch: typeof fetch;
}

/** How long a call may take. */
export interface Limits {
	/** Milliseconds of one sending. */
	readonly timeoutMs: number;
	/** Milliseconds of all of them, with their pauses. */
	readonly deadlineMs: number;
	/** How often a call is sent again at the most; null: as often as the deadline allows. */
	readonly retries: number | null;
}

export const USUAL: Limits = { timeoutMs: 30_000, deadlineMs: 60_000, retries: null };

const PAUSE_FIRST_MS = 100;
const PAUSE_MAX_MS = 5_000;
const RETRY_AFTER_MAX_MS = 30_000;
const LIMIT_MAX_MS = 86_400_000;
/** The statuses after which the service will answer again. */
export const RETRIED: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
const REFUSED = 429; // the retried status that says that nothing has happened; a 503 may come after the work
const TIME_IS_UP = new Error("time is up");
/** What is said of a call that is not sent again, because it could undo what others have done. */
const DONE_OR_NOT = "; it may have been done: look before you repeat it";

/** There is no answer. The service may have carried the call out. */
interface Lost {
	readonly why: string;
	readonly cause?: unknown;
}

/** Return where and how to send. Throws InputError for what is no address. */
export function connectionOf(url: string, rest: Omit<Connection, "url">): Connection {
	// What stands beside an address may be a secret, so it is not shown.
	if (/[@?#\s]/.test(url))
		throw new InputError("an address holds no password, query, fragment or space: give `token`", "url");
	if (!URL.canParse(url) || !/^https?:\/\//i.test(url)) {
		throw new InputError(`${JSON.stringify(url)} is no http:// or https:// address`, "url");
	}
	return { ...rest, url: url.replace(/\/+$/, "") };
}

/** Return the limits. Throws InputError for what is no time or number. */
export function checked(limits: Limits): Limits {
	for (const name of ["timeoutMs", "deadlineMs"] as const) {
		if (!(limits[name] >= 0 && limits[name] <= LIMIT_MAX_MS)) {
			throw new InputError(`${name} is 0 to ${LIMIT_MAX_MS} milliseconds`, name);
		}
	}
	if (limits.retries !== null && !(Number.isInteger(limits.retries) && limits.retries >= 0)) {
		throw new InputError("retries is a whole number from 0 on, or null", "retries");
	}
	return limits;
}

/**
 * Send a call until there is an answer that another sending would not change, and return it.
 *
 * Sent again are: lost connections and answers, 429, 500 and 502 to 504, after a pause with full jitter and the
 * service's `Retry-After`. A call that must not happen twice, such as a PATCH without `ifMatch` or the removal of a
 * member, is sent again only after a 429. A DELETE that is sent again, because the first one may have arrived, and finds nothing has succeeded.
 * Throws NoAnswerError if no answer came at all, and the reason of `signal` when that comes.
 */
export async function send(
	call: Call,
	connection: Connection,
	limits: Limits,
	signal: AbortSignal | undefined,
): Promise<RawAnswer> {
	const { idempotencyKey, name, shape } = call;
	const giveUpAt = performance.now() + limits.deadlineMs;
	let outcome: RawAnswer | Lost = { why: "there was no time to send it" };
	let attempts = 0;
	let mayHaveArrived = false;
	for (;;) {
		const leftMs = giveUpAt - performance.now();
		if (leftMs > 0) {
			attempts++;
			try {
				outcome = await once(call, connection, Math.min(limits.timeoutMs, leftMs), signal);
			} catch (error) {
				throw signal?.aborted ? error : withKey(error, { attempts, idempotencyKey });
			}
			if (mayHaveArrived && shape.method === "DELETE" && "status" in outcome && findsNothing(outcome)) {
				return { ...outcome, status: 204, text: "", attempts };
			}
			const wasRefused = "status" in outcome && outcome.status === REFUSED;
			const hasFailed = !("status" in outcome) || RETRIED.has(outcome.status);
			if (!hasFailed || !(wasRefused || mayBeRepeated(call))) break;
			mayHaveArrived ||= !wasRefused;
		}
		const pauseMs = pauseAfter(attempts, "status" in outcome ? outcome.retryAfterMs : 0);
		if (performance.now() + pauseMs >= giveUpAt || attempts > (limits.retries ?? Infinity)) break;
		await within(pauseMs, signal, () => new Promise<never>(() => undefined));
	}
	if ("status" in outcome) return { ...outcome, attempts, idempotencyKey };
	const times = attempts === 1 ? "once" : `${attempts} times`;
	const doneOrNot = attempts && !mayBeRepeated(call) ? DONE_OR_NOT : "";
	throw new NoAnswerError(`${name} was sent ${times} and has no answer: ${outcome.why}${doneOrNot}`, {
		attempts,
		idempotencyKey,
		cause: outcome.cause,
	});
}

/** Return an error of a sending; if the call may have taken effect, with what it takes to repeat it. */
function withKey(error: unknown, facts: { attempts: number; idempotencyKey: string | undefined }): unknown {
	if (error instanceof UnexpectedAnswerError) return new UnexpectedAnswerError(error.message, facts);
	if (facts.attempts === 1) return error; // nothing was sent
	return new NoAnswerError("there was no answer, and no credential to ask again with", {
		...facts,
		attempts: facts.attempts - 1,
		cause: error,
	});
}

/** Send a call once. Throws what a credential's function throws, and the reason of `signal`. */
async function once(
	call: Call,
	connection: Connection,
	timeoutMs: number,
	signal: AbortSignal | undefined,
): Promise<RawAnswer | Lost> {
	const answer = await within(timeoutMs, signal, async (stop): Promise<RawAnswer | Lost> => {
		const headers = await headersOf(call, connection);
		try {
			return await answerOf(
				await connection.fetch(`${connection.url}${call.target}`, {
					method: call.shape.method,
					headers,
					redirect: "manual", // the credentials are for this address alone
					signal: stop,
					...(call.body === undefined ? {} : { body: call.body }),
				}),
			);
		} catch (cause) {
			if (cause instanceof UnexpectedAnswerError) throw cause;
			return { why: "the connection failed", cause }; // its own words may quote the address, with the query
		}
	});
	return answer ?? { why: `no whole answer within ${timeoutMs.toFixed()} ms`, cause: TIME_IS_UP };
}

async function answerOf(response: Response): Promise<RawAnswer> {
	const { headers, status } = response;
	if (response.type === "opaqueredirect") throw new UnexpectedAnswerError("the address leads to another one");
	return {
		status,
		text: new TextDecoder("utf-8", { fatal: true }).decode(await response.arrayBuffer()),
		requestId: headers.get("X-Request-Id") ?? headers.get("apigw-requestid") ?? undefined,
		retryAfterMs: retryAfterMs(headers.get("Retry-After")),
		attempts: 1,
		idempotencyKey: undefined,
		etag: headers.get("ETag") ?? undefined,
		askAgainMs: headers.has("Forklore-Ask-Again-Ms")
			? Number(headers.get("Forklore-Ask-Again-Ms"))
			: undefined,
	};
}

/** Return how many milliseconds a Retry-After asks for, at most RETRY_AFTER_MAX_MS. */
function retryAfterMs(header: string | null): number {
	if (!header) return 0;
	const seconds = Number(header);
	const asked = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
	return Number.isFinite(asked) ? Math.min(Math.max(asked, 0), RETRY_AFTER_MAX_MS) : 0;
}

/** Return how long to wait after so many sendings. */
export function pauseAfter(attempts: number, askedMs: number): number {
	const longest = Math.min(PAUSE_MAX_MS, PAUSE_FIRST_MS * 2 ** Math.min(attempts, 10));
	return askedMs + Math.random() * longest;
}

/** Return the headers. Throws InputError, which does not show it, for a credential that no header can hold. */
async function headersOf(call: Call, connection: Connection): Promise<Record<string, string>> {
	const token = await called(connection.token);
	const named = {
		Authorization: token === undefined ? undefined : `Bearer ${textOf("token", token)}`,
		"X-API-Key": textOf("clientKey", await called(connection.clientKey)),
		"Idempotency-Key": call.idempotencyKey,
		"If-Match": call.ifMatch === undefined ? undefined : `"${call.ifMatch}"`,
		"If-None-Match": call.ifNoneMatch,
		"Content-Type": call.body === undefined ? undefined : "application/json",
	};
	const headers: Record<string, string> = {};
	for (const [name, value] of Object.entries(named))
		if (value !== undefined) headers[name] = inHeader(name, value);
	return headers;
}

const called = (credential: Credential | undefined): unknown =>
	typeof credential === "function" ? credential() : credential;

function textOf(field: string, credential: unknown): string | undefined {
	if (credential === undefined || typeof credential === "string") return credential;
	throw new InputError(`${field} is text, or a function that returns it`, field);
}

function inHeader(name: string, value: string): string {
	if (PRINTABLE.test(value)) return value;
	throw new InputError(`the header ${name} holds printable ASCII, without a space at either end`);
}

/**
 * Return what `work` returns, and undefined when the time is up before. Then and when `signal` comes, `work` is told.
 *
 * Throws the reason of `signal` when it comes.
 */
export async function within<T>(
	milliseconds: number,
	signal: AbortSignal | undefined,
	work: (stop: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
	signal?.throwIfAborted();
	const controller = new AbortController();
	const end = (): void => {
		controller.abort(signal?.reason);
	};
	const stopped = new Promise<never>((_, reject) => {
		controller.signal.addEventListener("abort", () => {
			reject(controller.signal.reason as Error);
		});
	});
	const timer = setTimeout(() => {
		controller.abort(TIME_IS_UP);
	}, milliseconds);
	signal?.addEventListener("abort", end);
	try {
		return await Promise.race([work(controller.signal), stopped]);
	} catch (error) {
		if (error === TIME_IS_UP) return undefined;
		throw error;
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener("abort", end);
	}
}
