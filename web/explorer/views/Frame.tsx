// The frame of the page: the list, what is open, the tree beside it, and what lies above them.

import { GitBranch, List, MessageSquare, Tag } from "lucide-react";
import { Fragment, lazy, Suspense, useEffect, useLayoutEffect } from "react";
import { toConversation } from "../model/route.ts";
import type { App, ViewName } from "../service/app.ts";
import { useSource } from "../service/source.ts";
import { everyAction } from "./actions.tsx";
import { First } from "./First.tsx";
import { openPalette } from "./Palette.tsx";
import { Pane } from "./Pane.tsx";
import { Boundary, inTime, Loading, Press, Problem, Splitter, useKept } from "./parts.tsx";
import { usePhone } from "./rows.ts";
import { Sidebar } from "./Sidebar.tsx";
import { Talk } from "./Talk.tsx";

const loadFull = () => inTime(() => import("./Full.tsx"));
const Full = lazy(loadFull);
const IDLE_MS = 3000; // then what is likely to be needed is loaded, so that it is there if the server is gone
const LIST = { first: 292, least: 220, most: 480 };
const PANE = { first: 392, least: 280, rest: 700 };
const DOCK: [ViewName, string, React.ReactNode][] = [
	["list", "Conversations", <List key="list" />],
	["talk", "Messages", <MessageSquare key="talk" />],
	["tree", "Tree", <GitBranch key="tree" />],
	["memory", "Memory", <Tag key="memory" />],
];

export function Frame({ app }: { app: App }) {
	useSource(app);
	const [listWidth, setListWidth] = useKept("forklore.list", LIST.first);
	const [paneWidth, setPaneWidth] = useKept("forklore.pane", PANE.first);
	const { route, place } = app;
	const isFull = route.name !== "list" && route.name !== "conversation" && !place?.isGone;
	const view = place?.isGone && app.view !== "list" ? "talk" : app.view;
	const isAlone = usePhone() && !isFull; // a phone shows one view at a time
	const hasPane = route.name === "conversation" && app.isPaneShown && place && !place.isGone;
	// Before the first picture: who sees the page may press.
	useLayoutEffect(() => {
		const press = (event: KeyboardEvent) => pressed(app, event);
		addEventListener("keydown", press, { signal: app.signal });
		return () => removeEventListener("keydown", press);
	}, [app]);
	useEffect(() => {
		const timer = setTimeout(() => void loadFull().catch(() => undefined), IDLE_MS);
		return () => clearTimeout(timer);
	}, []);
	const find = () => openPalette(app);
	const style = { "--list": `${listWidth}px`, "--pane": `${paneWidth}px` } as React.CSSProperties;
	return (
		<>
			<a className="skip" href="#main" onClick={(event) => skip(event)}>
				Skip to the conversation
			</a>
			<div className={`frame ${isFull ? "full" : ""}`} data-show={view} style={style}>
				<Sidebar app={app} find={find} isAlone={isAlone && view === "list"}>
					{!isFull && (
						<Splitter
							label="Width of the list"
							side="left"
							width={listWidth}
							{...LIST}
							resize={setListWidth}
						/>
					)}
				</Sidebar>
				{isFull ? (
					<Boundary
						key={route.name}
						fallback={
							<main className="talk">
								<Problem error={new Error("not loaded")} again={() => location.reload()} />
							</main>
						}
					>
						<Suspense fallback={<Loading what="the view" />}>
							<Full key={route.name} app={app} />
						</Suspense>
					</Boundary>
				) : place ? (
					<Talk app={app} />
				) : (
					<First app={app} />
				)}
				{(hasPane || (place && !isFull && app.view !== "talk")) && place && !place.isGone && (
					<Pane app={app} isAlone={isAlone && view !== "list" && view !== "talk"}>
						<Splitter
							label="Width of the tree"
							side="right"
							width={paneWidth}
							least={PANE.least}
							most={Math.max(PANE.least, innerWidth - PANE.rest)}
							resize={setPaneWidth}
						/>
					</Pane>
				)}
			</div>
			{place && (
				<nav className="dock" aria-label="Views">
					{DOCK.filter(([name]) => name !== "memory" || app.isAgent).map(([name, label, sign]) => (
						<button
							key={name}
							type="button"
							aria-current={!isFull && app.view === name ? "page" : undefined}
							onClick={() => app.showView(name)}
						>
							{sign}
							{label}
						</button>
					))}
				</nav>
			)}
			{app.dialogs.map(({ id, draw, close }) => (
				<Fragment key={id}>{draw(close)}</Fragment>
			))}
			<div id="toasts" role="status">
				{app.said && (
					<div className="line toast">
						<span>{app.said}</span>
						{app.undo && (
							<Press className="" press={() => app.undo?.().catch(app.fail)}>
								Undo
							</Press>
						)}
						<button type="button" onClick={() => app.say("")}>
							Close
						</button>
					</div>
				)}
			</div>
		</>
	);
}

function skip(event: React.MouseEvent): void {
	event.preventDefault();
	document.getElementById("main")?.focus();
}

/** The keys of the whole page. Views have their own, and tell by `preventDefault`. */
function pressed(app: App, event: KeyboardEvent): void {
	const { target, key } = event;
	const isTyping =
		target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");
	const { place } = app;
	if ((event.ctrlKey || event.metaKey) && key.toLowerCase() === "k") {
		event.preventDefault();
		if (!app.dialogs.length) openPalette(app);
		return;
	}
	if (event.defaultPrevented || app.dialogs.length || event.ctrlKey || event.metaKey || event.altKey) return;
	if (key === "Escape") {
		if (document.querySelector("[popover]:popover-open")) return;
		if (app.route.name !== "conversation" && place) app.go(toConversation(place.id));
		else if (act("cancel")) event.preventDefault();
		else if (place?.writing?.state === "open") void app.stop();
		return;
	}
	if (isTyping || !place || place.isGone) {
		if (key === "/" && !isTyping) {
			event.preventDefault();
			openPalette(app);
		}
		return;
	}
	const deeds: Record<string, () => unknown> = {
		e: () => act("edit"),
		r: () => act("again"),
		f: () => act("fork"),
		l: () => act("link") || app.copyLink(toConversation(place.id, place.chosen)),
		m: () => act("memory"),
		n: () => act("note"),
		p: () => act("pin"),
		j: () => step(1),
		k: () => step(-1),
		ArrowDown: () => step(1),
		ArrowUp: () => step(-1),
		"[": () => way(-1),
		"]": () => way(1),
		"/": () => focusFilter() || openPalette(app),
	};
	const deed = deeds[key] ?? everyAction(app).find(({ hint }) => hint?.toLowerCase() === key)?.press;
	if (!deed) return;
	const isArrow = key.startsWith("Arrow");
	if (isArrow && !document.activeElement?.closest(".msg")) return;
	event.preventDefault();
	void deed();
}

/** Press a button of the message that has the focus, and return whether it has one. */
function act(what: string): boolean {
	const message = document.activeElement?.closest(".msg");
	const button = message?.querySelector<HTMLElement>(`[data-do="${what}"]`);
	button?.click();
	return Boolean(button);
}

/** Go to the next message, or the one before. */
function step(by: 1 | -1): void {
	const all = [...document.querySelectorAll<HTMLElement>(".msg")];
	const at = all.indexOf(document.activeElement?.closest<HTMLElement>(".msg") ?? all.at(-1)!);
	const isIn = document.activeElement?.closest(".msg");
	all[Math.max(0, Math.min(all.length - 1, isIn ? at + by : at))]?.focus();
}

/** Open the next way at the fork nearest above the focus, or the last one. */
function way(by: 1 | -1): void {
	const forks = [...document.querySelectorAll<HTMLElement>(".forks")];
	const here = document.activeElement;
	const above = forks.filter(
		(one) =>
			one.contains(here) || (here && one.compareDocumentPosition(here) & Node.DOCUMENT_POSITION_FOLLOWING),
	);
	(above.at(-1) ?? forks.at(-1))?.querySelector<HTMLButtonElement>(`[data-way="${by}"]`)?.click();
}

function focusFilter(): boolean {
	const field = document.querySelector<HTMLInputElement>(".full input[type=search], .full .field input");
	field?.focus();
	return field !== null;
}
