// Runs the stories that the client for Python goes through, too: tests/clients/python/test_contract.py says what a step is.
// This is plain JavaScript and needs no package, so every runtime can run it.

/**
 * Return what goes otherwise than it is told, a line for each story; nothing if all is well.
 *
 * @param {typeof import("../../src/index.ts")} client the package
 * @param {Record<string, Step[]>} stories
 * @param {{ url: string, clientKey: string, run: string }} at run: makes the users of this run its own
 * @returns {Promise<string[]>}
 *
 * @typedef {{
 *   call: string, on?: string, for?: string, with?: unknown[], options?: object, as?: string | string[],
 *   gives?: unknown, texts?: unknown[], throws?: object
 * }} Step
 */
export async function differences(client, stories, at) {
	const found = await Promise.all(Object.entries(stories).map((story) => difference(client, story, at)));
	return found.flat();
}

/** @param {typeof import("../../src/index.ts")} client @param {[string, Step[]]} story @param {{ url: string, clientKey: string, run: string }} at */
async function difference(client, [story, steps], { url, clientKey, run }) {
	/** @type {Map<string, any>} */
	const kept = new Map();
	const user = (/** @type {string} */ name) => `${run} ${story} ${name}`;

	/** @param {unknown} held @returns {any} */
	function filled(held) {
		if (Array.isArray(held))
			return held.flatMap((one) => (isSpread(one) ? [...filled(one.slice(3))] : [filled(one)]));
		if (held !== null && typeof held === "object") {
			return Object.fromEntries(Object.entries(held).map(([name, inner]) => [filled(name), filled(inner)]));
		}
		if (typeof held !== "string" || !/^[@$]/.test(held)) return held;
		if (held.startsWith("@")) return user(held.slice(1));
		const [name = "", member] = held.slice(1).split(".");
		return member === undefined ? kept.get(name) : kept.get(name)[member];
	}

	/** @param {Step} step */
	async function result({ on = "", for: who = "ann", call, with: given = [], options }) {
		const [name = "", member] = on.split(".");
		const one = kept.get(name) ?? new client.Forklore(url, { token: user(who), clientKey });
		const target = member === undefined ? one : one[member];
		const made = await target[call](...filled(given), ...(options === undefined ? [] : [filled(options)]));
		return made instanceof client.Pages ? made.list() : made;
	}

	for (const step of steps) {
		const told = `${story}: ${JSON.stringify(step)}`;
		/** @type {any} */
		let made;
		try {
			made = await result(step);
		} catch (/** @type {any} */ error) {
			const same =
				step.throws !== undefined &&
				JSON.stringify(shown(error, step.throws)) === JSON.stringify(step.throws);
			if (same) continue;
			return [`${told} threw ${error?.stack}`];
		}
		if (step.throws !== undefined) return [`${told} threw nothing`];
		if (typeof step.as === "string") kept.set(step.as, made);
		else step.as?.forEach((name, index) => kept.set(name, made[index]));
		if (step.texts === undefined && step.gives === undefined) continue;
		const expected = step.texts ?? filled(step.gives);
		const texts = () => made.map((/** @type {any} */ entry) => client.textOf(entry) ?? null);
		const got = step.texts ? texts() : shown(made, expected);
		if (JSON.stringify(got) === JSON.stringify(expected)) continue;
		return [`${told} gave ${JSON.stringify(got)} in place of ${JSON.stringify(expected)}`];
	}
	return [];

	/**
	 * Return of a result what is expected of it; of a conversation its id.
	 * @param {any} given @param {any} expected @returns {unknown}
	 */
	function shown(given, expected) {
		if (given instanceof client.Conversation) return given.id;
		if (Array.isArray(given) && Array.isArray(expected))
			return given.map((one, index) => shown(one, expected[index]));
		if (given === undefined || given === null || typeof given !== "object" || Array.isArray(given))
			return given ?? null;
		if (expected === null || typeof expected !== "object") return given;
		return Object.fromEntries(
			Object.entries(expected).map(([name, inner]) => [name, shown(given[name], inner)]),
		);
	}
}

/** @param {unknown} held @returns {held is string} */
const isSpread = (held) => typeof held === "string" && held.startsWith("...");
