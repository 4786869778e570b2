// Serves the page and the route handlers. `make chat` starts it, with a forklore of its own.

import { spawn } from "node:child_process";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

import { build } from "esbuild";

import { Forklore } from "@forklore/client";

import { GET, GET_CHANGES, GET_STREAM, POST, POST_STOP } from "./handlers.ts";

const { FORKLORE_URL, FORKLORE_PYTHON = "python3", PORT = "3000" } = process.env;
const HEAD = `<!doctype html><html lang="en"><meta charset="utf-8"><title>A chat with branches</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body { font: 1rem/1.5 system-ui; max-width: 40rem; margin: 2rem auto } li { margin: 1rem 0 }</style>
<div id="page"></div><script type="module" src="/page.js"></script>`;

/** Start the local server, which keeps everything in memory, and ends with this one. Return its address. */
async function startForklore(): Promise<string> {
	const server = spawn(FORKLORE_PYTHON, ["-m", "forklore_local.server", "--port", "0"], {
		stdio: ["ignore", "pipe", "inherit"],
		env: { ...process.env, PYTHONUNBUFFERED: "1" },
	});
	process.once("exit", () => server.kill());
	let said = "";
	for await (const part of server.stdout) {
		said += String(part);
		const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
		if (address === undefined) continue;
		return address;
	}
	throw new Error(`forklore did not start: ${said}`);
}

async function requestOf(from: IncomingMessage): Promise<Request> {
	const { method = "GET", url = "/" } = from;
	return new Request(`http://127.0.0.1${url}`, {
		method,
		...(method === "POST" && { body: await text(from) }),
	});
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(0));
const entryPoints = [join(import.meta.dirname, "page.tsx")];
const { outputFiles } = await build({
	entryPoints,
	bundle: true,
	write: false,
	format: "esm",
	jsx: "automatic",
});
const script = outputFiles[0]?.text ?? "";
const fl = new Forklore(FORKLORE_URL ?? (await startForklore()), { token: "ann" }); // who asks: your sign-in says it

async function answer(from: IncomingMessage): Promise<Response> {
	const path = new URL(from.url ?? "/", "http://127.0.0.1").pathname;
	if (path === "/page.js") return new Response(script, { headers: { "Content-Type": "text/javascript" } });
	const [isOfChat, id = "", verb] = /^\/api\/chat(?:\/([^/]+)\/(changes|stream|stop))?$/.exec(path) ?? [];
	if (isOfChat === undefined) return new Response(HEAD, { headers: { "Content-Type": "text/html" } });
	if (from.method === "POST" && from.headers["content-type"] !== "application/json")
		return new Response("JSON, please", { status: 415 }); // pages of other sites cannot send that
	if (verb === "changes") return GET_CHANGES(fl, id);
	if (verb !== undefined) return verb === "stop" ? POST_STOP(fl, id) : GET_STREAM(fl, id);
	const request = await requestOf(from);
	return request.method === "POST" ? POST(fl, request) : GET(fl, request);
}

const server = createServer((from, to) => {
	answer(from)
		.catch((error: unknown) => {
			console.error(error);
			return new Response("the server failed", { status: 500 });
		})
		.then(async (response) => {
			to.writeHead(response.status, Object.fromEntries(response.headers));
			await pipeline(Readable.fromWeb((response.body ?? new Blob().stream()) as ReadableStream), to);
		})
		.catch(() => to.destroy()); // the page has gone
});
server.listen(Number(PORT), "127.0.0.1", () => {
	console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
});
