// An application of assistant-ui: it serves the page `app.tsx`, and streams answers that count to a number.

import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import {
	createResumableAssistantStreamResponse,
	createResumableStreamContext,
} from "assistant-stream/resumable";
import { build } from "esbuild";

import { Forklore } from "@forklore/client";

import { resumableStreamStore } from "../src/index.ts";

const PAGE = `<!doctype html><link rel="icon" href="data:,"><body><script type="module" src="/app.js"></script>`;
const PAUSE_MS = 20;
const { FORKLORE_URL = "", PORT = "" } = process.env;
const made = await build({
	absWorkingDir: import.meta.dirname,
	entryPoints: [join(import.meta.dirname, "app.tsx")],
	alias: { "@assistant-ui/core": "assistant-ui-core" }, // the newest one whose other parts npm has
	bundle: true,
	write: false,
	format: "esm",
	jsx: "automatic",
});
const fl = new Forklore(FORKLORE_URL, { token: "served" });
const context = createResumableStreamContext({ store: resumableStreamStore(fl), onError: () => undefined });

/** Answer a question. The answer goes on when the page has gone. */
async function answer(streamId: string, text: string, to: ServerResponse): Promise<void> {
	const response = await createResumableAssistantStreamResponse({
		context,
		streamId,
		async callback(controller) {
			for (let word = 1; word <= Number(/\d+/.exec(text) ?? 0); word++) {
				controller.appendText(`${word} `);
				await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
			}
		},
	});
	to.writeHead(200, Object.fromEntries(response.headers));
	await pipeline(Readable.fromWeb(response.body as never), to);
}

const server = createServer(({ url = "/" }, to) => {
	const { pathname, searchParams } = new URL(url, "http://127.0.0.1");
	if (pathname === "/answers") {
		const [id, text] = [searchParams.get("id") ?? "", searchParams.get("text") ?? ""];
		answer(id, text, to).catch((error: unknown) => {
			if (!to.destroyed) console.error(error); // else the page has gone
			to.destroy();
		});
		return;
	}
	const isScript = pathname === "/app.js";
	to.setHeader("Content-Type", isScript ? "text/javascript; charset=utf-8" : "text/html");
	to.end(isScript ? made.outputFiles[0]?.text : PAGE);
});
server.listen(Number(PORT), "127.0.0.1", () => {
	console.log("ready");
});
