// A problem in words.

import { button, h } from "../dom.js";
import { Problem } from "../service/http.js";

/** Return a problem as a sentence, with the id by which its request is found in the log. @param {unknown} error */
export function problemText(error) {
	if (!(error instanceof Problem)) return h("p", {}, "Something went wrong in this page. Load it again.");
	return h("p", {}, error.message, error.requestId && h("small", {}, ` Request ${error.requestId}`));
}

/** Return a problem, and a button to try again. @param {unknown} error @param {() => unknown} again */
export const retry = (error, again) => [problemText(error), button("Try again", again)];

/** Return what is said in passing. @param {string} sentence */
export const aside = (sentence) => h("p.dim", {}, sentence);
