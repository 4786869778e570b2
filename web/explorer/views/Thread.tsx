// The messages of the open conversation, from the end; older ones as one scrolls up.

import { ArrowDown } from "lucide-react";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { type Shape } from "../model/shape.ts";
import { shownOf, type Shown } from "../model/shown.ts";
import type { Entry } from "../model/types.ts";
import type { App } from "../service/app.ts";
import type { Side } from "../service/place.ts";
import { useSource } from "../service/source.ts";
import { Turn, WritingTurn } from "./Turn.tsx";
import { Loading, Press, Problem } from "./parts.tsx";
import { Ways } from "./Ways.tsx";

const NEAR_PX = 800; // so near to an edge more is loaded
const AT_END_PX = 60;
const CHUNK = 12; // messages that leave the page together when they are far away
const FAR = "1600px";

export function Thread({ app }: { app: App }) {
	const place = useSource(app.place!);
	const grove = useSource(app.grove!);
	const scroller = useRef<HTMLDivElement>(null);
	const anchor = useRef<{ key: string; top: number } | undefined>(undefined);
	const wasAtEnd = useRef(true);
	const lastTop = useRef(0);
	const [hasNews, setNews] = useState(false);
	const { entries, has, failed, isLoaded, writing } = place;
	const { shape } = grove;
	const messages = useMemo(() => shownOf(withForks(entries, shape)), [entries, shape]);
	const chosen = messages.find(({ entries: own }) => own.some(({ id }) => id === place.chosen))?.id;

	const toEnd = () => {
		const box = scroller.current!;
		box.scrollTop = box.scrollHeight;
		wasAtEnd.current = true;
		setNews(false);
	};
	const scrolled = () => {
		const box = scroller.current!;
		const below = box.scrollHeight - box.clientHeight - box.scrollTop;
		if (!isLoaded || !box.clientHeight) return;
		const isAtEnd = below < AT_END_PX && !has.newer;
		// A head that grows moves the end out of view, too: only who scrolls up leaves it.
		if (isAtEnd || box.scrollTop < lastTop.current) wasAtEnd.current = isAtEnd;
		lastTop.current = box.scrollTop;
		if (wasAtEnd.current) setNews(false);
		if (box.scrollTop < NEAR_PX) void place.loadMore("older");
		if (below < NEAR_PX) void place.loadMore("newer");
		anchor.current = firstSeen(box);
	};

	// Stay at the end, or keep what is seen in its place.
	useLayoutEffect(() => {
		const box = scroller.current!;
		if (wasAtEnd.current && !has.newer) box.scrollTop = box.scrollHeight;
		else if (anchor.current) {
			const seen = placeOf(box, anchor.current.key);
			if (seen) box.scrollTop += seen.getBoundingClientRect().top - anchor.current.top;
		}
	});
	useEffect(() => {
		const observer = new ResizeObserver(() => {
			const box = scroller.current;
			if (box && wasAtEnd.current) box.scrollTop = box.scrollHeight;
		});
		observer.observe(scroller.current!);
		observer.observe(scroller.current!.firstElementChild!);
		return () => observer.disconnect();
	}, []);
	// Go to the entry that one came for.
	useLayoutEffect(() => {
		if (!place.visits) return;
		const element = chosen && messageOf(scroller.current!, chosen);
		const isLost = document.activeElement === document.body; // the way that one was at is gone
		if (!element) {
			if (isLost) scroller.current!.focus({ preventScroll: true });
			return toEnd();
		}
		wasAtEnd.current = false;
		// A message of many calls is longer than the page.
		const calls = callsOf(element, place.chosen!);
		const call = calls.find(hasFailed) ?? (place.chosen === chosen ? undefined : calls[0]);
		(call ?? element).scrollIntoView({ block: "center" });
		const key = calls.length ? place.chosen! : chosen;
		anchor.current = { key, top: placeOf(scroller.current!, key)!.getBoundingClientRect().top };
		if (isLost) element.focus({ preventScroll: true });
	}, [place, place.visits]);
	const last = entries.at(-1)?.id;
	const lastSeen = useRef(last);
	useEffect(() => {
		if (lastSeen.current && last !== lastSeen.current && !wasAtEnd.current && !has.newer) setNews(true);
		lastSeen.current = last;
		scrolled();
	});

	const edge = (side: Side, beyond: string) =>
		failed[side] ? (
			<Problem error={failed[side]} again={() => place.again(side)} />
		) : has[side] ? (
			<p className="edge">Loading {side} messages…</p>
		) : (
			beyond && <p className="edge">{beyond}</p>
		);
	const chunks = useMemo(() => chunksOf(messages), [messages]);
	return (
		<div className="scroll" ref={scroller} onScroll={scrolled} tabIndex={-1}>
			<div className="thread">
				{!isLoaded && !place.problem && <Loading what="messages" />}
				{place.problem !== undefined && !place.isGone && (
					<Problem error={place.problem} again={() => place.load(place.chosen)} />
				)}
				{isLoaded && edge("older", entries.length ? "" : "No messages yet")}
				<div role="group" aria-label="Messages" aria-busy={!isLoaded}>
					{chunks.map((chunk) => (
						<Chunk
							key={chunk.key}
							isKept={chunk.messages.some(({ id }) => id === chosen || id === messages.at(-1)?.id)}
							scroller={scroller}
							drawn={() => {
								anchor.current = firstSeen(scroller.current!);
							}}
						>
							{chunk.messages.map((message) => (
								<div key={message.id} className="step">
									{message.entries.map((entry) => (
										<Ways key={entry.id} app={app} after={entry.parentId} next={entry.id} />
									))}
									<Turn
										app={app}
										message={message}
										isChosen={message.id === chosen}
										isFirst={message.entries[0]?.parentId === null}
										isLast={message === messages.at(-1) && !writing}
									/>
								</div>
							))}
						</Chunk>
					))}
					{!has.newer && writing && <WritingTurn app={app} writing={writing} />}
				</div>
				{isLoaded && !has.newer && last && <Ways app={app} after={last} next={undefined} />}
				{isLoaded && edge("newer", "")}
			</div>
			{hasNews && (
				<Press className="b to-end" press={toEnd}>
					<ArrowDown /> New messages
				</Press>
			)}
		</div>
	);
}

/** Return entries that know where others go on from the place before them: there a message of its own begins. */
function withForks(entries: readonly Entry[], shape: Shape): readonly Entry[] {
	const forks = Map.groupBy(shape.limbs.values(), ({ after }) => after?.line.id ?? null);
	return entries.map((entry) => {
		const limbs = forks.get(entry.parentId)?.filter(({ id }) => id !== entry.conversationId) ?? [];
		return limbs.length ? { ...entry, alternatives: limbs.map(({ id }) => id) } : entry;
	});
}

const messageOf = (box: HTMLElement, id: string) => box.querySelector<HTMLElement>(`[data-key="${id}"]`);

/** The calls that an entry has made, or whose results it holds. */
const callsOf = (box: HTMLElement, id: string) => [
	...box.querySelectorAll<HTMLElement>(`.call[data-at~="${id}"]`),
];

const hasFailed = (call: HTMLElement): boolean => call.querySelector(".err") !== null;

/** Return where an entry is shown: a call, the one that has failed before others; else its message. */
function placeOf(box: HTMLElement, id: string): HTMLElement | null {
	const calls = callsOf(box, id);
	return calls.find(hasFailed) ?? calls[0] ?? messageOf(box, id);
}

/** The first message that can be seen, or the first call in it, and where that is. */
function firstSeen(box: HTMLElement): { key: string; top: number } | undefined {
	const { top } = box.getBoundingClientRect();
	const isSeen = (one: HTMLElement): boolean => one.getBoundingClientRect().bottom > top;
	const message = [...box.querySelectorAll<HTMLElement>("[data-key]")].find(isSeen);
	if (!message) return undefined;
	const calls = message.querySelectorAll<HTMLElement>(".call[data-at]");
	const key = [...calls].find(isSeen)?.dataset.at?.split(" ")[0] ?? message.dataset.key!;
	return { key, top: placeOf(box, key)!.getBoundingClientRect().top };
}

/** Return the messages in groups that stay the same when others come before or behind. */
function chunksOf(messages: readonly Shown[]): { key: string; messages: Shown[] }[] {
	const chunks: { key: string; messages: Shown[] }[] = [];
	for (const message of messages) {
		const last = chunks.at(-1);
		// Where a group begins follows from the id alone.
		const begins = parseInt(message.id.slice(-2), 16) % CHUNK === 0;
		if (!last || begins || last.messages.length >= 3 * CHUNK)
			chunks.push({ key: message.id, messages: [message] });
		else last.messages.push(message);
	}
	return chunks;
}

interface ChunkProps {
	/** It stays in the page wherever it is. */
	isKept: boolean;
	scroller: React.RefObject<HTMLDivElement | null>;
	/** Called when it has come into the page or left it: another message may be the first that is seen. */
	drawn: () => void;
	children: React.ReactNode;
}

/** A part of the messages. While it is far from what is seen, its height stands for it. */
function Chunk({ isKept, scroller, drawn, children }: ChunkProps) {
	const box = useRef<HTMLDivElement>(null);
	const [height, setHeight] = useState<number>();
	useEffect(() => {
		const element = box.current!;
		const observer = new IntersectionObserver(
			([seen]) => {
				const isBusy = element.contains(document.activeElement) || element.querySelector("textarea");
				setHeight(seen!.isIntersecting || isBusy ? undefined : element.offsetHeight);
			},
			{ root: scroller.current, rootMargin: `${FAR} 0px` },
		);
		observer.observe(element);
		return () => observer.disconnect();
	}, [scroller]);
	const isThere = isKept || height === undefined;
	useEffect(drawn, [isThere]);
	return (
		<div ref={box} style={isThere ? undefined : { height }}>
			{isThere && children}
		</div>
	);
}
