// A client that counts what it sends and gets.

import { inject } from "vitest";

import { Forklore } from "@forklore/client";

/** bytes: of the bodies of requests and answers since `taken` was called. asked: the requests. */
export class Counting {
	bytes = 0;
	asked: string[] = [];
	/** What answers in place of the server; undefined: the server does. */
	instead = (_path: string): Response | undefined => undefined;
	readonly fl: Forklore;

	constructor(token: string = crypto.randomUUID()) {
		const counted: typeof fetch = async (input, init) => {
			const { pathname } = new URL(input as string);
			this.asked.push(`${init?.method ?? "GET"} ${pathname.split("/").slice(0, 3).join("/")}`);
			this.bytes += Buffer.byteLength((init?.body ?? "") as string | Uint8Array);
			const answer = this.instead(pathname) ?? (await fetch(input, init));
			const { byteLength } = await answer.clone().arrayBuffer(); // others count meanwhile
			this.bytes += byteLength;
			return answer;
		};
		this.fl = new Forklore(inject("url"), { token, fetch: counted });
	}

	/** Return what was sent and answered since the last look. */
	taken(): { bytes: number; asked: string[] } {
		const { bytes, asked } = this;
		[this.bytes, this.asked] = [0, []];
		return { bytes, asked };
	}

	/** Let everything about attachments be refused. */
	refuseFiles(status: number, reason?: string): void {
		const refusal = { code: "refused", error: "refused", details: { reason } };
		this.instead = (path) =>
			path.startsWith("/v1/attachments") ? Response.json(refusal, { status }) : undefined;
	}
}
