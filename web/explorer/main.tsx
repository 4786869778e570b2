// Starts the page: asks who one is, and opens the page for that person.

import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/frame.css";
import "./styles/talk.css";
import "./styles/message.css";
import "./styles/tree.css";
import "./styles/dialogs.css";
import "./styles/narrow.css";
import { ApiError } from "@forklore/client";
import { createRoot } from "react-dom/client";
import { App } from "./service/app.ts";
import { askServer, isAborted, type Credentials } from "./service/connection.ts";
import { Frame } from "./views/Frame.tsx";
import { Linked, secretIn } from "./views/Linked.tsx";
import { SignIn } from "./views/SignIn.tsx";

const KEPT = "forklore.who"; // kept for the tab only
const AGAIN_MS = 2_000;
const SILENT = "The server does not answer.";

const root = createRoot(document.querySelector("#app")!);
let app: App | undefined;
let rounds = 0;

/** Open the page for whom the tab knows at this server, or ask. notice: why one is asked again. */
async function start(notice = ""): Promise<void> {
	let found;
	while (!(found = await askServer())) {
		root.render(
			<main className="sign-in">
				<p role="alert">{SILENT} Trying again…</p>
			</main>,
		);
		await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
	}
	const { server, stage } = found;
	const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "null") as {
		server: string;
		credentials: Credentials;
	} | null;
	if (kept?.server === server) open(kept.credentials, server);
	else {
		const enterHere = (credentials: Credentials) => enter(credentials, server);
		root.render(<SignIn key={++rounds} stage={stage} notice={notice} enter={enterHere} />);
	}
}

/**
 * Open the page for a person, and return "", or what is in the way. No other server than the one that the person was
 * asked for gets the credentials.
 */
async function enter(credentials: Credentials, server: string): Promise<string> {
	const found = await askServer();
	if (!found) return `${SILENT} Is it running?`;
	if (app) return "";
	if (found.server === server) open(credentials, server);
	else void start("Another server answers at this address. Sign in again.");
	return "";
}

function open(credentials: Credentials, server: string): void {
	sessionStorage.setItem(KEPT, JSON.stringify({ server, credentials }));
	app = new App(credentials, server, (sentence) => {
		if (sentence) sessionStorage.removeItem(KEPT);
		else sessionStorage.clear(); // signed out: what may not have arrived is forgotten, too
		app?.end();
		app = undefined;
		root.render(null);
		void start(sentence);
	});
	root.render(<Frame key={++rounds} app={app} />);
	app.start();
}

// What fails and nobody handles is shown. Who was refused is asked again already.
addEventListener("unhandledrejection", (event) => {
	if (app || isAborted(event.reason) || event.reason instanceof ApiError) event.preventDefault();
	app?.fail(event.reason);
});

// By a link one reads without an account. Another address is another page: a hash alone loads none.
const secret = secretIn(location.hash);
if (secret) root.render(<Linked secret={secret} />);
else void start();
addEventListener("hashchange", () => {
	if (secretIn(location.hash) !== secret) location.reload();
});
