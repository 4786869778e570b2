// Files in the messages of a chat: which parts become attachments, under which names, and what a lost answer changes.

import { randomBytes } from "node:crypto";

import { expect, inject, test } from "vitest";

import { Forklore, NotFoundError } from "@forklore/client";
import { ChatFiles, ChatStore, readableFiles, type ChatMessage } from "@forklore/client/chat";

import { Counting } from "./support/counting.ts";

const dataUrl = (size: number, type = "image/png"): string =>
	`data:${type};base64,${randomBytes(size).toString("base64")}`;
const said = (data: Record<string, unknown>): ChatMessage => ({ id: "q", role: "user", text: "", data });

/** Store one message and return how it is stored, with the names of its attachments, and how it is shown. */
async function kept(
	fl: Counting["fl"],
	data: Record<string, unknown>,
): Promise<{ stored: string; names: string[]; shown: Record<string, unknown> }> {
	const store = new ChatStore(fl, crypto.randomUUID(), { files: new ChatFiles(fl) });
	await store.append(null, said(data));
	const [entry] = (await fl.conversation(store.conversationId).tree()).entries;
	const [loaded] = (await store.load()).messages;
	const names = (entry?.attachments ?? []).map(({ name }) => name);
	return { stored: JSON.stringify(entry?.content), names, shown: loaded?.data ?? {} };
}

test("files at any depth become attachments; texts, other addresses and what is no base64 stay", async () => {
	const { fl } = new Counting();
	const large = dataUrl(40_000);
	const output = { value: [{ type: "file", data: large }], note: large };
	const stays = {
		text: { type: "text", text: large },
		broken: { type: "file", url: `data:image/png;base64,${"!".repeat(60_000)}` },
		plain: { type: "file", url: `data:text/plain,${"x".repeat(60_000)}` },
		web: { type: "image", image: "https://example.com/a.png#attachment=none" },
		unit: dataUrl(32_768),
		note: large,
	};
	const { stored, names, shown } = await kept(fl, { parts: [{ type: "tool-look", output }], stays });
	expect(names).toEqual(["image.png"]);
	expect(shown).toMatchObject({ stays });
	expect(stored).toMatch(/"data":"attachment:[\w-]+:[0-9a-f]{64}"/);
	const part = (shown["parts"] as [{ output: typeof output }])[0].output;
	expect(part.note).toBe(large);
	expect(part.value[0]?.data).toMatch(/^http.*#attachment=/);
	const readable = await readableFiles(fl, crypto.randomUUID(), part.value);
	expect(readable).toEqual([{ type: "file", data: large }]);
});

test.each([
	["../../etc/passwd", ".._.._etc_passwd"],
	["a\u0000\u202egnp.exe", "a__gnp.exe"],
	["..", "_"],
	["", "image.png"],
	[`${"ü".repeat(300)}.png`, `${"ü".repeat(56)}.png`],
	["photo 👩‍🚀.png", "photo 👩_🚀.png"],
])("a file that is called %j is there as %j", async (filename, name) => {
	const { fl } = new Counting();
	const { names, shown } = await kept(fl, { part: { type: "file", filename, url: dataUrl(40_000) } });
	expect(names).toEqual([name]);
	expect(shown["part"]).toMatchObject({ filename }); // the message itself is as it was
});

test("references that lead nowhere, and more than there is room for, name nothing and stop nothing", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const made = await fl.upload(randomBytes(800_000), { name: "a.png", contentType: "image/png" });
	const more = await fl.upload(randomBytes(200_001), { name: "b.png", contentType: "image/png" });
	const url = (id: string): string => `https://elsewhere/#attachment=${id}:${"0".repeat(64)}`;
	const nowhere = Array.from({ length: 10 }, () => url(crypto.randomUUID()));
	const parts = [url("no-id"), ...nowhere, url(made.id), url(made.id), url(more.id)].map((at) => ({
		type: "file",
		url: at,
	}));
	const { names, shown } = await kept(fl, { parts });
	expect(names).toEqual([]);
	const urls = (shown["parts"] as { url: string }[]).map((part) => part.url);
	expect(urls.shift()).toBe(url("no-id"));
	expect(urls.slice(0, 10).every((at) => at.startsWith("attachment:"))).toBe(true);
	expect(urls[10]).toMatch(/^data:image\/png;base64,/);
	expect(urls[11]).toBe(urls[10]);
	expect(urls[12]).toMatch(/^attachment:/);
});

test("a file of which the service does not tell just now is named all the same", async () => {
	const counting = new Counting();
	const { fl } = counting;
	const { id, sha256 } = await fl.upload(randomBytes(40_000), { name: "a.png", contentType: "image/png" });
	counting.instead = (path) =>
		path.startsWith("/v1/attachments/") ? new Response("{}", { status: 500 }) : undefined;
	const quick = fl.withOptions({ retries: 0 });
	const part = { type: "file", url: `attachment:${id}:${sha256}` };
	expect((await kept(quick, { part })).names).toEqual(["a.png"]);
	const text = "[A file cannot be read just now.]";
	expect(await readableFiles(quick, crypto.randomUUID(), part)).toEqual({ type: "text", text });
});

/** A chat whose uploads make attachments that nobody can name, until `mended`. */
function withLostFiles(): { fl: Forklore; store: ChatStore; mended: () => void } {
	const counting = new Counting();
	const { fl } = counting;
	const made = { name: "a.png", contentType: "image/png", size: 40_000, createdAt: new Date().toISOString() };
	counting.instead = (path) =>
		path === "/v1/attachments"
			? Response.json({ ...made, id: crypto.randomUUID(), sha256: "0".repeat(64), state: "ready" })
			: undefined;
	const mended = (): void => {
		counting.instead = () => undefined;
	};
	return { fl, store: new ChatStore(fl, fl.conversation().id, { files: new ChatFiles(fl) }), mended };
}
const photo = (id: string, size = 40_000): ChatMessage => ({
	...said({ part: { type: "file", url: dataUrl(size) } }),
	id,
});

test("a message whose attachment cannot be named keeps no other one, and is uploaded again with the next", async () => {
	const { store, mended } = withLostFiles();
	const lost = photo("b");
	const three = [{ ...said({}), id: "a" }, lost, { ...said({}), id: "c" }];
	await expect(store.append(null, ...three)).rejects.toThrow(NotFoundError);
	expect(store.unsaved).toMatchObject([{ message: lost, error: { status: 404 } }]);
	expect((await store.load()).messages.map(({ id }) => id)).toEqual(["a", "c"]);
	mended();
	await store.append("c", { ...said({}), id: "d" });
	expect(store.unsaved).toEqual([]);
	const { messages } = await store.load();
	expect(messages.find(({ id }) => id === "b")?.files).toHaveLength(1);
});

test("an attachment that cannot be named is not taken for the end of an answer", async () => {
	const { fl, store, mended } = withLostFiles();
	await store.append(null, said({}));
	const { id: answerId, conversationId } = await store.beginAnswer("q");
	const answer: ChatMessage = { ...photo("a"), role: "ai", answerId };
	await expect(store.append("q", answer)).rejects.toThrow(NotFoundError);
	expect((await store.load()).answering?.id).toBe(answerId);
	mended();
	await store.append("a", { ...said({}), id: "d" });
	expect(await fl.api.getAnswer({ conversationId, answerId })).toMatchObject({ state: "finished" });
	expect((await store.load()).messages.map(({ id, files = [] }) => [id, files.length])).toEqual([
		["q", 0],
		["a", 1],
		["d", 0],
	]);
});

test("an upload that fails for a while keeps what is too large without it, which is sent again", async () => {
	const counting = new Counting();
	const fl = counting.fl.withOptions({ retries: 0 });
	const store = new ChatStore(fl, crypto.randomUUID(), { files: new ChatFiles(fl) });
	const [small, large] = [photo("small"), photo("large", 2_000_000)];
	counting.refuseFiles(500);
	await expect(store.append(null, small, large)).rejects.toMatchObject({ status: 500 });
	expect(store.unsaved).toMatchObject([{ message: large, parentId: "small", error: { status: 500 } }]);
	await expect(store.append(null, large)).rejects.toMatchObject({ status: 500 });
	const before: number[] = [];
	counting.instead = (path) => {
		if (path === "/v1/attachments") before.push(store.unsaved.length);
		return undefined;
	};
	await store.append("small", { ...photo("next"), id: "next" });
	expect(Math.min(...before)).toBe(1); // what is being uploaded is not stored yet
	expect(before[0]).toBe(2);
	expect(store.unsaved).toEqual([]);
	const files = (await store.load()).messages.map(({ id, files }) => [id, files?.length ?? 0]);
	expect(Object.fromEntries(files)).toEqual({ small: 0, large: 1, next: 1 });
});

test("whether a file can be named is asked for the chat, then for all others", async () => {
	const asked: string[] = [];
	const noted: typeof fetch = async (input, init) => {
		const { pathname, searchParams } = new URL(input as string);
		if (pathname.startsWith("/v1/attachments/")) asked.push(searchParams.get("conversationId") ?? "-");
		return fetch(input, init);
	};
	const fl = new Forklore(inject("url"), { token: crypto.randomUUID(), fetch: noted });
	const store = new ChatStore(fl, crypto.randomUUID(), { files: new ChatFiles(fl) });
	const url = `attachment:${crypto.randomUUID()}:`;
	await store.append(null, said({ part: { type: "file", url } }));
	expect(asked).toEqual([store.conversationId, "-"]);
});
