// What the package offers.

export { readableFiles, stopAnswer } from "@forklore/client/chat";

export {
	beginAnswer,
	resumeAnswer,
	watchChat,
	type Answer,
	type AnswerOptions,
	type BeginOptions,
} from "./answers.ts";
export { loadChat, saveTurn, type Chat, type SaveOptions, type Unsaved } from "./chats.ts";
export { filePart } from "./messages.ts";
