// The shapes of the picture of a fork tree. For the type checker alone: it is not served.

/** What the picture needs of a fork tree. */
type Tree = Pick<Grove, "forks" | "dots" | "isWhole">;

/** A row for each entry, and one for each branch without any: its dot is null. */
interface Row {
	/** The entry's id, or # and the id of the branch. It stays the same while rows are added. */
	key: string;
	branch: Branch;
	dot: Dot | null;
	time: string;
}

interface Branch {
	id: string;
	/** Its title; with the end of its id if others have the same one. */
	label: string;
	isCurrent: boolean;
	/** It was deleted, and others still show entries of it. */
	isRemoved: boolean;
	lane: number;
	colour: number;
	/** Its own, the newest first; there is always one. */
	rows: number[];
	/**
	 * The row where its line ends; NOWHERE if it goes on after no entry; the number of rows if that entry, or an older
	 * one of its own, is not loaded yet.
	 */
	join: number;
}

interface Picture {
	/** The newest first. */
	rows: Row[];
	/** By the key of the row. # and the id of a branch with entries stands for its newest row. */
	rowOf: Map<string, number>;
	/** By id, in the order of their newest rows. */
	branches: Map<string, Branch>;
	lanes: number;
}

/** What a branch shows: of each of these branches the rows from `top` on. */
type Path = { branch: Branch; top: number }[];

/** What of a picture is painted, and where: the rows from `first` to `last`. */
interface Painting {
	first: number;
	last: number;
	width: number;
	/** Pixels from one lane to the next. */
	lane: number;
}
