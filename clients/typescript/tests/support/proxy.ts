// A proxy between the client and the real local server, that plants faults.

import { once } from "node:events";
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** What can happen to a request, and how often it does at random. After: when the service has done the work. */
export const FAULTS = {
	none: 60,
	resetBefore: 5,
	resetAfter: 8,
	closedAfter: 6,
	truncated: 6,
	busyBefore: 3,
	busyAfter: 3,
	busyWithWait: 3,
	tooMany: 2,
	htmlBefore: 3,
	htmlAfter: 3,
	slowAnswer: 1,
	slowBody: 1,
	lateRequest: 1,
};
export type Fault = keyof typeof FAULTS;

/** What clients of the proxy wait for an answer. What is slow takes longer. */
export const TIMEOUT_MS = 1000;
const SLOW_MS = TIMEOUT_MS + 300;
const KEPT = /^(content-type|retry-after|x-request-id|vary|access-control-.*)$/;
const BEFORE = new Set<Fault>(["resetBefore", "busyBefore", "busyWithWait", "tooMany", "htmlBefore"]);

export interface Proxy {
	readonly url: string;
	/** The requests that came: method, path, and Idempotency-Key. */
	readonly seen: { method: string; path: string; key: string | undefined }[];
	/** How often each fault was planted. */
	readonly planted: Map<Fault, number>;
	/** Wait until nothing is under way, also what a client has given up. */
	idle(): Promise<void>;
	stop(): Promise<void>;
}

/** Run a proxy for the server at an address. next: returns the fault of the next request, of that method. */
export async function proxy(address: string, next: (method: string) => Fault): Promise<Proxy> {
	const agent = new Agent({ keepAlive: true });
	const seen: Proxy["seen"] = [];
	const planted: Proxy["planted"] = new Map();
	const underway = new Set<Promise<void>>();

	async function ask(from: IncomingMessage, body: Buffer): Promise<{ head: IncomingMessage; body: Buffer }> {
		const sent = request(`${address}${from.url ?? "/"}`, {
			agent,
			method: from.method ?? "GET",
			headers: from.headers,
		});
		sent.end(body);
		const [head] = (await once(sent, "response")) as [IncomingMessage];
		return { head, body: await buffer(head) };
	}

	function answer(to: ServerResponse, status: number, body: Buffer | string, headers: object = {}): void {
		to.writeHead(status, {
			...headers,
			...(status === 204 ? {} : { "Content-Length": Buffer.byteLength(body) }),
		});
		to.end(body);
	}

	async function passOn(from: IncomingMessage, to: ServerResponse): Promise<void> {
		const body = await buffer(from);
		let fault = next(from.method ?? "");
		if (fault === "lateRequest" && from.method !== "POST") fault = "none"; // without a key it is as new
		planted.set(fault, (planted.get(fault) ?? 0) + 1);
		const key = from.headers["idempotency-key"];
		seen.push({
			method: from.method ?? "",
			path: from.url ?? "",
			key: typeof key === "string" ? key : undefined,
		});
		if (fault === "lateRequest") await sleep(SLOW_MS);
		if (BEFORE.has(fault)) {
			refuse(fault, to);
			return;
		}
		const { head, body: whole } = await ask(from, body);
		const status = head.statusCode ?? 500;
		const headers = Object.fromEntries(Object.entries(head.headers).filter(([name]) => KEPT.test(name)));
		if (fault === "slowAnswer") await sleep(SLOW_MS);
		if (["none", "slowAnswer", "lateRequest"].includes(fault)) {
			answer(to, status, whole, headers);
			return;
		}
		if (fault !== "truncated" && fault !== "slowBody") {
			refuse(fault, to);
			return;
		}
		to.writeHead(status === 204 ? 200 : status, { ...headers, "Content-Length": Math.max(whole.length, 1) });
		to.flushHeaders();
		to.write(whole.subarray(0, whole.length / 2));
		await sleep(fault === "slowBody" ? SLOW_MS : 5);
		to.destroy();
	}

	function refuse(fault: Fault, to: ServerResponse): void {
		if (fault.startsWith("reset")) to.socket?.resetAndDestroy();
		else if (fault === "closedAfter") to.destroy();
		else if (fault.startsWith("html")) answer(to, fault === "htmlBefore" ? 502 : 504, "<h1>Bad Gateway</h1>");
		else if (fault === "tooMany") answer(to, 429, '{"message":"Too Many Requests"}');
		else if (fault === "busyWithWait") answer(to, 503, "", { "Retry-After": "0.05" });
		else answer(to, 503, '{"message":"Service Unavailable"}');
	}

	const server = createServer((from, to) => {
		const done = passOn(from, to)
			.catch(() => to.destroy())
			.then(() => {
				underway.delete(done);
			});
		underway.add(done);
	});
	server.listen(0, "127.0.0.1");
	await once(server, "listening");
	const idle = async (): Promise<void> => {
		await Promise.all(underway);
	};
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		seen,
		planted,
		idle,
		async stop() {
			await idle();
			server.closeAllConnections();
			server.close();
			await once(server, "close");
			agent.destroy();
		},
	};
}
