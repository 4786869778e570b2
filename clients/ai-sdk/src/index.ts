// What the package offers.

export { loadChat, saveTurn, type Chat, type SaveOptions, type Unsaved } from "./chats.ts";
