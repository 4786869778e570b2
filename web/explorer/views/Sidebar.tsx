// The conversations: the last used first, by day, children under what started them.

import {
	ArrowUp,
	ChevronDown,
	ChevronUp,
	GitBranch,
	LogOut,
	MessageSquare,
	Moon,
	PinOff,
	Plus,
	Search,
	Sun,
	Trash2,
	X,
} from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { toConversation, toList } from "../model/route.ts";
import { tagLine } from "../model/rules.ts";
import type { ConversationDetails, Hit } from "../model/types.ts";
import { counted, dayName, titleOf, toldOf, unmarked, usd, visible } from "../model/words.ts";
import type { App } from "../service/app.ts";
import { NO_FILTER, type Conversations, type Filter } from "../service/list.ts";
import { isAborted } from "../service/connection.ts";
import { useSource } from "../service/source.ts";
import { askAccept, askDecline, askNew, unpin } from "./deeds.tsx";
import { FilterMenu } from "./FilterMenu.tsx";
import { Avatar, IconPress, Loading, Press, Problem, Said, Time } from "./parts.tsx";
import { toggleTheme } from "./theme.ts";
import { openTrash } from "./Trash.tsx";

const NEAR_PX = 400; // so near to the end more is loaded
const TOP_PX = 24; // who has scrolled further reads the list: nothing moves in it
const FAILURES = 100; // of a page

interface SidebarProps {
	app: App;
	find: () => void;
	/** It is all that is seen of the page. */
	isAlone: boolean;
	/** What sizes it. */
	children?: React.ReactNode;
}

export function Sidebar({ app, find, isAlone, children }: SidebarProps) {
	const list = useSource(app.list);
	const { filter } = list;
	const scroller = useRef<HTMLDivElement>(null);
	// Nothing moves away under a press.
	const [held, hold] = useState<typeof list.nested>();
	const [kept, keep] = useState<ReadonlyMap<string, string>>();
	const { shown: nested, news } =
		kept && !held ? inPlace(list.nested, kept) : { shown: held ?? list.nested, news: 0 };
	const live = list.rows.filter(({ answering }) => answering).length;

	const scrolled = () => {
		const { scrollTop, scrollHeight, clientHeight } = scroller.current!;
		const isRead = scrollTop > TOP_PX;
		if (isRead !== Boolean(kept))
			keep(isRead ? new Map(list.nested.map(({ row }) => [row.id, row.lastUsedAt])) : undefined);
		if (clientHeight > 0 && scrollHeight - clientHeight - scrollTop < NEAR_PX) void list.more();
	};
	useEffect(scrolled);
	useEffect(() => {
		const free = () => setTimeout(() => hold(undefined)); // after the click
		const ends = ["pointerup", "pointercancel"];
		for (const end of ends) addEventListener(end, free);
		return () => ends.forEach((end) => removeEventListener(end, free));
	}, []);

	const groups = Map.groupBy(nested, ({ row, children }) =>
		(row.answering ?? children.some(({ answering }) => answering)) ? "Live now" : dayName(row.lastUsedAt),
	);
	const filters = [
		filter.tag,
		filter.program,
		filter.project,
		filter.agentId,
		filter.archived && "archived ones",
		filter.days > 0 && `of the last ${counted(filter.days, "day")}`,
	].filter((one): one is string => Boolean(one));
	const shown = (show: Filter["show"]) => ({
		"aria-pressed": filter.show === show,
		className: "b ghost s",
		press: () => list.choose({ show }),
	});
	return (
		<div className="side" role={isAlone ? "main" : undefined}>
			<nav aria-label="Conversations">
				{isAlone && <h1 className="sr">Conversations</h1>}
				<div className="line brand">
					<a className="line" href={toList()} aria-label="forklore">
						<img src={mark} alt="" />
						<b>forklore</b>
					</a>
					<small className="cut grow quiet">{version}</small>
					<IconPress label="New conversation" press={() => askNew(app)}>
						<Plus />
					</IconPress>
				</div>
				<button type="button" className="line find" onClick={find}>
					<Search />
					<span className="grow">Search or go to…</span>
					<kbd>Ctrl K</kbd>
				</button>
				<div className="tabs" role="group" aria-label="Filter">
					<Press {...shown("all")}>All</Press>
					<Press {...shown("live")}>
						{live > 0 && <span className="dot live" />}Live{" "}
						{live > 0 && <span className="count">{live}</span>}
					</Press>
					<Press {...shown("mine")}>Mine</Press>
					<Press {...shown("failed")}>Failed</Press>
					<span className="grow" />
					<FilterMenu app={app} />
				</div>
				{filters.length > 0 && filter.show !== "failed" && (
					<Press className="b s filtered" press={() => list.choose(NO_FILTER)} title="Show all again">
						<span className="cut">Only {filters.join(", ")}</span> <X />
					</Press>
				)}
				{list.offers.map((offer) => (
					<div key={offer.id} className="offer" role="group" aria-label="Offer">
						<p>
							<Said>{offer.fromUserId}</Said> offers you{" "}
							<a href={toConversation(offer.conversationId)}>{titleOf(offer.title ?? "a tree")}</a>
						</p>
						<Press className="b s main" press={() => askAccept(app, offer)}>
							Accept…
						</Press>
						<Press className="b s" press={() => askDecline(app, offer)}>
							Decline…
						</Press>
					</div>
				))}
				{news > 0 && (
					<Press className="b s news" press={() => scroller.current!.scrollTo({ top: 0 })}>
						<ArrowUp /> {news} new
					</Press>
				)}
				<div
					className="rows"
					ref={scroller}
					onScroll={scrolled}
					onPointerDown={() => hold(nested)}
					tabIndex={-1}
				>
					{filter.show === "failed" && <Failures app={app} />}
					{list.pinned.length > 0 && <Pins app={app} pins={list.pinned} />}
					{[...groups].map(([name, some]) => (
						<section key={name} aria-label={name}>
							<h2 className="day">{name}</h2>
							<ul>
								{some.map(({ row, children }) => (
									<li key={row.id}>
										<Row app={app} row={row} />
										{children.map((child) => (
											<Child key={child.id} app={app} row={child} />
										))}
									</li>
								))}
							</ul>
						</section>
					))}
					{list.problem !== undefined ? (
						<Problem error={list.problem} again={() => list.again()} />
					) : list.isLoading && !nested.length && !list.pinned.length ? (
						<Loading what="conversations" />
					) : (
						!nested.length &&
						!list.pinned.length &&
						filter.show !== "failed" && (
							<p className="none">
								{list.isFiltered ? "No conversation is like that." : "No conversations yet."}
							</p>
						)
					)}
					{typeof list.cursor === "string" && !list.problem && filter.show !== "failed" && (
						<Press className="b ghost s" press={() => list.more()}>
							More
						</Press>
					)}
				</div>
				<div className="line me">
					<Avatar name={app.user} />
					<span className="grow cut">
						<Said>{app.user}</Said> {app.isAgent && <span className="quiet">with agent key</span>}
					</span>
					<IconPress label="Trash" press={() => openTrash(app)}>
						<Trash2 />
					</IconPress>
					<IconPress label="Dark or light" press={toggleTheme}>
						<Sun className="light" />
						<Moon className="dark" />
					</IconPress>
					<IconPress label="Sign out" press={() => app.leave("")}>
						<LogOut />
					</IconPress>
				</div>
				{children}
			</nav>
		</div>
	);
}

const mark = new URL("../mark.svg", import.meta.url).href;

/** Which forklore serves the page: it says so in it. */
const version = document.querySelector<HTMLMetaElement>("meta[name=forklore-version]")?.content;

/** The rows of a list in the places where they stood when one began to read; and how many are new above them. */
function inPlace(rows: Conversations["nested"], kept: ReadonlyMap<string, string>) {
	const first = [...kept.values()].sort().at(-1) ?? "";
	const at = ({ row }: (typeof rows)[number]) => kept.get(row.id) ?? row.lastUsedAt;
	const shown = rows.filter(({ row }) => kept.has(row.id) || row.lastUsedAt <= first);
	shown.sort((one, other) => (at(one) < at(other) ? 1 : -1));
	return { shown, news: rows.filter(({ row }) => row.lastUsedAt > first).length };
}

/** What one has pinned, with what moves and unpins it. */
function Pins({ app, pins }: { app: App; pins: Conversations["nested"] }) {
	const ids = pins.map(({ row }) => row.id);
	const move = (id: string, to: "before" | "after", other: string | undefined) =>
		app.list.movePin(id, to, other!).catch(app.fail);
	const [dragged, drag] = useState<string>();
	const [target, aim] = useState<{ id: string; to: "before" | "after" }>();
	const end = () => {
		drag(undefined);
		aim(undefined);
	};
	/** What makes a pin one that can be dragged by its row, and onto which another one can be. */
	const dragging = (id: string): React.ComponentProps<"li"> => ({
		onDragStart: ({ target: row, dataTransfer }) => {
			if (!(row instanceof Element && row.matches(".row"))) return;
			dataTransfer.effectAllowed = "all"; // a link alone would not be moved
			drag(id);
		},
		onDragOver: (event) => {
			if (!dragged) return;
			event.preventDefault();
			event.dataTransfer.dropEffect = "move";
			const { top, height } = event.currentTarget.getBoundingClientRect();
			aim({ id, to: event.clientY < top + height / 2 ? "before" : "after" });
		},
		onDrop: (event) => {
			if (!dragged) return;
			event.preventDefault();
			if (target && target.id !== dragged) void move(dragged, target.to, target.id);
			end();
		},
		onDragEnd: end,
	});
	return (
		<section aria-label="Pinned">
			<h2 className="day">Pinned</h2>
			<ul>
				{pins.map(({ row, children }, at) => (
					<li
						key={row.id}
						className={`pin ${target?.id === row.id && dragged !== row.id ? target.to : ""}`}
						{...dragging(row.id)}
					>
						<Row app={app} row={row} />
						<span className="line" role="group" aria-label={`Pin of ${titleOf(row.title)}`}>
							<IconPress
								label="Move up"
								disabled={at === 0}
								press={() => move(row.id, "before", ids[at - 1])}
							>
								<ChevronUp />
							</IconPress>
							<IconPress
								label="Move down"
								disabled={at === ids.length - 1}
								press={() => move(row.id, "after", ids[at + 1])}
							>
								<ChevronDown />
							</IconPress>
							<IconPress label="Unpin" press={() => unpin(app, row.id)}>
								<PinOff />
							</IconPress>
						</span>
						{children.map((child) => (
							<Child key={child.id} app={app} row={child} />
						))}
					</li>
				))}
			</ul>
		</section>
	);
}

/** The conversations in which a tool has failed, the newest tree first. A search finds them. */
function Failures({ app }: { app: App }) {
	const [hits, setHits] = useState<readonly Hit[]>([]);
	const [cursor, setCursor] = useState<string | null>();
	const [isBusy, setBusy] = useState(true);
	const [problem, setProblem] = useState<unknown>();
	const search = async (afterCursor?: string) => {
		setBusy(true);
		setProblem(undefined);
		try {
			const page = await app.client.api.searchConversations(
				{ query: "+failed", limit: FAILURES, includeEntry: false, afterCursor },
				{ signal: app.signal },
			);
			setHits((all) => [...all, ...page.data.filter(({ line }) => line.failed)]);
			setCursor(page.afterCursor);
		} catch (error) {
			if (!isAborted(error)) setProblem(error);
		}
		setBusy(false);
	};
	useEffect(() => void search(), []);
	const chosen = app.route.name === "conversation" && app.route.entryId;
	const runs = [...Map.groupBy(hits, ({ conversationId }) => conversationId).values()];
	return (
		<>
			<ul>
				{runs.map(([hit, ...others]) => (
					<li key={hit!.entryId}>
						<a
							className="row"
							href={toConversation(hit!.conversationId, hit!.entryId)}
							aria-current={chosen === hit!.entryId ? "page" : undefined}
							onClick={() => app.showPane("tree")}
						>
							<span className="dot bad" />
							<b className="cut" dir="auto">
								{titleOf(hit!.conversationTitle)}
							</b>
							<Time at={hit!.line.saidAt ?? hit!.createdAt} />
							<p className="cut" dir="auto">
								{visible(toldOf(hit!.line))}
							</p>
							{others.length > 0 && (
								<span className="line facts">{counted(others.length, "earlier failure")}</span>
							)}
						</a>
					</li>
				))}
			</ul>
			{problem !== undefined && <Problem error={problem} again={() => search(cursor ?? undefined)} />}
			{isBusy && <Loading what="failures" />}
			{cursor === null && !runs.length && <p className="none">No tool has failed.</p>}
			{cursor && !isBusy && (
				<Press className="b ghost s" press={() => search(cursor)}>
					Search on
				</Press>
			)}
		</>
	);
}

function Row({ app, row }: { app: App; row: ConversationDetails }) {
	const {
		id,
		title,
		answering,
		agentId,
		ownerUserId,
		tags,
		metrics,
		historyEntries = 0, // of a fork it would lack what that inherits
		lastMessagePreview,
		archived,
		branches = 1,
	} = row;
	const facts = [
		agentId,
		ownerUserId !== app.user && `of ${ownerUserId}`,
		archived && "archived",
		...Object.entries(tags).map(tagLine),
	].filter((one): one is string => Boolean(one));
	return (
		<a className="row" href={toConversation(id)} aria-current={isOpen(app, id) ? "page" : undefined}>
			<span className={`dot ${answering ? "live" : "still"}`} />
			<b className="cut" dir="auto">
				{titleOf(title)}
			</b>
			{answering ? <time className="now">now</time> : <Time at={row.lastUsedAt} />}
			<p className="cut" dir="auto">
				{unmarked(visible(lastMessagePreview ?? "No messages yet"))}
			</p>
			<span className="line facts">
				{branches > 1 && (
					<span title={counted(branches, "branch", "branches")}>
						<GitBranch aria-hidden="true" /> {branches}
						<span className="sr"> branches</span>
					</span>
				)}
				{!row.forkedAtConversationId && (
					<span title={counted(historyEntries, "entry", "entries")}>
						<MessageSquare aria-hidden="true" /> {historyEntries}
						<span className="sr">{historyEntries === 1 ? " entry" : " entries"}</span>
					</span>
				)}
				{Number(metrics.costUsd) > 0 && <span>{usd(Number(metrics.costUsd))}</span>}
				{facts.length > 0 && <span className="cut">{visible(facts.join(", "))}</span>}
			</span>
		</a>
	);
}

function Child({ app, row }: { app: App; row: ConversationDetails }) {
	const { id, agentId, title, answering } = row;
	return (
		<a className="line kid" href={toConversation(id)} aria-current={isOpen(app, id) ? "page" : undefined}>
			<span className={`sq ${answering ? "live" : ""}`} />
			<span className="cut grow" dir="auto">
				{agentId && `${visible(agentId)} `}
				<span className="quiet">{titleOf(title)}</span>
			</span>
			<Time at={row.lastUsedAt} className="quiet" />
		</a>
	);
}

/** Whether a conversation, or another branch of its tree, is open. */
const isOpen = (app: App, id: string): boolean => app.place?.id === id || app.grove?.fork(id) !== undefined;
