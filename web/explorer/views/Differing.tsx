// Two texts as one, in which what was added and what is gone is marked.

import { useEffect, useMemo, useState } from "react";
import type { differencesOf } from "../model/differences.ts";
import { clipped, visible } from "../model/words.ts";
import { inTime } from "./parts.tsx";

type Pieces = NonNullable<ReturnType<typeof differencesOf>>;

/** Return the pieces of two texts; "other" if they have too little in common, undefined if there is nothing to mark. */
export function useDifferences(from: string, to: string): Pieces | "other" | undefined {
	const [compute, setCompute] = useState<typeof differencesOf>();
	const isNeeded = Boolean(from && to && from !== to);
	useEffect(() => {
		if (isNeeded)
			void inTime(() => import("../model/differences.ts")).then((loaded) =>
				setCompute(() => loaded.differencesOf),
			);
	}, [isNeeded]);
	return useMemo(
		() => (isNeeded && compute ? (compute(from, to) ?? "other") : undefined),
		[compute, isNeeded, from, to],
	);
}

interface MarkedProps {
	pieces: Pieces;
	/** So many characters are shown on each side of what differs; without it all. */
	context?: number;
}

export const Marked = ({ pieces, context = Infinity }: MarkedProps) =>
	pieces.map(({ kind, text }, at) => {
		if (kind === "ins") return <ins key={at}>{visible(text)}</ins>;
		if (kind === "del") return <del key={at}>{visible(text)}</del>;
		const [before, after] = [at > 0 ? context : 0, at < pieces.length - 1 ? context : 0];
		if (text.length <= before + after) return visible(text);
		const end = text.slice(text.length - Math.min(after, text.length)).replace(/^[\uDC00-\uDFFF]/, "");
		return visible(`${clipped(text, before)}${end}`);
	});
