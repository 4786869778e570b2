import assert from "node:assert/strict";
import { test } from "node:test";

import { Problem, httpOf } from "../../../web/service/http.js";

const LOST = 0;

for (const status of [LOST, 500, 502, 503, 504])
	for (const method of /** @type {const} */ (["PATCH", "DELETE"])) undoesNothing(method, status);

/** @param {"PATCH" | "DELETE"} method @param {number} status */
function undoesNothing(method, status) {
	test(`a ${method} that may have been done is not sent again: ${status || "no answer"}`, async (t) => {
		let sent = 0;
		t.mock.method(globalThis, "fetch", async () => {
			sent += 1;
			if (status === LOST) throw new TypeError("lost");
			return new Response("", { status });
		});
		const { signal } = new AbortController();
		const nothing = () => undefined;
		const http = httpOf({ token: "ann", key: "" }, "", { signal, lost: nothing, refused: nothing });

		const asked = http.send(method, "/conversations/c/memberships", { query: { userId: "bob" } });

		await assert.rejects(asked, (error) => error instanceof Problem && error.status === status);
		assert.equal(sent, 1);
	});
}

test("the pace is the shortest that was told since it was asked for, and else the longest", async (t) => {
	const told = ["3000", "400", "1000", ""];
	t.mock.method(globalThis, "fetch", async () => {
		const pace = told.shift();
		return new Response("", { headers: pace ? { "Forklore-Ask-Again-Ms": pace } : {} });
	});
	const { signal } = new AbortController();
	const nothing = () => undefined;
	const http = httpOf({ token: "ann", key: "" }, "", { signal, lost: nothing, refused: nothing });

	for (let count = 0; count < 4; count++) await http.send("GET", "/conversations/c");

	assert.deepEqual([http.pace(), http.pace()], [400, 3000]);
});
