// What the package offers.

export { stopAnswer } from "@forklore/client/chat";

export { historyAdapter, type HistoryOptions, type Thread } from "./history.ts";
export { resumableStreamStore, streamId, type StreamPlace } from "./streams.ts";
export { threadListAdapter, type ThreadListOptions } from "./threads.ts";
