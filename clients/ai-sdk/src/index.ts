// What the package offers.

export { loadChat, saveTurn, type Chat } from "./chats.ts";
