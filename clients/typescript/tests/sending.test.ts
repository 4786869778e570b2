// What is sent again, when, and with what; and what ends a call. The answers here are made up, and so is the time.

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import {
	ApiError,
	BadRequestError,
	ConflictError,
	Forklore,
	InputError,
	MismatchError,
	NoAnswerError,
	NotFoundError,
	ServerError,
	TooLargeError,
	UnauthorizedError,
	UnavailableError,
	UnexpectedAnswerError,
	type Options,
} from "../src/index.ts";

const ID = "00000000-0000-4000-8000-000000000001";
const ENTRY = {
	id: ID,
	conversationId: ID,
	parentId: null,
	userId: "ann",
	channel: "history",
	contentType: "x",
	content: [],
	createdAt: "",
};
const LOST = new TypeError("fetch failed");
const gone = (): Response =>
	Response.json({ code: "not_found", details: { message: "no conversation" } }, { status: 404 });
const status =
	(code: number, headers: Record<string, string> = {}) =>
	(): Response =>
		new Response(code === 204 ? null : "", { status: code, headers });
const entry = (): Response => Response.json(ENTRY, { status: 201 });

interface Sending {
	at: number;
	url: string;
	method: string;
	headers: Headers;
	body: string | undefined;
	redirect: RequestRedirect | undefined;
}

/** Return a client whose sendings have these outcomes, the last one for all that follow; and what it sends. */
function told(
	outcomes: (Error | (() => Response))[],
	options: Options = {},
): { fl: Forklore; sent: Sending[] } {
	const sent: Sending[] = [];
	const fetch = vi.fn<typeof globalThis.fetch>(async (url, init = {}) => {
		const body = init.body as string | undefined;
		const headers = new Headers(init.headers);
		const { method = "GET", redirect } = init;
		sent.push({ at: Date.now(), url: url as string, method, headers, body, redirect });
		const outcome = outcomes[Math.min(sent.length, outcomes.length) - 1] ?? LOST;
		if (outcome instanceof Error) throw outcome;
		return Promise.resolve(outcome());
	});
	return { fl: new Forklore("https://forklore.example/", { token: "ann", fetch, ...options }), sent };
}

/** Return what a call comes to, while the time flies. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
	const settled = call.then(
		(value) => value,
		(error: unknown) => error,
	);
	await vi.runAllTimersAsync();
	return settled;
}

const READ = (fl: Forklore) => fl.api.getEntry({ conversationId: ID, entryId: ID });
const WRITE = (fl: Forklore) => fl.api.appendEntry({ conversationId: ID, contentType: "x", content: [] });
const PATCH = (fl: Forklore) =>
	fl.api.updateMembership({ conversationId: ID, userId: "bob", accessLevel: "reader" });
const PUT = (fl: Forklore) => fl.api.archiveConversation({ conversationId: ID });
const REMOVE = (fl: Forklore) => fl.api.removeMembership({ conversationId: ID, userId: "bob" });
const UNNAME = (fl: Forklore) => fl.api.deleteName({ name: "trip" });
const UNNAME_KNOWN = (fl: Forklore) => fl.api.deleteName({ name: "trip", expectRevision: 3 });
const DELETE = (fl: Forklore) => fl.api.deleteConversation({ conversationId: ID });

beforeEach(() => {
	vi.useFakeTimers();
});
afterEach(() => {
	vi.useRealTimers();
	vi.restoreAllMocks();
});

describe("what is sent again", () => {
	test.each([400, 401, 403, 404, 409, 412, 413, 415, 422, 302, 501, 505])("%i is an answer", async (code) => {
		for (const call of [READ, WRITE, PUT, PATCH, DELETE]) {
			const { fl, sent } = told([status(code), entry]);
			expect(await outcome(call(fl))).toBeInstanceOf(ApiError);
			expect(sent).toHaveLength(1);
		}
	});

	test.each([429, 500, 502, 503, 504])(
		"%i is sent again, but what may undo another's change only after a 429",
		async (code) => {
			for (const call of [READ, WRITE, DELETE, UNNAME_KNOWN]) {
				const { fl, sent } = told([status(code), entry]);
				expect(await outcome(call(fl))).not.toBeInstanceOf(Error);
				expect(sent).toHaveLength(2);
			}
			for (const call of [PATCH, PUT, REMOVE, UNNAME]) {
				const { fl, sent } = told([status(code), () => Response.json({ conversationId: ID })]);
				await outcome(call(fl));
				expect(sent).toHaveLength(code === 429 ? 2 : 1);
			}
		},
	);

	test("a lost answer is sent again with the same key and body", async () => {
		const { fl, sent } = told([LOST, LOST, status(503), entry]);
		expect(await outcome(WRITE(fl))).toEqual(ENTRY);
		expect(sent).toHaveLength(4);
		expect(new Set(sent.map(({ headers }) => headers.get("Idempotency-Key"))).size).toBe(1);
		expect(sent[0]?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f-]{36}$/);
		expect(new Set(sent.map(({ body }) => body))).toEqual(new Set(['{"contentType":"x","content":[]}']));
	});

	test("what is changed after the call is not sent", async () => {
		const content = ["before"];
		const { fl, sent } = told([LOST, entry]);
		const call = fl.api.appendEntry({ conversationId: ID, contentType: "x", content });
		content[0] = "after";
		await outcome(call);
		expect(sent.map(({ body }) => body?.includes("before"))).toEqual([true, true]);
	});

	test("two calls have two keys, and a key of one's own is taken", async () => {
		const { fl, sent } = told([entry]);
		await outcome(
			Promise.all([WRITE(fl), WRITE(fl), fl.conversation(ID).say("user", "x", { idempotencyKey: "mine" })]),
		);
		const keys = sent.map(({ headers }) => headers.get("Idempotency-Key"));
		expect(new Set(keys).size).toBe(3);
		expect(keys).toContain("mine");
	});

	test("a PATCH whose answer is lost is not sent again, because it would undo what others have changed", async () => {
		const { fl, sent } = told([LOST, entry]);
		expect(await outcome(PATCH(fl))).toBeInstanceOf(NoAnswerError);
		expect(sent).toHaveLength(1);
	});

	test("a PATCH with ifMatch is sent again", async () => {
		const { fl, sent } = told([LOST, status(500), status(409)]);
		const call = fl.api.updateConversation(
			{ conversationId: ID, title: "x" },
			{ ifMatch: "2026-03-01T09:15:00.000Z" },
		);
		expect(await outcome(call)).toBeInstanceOf(ConflictError);
		expect(sent.map(({ headers }) => headers.get("If-Match"))).toEqual(
			Array(3).fill('"2026-03-01T09:15:00.000Z"'),
		);
	});

	test("a DELETE that is sent again and finds nothing has succeeded", async () => {
		for (const first of [LOST, status(500), status(502)]) {
			const { fl } = told([first, gone]);
			expect(await outcome(DELETE(fl))).toBeUndefined();
		}
		for (const first of [[gone], [status(429), gone]]) {
			expect(await outcome(DELETE(told(first).fl))).toBeInstanceOf(NotFoundError);
		}
	});

	test("a 404 of somebody on the way is no success", async () => {
		const { fl } = told([LOST, () => new Response("<h1>Not Found</h1>", { status: 404 })]);
		expect(await outcome(DELETE(fl))).toBeInstanceOf(NotFoundError);
	});
});

describe("pauses and limits", () => {
	const pauses = (sent: Sending[]): number[] =>
		sent.slice(1).map(({ at }, before) => at - (sent[before]?.at ?? 0));

	test("pauses grow to a bound, and begin at nothing", async () => {
		vi.spyOn(Math, "random").mockReturnValue(1);
		const longest = told([LOST]);
		await outcome(READ(longest.fl));
		expect(pauses(longest.sent).slice(0, 7)).toEqual([200, 400, 800, 1600, 3200, 5000, 5000]);
		vi.spyOn(Math, "random").mockReturnValue(0);
		const shortest = told([LOST], { retries: 3 });
		await outcome(READ(shortest.fl));
		expect(pauses(shortest.sent)).toEqual([0, 0, 0]);
	});

	test.each([
		["3", 3000],
		["0.5", 500],
		["9999", 30_000],
		["-5", 0],
		["soon", 0],
		["", 0],
	])("Retry-After: %s is added", async (header, milliseconds) => {
		vi.spyOn(Math, "random").mockReturnValue(1);
		for (const code of [429, 503]) {
			const { fl, sent } = told([status(code, { "Retry-After": header }), entry]);
			await outcome(WRITE(fl));
			expect(pauses(sent)).toEqual([milliseconds + 200]);
		}
	});

	test("a Retry-After may be a date", async () => {
		vi.setSystemTime("2026-03-01T09:15:00Z");
		vi.spyOn(Math, "random").mockReturnValue(0);
		const { fl, sent } = told([status(503, { "Retry-After": "Sun, 01 Mar 2026 09:15:07 GMT" }), entry]);
		await outcome(WRITE(fl));
		expect(pauses(sent)).toEqual([7000]);
	});

	test("a pause that would pass the deadline is not made", async () => {
		const { fl, sent } = told([status(503, { "Retry-After": "20" })], { deadlineMs: 20_000 });
		expect(await outcome(WRITE(fl))).toMatchObject({ status: 503, attempts: 1 });
		expect(sent).toHaveLength(1);
	});

	test("without any answer the error has the key, the count and the cause", async () => {
		const { fl } = told([LOST], { retries: 2 });
		const error = await outcome(fl.conversation(ID).say("user", "x", { idempotencyKey: "mine" }));
		expect(error).toBeInstanceOf(NoAnswerError);
		expect(error).toMatchObject({
			message: "appendEntry was sent 3 times and has no answer: the connection failed",
			attempts: 3,
			idempotencyKey: "mine",
			status: undefined,
			cause: LOST,
		});
	});

	test.each([
		{ call: REMOVE, isTold: true },
		{ call: UNNAME_KNOWN, isTold: false },
	])("who must not repeat a call without a look is told so: $isTold", async ({ call, isTold }) => {
		const { fl } = told([LOST], { retries: 0 });
		const error = await outcome(call(fl));
		expect((error as Error).message.endsWith("look before you repeat it")).toBe(isTold);
	});

	test("what a credential's function throws after a lost answer comes with the key", async () => {
		const cause = new Error("no new token");
		const token = vi.fn().mockReturnValueOnce("ann").mockRejectedValue(cause);
		const { fl, sent } = told([LOST], { token });
		const error = await outcome(fl.conversation(ID).say("user", "x", { idempotencyKey: "mine" }));
		expect(error).toBeInstanceOf(NoAnswerError);
		expect(error).toMatchObject({ attempts: 1, idempotencyKey: "mine", cause });
		expect(sent).toHaveLength(1);
		expect(await outcome(fl.conversation(ID).say("user", "x"))).toBe(cause);
	});

	test.each(['{"message":"Not Found"}', "<html>"])("a 404 of others, %s, is not nothing", async (text) => {
		const { fl } = told([() => new Response(text, { status: 404 })]);
		const chat = fl.named("trip");
		for (const ask of [() => chat.exists(), () => chat.last(), () => chat.context.latest()]) {
			expect(await outcome(ask())).toBeInstanceOf(NotFoundError);
		}
	});

	test("an answer is told rather than an earlier loss", async () => {
		const { fl } = told([LOST, status(503)], { retries: 1 });
		expect(await outcome(WRITE(fl))).toMatchObject({ status: 503, attempts: 2 });
	});

	test("the deadline ends it", async () => {
		const { fl, sent } = told([LOST], { deadlineMs: 10_000 });
		const began = Date.now();
		expect(await outcome(READ(fl))).toMatchObject({ attempts: sent.length });
		expect(Date.now() - began).toBeLessThan(10_000);
		expect(sent.length).toBeGreaterThan(4);
	});

	test("without time nothing is sent", async () => {
		const { fl, sent } = told([entry], { deadlineMs: 0 });
		expect(await outcome(READ(fl))).toMatchObject({ attempts: 0, name: "NoAnswerError" });
		expect(sent).toEqual([]);
	});

	test("withOptions changes what it names", async () => {
		const { fl, sent } = told([LOST]);
		await outcome(READ(fl.withOptions({ retries: 0 })));
		expect(sent).toHaveLength(1);
	});

	test.each([{ timeoutMs: -1 }, { deadlineMs: NaN }, { retries: -1 }, { retries: 0.5 }, { timeoutMs: 1e9 }])(
		"%o is no limit",
		(limits) => {
			expect(() => told([], limits)).toThrow(InputError);
		},
	);
});

describe("what ends a sending", () => {
	/** A fetch that never answers. It ends when it is told to, or not even then. */
	const silent = (isDeaf: boolean): typeof fetch =>
		vi.fn<typeof fetch>(
			(_, init) =>
				new Promise((_answer, reject) => {
					if (!isDeaf)
						init?.signal?.addEventListener("abort", () => {
							reject(new Error("aborted"));
						});
				}),
		);

	test.each([true, false])("a sending has its time, and then there is another one", async (isDeaf) => {
		const fetch = silent(isDeaf);
		const fl = new Forklore("http://x", { fetch, timeoutMs: 2000, retries: 2 });
		const began = Date.now();
		expect(await outcome(READ(fl))).toMatchObject({ attempts: 3, name: "NoAnswerError" });
		expect(fetch).toHaveBeenCalledTimes(3);
		expect(Date.now() - began).toBeGreaterThanOrEqual(6000);
		expect(Date.now() - began).toBeLessThan(7000);
	});

	test("the last sending has only what is left until the deadline", async () => {
		const fl = new Forklore("http://x", { fetch: silent(true), timeoutMs: 8000, deadlineMs: 20_000 });
		const began = Date.now();
		await outcome(READ(fl));
		expect(Date.now() - began).toBe(20_000);
	});

	test.each([true, false])(
		"a signal ends it at once, with its reason, and nothing is sent again",
		async (isDeaf) => {
			const fetch = silent(isDeaf);
			const controller = new AbortController();
			const reason = new Error("the user has gone");
			setTimeout(() => {
				controller.abort(reason);
			}, 500);
			const fl = new Forklore("http://x", { fetch });
			const began = Date.now();
			expect(await outcome(fl.conversation(ID).details({ signal: controller.signal }))).toBe(reason);
			expect(Date.now() - began).toBe(500);
			expect(fetch).toHaveBeenCalledTimes(1);
		},
	);

	test("a signal ends a call whose sending has failed in the same moment", async () => {
		const controller = new AbortController();
		const fetch = vi.fn<typeof globalThis.fetch>(
			() =>
				new Promise((_answer, reject) => {
					setTimeout(() => {
						reject(LOST);
						controller.abort();
					}, 500);
				}),
		);
		const chat = new Forklore("http://x", { fetch }).conversation(ID);
		const error = await outcome(chat.update({ title: "x" }, { signal: controller.signal }));
		expect(error).toMatchObject({ name: "AbortError" });
	});

	test("a signal ends a pause, and leaves no listener and no timer behind", async () => {
		const { fl, sent } = told([status(503, { "Retry-After": "20" })]);
		const { signal, ...controller } = listened(new AbortController());
		setTimeout(() => {
			controller.abort();
		}, 500);
		expect(await outcome(fl.conversation(ID).say("user", "x", { signal }))).toMatchObject({
			name: "AbortError",
		});
		expect(sent).toHaveLength(1);
		expect(controller.listeners()).toBe(0);
		expect(vi.getTimerCount()).toBe(0);
	});

	test("a signal that has come already lets nothing be sent", async () => {
		const { fl, sent } = told([entry]);
		expect(await outcome(fl.names({ signal: AbortSignal.abort() }).list())).toMatchObject({
			name: "AbortError",
		});
		expect(sent).toEqual([]);
	});

	test("a finished call leaves no listener and no timer behind", async () => {
		const { fl } = told([entry]);
		const { signal, listeners } = listened(new AbortController());
		await outcome(fl.api.getEntry({ conversationId: ID, entryId: ID }, { signal }));
		expect(listeners()).toBe(0);
		expect(vi.getTimerCount()).toBe(0);
	});

	function listened(controller: AbortController) {
		let count = 0;
		const { signal } = controller;
		const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
		signal.addEventListener = (...given: Parameters<typeof add>) => {
			count++;
			add(...given);
		};
		signal.removeEventListener = (...given: Parameters<typeof remove>) => {
			count--;
			remove(...given);
		};
		return {
			signal,
			abort: () => {
				controller.abort();
			},
			listeners: () => count,
		};
	}
});

describe("credentials", () => {
	const shown = async (options: Options): Promise<Headers | undefined> => {
		const { fl, sent } = told([entry], { ...options });
		const error = await outcome(READ(fl));
		if (error instanceof Error) throw error;
		return sent[0]?.headers;
	};

	test("a token and a key go into their headers, and nothing stands for what is not given", async () => {
		const both = await shown({ clientKey: "key=of=agent" });
		expect([both?.get("Authorization"), both?.get("X-API-Key")]).toEqual(["Bearer ann", "key=of=agent"]);
		const none = await shown({ token: undefined });
		expect([...(none ?? [])]).toEqual([]);
	});

	test("functions are asked for each sending, and may be awaited", async () => {
		const tokens = ["first", "second"].values();
		const clientKey = vi.fn(async () => Promise.resolve("key"));
		const { fl, sent } = told([LOST, entry], { token: () => tokens.next().value ?? "", clientKey });
		await outcome(READ(fl));
		expect(sent.map(({ headers }) => headers.get("Authorization"))).toEqual([
			"Bearer first",
			"Bearer second",
		]);
		expect(clientKey).toHaveBeenCalledTimes(2);
	});

	test("what a function throws is thrown, and nothing is sent", async () => {
		const error = new Error("signed out");
		const { fl, sent } = told([entry], {
			token: () => {
				throw error;
			},
		});
		expect(await outcome(READ(fl))).toBe(error);
		expect(sent).toEqual([]);
	});

	test("a function that never answers has the time of a sending", async () => {
		const { fl } = told([entry], { token: () => new Promise(() => undefined), retries: 0 });
		expect(await outcome(READ(fl))).toMatchObject({ name: "NoAnswerError" });
	});

	test.each([
		"secret\n",
		"secret é",
		"secret ",
		"\u0000secret",
		"secret\r\nX: y",
		"",
		5 as unknown as string,
	])("%j is no credential, and no error shows it", async (secret) => {
		for (const given of [{ token: secret }, { clientKey: secret }]) {
			const { fl, sent } = told([entry], given);
			const error = await outcome(READ(fl));
			expect(error).toBeInstanceOf(InputError);
			expect(String(error)).not.toContain("secret");
			expect(sent).toEqual([]);
		}
	});

	test("the address leads nowhere else: a redirect is not followed", async () => {
		const { fl, sent } = told([
			() => new Response(null, { status: 302, headers: { Location: "https://other" } }),
		]);
		expect(await outcome(READ(fl))).toMatchObject({ status: 302 });
		expect(sent.map(({ redirect }) => redirect)).toEqual(["manual"]);
	});

	test("a browser hides the status of a redirect", async () => {
		const hidden = Object.defineProperty(new Response(""), "type", { value: "opaqueredirect" });
		const write = told([LOST, () => hidden])
			.fl.conversation(ID)
			.say("user", "x", { idempotencyKey: "mine" });
		const error = await outcome(write);
		expect(error).toBeInstanceOf(UnexpectedAnswerError);
		expect(error).toMatchObject({ attempts: 2, idempotencyKey: "mine" });
	});

	test.each([
		"",
		"forklore.example",
		"ftp://x",
		"http://",
		"https://u:secret@x",
		"http://x?secret",
		"http://x#secret",
		"http://x/secret\n",
	])("%j is no address, and no error shows a secret", (url) => {
		expect(() => new Forklore(url)).toThrow(InputError);
		expect(() => new Forklore(url)).not.toThrow(/secret/);
	});
});

describe("answers", () => {
	const failed = async (code: number, body: string, headers = {}): Promise<ApiError> =>
		(await outcome(
			READ(told([() => new Response(body, { status: code, headers })], { retries: 0 }).fl),
		)) as ApiError;

	test.each([
		[400, BadRequestError],
		[401, UnauthorizedError],
		[404, NotFoundError],
		[409, ConflictError],
		[413, TooLargeError],
		[418, ApiError],
		[422, MismatchError],
		[500, ServerError],
		[502, ServerError],
		[503, UnavailableError],
		[503, ServerError],
	])("%i is a kind of its own", async (code, kind) => {
		const error = await failed(code, "<html>");
		expect(error).toBeInstanceOf(kind);
		expect(error).toMatchObject({ status: code, code: "", details: {}, reason: undefined, field: undefined });
	});

	test("an error tells what the service tells", async () => {
		const details = { message: "must be a UUID", field: "id", reason: "stale", latestEpoch: 3 };
		const said = { code: "validation_error", error: "Bad Request", requestId: "r-1", details };
		const error = await failed(400, JSON.stringify(said), { "X-Request-Id": "r-2" });
		expect(error).toMatchObject({
			name: "BadRequestError",
			message: "must be a UUID",
			code: "validation_error",
			requestId: "r-1",
			field: "id",
			reason: "stale",
			details: { field: "id", reason: "stale", latestEpoch: 3 },
		});
	});

	test("an error of the gateway tells its message and its id", async () => {
		const error = await failed(503, '{"message":"Service Unavailable"}', { "apigw-requestid": "g-1" });
		expect(error).toMatchObject({ message: "Service Unavailable", requestId: "g-1", code: "" });
	});

	test("a very long message is cut", async () => {
		expect((await failed(400, JSON.stringify({ message: "x".repeat(1000) }))).message).toHaveLength(300);
	});

	test.each(["", "<html>", "[]", "null", '"x"', "{}", '{"id":1}'])(
		"a success that is %j is not forklore's",
		async (body) => {
			expect(await failed(200, body)).toBeInstanceOf(UnexpectedAnswerError);
		},
	);

	test("an answer that is no UTF-8 is lost", async () => {
		const { fl } = told([() => new Response(new Uint8Array([0x22, 0xe9, 0x22]))], { retries: 0 });
		expect(await outcome(READ(fl))).toBeInstanceOf(NoAnswerError);
	});

	test("call returns the answer as it came", async () => {
		const answer = () =>
			new Response('{"code":"not_found"}', { status: 404, headers: { "X-Request-Id": "r" } });
		const { fl } = told([LOST, answer]);
		expect(await outcome(fl.call("getEntry", { conversationId: ID, entryId: ID }))).toMatchObject({
			status: 404,
			text: '{"code":"not_found"}',
			requestId: "r",
			attempts: 2,
		});
		expect(await outcome(fl.call("toString"))).toBeInstanceOf(InputError);
	});

	test("a list asks for no more pages than it needs", async () => {
		let at = 0;
		const page = () => Response.json({ data: [at, at], afterCursor: `${at++}` });
		const { fl, sent } = told([page]);
		expect(await outcome(fl.names().list({ limit: 3 }))).toEqual([0, 0, 1]);
		expect(await outcome(fl.names().list({ limit: 0 }))).toEqual([]);
		expect(await outcome(fl.names().first())).toBe(2);
		const walk = fl.names()[Symbol.asyncIterator]();
		await walk.next();
		expect(sent).toHaveLength(4);
	});

	test("a list that is none, or goes in a circle, is not forklore's", async () => {
		for (const page of [
			{ data: {}, afterCursor: null },
			{ data: [], afterCursor: 5 },
			{ data: [], afterCursor: "x" },
		]) {
			const { fl } = told([() => Response.json(page)]);
			expect(await outcome(fl.names().list())).toBeInstanceOf(UnexpectedAnswerError);
		}
	});
});
