// What the package offers.

export { historyAdapter, type HistoryOptions, type Thread } from "./history.ts";
export { threadListAdapter, type ThreadListOptions } from "./threads.ts";
