// Files: their bytes reach the real service and come back, also through faults.

import { expect, inject, onTestFinished, test } from "vitest";

import { Forklore, InputError, NoAnswerError, NotFoundError, UnexpectedAnswerError } from "../src/index.ts";
import { proxy, type Fault } from "./support/proxy.ts";
import { KEYS } from "./support/server.ts";

const clientKey = KEYS.planner;
const INLINE_BYTES_MAX = 999_999;

/** Return bytes that no other test has. */
function bytesOf(size: number): Uint8Array<ArrayBuffer> {
	const bytes = new Uint8Array(size).fill(7);
	crypto.getRandomValues(bytes.subarray(0, Math.min(size, 64)));
	return bytes;
}

const isSame = (one: ArrayBuffer, other: Uint8Array): boolean => Buffer.from(one).equals(other);

/** Return a client that notes its requests. */
function watched(url = inject("url")): {
	fl: Forklore;
	sent: { method: string; path: string; headers: Headers }[];
} {
	const sent: { method: string; path: string; headers: Headers }[] = [];
	const noted: typeof fetch = async (input, init) => {
		const { pathname: path } = new URL(input as string);
		sent.push({ method: init?.method ?? "GET", path, headers: new Headers(init?.headers) });
		return fetch(input, init);
	};
	return { fl: new Forklore(url, { token: "files", clientKey, fetch: noted }), sent };
}

test("a small file is one request; a message names it, and its bytes come back", async () => {
	const { fl, sent } = watched();
	const bytes = bytesOf(INLINE_BYTES_MAX);
	const made = await fl.upload(new File([bytes], "casa.png", { type: "image/png" }));
	expect(made).toMatchObject({
		name: "casa.png",
		contentType: "image/png",
		size: bytes.length,
		state: "ready",
	});
	expect(sent).toHaveLength(1);
	const chat = fl.conversation();
	const said = await chat.say("user", "Look:", { files: [made] });
	expect(said.content).toEqual([
		{ role: "USER", text: "Look:", attachments: [{ id: made.id, name: "casa.png" }] },
	]);
	await chat.turn("user", "Again", { files: [made.id], context: ["a photo"] });
	const shown = (await chat.last())?.attachments?.[0];
	expect(shown).toMatchObject({ id: made.id, name: "casa.png", size: bytes.length });
	const direct = await fetch(fl.located(shown?.url ?? ""));
	expect(isSame(await direct.arrayBuffer(), bytes)).toBe(true);
	const read = await fl.read(made.id, { conversationId: chat.id });
	expect(read.type).toBe("image/png");
	expect(isSame(await read.arrayBuffer(), bytes)).toBe(true);
	const stranger = new Forklore(inject("url"), { token: "a stranger to files", clientKey });
	await expect(stranger.read(made)).rejects.toBeInstanceOf(NotFoundError);
});

test("the bytes of a larger file go to their own address, without a credential, and only once", async () => {
	const { fl, sent } = watched();
	const bytes = bytesOf(INLINE_BYTES_MAX + 1);
	const made = await fl.upload(bytes, { name: "talk.ogg", contentType: "audio/ogg" });
	expect(sent.map(({ method }) => method)).toEqual(["POST", "PUT", "POST"]);
	const [, put] = sent;
	expect([...(put?.headers.keys() ?? [])]).toEqual(["content-type"]);
	expect((await fl.upload(bytes, { name: "talk.ogg", contentType: "audio/ogg" })).id).toBe(made.id);
	expect(sent.filter(({ method }) => method === "PUT")).toHaveLength(1);
	expect(isSame(await (await fl.read(made)).arrayBuffer(), bytes)).toBe(true);
	expect([...(sent.at(-1)?.headers.keys() ?? [])]).toEqual([]);
});

test.each<Fault>(["resetBefore", "closedAfter", "truncated", "busyAfter"])(
	"%s: what a PUT or a GET has lost is asked for again",
	async (fault) => {
		let next: Fault[] = ["none", fault];
		const faulty = await proxy(inject("url"), () => next.shift() ?? "none");
		onTestFinished(() => faulty.stop());
		const { fl, sent } = watched(faulty.url);
		const bytes = bytesOf(INLINE_BYTES_MAX + 1);
		const made = await fl.upload(bytes, { name: "x", contentType: "text/plain" });
		expect(faulty.planted.get(fault)).toBe(1);
		expect(sent.filter(({ method }) => method === "PUT")).toHaveLength(fault === "resetBefore" ? 2 : 1);
		next = ["none", fault];
		expect(isSame(await (await fl.read(made)).arrayBuffer(), bytes)).toBe(true);
		expect(faulty.planted.get(fault)).toBe(2);
	},
);

test("bytes that never arrive end in an error that shows no address; an abort ends the sending", async () => {
	const controller = new AbortController();
	let puts = 0;
	const broken: typeof fetch = async (input, init) => {
		if (init?.method !== "PUT") return fetch(input, init);
		if (++puts === 3) controller.abort();
		throw new TypeError(`no way to ${input as string}`);
	};
	const fl = new Forklore(inject("url"), { token: "files", clientKey, fetch: broken, retries: 1 });
	const [file, named] = [bytesOf(INLINE_BYTES_MAX + 1), { name: "x", contentType: "text/plain" }];
	const error: unknown = await fl.upload(file, named).catch((thrown: unknown) => thrown);
	expect(error).toBeInstanceOf(NoAnswerError);
	expect(puts).toBe(2);
	const { message, cause } = error as NoAnswerError;
	expect(`${message} ${String(cause)}`).not.toMatch(/files\/|signature/);
	const ended = fl.upload(file, { ...named, signal: controller.signal });
	await expect(ended).rejects.toMatchObject({ name: "AbortError" });
	expect(puts).toBe(3);
});

test("a file without a name is refused before anything is sent", async () => {
	const { fl, sent } = watched();
	await expect(fl.upload(new Blob(["x"]))).rejects.toBeInstanceOf(InputError);
	expect(sent).toEqual([]);
});

test.each(["http://forklore.example/a", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,a"])(
	"an address that is not safe is not used and not shown: %s",
	async (url) => {
		const told = { id: "a", name: "a", contentType: "image/png", size: 1, createdAt: "", state: "ready" };
		const asked: string[] = [];
		const answer: typeof fetch = (input) => {
			asked.push(input as string);
			return Promise.resolve(Response.json({ ...told, sha256: "0".repeat(64), url }));
		};
		const fl = new Forklore("https://forklore.example", { token: "ann", fetch: answer });
		expect(() => fl.located(url)).toThrow(/^the service names an address of bytes that is not safe to use$/);
		await expect(fl.read("a")).rejects.toBeInstanceOf(UnexpectedAnswerError);
		expect(asked).toEqual(["https://forklore.example/v1/attachments/a"]);
	},
);

test("a service does not choose what else is done at an address", async () => {
	const upload = { method: "DELETE", url: "https://other.example/a", headers: {}, expiresAt: "" };
	const told = { id: "a", name: "a", contentType: "image/png", size: 1, createdAt: "", state: "pending" };
	const asked: string[] = [];
	const answer: typeof fetch = (input) => {
		asked.push(input as string);
		return Promise.resolve(Response.json({ ...told, sha256: "0".repeat(64), upload }, { status: 201 }));
	};
	const fl = new Forklore("https://forklore.example", { token: "ann", fetch: answer });
	await expect(fl.upload(new File(["a"], "a.png"))).rejects.toBeInstanceOf(UnexpectedAnswerError);
	expect(asked).toEqual(["https://forklore.example/v1/attachments"]);
});
