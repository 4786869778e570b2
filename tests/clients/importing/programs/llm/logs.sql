CREATE TABLE "messages" (
   "hash" TEXT PRIMARY KEY,
   "parent_hash" TEXT REFERENCES "messages"("hash"),
   "role" TEXT,
   "provider_metadata" TEXT
);
INSERT INTO "messages" VALUES ('b2:aa9c97376eae7cc51f52da18de5e4e37', NULL, 'user', NULL);
INSERT INTO "messages" VALUES ('b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'b2:aa9c97376eae7cc51f52da18de5e4e37', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:5d96571af0c0f3c72d8af47e2dba4685', 'b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:2186cd49308764f4b7df7b6f539f0c03', 'b2:5d96571af0c0f3c72d8af47e2dba4685', 'tool', NULL);
INSERT INTO "messages" VALUES ('b2:3b19ac199f2daf9efb3af2e26a3743ae', 'b2:2186cd49308764f4b7df7b6f539f0c03', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:aaf9ddcd2721b57d68f2396f74223242', 'b2:3b19ac199f2daf9efb3af2e26a3743ae', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:ee2909a3ac3279ef0e0290dbed205820', 'b2:aaf9ddcd2721b57d68f2396f74223242', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:7587c193dc1d73851b03649870cad8e7', 'b2:ee2909a3ac3279ef0e0290dbed205820', 'tool', NULL);
INSERT INTO "messages" VALUES ('b2:9a1d6c6889143393ae7722fcf4f0a853', 'b2:7587c193dc1d73851b03649870cad8e7', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:4f94b99afc12fdd0428ea2eba6c708a0', 'b2:9a1d6c6889143393ae7722fcf4f0a853', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:d7a14c79ee485dcc0d792ed378b854f8', 'b2:4f94b99afc12fdd0428ea2eba6c708a0', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:62ef7cce02bc95532434decbaafcddf0', 'b2:d7a14c79ee485dcc0d792ed378b854f8', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:6b951e7ea35e286d372247db0cd5cecc', 'b2:62ef7cce02bc95532434decbaafcddf0', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:3efb8c13abcbe4477d073e3883b22219', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:2a7ad5ed0ccb70a65ed155d382a76527', 'b2:3efb8c13abcbe4477d073e3883b22219', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:fb20df35a32a89cebc3412602f5421b6', 'b2:d7a14c79ee485dcc0d792ed378b854f8', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:aecb792c1b6e268a0adad79a3ef151e9', 'b2:fb20df35a32a89cebc3412602f5421b6', 'assistant', NULL);
CREATE TABLE "parts" (
   "id" INTEGER PRIMARY KEY,
   "message_hash" TEXT REFERENCES "messages"("hash"),
   "position" INTEGER,
   "type" TEXT,
   "tool_name" TEXT,
   "text" TEXT,
   "payload" TEXT
);
INSERT INTO "parts" VALUES (1, 'b2:aa9c97376eae7cc51f52da18de5e4e37', 0, 'text', NULL, 'How deep is the harbour?', NULL);
INSERT INTO "parts" VALUES (2, 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 0, 'text', NULL, 'Twelve metres at low tide.', NULL);
INSERT INTO "parts" VALUES (3, 'b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 0, 'text', NULL, 'Count the boats in boats.txt.', NULL);
INSERT INTO "parts" VALUES (4, 'b2:5d96571af0c0f3c72d8af47e2dba4685', 0, 'text', NULL, 'I look.', NULL);
INSERT INTO "parts" VALUES (5, 'b2:5d96571af0c0f3c72d8af47e2dba4685', 1, 'tool_call', 'shell', NULL, '{"name": "shell", "arguments": {"command": "cat boats.txt"}, "tool_call_id": "call_a31794de335b4f4586221391"}');
INSERT INTO "parts" VALUES (6, 'b2:2186cd49308764f4b7df7b6f539f0c03', 0, 'tool_result', 'shell', NULL, '{"name": "shell", "output": "Ada\nBea\nCleo", "tool_call_id": "call_a31794de335b4f4586221391"}');
INSERT INTO "parts" VALUES (7, 'b2:3b19ac199f2daf9efb3af2e26a3743ae', 0, 'text', NULL, 'Three boats.', NULL);
INSERT INTO "parts" VALUES (8, 'b2:aaf9ddcd2721b57d68f2396f74223242', 0, 'text', NULL, 'Weigh Ada and Bea.', NULL);
INSERT INTO "parts" VALUES (9, 'b2:ee2909a3ac3279ef0e0290dbed205820', 0, 'tool_call', 'shell', NULL, '{"name": "shell", "arguments": {"command": "echo 4 tons"}, "tool_call_id": "call_e1245e639fe84d8d93a6ae69"}');
INSERT INTO "parts" VALUES (10, 'b2:ee2909a3ac3279ef0e0290dbed205820', 1, 'tool_call', 'shell', NULL, '{"name": "shell", "arguments": {"command": "cat missing.txt"}, "tool_call_id": "call_e6ac52f09ade422aa2540db9"}');
INSERT INTO "parts" VALUES (11, 'b2:7587c193dc1d73851b03649870cad8e7', 0, 'tool_result', 'shell', NULL, '{"name": "shell", "output": "4 tons", "tool_call_id": "call_e1245e639fe84d8d93a6ae69"}');
INSERT INTO "parts" VALUES (12, 'b2:7587c193dc1d73851b03649870cad8e7', 1, 'tool_result', 'shell', NULL, '{"name": "shell", "output": "cat: missing.txt: No such file or directory", "tool_call_id": "call_e6ac52f09ade422aa2540db9"}');
INSERT INTO "parts" VALUES (13, 'b2:9a1d6c6889143393ae7722fcf4f0a853', 0, 'text', NULL, 'Ada has 4 tons.', NULL);
INSERT INTO "parts" VALUES (14, 'b2:4f94b99afc12fdd0428ea2eba6c708a0', 0, 'text', NULL, 'What is in this picture?', NULL);
INSERT INTO "parts" VALUES (15, 'b2:4f94b99afc12fdd0428ea2eba6c708a0', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "5503ff8fef5a4d87e1fe0bdc07254b11153a86debfa97500641c7abbf93357ef"}}');
INSERT INTO "parts" VALUES (16, 'b2:d7a14c79ee485dcc0d792ed378b854f8', 0, 'text', NULL, 'A red square.', NULL);
INSERT INTO "parts" VALUES (17, 'b2:62ef7cce02bc95532434decbaafcddf0', 0, 'text', NULL, 'Sell the boats.', NULL);
INSERT INTO "parts" VALUES (18, 'b2:6b951e7ea35e286d372247db0cd5cecc', 0, 'text', NULL, 'All are sold.', NULL);
INSERT INTO "parts" VALUES (19, 'b2:3efb8c13abcbe4477d073e3883b22219', 0, 'text', NULL, 'When does the tide turn?', NULL);
INSERT INTO "parts" VALUES (20, 'b2:2a7ad5ed0ccb70a65ed155d382a76527', 0, 'text', NULL, 'At six.', NULL);
INSERT INTO "parts" VALUES (21, 'b2:fb20df35a32a89cebc3412602f5421b6', 0, 'text', NULL, 'Paint the boats.', NULL);
INSERT INTO "parts" VALUES (22, 'b2:aecb792c1b6e268a0adad79a3ef151e9', 0, 'text', NULL, 'All are blue.', NULL);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
INSERT INTO "threads" VALUES ('01m8kjx8wjkab8r1fr2scs4dd0', 'How deep is the harbour?', 'b2:6b951e7ea35e286d372247db0cd5cecc', NULL, '2026-11-29 12:01:38.254113+00:00');
INSERT INTO "threads" VALUES ('01m8kjyb8936yb7eykv1tsjeb7', 'How deep is the harbour?', 'b2:2a7ad5ed0ccb70a65ed155d382a76527', NULL, '2026-11-29 12:02:13.544411+00:00');
INSERT INTO "threads" VALUES ('01m8kjyprgm65ynfssewa0qhj7', 'Other', 'b2:aecb792c1b6e268a0adad79a3ef151e9', '01m8kjx8wjkab8r1fr2scs4dd0', '2026-11-29 12:02:24.656726+00:00');
CREATE TABLE "turns" (
   "id" TEXT PRIMARY KEY,
   "thread_id" TEXT REFERENCES "threads"("id"),
   "parent_message_hash" TEXT REFERENCES "messages"("hash"),
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "model" TEXT,
   "resolved_model" TEXT,
   "options_json" TEXT,
   "schema_id" TEXT REFERENCES "schemas"("id"),
   "input_tokens" INTEGER,
   "output_tokens" INTEGER,
   "token_details" TEXT,
   "duration_ms" INTEGER,
   "datetime_utc" TEXT
, "response_json" TEXT);
INSERT INTO "turns" VALUES ('01m8kjx8wzhbae9ma3hkrwspmr', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:aa9c97376eae7cc51f52da18de5e4e37', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'stand-in', NULL, NULL, NULL, 6, 5, NULL, 548, '2026-11-29T12:01:37.696071+00:00', '{"content": "Twelve metres at low tide.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 6, "total_tokens": 11}, "id": "chatcmpl-a726bdc547fa4d1a93245f00", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjxennwwed1ghchj9svvjj', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 'b2:5d96571af0c0f3c72d8af47e2dba4685', 'stand-in', NULL, NULL, NULL, 19, 5, NULL, 700, '2026-11-29T12:01:43.605232+00:00', '{"content": "I look.", "finish_reason": "tool_calls", "usage": {"completion_tokens": 5, "prompt_tokens": 19, "total_tokens": 24}, "id": "chatcmpl-6eb83eaccb7f4167aa5e2dd1", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjxfc7bgbrp8aanewpcfyv', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:2186cd49308764f4b7df7b6f539f0c03', 'b2:3b19ac199f2daf9efb3af2e26a3743ae', 'stand-in', NULL, NULL, NULL, 31, 5, NULL, 232, '2026-11-29T12:01:44.327915+00:00', '{"content": "Three boats.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 31, "total_tokens": 36}, "id": "chatcmpl-9c18ddc7482a478d98117480", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjxnj3ebrebfshkqet3jem', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:aaf9ddcd2721b57d68f2396f74223242', 'b2:ee2909a3ac3279ef0e0290dbed205820', 'stand-in', NULL, NULL, NULL, 39, 5, NULL, 513, '2026-11-29T12:01:50.659441+00:00', '{"content": "", "finish_reason": "tool_calls", "usage": {"completion_tokens": 5, "prompt_tokens": 39, "total_tokens": 44}, "id": "chatcmpl-d83c99a8715c4d5bb4ff9feb", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjxp3288g3a89r807fm6vj', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:7587c193dc1d73851b03649870cad8e7', 'b2:9a1d6c6889143393ae7722fcf4f0a853', 'stand-in', NULL, NULL, NULL, 65, 5, NULL, 181, '2026-11-29T12:01:51.202552+00:00', '{"content": "Ada has 4 tons.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 65, "total_tokens": 70}, "id": "chatcmpl-3e54ce261bdc48a7b2c82872", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjxwdehgg7658nm5w70gzh', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:4f94b99afc12fdd0428ea2eba6c708a0', 'b2:d7a14c79ee485dcc0d792ed378b854f8', 'stand-in', NULL, NULL, NULL, 79, 5, NULL, 768, '2026-11-29T12:01:57.678331+00:00', '{"content": "A red square.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 79, "total_tokens": 84}, "id": "chatcmpl-8235f4049afd41a696f191ec", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjy3w8r302jt6ah9eyph63', '01m8kjx8wjkab8r1fr2scs4dd0', 'b2:62ef7cce02bc95532434decbaafcddf0', 'b2:6b951e7ea35e286d372247db0cd5cecc', 'stand-in', NULL, NULL, NULL, 86, 5, NULL, 565, '2026-11-29T12:02:05.320813+00:00', '{"content": "All are sold.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 86, "total_tokens": 91}, "id": "chatcmpl-c31901f7b1cc41c39f72ef04", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjyb8xxrd53sgp98qhdyjm', '01m8kjyb8936yb7eykv1tsjeb7', 'b2:aa9c97376eae7cc51f52da18de5e4e37', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'stand-in', NULL, NULL, NULL, 6, 5, NULL, 649, '2026-11-29T12:02:12.893388+00:00', '{"content": "Twelve metres at low tide.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 6, "total_tokens": 11}, "id": "chatcmpl-9c8c8f5ba6ee43b98bff6305", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjyjk4tyyzrdfcseebg3wm', '01m8kjyb8936yb7eykv1tsjeb7', 'b2:3efb8c13abcbe4477d073e3883b22219', 'b2:2a7ad5ed0ccb70a65ed155d382a76527', 'stand-in', NULL, NULL, NULL, 18, 5, NULL, 724, '2026-11-29T12:02:20.388781+00:00', '{"content": "At six.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 18, "total_tokens": 23}, "id": "chatcmpl-cb5f0ed555e3492eab8d2262", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8kjyprgm65ynfssewa0qhj7', '01m8kjyprgm65ynfssewa0qhj7', NULL, NULL, 'stand-in', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "turns" VALUES ('01m8kjywsjvd73ex8w1874ckr7', '01m8kjyprgm65ynfssewa0qhj7', 'b2:fb20df35a32a89cebc3412602f5421b6', 'b2:aecb792c1b6e268a0adad79a3ef151e9', 'stand-in', NULL, NULL, NULL, 86, 5, NULL, 584, '2026-11-29T12:02:30.834744+00:00', '{"content": "All are blue.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 86, "total_tokens": 91}, "id": "chatcmpl-032d31d2c6e9407db015aac7", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
CREATE TABLE "attachments" (
   "id" TEXT PRIMARY KEY,
   "type" TEXT,
   "path" TEXT,
   "url" TEXT,
   "content" BLOB
);
INSERT INTO "attachments" VALUES ('5503ff8fef5a4d87e1fe0bdc07254b11153a86debfa97500641c7abbf93357ef', 'image/png', NULL, NULL, X'89504e470d0a1a0a0000000d4948445200000010000000100802000000909168360000001749444154789c63f8cfc04012224df5a886510d434a030090f9ff01f9e1fa780000000049454e44ae426082');
CREATE TABLE "part_attachments" (
   "part_id" INTEGER REFERENCES "parts"("id"),
   "attachment_id" TEXT REFERENCES "attachments"("id"),
   "order" INTEGER,
   PRIMARY KEY ("part_id", "attachment_id", "order")
);
INSERT INTO "part_attachments" VALUES (15, '5503ff8fef5a4d87e1fe0bdc07254b11153a86debfa97500641c7abbf93357ef', 0);
CREATE TABLE "turn_search" (
   "id" INTEGER PRIMARY KEY,
   "turn_id" TEXT REFERENCES "turns"("id"),
   "prompt" TEXT,
   "response" TEXT
);
INSERT INTO "turn_search" VALUES (1, '01m8kjx8wzhbae9ma3hkrwspmr', 'How deep is the harbour?', 'Twelve metres at low tide.');
INSERT INTO "turn_search" VALUES (2, '01m8kjxennwwed1ghchj9svvjj', 'Count the boats in boats.txt.', 'I look.');
INSERT INTO "turn_search" VALUES (3, '01m8kjxfc7bgbrp8aanewpcfyv', '', 'Three boats.');
INSERT INTO "turn_search" VALUES (4, '01m8kjxnj3ebrebfshkqet3jem', 'Weigh Ada and Bea.', '');
INSERT INTO "turn_search" VALUES (5, '01m8kjxp3288g3a89r807fm6vj', '', 'Ada has 4 tons.');
INSERT INTO "turn_search" VALUES (6, '01m8kjxwdehgg7658nm5w70gzh', 'What is in this picture?', 'A red square.');
INSERT INTO "turn_search" VALUES (7, '01m8kjy3w8r302jt6ah9eyph63', 'Sell the boats.', 'All are sold.');
INSERT INTO "turn_search" VALUES (8, '01m8kjyb8xxrd53sgp98qhdyjm', 'How deep is the harbour?', 'Twelve metres at low tide.');
INSERT INTO "turn_search" VALUES (9, '01m8kjyjk4tyyzrdfcseebg3wm', 'When does the tide turn?', 'At six.');
INSERT INTO "turn_search" VALUES (10, '01m8kjywsjvd73ex8w1874ckr7', 'Paint the boats.', 'All are blue.');
