// One person's session: what is open, what is shown of it, and what is told.

import { routeOf, toConversation, toList } from "./domain/route.js";
import { titleOf, userOf } from "./domain/words.js";
import { button, fill, h } from "./dom.js";
import { apiOf } from "./service/api.js";
import { Grove } from "./service/grove.js";
import { httpOf, isAborted, pause, Problem } from "./service/http.js";
import { follow } from "./service/live.js";
import { Opened } from "./service/opened.js";
import { showComparison } from "./views/compare.js";
import { showContext } from "./views/context.js";
import { showConversation } from "./views/conversation.js";
import { showHead } from "./views/head.js";
import { showList } from "./views/list.js";
import { aside, problemText } from "./views/problem.js";
import { showTree } from "./views/tree.js";

const TREE_EVERY = 2; // of so many looks one is also for the tree
const FORKS_EVERY = 10; // of so many of these, in a tree with many branches, one is for their list
const FORKS_CHEAP = 200; // one page
const SAID_MS = 8000;
const AGAIN_MS = 5000; // until a conversation that could not be loaded is tried again
const PANES = { list: "Conversations", talk: "Messages", tree: "Tree", context: "Context" };

/** Emits "reloaded" after what is shown was loaded anew. */
export class App extends EventTarget {
	/** What is open. @type {Place | null} */
	place = null;
	/** Where one writes. @type {Map<string, Box>} */
	boxes = new Map();
	/** Of deeds that are not done. @type {Map<string, string>} */
	keys = new Map();
	_ended = new AbortController();
	_placeEnded = new AbortController();
	_groveEnded = new AbortController();
	_comparisonEnded = new AbortController();
	_said = h("p.said", { role: "status" });
	_lost = h("p.danger", { role: "status" });
	_failed = h("div.failed", { role: "alert" });
	_saidTimer = 0;

	/**
	 * leave: called when the person signs out, or must sign in again, with a sentence that says why.
	 * @param {Credentials} credentials
	 * @param {string} server
	 * @param {(sentence: string) => void} leave
	 */
	constructor(credentials, server, leave) {
		super();
		this.signal = this._ended.signal;
		this.user = userOf(credentials.token);
		this.isAgent = credentials.key !== "";
		/** Where the tab keeps what belongs to this person on this server. */
		this.keptAt = `forklore:${server}:${this.user}:`;
		const lost = (/** @type {string} */ sentence) => this._showLost(sentence);
		this.http = httpOf(credentials, server, { signal: this.signal, lost, refused: leave });
		this.api = apiOf(this.http);

		/** @type {(pane: keyof typeof PANES, tag?: "nav" | "section") => HTMLElement} */
		const panel = (pane, tag = "section") => h(tag, { class: pane, "aria-label": PANES[pane] });
		const [list, talk, tree, context] = [
			panel("list", "nav"),
			panel("talk"),
			panel("tree"),
			panel("context"),
		];
		this._headPanel = h("header.head");
		context.hidden = !this.isAgent;
		this._open = h("main.open", {}, this._headPanel, talk, context);
		this._compared = h("main.compare", { hidden: true });
		this._tabs = Object.entries(PANES).map(([pane, label]) =>
			button(label, () => this._showPane(pane), { "data-pane": pane }),
		);
		const icon = h("img", { src: "/web/icon.svg", alt: "", width: 20, height: 20 });
		const top = h(
			"header.top",
			{},
			h("a.brand", { href: toList() }, icon, " forklore"),
			this._lost,
			this._said,
			h("span.who", {}, this.user, this.isAgent && " · agent"),
			button("Sign out", () => leave("")),
		);
		const tabs = h("nav.tabs", { "aria-label": "Parts of the page" }, this._tabs);
		const parts = [top, list, this._open, this._compared, tree, this._failed, tabs];
		this.element = h("div.app", { "data-agent": this.isAgent }, parts);
		this.list = showList(this, list);
		this._talkPanel = talk;
		this._contextPanel = context;
		this._tree = showTree(this, tree, this.signal);
	}

	/** Show what the address names, and follow it. */
	start() {
		addEventListener("hashchange", () => void this._arrive(), { signal: this.signal });
		void this.list.load();
		void this._arrive();
	}

	/** End: no request goes out any more, and nothing listens. */
	end() {
		for (const one of [this._placeEnded, this._groveEnded, this._ended]) one.abort();
	}

	/** @param {string} hash */
	go(hash) {
		if (location.hash === hash) void this._arrive();
		else location.hash = hash;
	}

	/** @param {string} sentence */
	say(sentence) {
		this._said.textContent = sentence;
		clearTimeout(this._saidTimer);
		this._saidTimer = window.setTimeout(() => (this._said.textContent = ""), SAID_MS);
	}

	/** Show what went wrong, until it is closed. @param {unknown} error */
	fail(error) {
		if (isAborted(error) || this.signal.aborted) return;
		if (!(error instanceof Problem)) console.error(error);
		const close = button("Close", () => fill(this._failed));
		fill(this._failed, problemText(error), close);
	}

	/** Load what is open and the list anew, after a deed. It never raises. */
	async reload() {
		const place = this.place;
		try {
			await Promise.all([place?.grove.loadForks(), place?.opened.refresh(), this.list.load()]);
			this.dispatchEvent(new Event("reloaded"));
		} catch (error) {
			this._failAt(place, error);
		}
	}

	/** Put the branch that a deed made into the tree, and open it. @param {Fork} fork @param {string} [entryId] */
	openFork(fork, entryId) {
		this.place?.grove.addFork(fork);
		this.go(toConversation(fork.conversationId, entryId));
		void this.list.load();
	}

	/** @param {string} pane */
	_showPane(pane) {
		this.element.dataset.pane = pane;
		for (const tab of this._tabs) tab.ariaPressed = String(tab.dataset.pane === pane);
	}

	async _arrive() {
		const route = routeOf(location.hash);
		const isCompared = route.name === "compare";
		fill(this._failed);
		this._comparisonEnded.abort();
		this._comparisonEnded = new AbortController();
		this.element.dataset.route = route.name;
		this._compared.hidden = !isCompared;
		this._open.hidden = isCompared;
		if (route.name === "list") {
			this._leavePlace();
			fill(this._talkPanel, h("div.edge", {}, aside("Choose a conversation.")));
			this._showPane("list");
		} else if (isCompared) {
			this._showPane("talk");
			if (this.place?.conversationId !== route.id && !this.place?.grove.forks.has(route.id))
				void this._enter(route.id);
			showComparison(this, this._compared, [route.id, route.otherId], this._comparisonEnded.signal);
		} else {
			this._showPane(this.element.dataset.pane === "tree" ? "tree" : "talk");
			const place = this.place;
			if (place?.conversationId !== route.id || !place.opened.isLoaded)
				await this._enter(route.id, route.entryId);
			else await this._show(place, place.opened.goTo(route.entryId), route.entryId);
		}
	}

	/** Open a conversation, and follow it until one goes elsewhere. @param {string} id @param {string} [entryId] */
	async _enter(id, entryId) {
		const earlier = this.place?.grove;
		this._leavePlace();
		this._placeEnded = new AbortController();
		const { signal } = this._placeEnded;
		const api = apiOf(this.http, signal);
		const opened = new Opened(api, id, this.isAgent);
		const grove = earlier?.forks.has(id) ? earlier : this._newGrove(id);
		grove.conversationId = id;
		const place = { conversationId: id, opened, grove, signal, api };
		const name = () => (document.title = `${titleOf(opened.conversation?.title)} · forklore`);
		opened.addEventListener("change", name, { signal });
		signal.addEventListener("abort", () => (document.title = "forklore"));
		this.place = place;
		this._talk = showConversation(this, this._talkPanel, place);
		this._tree.show(place, entryId);
		this.list.select(id);
		void grove.load();
		if (!(await this._show(place, opened.load(entryId), entryId))) return;
		showHead(this, this._headPanel, place);
		if (this.isAgent) showContext(this._contextPanel, place);
		const tick = (/** @type {number} */ count) => this._tick(place, count);
		await follow(tick, (error) => this._failAt(place, error), this.http, signal);
	}

	/** @param {string} conversationId */
	_newGrove(conversationId) {
		this._groveEnded.abort();
		this._groveEnded = new AbortController();
		return new Grove(apiOf(this.http, this._groveEnded.signal), conversationId);
	}

	/**
	 * Show the entry, or the end, when it is loaded. Return whether the place is still open then.
	 * @param {Place} place
	 * @param {Promise<boolean | undefined>} loading returns whether the entry is there
	 * @param {string} [entryId]
	 */
	async _show(place, loading, entryId) {
		try {
			const isThere = await loading;
			if (place !== this.place || isThere === undefined) return false;
			this._talk?.goTo(isThere ? entryId : undefined);
			this._tree.show(place, entryId);
			if (!isThere) this.say("This conversation does not show that entry. This is its end.");
			return true;
		} catch (error) {
			this._failAt(place, error);
			const isForgiven = error instanceof Problem && error.isLost && !place.opened.isLoaded;
			const again = () => {
				fill(this._failed);
				return this._enter(place.conversationId, entryId);
			};
			if (isForgiven) pause(AGAIN_MS, place.signal).then(again, () => {});
			return false;
		}
	}

	/** Ask for news of the conversation, and now and then of the tree. @param {Place} place @param {number} count */
	async _tick(place, count) {
		const { opened, grove } = place;
		await opened.poll();
		if (count % TREE_EVERY !== TREE_EVERY - 1) return;
		const branches = () => JSON.stringify([...grove.forks.values()]);
		place.branches ??= branches();
		const turn = Math.floor(count / TREE_EVERY);
		const isForForks = turn % (grove.forks.size <= FORKS_CHEAP ? 2 : FORKS_EVERY) === 1;
		if (!isForForks) await grove.loadNews();
		else if (grove.hasForks) await grove.loadForks(true);
		if (place.branches === branches()) return;
		await opened.refresh();
		place.branches = branches();
	}

	_leavePlace() {
		this._placeEnded.abort();
		this.place = null;
		this.list.select(null);
	}

	/** Show a problem of a place that is still open. One that is gone is left. @param {Place | null} place @param {unknown} error */
	_failAt(place, error) {
		if (place !== this.place) return;
		this.fail(error);
		if (!place) return;
		const status = error instanceof Problem && error.status;
		if (status !== 403 && status !== 404) {
			if (!place.opened.isLoaded) this._talk?.end(button("Try again", () => void this._arrive()));
			return;
		}
		this._placeEnded.abort();
		const gone = "This conversation does not exist, or was deleted.";
		this._talk?.end(aside(status === 404 ? gone : "This conversation is not shared with you."));
		void this.list.load();
	}

	/** @param {string} sentence */
	_showLost(sentence) {
		this._lost.textContent = sentence && `${sentence} Trying again…`;
		if (!sentence) this.say("The server answers again.");
	}
}
