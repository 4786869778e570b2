// What an agent's context was in each epoch, and what each of its entries changed. Pure.

import { isObject, numberOf } from "./message.js";

/** Return the epochs, oldest first. @param {Entry[]} entries of the context of one client, oldest first */
export function epochsOf(entries) {
	/** @type {Map<number, Epoch>} */
	const epochs = new Map();
	/** @type {unknown[]} */
	let present = [];
	for (const entry of entries) {
		const number = entry.epoch ?? 1;
		let epoch = epochs.get(number);
		if (epoch) {
			epoch.changes.push({ entry, added: entry.content, dropped: [], kept: epoch.elements.length });
			epoch.elements = [...epoch.elements, ...entry.content];
		} else {
			const added = without(entry.content, present);
			const [dropped, kept] = [without(present, entry.content), entry.content.length - added.length];
			epoch = { epoch: number, elements: entry.content, changes: [{ entry, added, dropped, kept }] };
			epochs.set(number, epoch);
		}
		present = epoch.elements;
	}
	return [...epochs.values()].sort((one, other) => one.epoch - other.epoch);
}

/** Return the elements that others do not hold, or hold less often. @param {unknown[]} elements @param {unknown[]} others */
function without(elements, others) {
	const counts = new Map();
	for (const one of others.map(textOf)) counts.set(one, (counts.get(one) ?? 0) + 1);
	return elements.filter((element) => {
		const left = counts.get(textOf(element)) ?? 0;
		counts.set(textOf(element), left - 1);
		return left <= 0;
	});
}

/** Return a text that is the same for values that are equal as JSON. @param {unknown} value @returns {string} */
function textOf(value) {
	return JSON.stringify(value, (_, one) => {
		if (isObject(one)) return Object.fromEntries(Object.entries(one).sort(([a], [b]) => (a < b ? -1 : 1)));
		return one?.rawJSON?.length < 16 ? numberOf(one) : one; // 1.0 is 1; a double holds 15 digits
	});
}
