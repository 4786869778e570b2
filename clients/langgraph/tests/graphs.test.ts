// Graphs of LangGraph on forklore: forks, several processes, and what people see.

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { expect, inject, test, vi } from "vitest";

import { Forklore, textOf, type ListedEntry } from "@forklore/client";

import { Counting } from "../../typescript/tests/support/counting.ts";
import { ForkloreSaver } from "../src/index.ts";

const at = (threadId: string, checkpointId?: string) => ({
	configurable: { thread_id: threadId, ...(checkpointId !== undefined && { checkpoint_id: checkpointId }) },
});

const checkpointOf = ({ configurable }: { configurable?: Record<string, unknown> }) =>
	String(configurable?.["checkpoint_id"]);

/** Return a graph that answers each question with how many messages it knows. */
const graphOn = (checkpointer: ForkloreSaver) =>
	new StateGraph(MessagesAnnotation)
		.addNode("answer", ({ messages }) => ({ messages: [new AIMessage(`I know ${messages.length}.`)] }))
		.addEdge(START, "answer")
		.addEdge("answer", END)
		.compile({ checkpointer });

const asked = async (graph: ReturnType<typeof graphOn>, threadId: string, question: string) => {
	const { messages } = await graph.invoke({ messages: [new HumanMessage(question)] }, at(threadId));
	return messages.map(({ text }) => text);
};

test("a fork goes on alone, from the end or from a checkpoint, and costs the same at any length", async () => {
	const counting = new Counting();
	const saver = new ForkloreSaver(counting.fl);
	const graph = graphOn(saver);
	const costs: unknown[] = [];
	for (const count of [1, 30]) {
		const thread = `trip-${count}`;
		for (let turn = 0; turn < count; turn++) await asked(graph, thread, `question ${turn}`);
		await graph.getState(at(thread));
		counting.taken();
		await saver.fork(thread, `idea-${count}`);
		costs.push(counting.taken().asked);
		const [before, after] = [
			await asked(graph, thread, "here?"),
			await asked(graph, `idea-${count}`, "there?"),
		];
		expect([before.at(-2), after.at(-2)]).toEqual(["here?", "there?"]);
		expect(after.slice(0, -2)).toEqual(before.slice(0, -2));
	}
	expect(costs[1]).toEqual(costs[0]);
	expect(costs[0]).toHaveLength(3);

	const states = [];
	for await (const state of graph.getStateHistory(at("trip-30"))) states.push(state);
	const first = states.findLast(({ values }) => (values as { messages?: unknown[] }).messages?.length === 2);
	const checkpointId = String(first?.config.configurable?.["checkpoint_id"]);
	await saver.fork("trip-30", "again", { checkpointId });
	expect(await asked(graph, "again", "anew?")).toEqual(["question 0", "I know 1.", "anew?", "I know 3."]);
	await saver.deleteThread("trip-30");
	expect((await graph.getState(at("trip-30"))).values).toEqual({});
	expect((await graph.getState(at("again"))).values).toMatchObject({ messages: { length: 4 } });
	await expect(saver.fork("nowhere", "x")).rejects.toThrow("no such thread");
	await expect(saver.fork("again", "x", { checkpointId: "nowhere" })).rejects.toThrow(
		"no such thread or checkpoint",
	);
});

test("a run that another process has begun goes on, after a task that failed", async () => {
	const token = crypto.randomUUID();
	const saverOf = () => new ForkloreSaver(new Forklore(inject("url"), { token }));
	const State = Annotation.Root({
		done: Annotation<string[]>({ reducer: (one, two) => [...one, ...two], default: () => [] }),
	});
	let isDown = true;
	const times: string[] = [];
	const graphWith = (checkpointer: ForkloreSaver) =>
		new StateGraph(State)
			.addNode("fine", () => {
				times.push("fine");
				return { done: ["fine"] };
			})
			.addNode("weak", () => {
				times.push("weak");
				if (isDown) throw new Error("down");
				return { done: ["weak"] };
			})
			.addEdge(START, "fine")
			.addEdge(START, "weak")
			.addEdge("fine", END)
			.addEdge("weak", END)
			.compile({ checkpointer });
	await expect(graphWith(saverOf()).invoke({ done: [] }, at("t"))).rejects.toThrow("down");
	isDown = false;
	const done = await graphWith(saverOf()).invoke(null, at("t"));
	expect(done.done.sort()).toEqual(["fine", "weak"]);
	expect(times.filter((one) => one === "fine")).toHaveLength(1); // its write was kept
});

test("what was stored last is the latest checkpoint, also by a machine whose clock is behind", async () => {
	const { fl } = new Counting();
	const [mine, other] = [graphOn(new ForkloreSaver(fl)), graphOn(new ForkloreSaver(fl))];
	await asked(mine, "clocks", "one?");
	const now = Date.now;
	const clock = vi.spyOn(Date, "now").mockImplementation(() => now() - 60_000);
	await asked(other, "clocks", "two?");
	clock.mockRestore();
	const texts = await asked(mine, "clocks", "three?");
	expect(texts).toEqual(["one?", "I know 1.", "two?", "I know 3.", "three?", "I know 5."]);
	expect(await asked(other, "clocks", "four?")).toHaveLength(8);
	const branches = [];
	for await (const { title } of fl.named("langgraph-js/clocks").forks()) branches.push(title);
	expect(branches).toEqual(["one?"]);
});

test("people see the messages, and a fork finds what it shows alone", async () => {
	const fl = new Forklore(inject("url"), { token: crypto.randomUUID() });
	const saver = new ForkloreSaver(fl);
	const graph = graphOn(saver);
	await asked(graph, "t", "Which hotel?");
	await saver.fork("t", "u");
	await asked(graph, "t", "Casa do Jardim?");
	await asked(graph, "u", "Casa da Ribeira?");
	const texts = async (thread: string) =>
		(await fl.named(`langgraph-js/${thread}`).history().list())
			.map((entry) => textOf(entry))
			.filter((text) => text !== undefined);
	expect(await texts("t")).toEqual(["Which hotel?", "I know 1.", "Casa do Jardim?", "I know 3."]);
	const found = await fl.named("langgraph-js/u").recall("casa");
	expect(found.map(({ entry }) => entry && textOf(entry))).toEqual(["Casa da Ribeira?"]);
});

test("a run from an older checkpoint is a branch, and each branch keeps its values", async () => {
	const fl = new Forklore(inject("url"), { token: crypto.randomUUID() });
	const [saver, other] = [new ForkloreSaver(fl), new ForkloreSaver(fl)];
	const graph = graphOn(saver);
	await asked(graph, "t", "Lisbon?");
	const start = (await graph.getState(at("t"))).config;
	await asked(graph, "t", "In May?");
	const left = (await graph.getState(at("t"))).config;
	await graph.invoke({ messages: [new HumanMessage("In June?")] }, start);
	await asked(graph, "t", "By train?");
	const texts = async (one: ReturnType<typeof graphOn>, config: typeof start) =>
		((await one.getState(config)).values as { messages: HumanMessage[] }).messages.map(({ text }) => text);
	const graphs = [graph, graphOn(other)];
	for (const one of graphs) {
		expect(await texts(one, left)).toEqual(["Lisbon?", "I know 1.", "In May?", "I know 3."]);
		expect(await texts(one, at("t") as typeof start)).toEqual([
			...["Lisbon?", "I know 1.", "In June?", "I know 3.", "By train?", "I know 5."],
		]);
	}
	const t = fl.named("langgraph-js/t");
	const people = async (entries: AsyncIterable<ListedEntry>) => {
		const all = [];
		for await (const entry of entries) all.push(textOf(entry));
		return all.filter((text) => text !== undefined);
	};
	expect(await people(t.history())).toEqual([
		...["Lisbon?", "I know 1.", "In June?", "I know 3.", "By train?", "I know 5."],
	]);

	// Two processes branch at once: each is on a branch of its own, and nothing is lost. One that
	// the other has overtaken branches again, as no entry is appended to a branch that was left.
	await Promise.all(
		graphs.map((one, at) => one.invoke({ messages: [new HumanMessage(`By bus ${at}?`)] }, left)),
	);
	const ends = new Set<string>();
	for await (const { values } of graph.getStateHistory(at("t")))
		ends.add((values as { messages?: HumanMessage[] }).messages?.at(-2)?.text ?? "");
	expect([...ends].filter((one) => /^(In|By)/.test(one)).sort()).toEqual([
		...["By bus 0?", "By bus 1?", "By train?", "In June?", "In May?"],
	]);
	expect((await t.forks().list()).length).toBeGreaterThanOrEqual(4);

	// A fork shows the branches, too; its deletion leaves them to the other one, and the other way round.
	await saver.fork("t", "u");
	await saver.fork("t", "v", { checkpointId: checkpointOf(left) });
	expect(await texts(graph, at("v") as typeof start)).toHaveLength(4);
	await graph.invoke({ messages: [new HumanMessage("In May again?")] }, at("u", checkpointOf(start)));
	await saver.deleteThread("u");
	expect(await texts(graphOn(new ForkloreSaver(fl)), left)).toHaveLength(4);
	await saver.deleteThread("t");
	expect((await fl.conversations().list()).length).toBe(1);
	expect(await texts(graph, at("v") as typeof start)).toHaveLength(4);
});
