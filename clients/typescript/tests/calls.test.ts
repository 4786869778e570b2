// How calls look, and what is refused before anything is sent.

import { beforeEach, expect, test, vi } from "vitest";

import { Forklore, InputError, TooLargeError } from "../src/index.ts";

const ID = "00000000-0000-4000-8000-000000000001";
const sent: { url: string; init: RequestInit }[] = [];
const fetch = vi.fn<typeof globalThis.fetch>(async (url, init = {}) => {
	sent.push({ url: url as string, init });
	return Promise.resolve(Response.json({ code: "forbidden" }, { status: 403 }));
});
const fl = new Forklore("http://x/base//", { fetch });
const chat = fl.conversation(ID);

beforeEach(() => {
	sent.length = 0;
});

async function shown(call: Promise<unknown>): Promise<{ target: string; method: string; body: unknown }> {
	await expect(call).rejects.toThrow("no explanation");
	const [{ url, init } = { url: "", init: {} }] = sent;
	return { target: url, method: init.method ?? "", body: init.body };
}

test("an append has its fields in the body", async () => {
	expect(
		await shown(fl.api.appendEntry({ conversationId: ID, contentType: "x", content: ["é"], key: null })),
	).toEqual({
		target: `http://x/base/v1/conversations/${ID}/entries`,
		method: "POST",
		body: '{"contentType":"x","content":["é"],"key":null}',
	});
});

test("a list has them in the query, quoted, and leaves out what is null", async () => {
	const given = {
		conversationId: ID,
		afterCursor: "a+b&c=d é",
		tail: true,
		own: false,
		limit: 5,
		epoch: null,
	};
	expect(await shown(fl.call("listEntries", given).then(() => fl.api.checkHealth()))).toEqual({
		target: `http://x/base/v1/conversations/${ID}/entries?afterCursor=a%2Bb%26c%3Dd%20%C3%A9&tail=true&own=false&limit=5`,
		method: "GET",
		body: undefined,
	});
});

test("a change of a membership has both", async () => {
	expect(
		await shown(fl.api.updateMembership({ conversationId: ID, userId: "bob", accessLevel: "reader" })),
	).toEqual({
		target: `http://x/base/v1/conversations/${ID}/memberships?userId=bob`,
		method: "PATCH",
		body: '{"accessLevel":"reader"}',
	});
});

test("a read has no key, and a delete neither", async () => {
	await Promise.allSettled([chat.details(), fl.search("x").list(), chat.delete()]);
	expect(sent.flatMap(({ init }) => Object.keys(init.headers ?? {}))).toEqual(["Content-Type"]);
});

test.each(["a/b", "a b", "100%", "a?b#c", "é€", ".", "..", "x".repeat(101), "a\n", 5 as unknown as string])(
	"%j is no id for a path",
	async (id) => {
		await expect(fl.conversation(id).details()).rejects.toMatchObject({
			name: "InputError",
			field: "conversationId",
		});
		expect(sent).toEqual([]);
	},
);

const text = (length: number) => "😀".repeat(length);
test.each<[string, string, () => unknown]>([
	["the empty id", "id", () => fl.conversation("")],
	["the empty name", "name", () => fl.named("")],
	["no name", "name", () => fl.named(undefined as unknown as string)],
	["content that is no array", "content", () => chat.append("x" as unknown as [])],
	["entries that are no array", "entries", () => chat.appendAll({} as unknown as [])],
	["memory that is no array", "memory", () => chat.context.sync("x" as unknown as [])],
	["context that is no array", "context", () => chat.turn("ai", "x", { context: {} as unknown as [] })],
	["NaN in a context", "context", () => chat.turn("ai", "x", { context: [NaN] })],
	["a role that there is not", "role", () => chat.say("robot" as "user", "x")],
	["a role of every object", "role", () => chat.say("constructor" as "user", "x")],
	["a text that is none", "text", () => chat.say("user", 5 as unknown as string)],
	["a title that is too long", "title", () => chat.update({ title: text(501) })],
	["too many entries", "entries", () => chat.appendAll(Array(51).fill({ contentType: "x", content: [] }))],
	["a long type in one", "contentType", () => chat.appendAll([{ contentType: text(128), content: [] }])],
	["too many elements", "content", () => chat.append(Array(1001).fill(0))],
	["a key with a blank at its end", "idempotencyKey", () => chat.say("user", "x", { idempotencyKey: "k " })],
	["an empty key", "idempotencyKey", () => chat.say("user", "x", { idempotencyKey: "" })],
	["a long key", "idempotencyKey", () => chat.say("user", "x", { idempotencyKey: "k".repeat(256) })],
	["a key beyond ASCII", "idempotencyKey", () => chat.say("user", "x", { idempotencyKey: "é" })],
	["a key for a read", "idempotencyKey", () => fl.call("listNames", {}, { idempotencyKey: "k" })],
	["ifMatch for a read", "ifMatch", () => fl.call("listNames", {}, { ifMatch: "k" })],
	["ifMatch that is no text", "ifMatch", () => chat.append([], { ifMatch: 5 as unknown as string })],
	["half of a pair in a query", "query", () => fl.conversations({ query: "\ud800" }).list()],
	["a list in a query", "tag", () => fl.conversations({ tag: ["a"] as unknown as string }).list()],
	["a broken number in a query", "limit", () => fl.conversations({ pageRows: 1.5 }).list().catch(reraised)],
	["limit of a list", "limit", () => chat.entries({ limit: 3 } as object)],
	["tail of a list", "tail", () => chat.entries({ tail: true } as object)],
	["backward after an entry", "after", () => chat.entries({ backward: true, after: ID })],
	["moveName without a name", "moveName", () => chat.fork({ moveName: true })],
	["a position beside an entry", "position", () => chat.fork({ before: ID, position: "after" })],
	["a list of one's own as a base", "basedOn", () => chat.context.sync([], { basedOn: [] })],
	["a name beside a name", "name", () => fl.named("a").say("user", "x", { name: { name: "b" } })],
])("%s is refused before anything is sent", async (_, field, call) => {
	const error: unknown = await Promise.resolve()
		.then(call)
		.catch((thrown: unknown) => thrown);
	expect(error).toBeInstanceOf(InputError);
	expect(error).toMatchObject({ field, attempts: 0, status: undefined });
	expect(sent).toEqual([]);
});

const reraised = (error: unknown) => {
	throw error;
};

test.each<[string, () => unknown]>([
	["before and after at once", () => chat.fork({ before: ID, after: ID })],
	["before nothing", () => chat.fork({ before: undefined as unknown as string })],
	["after nothing", () => chat.fork({ after: null as unknown as string })],
	["after a conversation", () => chat.fork({ after: chat as unknown as string })],
	["the id of a name that was not looked up", () => fl.named("x").id],
])("%s is refused, too", async (_, call) => {
	await expect(Promise.resolve().then(call)).rejects.toBeInstanceOf(InputError);
	expect(sent).toEqual([]);
});

test("texts are measured in characters, and the longest is taken", async () => {
	await shown(chat.update({ title: text(500) }));
});

test("a body that is too large is refused before it is sent", async () => {
	const half = ["x".repeat(2_800_000)];
	const entries = [half, half].map((content) => ({ contentType: "x", content }));
	await expect(chat.appendAll(entries)).rejects.toBeInstanceOf(TooLargeError);
	expect(sent).toEqual([]);
});

test("a client shows no credential when it is logged", async () => {
	const { inspect } = await import("node:util");
	const shown = inspect(new Forklore("http://x", { token: "secret", clientKey: "secret" }), {
		depth: 9,
		showHidden: true,
	});
	expect(shown).not.toContain("secret");
});
