import { expect, test } from "vitest";

import { meanOf, noteOf, notesWords } from "./notes.ts";

test("notes without a score count, and have no part in the mean", () => {
	expect(notesWords([{}])).toBe("1 note");
	expect(notesWords([{ score: 1 }, {}, { score: 0 }])).toBe("3 notes, mean 0.5");
	expect(notesWords([{ score: 0 }])).toBe("1 note, mean 0");
});

test("a mean has three digits, and a large one all before its point", () => {
	expect(meanOf([{ score: 1 }, { score: 1 }, { score: 0 }])).toBe(0.667);
	expect(meanOf([{ score: 0.0004 }])).toBe(0.0004);
	expect(meanOf([{ score: -12_345 }, { score: -12_346 }])).toBe(-12_345);
	expect(meanOf([{ score: 1e9 }, { score: 1e9 }])).toBe(1e9);
});

test("a note has what one has typed, and a score is a number", () => {
	expect(noteOf(" Wrong hotel\n", "")).toEqual({ note: { text: "Wrong hotel" }, wrong: "" });
	expect(noteOf(" ", " -0.5 ")).toEqual({ note: { score: -0.5 }, wrong: "" });
	expect(noteOf("", "0")).toEqual({ note: { score: 0 }, wrong: "" });
	expect(noteOf("", "")).toEqual({ note: {}, wrong: "" });
	expect(noteOf("Good", "0,5").wrong).toBe("“0,5” is no number.");
	expect(noteOf("Good", "Infinity").wrong).not.toBe("");
});
