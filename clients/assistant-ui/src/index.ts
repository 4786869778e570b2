// What the package offers.

export { readableFiles, stopAnswer } from "@forklore/client/chat";

export { attachmentAdapter, type AttachmentOptions } from "./attachments.ts";
export { historyAdapter, type HistoryOptions, type Thread } from "./history.ts";
export { resumableStreamStore, streamId, type StreamPlace } from "./streams.ts";
export { threadListAdapter, type ThreadListOptions } from "./threads.ts";
