// Runs the stories on any runtime. It prints what goes otherwise than it is told, as JSON.

import * as client from "../../dist/index.js";
import { differences } from "../support/contract.js";

/** @typedef {{ url: string, clientKey: string, run: string }} At */

/** @param {Record<string, import("../support/contract.js").Step[]>} stories @param {At} at */
export const run = async (stories, at) => [
	...(await differences(/** @type {any} */ (client), stories, at)),
	...(await lost(at)),
];

/** Return what of a small and of a large file does not come back. @param {At} at */
async function lost({ url, clientKey, run }) {
	const fl = new client.Forklore(url, { token: `${run} files`, clientKey });
	const found = [];
	for (const size of [3, 1_200_000]) {
		const bytes = crypto.getRandomValues(new Uint8Array(Math.min(size, 60_000)));
		const file = new Blob(Array(Math.ceil(size / bytes.length)).fill(bytes), { type: "audio/ogg" });
		const made = await fl.upload(file, { name: "talk.ogg" });
		await fl.conversation().say("user", "Listen:", { files: [made] });
		const read = await fl.read(made);
		const same = (await read.text()) === (await file.text()) && read.type === file.type;
		if (!same) found.push(`a file of ${size} bytes has come back as ${read.size} of ${read.type}`);
	}
	return found;
}
