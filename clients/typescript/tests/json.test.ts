// Numbers keep their value, and what JSON cannot hold is refused with its place.

import { describe, expect, inject, test } from "vitest";

import { ExactNumber, Forklore, InputError, parse, stringify } from "../src/index.ts";
import { read, write } from "../src/json.ts";
import { KEYS } from "./support/server.ts";

const ODD = [
	"12345678901234567890",
	"1180591620717411303424",
	"9007199254740993",
	"0.1234567890123456789",
	"12345678901234567890.5",
	"1e400",
	"-1e-400",
	"1E+400",
];

test("JSON text that was parsed is the same when it is written, with all digits", () => {
	const text = `{"a":[12345678901234567890,0.5,null],"b":"1e400"}`;
	expect(stringify(parse(text))).toBe(text);
	expect(() => stringify({ a: [NaN] })).toThrow("value.a[0]: NaN is no JSON value");
	expect(() => parse("{")).toThrow(SyntaxError);
});

describe("numbers", () => {
	test.each(ODD)("%s keeps its digits, and calculates as the nearest number", (digits) => {
		const number = read(digits);
		expect(number).toBeInstanceOf(ExactNumber);
		expect(String(number)).toBe(digits);
		expect(Number(number)).toBe(Number(digits));
		expect(write(number, "n")).toBe(digits);
	});

	test.each([
		"0",
		"-0",
		"1",
		"1.5",
		"0.1",
		"1.10",
		"1e2",
		"1E5",
		"9007199254740992",
		"1e21",
		"123456789012345680000",
	])("%s is a plain number", (digits) => {
		expect(typeof read(digits)).toBe("number");
		expect(read(digits)).toBe(Number(digits));
	});

	test("texts that look like such numbers stay as they are", () => {
		const value = [
			`"12345678901234567890`,
			"\\",
			`: 1e400, "x": 0.1234567890123456789`,
			{ "1e400": '\\"' },
			"a\nb",
		];
		const text = JSON.stringify([...value, 0]).replace(/0\]$/, "1e400]");
		expect(read(text)).toEqual([...value, new ExactNumber("1e400")]);
	});

	test("an odd number in a text that is 64 times as long takes about the work of 64 such texts", () => {
		const worked = (letters: number, times: number) => {
			const text = `["${'\\"x'.repeat(letters)}", 1e400]`;
			const took = [1, 2, 3].map(() => {
				const began = process.cpuUsage();
				for (let time = 0; time < times; time++) expect(String((read(text) as unknown[])[1])).toBe("1e400");
				return process.cpuUsage(began).user;
			});
			return Math.min(...took);
		};
		// Work that grows with the square would be 64. Time of the processor, as a busy machine makes any other longer.
		expect(worked(1_600_000, 1)).toBeLessThan(16 * worked(25_000, 64));
	});

	test.each(["[01e400]", "1e400,", "[1e400 1]", ".5e400", "{1e400: 1}"])("%s is no JSON", (text) => {
		expect(() => read(text)).toThrow(SyntaxError);
	});

	test("a bigint is sent as it is", () => {
		expect(write([2n ** 70n, -1n], "x")).toBe("[1180591620717411303424,-1]");
	});

	test.each(["", "x", "1e", "01", "NaN", "Infinity", "1,2", "+1", " 1"])("%j is no exact number", (text) => {
		expect(() => new ExactNumber(text)).toThrow(InputError);
	});

	test("content comes back from the service as it was sent, and is sent again the same", async () => {
		const fl = new Forklore(inject("url"), { token: "numbers", clientKey: KEYS.planner });
		const stored = ODD.filter((digits) => Number.isFinite(Number(digits))); // others are refused
		const content = stored.map((digits) => new ExactNumber(digits));
		const chat = fl.conversation();
		const { id } = await chat.append([content, 2n ** 70n], {
			contentType: "numbers",
			usage: { costUsd: 0.25 },
		});
		const again = (await chat.entry(id)).content;
		expect(String(again)).toBe([...stored, 2n ** 70n].join());
		expect(write((await chat.append(again, { contentType: "numbers" })).content, "x")).toBe(
			write(again, "x"),
		);
		await chat.context.sync(content);
		expect(write(await chat.context.latest(), "x")).toBe(`[${stored.join()}]`);
		expect((await chat.context.sync(await chat.context.latest())).noOp).toBe(true);
		expect((await chat.details()).metrics.costUsd).toBe(0.25);
	});
});

describe("values", () => {
	const seen: unknown[] = [];
	seen.push(seen);
	const deep = (levels: number): unknown => (levels ? [deep(levels - 1)] : 0);

	test.each([
		[[NaN], "memory[0]: NaN is no JSON value"],
		[[1, { a: { b: [Infinity] } }], "memory[1].a.b[0]: Infinity is no JSON value"],
		[[undefined], "memory[0]: undefined is no JSON value"],
		[new Array(1), "memory[0]: undefined is no JSON value"],
		[[() => 1], "memory[0]: function is no JSON value"],
		[[Symbol("x")], "memory[0]: symbol is no JSON value"],
		[[new Map()], "memory[0]: Map is no JSON value"],
		[[/x/], "memory[0]: RegExp is no JSON value"],
		[[new Uint8Array(2)], "memory[0]: Uint8Array is no JSON value"],
		[["\ud800"], "memory[0]: a text holds half of a surrogate pair"],
		[[{ "\udc00": 1 }], "memory[0]: a text holds half of a surrogate pair"],
	])("%j is refused with its place", (value, why) => {
		expect(() => write(value, "memory")).toThrow(why);
		expect(() => write(value, "memory")).toThrow(expect.objectContaining({ field: "memory" }) as Error);
	});

	test("what is inside itself, or nested too deeply, is refused", () => {
		expect(() => write(seen, "memory")).toThrow("nested too deeply");
		expect(() => write(deep(200), "memory")).toThrow("nested too deeply");
		expect(write(deep(64), "memory")).toBe(`${"[".repeat(64)}0${"]".repeat(64)}`);
	});

	test("the rest is written as JSON.stringify writes it", () => {
		const value = {
			at: new Date(0),
			none: null,
			left: undefined,
			'a"b': ["\u0001é😀\\", true, -0, 1e21, 1e-7, []],
			own: { toJSON: () => ({ x: 1 }) },
			bare: Object.assign(Object.create(null) as object, { a: 1 }),
			of: new URL("http://x/"),
		};
		expect(write(value, "x")).toBe(JSON.stringify(value));
	});
});
