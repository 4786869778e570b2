// Lists of rows of one height, of which only those in view are drawn.

import { useCallback, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { flushSync } from "react-dom";

const SPARE = 6; // drawn above and below what is visible, so that quick scrolling shows no gap

export interface Rows {
	/** For the element that scrolls. */
	box: React.RefObject<HTMLDivElement | null>;
	first: number;
	/** The one after the last. */
	end: number;
	/** So many rows are drawn: an element goes on as that of the row which is so many further down. */
	slots: number;
	/** For its `onScroll`. */
	look: () => void;
	/** Bring a row into view, if it is not. */
	reveal: (row: number, where?: "nearest" | "middle") => void;
}

/**
 * Return which rows to draw. What one looks at stays in its place when rows come or go above it.
 *
 * height: of a row. head: of what stands above the rows, and stays there. kept: a row that stays in its place also
 * when one looks at the first row.
 */
export function useRows(
	rows: readonly { key: string }[],
	height: number,
	{ head = 0, kept }: { head?: number; kept?: string | undefined } = {},
): Rows {
	const box = useRef<HTMLDivElement>(null);
	const [seen, setSeen] = useState({ first: 0, slots: 2 * SPARE });
	const top = useRef({ key: "", offset: 0 });
	const all = useRef(rows);

	const look = useCallback(() => {
		const { scrollTop = 0, clientHeight = 0 } = box.current ?? {};
		const at = Math.floor(scrollTop / height);
		top.current = { key: all.current[at]?.key ?? "", offset: scrollTop - at * height };
		const slots = Math.ceil(clientHeight / height) + 1 + 2 * SPARE;
		const first = Math.max(0, Math.min(at - SPARE, all.current.length - slots));
		return setSeen((one) => (one.first === first && one.slots === slots ? one : { first, slots }));
	}, [height]);

	useLayoutEffect(() => {
		const { scrollTop, clientHeight } = box.current!;
		const seen = scrollTop > 0 ? -1 : all.current.findIndex((row) => row.key === kept);
		const isKept = seen >= 0 && (seen + 1) * height <= clientHeight;
		const { key, offset } = isKept ? { key: kept, offset: -seen * height } : top.current;
		const hasMoved = all.current !== rows && (isKept || scrollTop > 0);
		all.current = rows;
		const at = hasMoved ? rows.findIndex((row) => row.key === key) : -1;
		if (at >= 0) box.current!.scrollTop = at * height + offset;
		look();
	}, [rows, height, kept, look]);

	useLayoutEffect(() => {
		const observer = new ResizeObserver(look);
		observer.observe(box.current!);
		return () => observer.disconnect();
	}, [look]);

	const reveal = useCallback(
		(row: number, where: "nearest" | "middle" = "nearest") => {
			const { clientHeight, scrollTop } = box.current!;
			const room = clientHeight - head - height;
			const [low, high] = [row * height - room, row * height];
			if (scrollTop >= low && scrollTop <= high) return;
			const nearest = scrollTop < low ? low : high;
			box.current!.scrollTop = where === "middle" ? (low + high) / 2 : nearest;
		},
		[height, head],
	);
	const end = Math.min(rows.length, seen.first + seen.slots);
	return { box, ...seen, end, look: () => flushSync(look), reveal };
}

/** Return a place for an element, and how wide that is. */
export function useWidth<E extends HTMLElement>(
	given?: React.RefObject<E | null>,
): [React.RefObject<E | null>, number] {
	const own = useRef<E>(null);
	const element = given ?? own;
	const [width, setWidth] = useState(0);
	useLayoutEffect(() => {
		const observer = new ResizeObserver(() => setWidth(element.current?.clientWidth ?? 0));
		observer.observe(element.current!);
		return () => observer.disconnect();
	}, [element]);
	return [element, width];
}

/** Return whether a media query holds. */
export function useMedia(query: string): boolean {
	const [list] = useState(() => matchMedia(query));
	return useSyncExternalStore(
		(listener) => {
			list.addEventListener("change", listener);
			return () => list.removeEventListener("change", listener);
		},
		() => list.matches,
	);
}

export const usePhone = (): boolean => useMedia("(max-width: 700px)");

/** Return the row to which a key leads from one of so many rows; undefined for any other key. */
export function stepped(key: string, row: number, rows: number, page: number): number | undefined {
	const steps: Record<string, number> = {
		ArrowDown: row + 1,
		ArrowUp: row - 1,
		j: row + 1,
		k: row - 1,
		PageDown: row + page,
		PageUp: row - page,
		Home: 0,
		End: rows - 1,
	};
	const to = steps[key];
	return to === undefined ? undefined : Math.max(0, Math.min(rows - 1, to));
}
