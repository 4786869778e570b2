// Which branches the tree at full size shows, in which order, and which of them one has chosen.

import { useMemo, useState } from "react";
import { filterOf } from "../model/filter.ts";
import { mapOf, type Column, type MapRow } from "../model/map.ts";
import { scoreOf, type Limb, type Shape } from "../model/shape.ts";

const COMPARED_MAX = 6;

export interface MapRows {
	rows: readonly MapRow[];
	query: string;
	filter: (query: string) => void;
	/** The least score of what is shown; 0: any. */
	least: number;
	setLeast: (least: number) => void;
	/** undefined: as the branches go on from each other. */
	sort: { by: Column; down: boolean } | undefined;
	sortBy: (by: Column) => void;
	unfold: (key: string) => void;
	/** The branch to which the lines lead. */
	chosen: string;
	choose: (id: string) => void;
	/** The branches that one wants to compare, the first one first. */
	picked: readonly string[];
	pick: (id: string) => void;
}

/** Return the rows, and what changes them. openId: the branch that is chosen at first. */
export function useMapRows(shape: Shape, openId: string): MapRows {
	const [query, filter] = useState("");
	const [least, setLeast] = useState(0);
	const [sort, setSort] = useState<MapRows["sort"]>();
	const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
	const [chosen, choose] = useState(openId);
	const [picked, setPicked] = useState<readonly string[]>([]);
	const rows = useMemo(() => {
		const passes = filterOf(query);
		const fits = (limb: Limb): boolean =>
			(!least || (scoreOf(limb) ?? -Infinity) >= least) && (!passes || passes(limb));
		return mapOf(shape, { fits, chosen, opened, sort });
	}, [shape, query, least, chosen, opened, sort]);
	const pick = (id: string): void =>
		setPicked((all) =>
			all.includes(id) ? all.filter((one) => one !== id) : [...all, id].slice(-COMPARED_MAX),
		);
	const unfold = (key: string): void => setOpened((all) => new Set([...all, key]));
	const sortBy = (by: Column): void =>
		setSort(sort?.by !== by ? { by, down: true } : sort.down ? { by, down: false } : undefined);
	return { rows, query, filter, least, setLeast, sort, sortBy, unfold, chosen, choose, picked, pick };
}
