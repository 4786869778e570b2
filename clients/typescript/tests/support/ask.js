// Calls each operation that a line of the standard input names, and prints the answer: tests/clients/typescript/test_story.py.

import { createInterface } from "node:readline";

import { ApiError, Forklore, InputError } from "@forklore/client";

const [url = "", keys = "{}"] = process.argv.slice(2);

for await (const line of createInterface({ input: process.stdin })) {
	const { operation, given, user, agent } = JSON.parse(line);
	const { idempotencyKey, ifMatch, ...fields } = given;
	const fl = new Forklore(url, { token: user, clientKey: JSON.parse(keys)[agent] });
	/** @type {Record<string, (...given: unknown[]) => Promise<unknown>>} */
	const api = /** @type {any} */ (fl.api);
	try {
		const body = await api[operation]?.(fields, { idempotencyKey, ifMatch });
		console.log(JSON.stringify({ status: 200, body: body ?? null }));
	} catch (error) {
		if (!(error instanceof ApiError)) throw error;
		const { status, code, message, details } = error;
		const refused = { status: 0, body: error.field };
		const failed = { status, body: { code, details: { message, ...details } } };
		console.log(JSON.stringify(error instanceof InputError ? refused : failed));
	}
}
