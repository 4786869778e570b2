// One run of an application on the client for TypeScript. Of the moves of `application.py` it takes those
// that it knows.

import { appendFileSync, readFileSync } from "node:fs";
import { json } from "node:stream/consumers";

const { client, url, clientKey, journal, steps, begin, faults, dice } = await json(process.stdin);
const { Forklore, ConflictError, NoAnswerError, textOf } = await import(client);

const lines = readFileSync(journal, "utf8").split("\n").filter(Boolean);
const records = lines.map((line) => JSON.parse(line));
const recorded = (what) => records.filter((one) => one.what === what);

function write(what, fields) {
	records.push({ what, ...fields });
	appendFileSync(journal, `${JSON.stringify(records.at(-1))}\n`);
}

/** Do the work, and write down what is begun and then acknowledged: the text of each line. */
async function writing(texts, work) {
	for (const [line, text] of Object.entries(texts)) write("begun", { line, texts: [text] });
	await work();
	for (const [line, text] of Object.entries(texts)) write("done", { line, texts: [text] });
}

let thrown = 0;
const choose = (several) => several[dice[thrown++ % dice.length] % several.length];

let sent = 0;
/** Send once, or do not. */
async function faulty(...request) {
	const kind = faults[++sent];
	if (kind === "dies before") process.kill(process.pid, "SIGKILL");
	if (kind === "unsent") throw new Error("planted: the request was lost");
	const response = await fetch(...request);
	if (kind === "dies after") process.kill(process.pid, "SIGKILL");
	if (kind === "lost") throw new Error("planted: the answer was lost");
	return response;
}

const own = new Forklore(url, { token: "ann", clientKey, fetch: faulty });
const kept = own.named("job");
let id;

/** Return the conversation: an object for its name or its id, or the one that is kept. */
function find({ by = own, isNew = false } = {}) {
	const ways = [by.named("job"), ...(id === undefined ? [] : [by.conversation(id)])];
	return choose(isNew ? ways : [...ways, kept]);
}

async function say(move, text, key) {
	if (key === undefined && recorded("begun").some(({ texts }) => texts.includes(text))) return;
	const chat = find();
	const looks = [() => chat.last(), () => chat.exists(), () => chat.context.latest(), () => chat.entries().list()];
	if (choose([true, false])) await choose(looks)();
	if (move === "child") {
		const child = await chat.startChild({ agentId: "worker", key: "of the job" });
		await writing({ child: text }, () => child.say("user", text, { idempotencyKey: key }));
		return;
	}
	await writing({ job: text }, async () => {
		const by = choose([own, own.withOptions({ retries: 0 })]);
		try {
			await find({ by }).say("user", text, { idempotencyKey: key });
		} catch (error) {
			if (!(error instanceof NoAnswerError)) throw error;
			// say it again in any way, with the key of the call
			await find({ isNew: true }).say("user", text, { idempotencyKey: error.idempotencyKey });
		}
	});
}

async function remembered(chat) {
	const memory = await chat.context.latest();
	write("saw", { line: "memory", texts: memory });
	return memory;
}

/** Add an element to the memory, unless it is there. */
async function turn(chat, element, given) {
	const memory = given ?? (await remembered(chat));
	await writing({ job: `says ${element}`, memory: element }, async () => {
		if (memory.includes(element)) return;
		await find({ isNew: true }).turn("ai", `says ${element}`, { context: [...memory, element] });
	});
}

/** Read the memory, and write to it when somebody else has. */
async function two(number) {
	const memory = await remembered(find({ isNew: true }));
	await turn(find({ isNew: true }), `y${number}`);
	try {
		await turn(kept, `x${number}`, memory);
	} catch (error) {
		if (!(error instanceof ConflictError && error.reason === "context_moved")) throw error;
		await turn(find({ isNew: true }), `x${number}`);
	}
}

function saw(line, entries) {
	write("saw", { line, texts: entries.map((entry) => textOf(entry)) });
}

async function look() {
	const chat = find();
	saw("job", await chat.entries({ channel: "history" }).list());
	await remembered(chat);
	for (const child of await chat.children().list())
		saw("child", await own.conversation(child.id).entries({ channel: "history" }).list());
}

async function run() {
	id = recorded("known").at(-1)?.id;
	if (id === undefined) {
		await say("say", "first", "first");
		id = await kept.resolve();
		await own.conversation(id).share("mia", "manager");
		write("known", { id });
	}
	for (const [number, [move, isKeyed]] of [...steps.entries()].slice(begin)) {
		write("step", { number, move });
		if (["say", "child"].includes(move)) await say(move, `${move} ${number}`, isKeyed ? `k${number}` : undefined);
		if (move === "turn") await turn(find(), `x${number}`);
		if (move === "two") await two(number);
		if (move === "look") await look();
	}
	await look();
	write("ended");
}

await run().catch((error) => write("crashed", { error: error.stack }));
