// What the package offers.

export { valueOf } from "./answering.ts";
export { Answer } from "./answers.ts";
export {
	Forklore,
	type ConversationsOptions,
	type Options,
	type SearchOptions,
	type UploadOptions,
} from "./client.ts";
export { Context, type Based, type Memory } from "./context.ts";
export {
	Conversation,
	type AnswerOptions,
	type AppendAllOptions,
	type AppendOptions,
	type ChildOptions,
	type EntriesOptions,
	type FileGiven,
	type FinishOptions,
	type ForkOptions,
	type HistoryOptions,
	type SayOptions,
	type TurnOptions,
	type WatchOptions,
} from "./conversation.ts";
export * from "./errors.ts";
export { ExactNumber, read as parse, stringify } from "./json.ts";
export { roleOf, textOf, type EntryOrId, type Role, type Said } from "./messages.ts";
export type * from "./generated/operations.ts";
export { Pages, type Page } from "./pages.ts";
export type { Credential, Limits } from "./sending.ts";
export type { Tree, Way } from "./tree.ts";
export type { Keyed, Matched, RawAnswer, Sent } from "./wire.ts";
