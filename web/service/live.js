// Asks for news again and again, while somebody looks.

import { isAborted, pause, Problem } from "./http.js";

const LOST_MS = 3000;

/**
 * Call `tick` at the service's pace while the page is visible, until `signal` comes.
 * A problem is handed to `fail`, once until a call succeeds. Without an answer, the pauses are longer.
 * @type {(tick: (count: number) => Promise<void>, fail: (problem: unknown) => void, http: Http, signal: AbortSignal) => Promise<void>}
 */
export async function follow(tick, fail, http, signal) {
	let isTold = false;
	let waits = 0;
	for (let count = 0; !signal.aborted; count++) {
		await pause(Math.max(waits, http.pace()), signal).catch(() => {});
		waits = 0;
		if (document.hidden || signal.aborted) continue;
		try {
			await tick(count);
			isTold = false;
		} catch (error) {
			if (isAborted(error)) continue;
			const isShown = error instanceof Problem && [0, 502, 504].includes(error.status); // as lost, by Http
			if (!isShown && !isTold) fail(error);
			isTold ||= !isShown;
			waits = Math.max(LOST_MS, (error instanceof Problem && error.details.retryAfter * 1000) || 0);
		}
	}
}
