// Starts the page: asks who one is, and opens the page for that person.

import { App } from "./app.js";
import { fill, h } from "./dom.js";
import { isAborted, Problem } from "./service/http.js";
import { signIn } from "./views/sign_in.js";

const KEPT = "forklore.who"; // kept for the tab only
const ANSWER_MS = 10_000;
const AGAIN_MS = 2_000;
const SILENT = "The server does not answer.";

/** @type {App | null} */
let app = null;

/** Return who serves this page: its id and its stage, "" for the local server. Without an answer: undefined. */
async function askServer() {
	try {
		const signal = AbortSignal.timeout(ANSWER_MS);
		const { headers } = await fetch("/", { method: "HEAD", cache: "no-store", credentials: "omit", signal });
		return { server: headers.get("Forklore-Server") ?? "", stage: headers.get("Forklore-Stage") ?? "" };
	} catch {
		return undefined;
	}
}

/** Open the page for whom the tab knows at this server, or ask. @param {string} [notice] why one is asked again */
async function start(notice = "") {
	let found;
	while (!(found = await askServer())) {
		fill(document.body, h("main.sign-in", {}, h("p", { role: "alert" }, `${SILENT} Trying again…`)));
		await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
	}
	const { server, stage } = found;
	const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null");
	if (kept?.server === server) open(kept.credentials, server);
	else fill(document.body, signIn({ stage, notice, enter: (credentials) => enter(credentials, server) }));
}

/**
 * Open the page for a person, and return "", or what is in the way. No other server than the one that the person was
 * asked for gets the credentials.
 * @param {Credentials} credentials
 * @param {string} server
 */
async function enter(credentials, server) {
	const found = await askServer();
	if (!found) return `${SILENT} Is it running?`;
	if (found.server === server) open(credentials, server);
	else void start("Another server answers at this address. Sign in again.");
	return "";
}

/** @param {Credentials} credentials @param {string} server */
function open(credentials, server) {
	sessionStorage.setItem(KEPT, JSON.stringify({ server, credentials }));
	app = new App(credentials, server, (sentence) => {
		if (sentence) sessionStorage.removeItem(KEPT);
		else sessionStorage.clear(); // signed out: what may not have arrived is forgotten, too
		app?.end();
		app = null;
		fill(document.body);
		void start(sentence);
	});
	fill(document.body, app.element);
	app.start();
}

// What fails and nobody handles is shown. Who was refused is asked again already.
addEventListener("unhandledrejection", (event) => {
	if (app || isAborted(event.reason) || event.reason instanceof Problem) event.preventDefault();
	app?.fail(event.reason);
});

void start();
