// The picture of a fork tree: a row for each entry, the newest at the top, and a lane for each branch.

import { beside, COLOURS, lastOf, layOut, NOWHERE, pathOf, rowsOf, shows } from "../domain/lanes.js";
import { toConversation } from "../domain/route.js";
import { authorOf, longTime, shortTime, usageText } from "../domain/words.js";
import { fill, h } from "../dom.js";
import { retry } from "./problem.js";

const ROW_PX = 24; // browsers end an element at 16.7 million pixels, so rows after the 699,050th are not shown
const LANE_PX = { min: 7, max: 14 };
const LANES_SHARE = 0.45; // of the width
const DOT_PX = 4.5;
const BEND_PX = 9;
const SPARE_ROWS = 8; // drawn above and below what is visible, so that quick scrolling shows no gap
const EMPTY_LINE = "no entries of its own";
const HELP = "Up and down follow a branch, left and right change the lane, Shift+Enter opens the branch.";

/** @type {(number: number, low: number, high: number) => number} */
const within = (number, low, high) => Math.max(low, Math.min(high, number));

/** Show the tree of what is open. @param {App} app @param {HTMLElement} panel @param {AbortSignal} signal */
export function showTree(app, panel, signal) {
	/** @type {Grove | undefined} */
	let grove;
	let picture = layOut({ forks: new Map(), dots: [], isWhole: true });
	let openId = ""; // the open conversation
	// Rows, whose numbers change with the tree: what is open, where the keyboard is, where the pointer is.
	let openKey = "";
	let activeKey = "";
	let hoveredKey = "";
	let chosenKey = ""; // what was opened here, until it is shown
	let isSought = false; // the active row comes into view as soon as it is loaded
	let followedId = ""; // the branch that the arrow keys follow
	let isStale = false; // the picture is of an earlier tree
	let isScrolled = false;
	let frame = 0;
	let shift = 0; // pixels that the lanes are moved to the left
	/** The problem that the note tells of, or whether it says that entries are loading. @type {unknown} */
	let noted = false;
	/** @type {string[]} */
	let palette = [];

	const canvas = h("canvas", { "aria-hidden": "true" });
	const sheet = h("div", { role: "none" }, canvas);
	const names = { "aria-label": "Fork tree, the newest entry first", "aria-description": HELP };
	const list = h("div.scroller", { role: "listbox", tabindex: 0, ...names }, sheet);
	const slider = h("input", { type: "range", min: 0, "aria-label": "Move the lanes" });
	const foot = h("p.tree-told.dim");
	const note = h("div.tree-told", { role: "status", hidden: true });
	fill(panel, list, slider, foot, note);

	const schedule = () => (frame ||= requestAnimationFrame(draw));
	const openBranch = () => picture.branches.get(openId);
	/** Return where a row is, if it is loaded. @param {string} key */
	const numberOf = (key) => picture.rowOf.get(key);

	/** @type {(target: EventTarget, types: string, act: (event: any) => unknown) => void} */
	const on = (target, types, act) => {
		for (const type of types.split(" ")) {
			target.addEventListener(type, act, { signal });
			target.addEventListener(type, schedule, { signal });
		}
	};
	/** Return which row the pointer is at, NaN for none. @param {any} event */
	const rowAt = ({ target }) => target.closest("[role=option]")?.ariaPosInSet - 1;
	on(list, "scroll", () => (isScrolled = true));
	on(list, "wheel pointerdown", () => (isSought = false));
	on(list, "pointermove pointerleave", (event) => (hoveredKey = picture.rows[rowAt(event)]?.key ?? ""));
	on(list, "click", (event) => openRow(rowAt(event), event.target.closest(".chip") !== null));
	on(list, "keydown", press);
	on(slider, "input", () => (shift = slider.valueAsNumber));
	on(matchMedia("(prefers-color-scheme: dark)"), "change", () => (palette = []));
	new ResizeObserver(schedule).observe(list);
	return { show };

	/** With the same tree only the selection moves. @param {Place} place @param {string} [entryId] */
	function show({ grove: tree, conversationId }, entryId) {
		const key = entryId ?? `#${conversationId}`;
		if (tree !== grove) {
			tree.addEventListener("change", change);
			grove = tree;
			hoveredKey = "";
			shift = list.scrollTop = 0;
			change();
		} else if (conversationId === openId && key === openKey) return;
		openId = conversationId;
		openKey = key;
		if (key !== chosenKey) choose(key);
		chosenKey = "";
		schedule();
	}

	/** Put the keyboard at a row. @param {string} key */
	function choose(key) {
		activeKey = key;
		isSought = true;
		followedId = "";
	}

	function change() {
		isStale = true;
		schedule();
	}

	function draw() {
		frame = 0;
		const height = list.clientHeight;
		if (!height) return; // nobody sees it; a change of its size will come
		if (isStale && grove) renew(grove);
		const { rows, lanes } = picture;
		const most = Math.floor(list.clientWidth * LANES_SHARE);
		const lane = within(most / (lanes + 1), LANE_PX.min, LANE_PX.max);
		const whole = Math.floor((lanes + 1) * lane);
		const width = Math.min(most, whole);

		const sought = isSought ? numberOf(activeKey) : undefined;
		if (sought !== undefined) {
			const middle = (sought + 0.5) * ROW_PX - height / 2;
			if (Math.abs(list.scrollTop - middle) > (height - ROW_PX) / 2) list.scrollTop = middle;
			isSought = false;
		}
		const top = Math.floor(list.scrollTop / ROW_PX);
		const seen = Math.ceil(height / ROW_PX) + 1;
		if (isScrolled || sought !== undefined) {
			// If no dot is in view, the lanes move.
			const inView = sought === undefined ? rows.slice(top, top + seen) : [rows[sought]];
			const xs = inView.map(({ branch }) => (branch.lane + 1) * lane - shift);
			if (!xs.some((x) => x > 0 && x < width)) shift += (xs[xs.length >> 1] ?? 0) - width / 2;
			isScrolled = false;
		}
		shift = Math.round(within(shift, 0, whole - width));
		Object.assign(slider, { hidden: whole === width, max: whole - width, value: shift });
		slider.style.width = `${width}px`;
		sheet.style.setProperty("--lanes", `${width}px`);

		const first = Math.max(0, top - SPARE_ROWS);
		const last = Math.min(rows.length, first + seen + 2 * SPARE_ROWS) - 1;
		drawLanes({ first, last, width, lane });
		drawRows(first, last);
		tell();
	}

	/** What one looks at stays where it is; at the very top one sees what is new. @param {Grove} tree */
	function renew(tree) {
		const { rows } = picture;
		const top = list.scrollTop;
		const row = rows.findIndex(({ dot }, number) => dot && (number + 1) * ROW_PX > top);
		picture = layOut(tree);
		isStale = false;
		sheet.style.height = `${picture.rows.length * ROW_PX}px`;
		const now = numberOf(rows[row]?.key);
		if (top > 0 && now !== undefined) list.scrollTop = top + (now - row) * ROW_PX;

		const { isLoading, problem } = tree;
		if (noted === (problem ?? isLoading)) return; // a screen reader would say it again
		noted = problem ?? isLoading;
		note.hidden = !noted;
		note.classList.toggle("danger", problem !== null);
		fill(note, problem ? retry(problem, () => tree.load()) : "Loading older entries…");
	}

	/** @param {number} first @param {number} last */
	function drawRows(first, last) {
		const { children } = sheet; // the canvas, and options that are used for other rows as one scrolls
		const active = numberOf(activeKey); // always has an element
		const numbers = Array.from({ length: last - first + 1 }, (_, index) => first + index);
		if (active !== undefined && !numbers.includes(active)) numbers.push(active);
		while (children.length <= numbers.length) {
			const chips = [h("bdi.chip"), " ", h("span.chip", {}, "current"), " "];
			sheet.append(h("div.tree-row", { role: "option" }, chips, h("bdi.tree-line"), " ", h("time.dim")));
		}
		while (children.length > numbers.length + 1) sheet.lastChild?.remove();
		for (const [index, number] of numbers.entries()) drawRow(children[index + 1], number);
		list.setAttribute("aria-activedescendant", active === undefined ? "" : `tree-${active}`);
	}

	/** @param {any} option @param {number} number */
	function drawRow(option, number) {
		const row = picture.rows[number];
		const { branch, dot } = row;
		const [name, current, line, time] = /** @type {HTMLElement[]} */ ([...option.children]);
		name.hidden = number !== branch.rows[0];
		name.classList.toggle("tree-open", branch === openBranch());
		name.style.borderColor = branch.isRemoved ? "" : `var(--lane-${branch.colour})`;
		name.textContent = branch.label;
		current.hidden = name.hidden || !branch.isCurrent;
		line.classList.toggle("dim", !dot);
		line.textContent = dot ? dot.line : EMPTY_LINE;
		time.textContent = shortTime(row.time);
		option.id = `tree-${number}`;
		option.style.transform = `translateY(${number * ROW_PX}px)`;
		option.classList.toggle("tree-active", number === numberOf(activeKey));
		Object.assign(option, {
			ariaLabel: nameOf(row),
			ariaSelected: number === numberOf(openKey),
			ariaPosInSet: number + 1,
			ariaSetSize: grove?.isWhole ? picture.rows.length : -1,
		});
	}

	/** Say below the picture what the row is where the pointer is, or else the keyboard. */
	function tell() {
		const row = picture.rows[numberOf(hoveredKey) ?? numberOf(activeKey) ?? NOWHERE];
		if (!row) return fill(foot);
		const { branch, dot, time } = row;
		const usage = usageText(dot?.usage);
		const told = [dot && authorOf(dot), longTime(time), usage, branch.label, branch.isCurrent && "current"];
		fill(foot, ...told.filter(Boolean).map((part) => h("bdi", {}, part)));
	}

	/**
	 * Open an entry: in the open conversation if that shows it, else in its own branch, else in another one. Or open
	 * its branch at the end. @param {number} number @param {boolean} isBranch
	 */
	function openRow(number, isBranch) {
		const row = picture.rows[number];
		if (!row) return;
		const { branch, dot } = row;
		if (!branch.isRemoved && (isBranch || !dot)) return go(branch.id);
		const found = [openBranch(), branch, ...picture.branches.values()].find(
			(one) => !one?.isRemoved && shows(pathOf(picture, one), number, picture),
		);
		if (found) go(found.id, dot?.id);
	}

	/** @param {string} id @param {string} [entryId] */
	function go(id, entryId) {
		chosenKey = entryId ?? `#${id}`;
		choose(chosenKey);
		app.go(toConversation(id, entryId));
	}

	/** @param {KeyboardEvent} event */
	function press(event) {
		const { rows } = picture;
		const row = numberOf(activeKey) ?? Math.ceil(list.scrollTop / ROW_PX); // the first in view
		if (!rows[row] || event.altKey || event.ctrlKey || event.metaKey) return;
		const page = Math.floor(list.clientHeight / ROW_PX) - 1;
		/** @type {Record<string, () => number | void>} */
		const keys = {
			ArrowUp: () => along(row, -1),
			ArrowDown: () => along(row, 1),
			ArrowLeft: () => across(row, -1),
			ArrowRight: () => across(row, 1),
			Home: () => 0,
			End: () => rows.length,
			PageUp: () => row - page,
			PageDown: () => row + page,
			Enter: () => openRow(row, event.shiftKey),
		};
		const act = keys[event.key];
		if (!act) return;
		event.preventDefault();
		const next = act();
		if (next === undefined) return;
		activeKey = rows[within(next, 0, rows.length - 1)].key;
		isSought = true;
	}

	/** Return the next row of the followed branch, also where it inherits it. @param {number} row @param {-1 | 1} way */
	function along(row, way) {
		const path = [picture.branches.get(followedId), openBranch(), picture.rows[row].branch]
			.map((one) => pathOf(picture, one))
			.find((one) => shows(one, row, picture));
		if (!path) return;
		followedId = path[0].branch.id;
		const rows = rowsOf(path);
		return rows[rows.indexOf(row) + way];
	}

	/** Return the nearest row in the next lane, and follow its branch. @param {number} row @param {-1 | 1} side */
	function across(row, side) {
		const next = beside(picture, row, side);
		if (next !== undefined) followedId = picture.rows[next].branch.id;
		return next;
	}

	/** Paint the lanes. The canvas moves with the rows as one scrolls. What is open stands out. @param {Painting} painting */
	function drawLanes({ first, last, width, lane }) {
		const { rows, branches } = picture;
		const brush = canvas.getContext("2d");
		if (!brush) return;
		if (!palette.length) {
			const names = Array.from({ length: COLOURS }, (_, number) => `lane-${number}`);
			for (const name of [...names, "dim", "panel", "front"]) {
				canvas.style.color = `var(--${name})`;
				palette.push(getComputedStyle(canvas).color);
			}
		}
		const [dim, back, front] = palette.slice(COLOURS);
		const height = (last - first + 1) * ROW_PX;
		const scale = devicePixelRatio;
		Object.assign(canvas, { width: width * scale, height: height * scale }); // this also empties it
		Object.assign(canvas.style, { height: `${height}px`, transform: `translateY(${first * ROW_PX}px)` });
		brush.scale(scale, scale);

		/** @param {Branch} branch */
		const xOf = (branch) => (branch.lane + 1) * lane - shift;
		/** @param {number} row */
		const yOf = (row) => (row - first + 0.5) * ROW_PX;
		/** @param {Branch} branch */
		const colourOf = ({ isRemoved, colour }) => (isRemoved ? dim : palette[colour]);
		/** @type {(branch: Branch, top: number, thick: number) => void} */
		const line = (branch, top, thick) => {
			const from = Math.max(top, branch.rows[0]);
			const end = lastOf(branch);
			const other = rows[end]?.branch ?? branch; // a row that is not loaded: the line goes on to the bottom
			const [x, to] = [xOf(branch), xOf(other)];
			if (from > last || end < first || Math.max(x, to) < 0 || Math.min(x, to) > width) return;
			const y = yOf(Math.min(end, last + 1));
			const start = yOf(Math.max(from, first - 1));
			brush.strokeStyle = colourOf(branch);
			brush.lineWidth = thick;
			brush.setLineDash(branch.isRemoved ? [4, 3] : []);
			brush.beginPath();
			brush.moveTo(x, start);
			brush.lineTo(x, Math.max(start, y - BEND_PX));
			brush.quadraticCurveTo(x, y, x + within(to - x, -BEND_PX, BEND_PX), y);
			brush.lineTo(to, y);
			brush.stroke();
		};

		for (const branch of branches.values()) line(branch, 0, 1.5);
		for (const { branch, top } of pathOf(picture, openBranch()).reverse()) line(branch, top, 4);
		brush.setLineDash([]);
		brush.lineWidth = 2;
		const open = numberOf(openKey);
		for (let row = first; row <= last; row++) {
			const { branch, dot } = rows[row];
			const x = within(xOf(branch), 0, width); // half a dot at the edge stands for one that is out of view
			brush.fillStyle = dot ? colourOf(branch) : back;
			brush.strokeStyle = row === open ? front : colourOf(branch);
			brush.beginPath();
			brush.arc(x, yOf(row), row === open ? DOT_PX + 1.5 : DOT_PX, 0, 2 * Math.PI);
			brush.fill();
			brush.stroke();
		}
	}
}

/** Return what a screen reader says of a row: also what one sees there, in that order. @param {Row} row */
function nameOf({ branch: { label, isCurrent, isRemoved }, dot, time }) {
	const who = dot ? `${dot.role === "other" ? "entry" : dot.role}, ${authorOf(dot)}, ` : "";
	const place = `${isRemoved ? "" : "branch "}${label}${isCurrent ? ", current" : ""}`;
	return `${who}${place}: ${dot ? dot.line : EMPTY_LINE}, ${shortTime(time)}`;
}
