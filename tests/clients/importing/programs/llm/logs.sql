CREATE TABLE "messages" (
   "hash" TEXT PRIMARY KEY,
   "parent_hash" TEXT REFERENCES "messages"("hash"),
   "role" TEXT,
   "provider_metadata" TEXT
);
INSERT INTO "messages" VALUES ('b2:aa9c97376eae7cc51f52da18de5e4e37', NULL, 'user', NULL);
INSERT INTO "messages" VALUES ('b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'b2:aa9c97376eae7cc51f52da18de5e4e37', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:21fe80e9bca24cf5613351268c8bf362', 'b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:97a88def13b41264563adc0f99e13828', 'b2:21fe80e9bca24cf5613351268c8bf362', 'tool', NULL);
INSERT INTO "messages" VALUES ('b2:82ef3ee4211f2e469ca36f692b53bb57', 'b2:97a88def13b41264563adc0f99e13828', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:b9dc18e7ba5f6ae231c4350dd54995d9', 'b2:82ef3ee4211f2e469ca36f692b53bb57', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:c0cbf30081a9b0ddf8d6a45c3f3a21f9', 'b2:b9dc18e7ba5f6ae231c4350dd54995d9', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:b1be08d77cc54d5ca0e349981c34580c', 'b2:c0cbf30081a9b0ddf8d6a45c3f3a21f9', 'tool', NULL);
INSERT INTO "messages" VALUES ('b2:ea19ea6490891a9727661334c8b18302', 'b2:b1be08d77cc54d5ca0e349981c34580c', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:563a19a1736b50fd4e251828b44e5279', 'b2:ea19ea6490891a9727661334c8b18302', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:a8273e6b4fb9409fd5006caae457451b', 'b2:563a19a1736b50fd4e251828b44e5279', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:16f3448ec88d723bd077c4ec91542ae5', 'b2:a8273e6b4fb9409fd5006caae457451b', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:745633aab2838a191a35edebbbf404f4', 'b2:16f3448ec88d723bd077c4ec91542ae5', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:0688b0fb895d093e469193531c6905eb', 'b2:a8273e6b4fb9409fd5006caae457451b', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:bb96a6677341567051cf36302429535f', 'b2:0688b0fb895d093e469193531c6905eb', 'assistant', NULL);
INSERT INTO "messages" VALUES ('b2:3efb8c13abcbe4477d073e3883b22219', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'user', NULL);
INSERT INTO "messages" VALUES ('b2:2a7ad5ed0ccb70a65ed155d382a76527', 'b2:3efb8c13abcbe4477d073e3883b22219', 'assistant', NULL);
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
INSERT INTO "parts" VALUES (4, 'b2:21fe80e9bca24cf5613351268c8bf362', 0, 'text', NULL, 'I look.', NULL);
INSERT INTO "parts" VALUES (5, 'b2:21fe80e9bca24cf5613351268c8bf362', 1, 'tool_call', 'shell', NULL, '{"name": "shell", "arguments": {"command": "cat boats.txt"}, "tool_call_id": "call_5dd509cb2674496998a037c4"}');
INSERT INTO "parts" VALUES (6, 'b2:97a88def13b41264563adc0f99e13828', 0, 'tool_result', 'shell', NULL, '{"name": "shell", "output": "Ada\nBea\nCleo", "tool_call_id": "call_5dd509cb2674496998a037c4"}');
INSERT INTO "parts" VALUES (7, 'b2:82ef3ee4211f2e469ca36f692b53bb57', 0, 'text', NULL, 'Three boats.', NULL);
INSERT INTO "parts" VALUES (8, 'b2:b9dc18e7ba5f6ae231c4350dd54995d9', 0, 'text', NULL, 'Weigh Ada and Bea.', NULL);
INSERT INTO "parts" VALUES (9, 'b2:c0cbf30081a9b0ddf8d6a45c3f3a21f9', 0, 'tool_call', 'shell', NULL, '{"name": "shell", "arguments": {"command": "echo 4 tons"}, "tool_call_id": "call_ee98fc1dd9db4160aa00e88d"}');
INSERT INTO "parts" VALUES (10, 'b2:c0cbf30081a9b0ddf8d6a45c3f3a21f9', 1, 'tool_call', 'shell', NULL, '{"name": "shell", "arguments": {"command": "cat missing.txt"}, "tool_call_id": "call_6d9a8ff624c846099f615468"}');
INSERT INTO "parts" VALUES (11, 'b2:b1be08d77cc54d5ca0e349981c34580c', 0, 'tool_result', 'shell', NULL, '{"name": "shell", "output": "4 tons", "tool_call_id": "call_ee98fc1dd9db4160aa00e88d"}');
INSERT INTO "parts" VALUES (12, 'b2:b1be08d77cc54d5ca0e349981c34580c', 1, 'tool_result', 'shell', NULL, '{"name": "shell", "output": "cat: missing.txt: No such file or directory", "tool_call_id": "call_6d9a8ff624c846099f615468"}');
INSERT INTO "parts" VALUES (13, 'b2:ea19ea6490891a9727661334c8b18302', 0, 'text', NULL, 'Ada has 4 tons.', NULL);
INSERT INTO "parts" VALUES (14, 'b2:563a19a1736b50fd4e251828b44e5279', 0, 'text', NULL, 'What is in this picture?', NULL);
INSERT INTO "parts" VALUES (15, 'b2:563a19a1736b50fd4e251828b44e5279', 1, 'attachment', NULL, NULL, '{"attachment": {"id": "5503ff8fef5a4d87e1fe0bdc07254b11153a86debfa97500641c7abbf93357ef"}}');
INSERT INTO "parts" VALUES (16, 'b2:a8273e6b4fb9409fd5006caae457451b', 0, 'text', NULL, 'A red square.', NULL);
INSERT INTO "parts" VALUES (17, 'b2:16f3448ec88d723bd077c4ec91542ae5', 0, 'text', NULL, 'Sell the boats.', NULL);
INSERT INTO "parts" VALUES (18, 'b2:745633aab2838a191a35edebbbf404f4', 0, 'text', NULL, 'All are sold.', NULL);
INSERT INTO "parts" VALUES (19, 'b2:0688b0fb895d093e469193531c6905eb', 0, 'text', NULL, 'Paint the boats.', NULL);
INSERT INTO "parts" VALUES (20, 'b2:bb96a6677341567051cf36302429535f', 0, 'text', NULL, 'All are blue.', NULL);
INSERT INTO "parts" VALUES (21, 'b2:3efb8c13abcbe4477d073e3883b22219', 0, 'text', NULL, 'When does the tide turn?', NULL);
INSERT INTO "parts" VALUES (22, 'b2:2a7ad5ed0ccb70a65ed155d382a76527', 0, 'text', NULL, 'At six.', NULL);
CREATE TABLE "threads" (
   "id" TEXT PRIMARY KEY,
   "name" TEXT,
   "tip_message_hash" TEXT REFERENCES "messages"("hash"),
   "forked_from" TEXT REFERENCES "threads"("id"),
   "datetime_utc" TEXT
);
INSERT INTO "threads" VALUES ('01m8hwaqb51mc71q2ds08mn0vy', 'How deep is the harbour?', 'b2:745633aab2838a191a35edebbbf404f4', NULL, '2026-11-28 20:07:47.437219+00:00');
INSERT INTO "threads" VALUES ('01m8hwbh7sssfrz9ppsbpdcaad', 'Other', 'b2:bb96a6677341567051cf36302429535f', '01m8hwaqb51mc71q2ds08mn0vy', '2026-11-28 20:08:13.305725+00:00');
INSERT INTO "threads" VALUES ('01m8hwbsd8csb1mp8fk9bhc168', 'How deep is the harbour?', 'b2:2a7ad5ed0ccb70a65ed155d382a76527', NULL, '2026-11-28 20:08:22.375339+00:00');
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
INSERT INTO "turns" VALUES ('01m8hwaqbxjnn53fagdbgd8w3b', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:aa9c97376eae7cc51f52da18de5e4e37', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'stand-in', NULL, NULL, NULL, 10, 5, NULL, 622, '2026-11-28T20:07:46.813393+00:00', '{"content": "Twelve metres at low tide.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 10, "total_tokens": 15}, "id": "chatcmpl-b8a4ebd5a71c49629bccf225", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hway4bz39ssf56q46vhdvf', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:d85557c3e1c2bedcd32c1ab2fa44b02b', 'b2:21fe80e9bca24cf5613351268c8bf362', 'stand-in', NULL, NULL, NULL, 30, 5, NULL, 723, '2026-11-28T20:07:53.739997+00:00', '{"content": "I look.", "finish_reason": "tool_calls", "usage": {"completion_tokens": 5, "prompt_tokens": 30, "total_tokens": 35}, "id": "chatcmpl-8780620524194ee2bd4bb3a2", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwayveh0vpvejy5z7qysgp', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:97a88def13b41264563adc0f99e13828', 'b2:82ef3ee4211f2e469ca36f692b53bb57', 'stand-in', NULL, NULL, NULL, 60, 5, NULL, 264, '2026-11-28T20:07:54.478930+00:00', '{"content": "Three boats.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 60, "total_tokens": 65}, "id": "chatcmpl-1b567805690641e180804cc7", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwb4wk3fp6gtjt98c9p5yq', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:b9dc18e7ba5f6ae231c4350dd54995d9', 'b2:c0cbf30081a9b0ddf8d6a45c3f3a21f9', 'stand-in', NULL, NULL, NULL, 80, 5, NULL, 746, '2026-11-28T20:08:00.660070+00:00', '{"content": "", "finish_reason": "tool_calls", "usage": {"completion_tokens": 5, "prompt_tokens": 80, "total_tokens": 85}, "id": "chatcmpl-4a4686229d694ffc987aef3c", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwb5mpvmzrtdvb12q34n19', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:b1be08d77cc54d5ca0e349981c34580c', 'b2:ea19ea6490891a9727661334c8b18302', 'stand-in', NULL, NULL, NULL, 120, 5, NULL, 263, '2026-11-28T20:08:01.430519+00:00', '{"content": "Ada has 4 tons.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 120, "total_tokens": 125}, "id": "chatcmpl-ba513c0a8b45479991097c1c", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwbaq8gga6x1nx07dsg5mz', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:563a19a1736b50fd4e251828b44e5279', 'b2:a8273e6b4fb9409fd5006caae457451b', 'stand-in', NULL, NULL, NULL, 150, 5, NULL, 402, '2026-11-28T20:08:06.632653+00:00', '{"content": "A red square.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 150, "total_tokens": 155}, "id": "chatcmpl-624e19158efa41c89b9a1c68", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwbf1gdgv0ggnpar6837rh', '01m8hwaqb51mc71q2ds08mn0vy', 'b2:16f3448ec88d723bd077c4ec91542ae5', 'b2:745633aab2838a191a35edebbbf404f4', 'stand-in', NULL, NULL, NULL, 170, 5, NULL, 381, '2026-11-28T20:08:11.056213+00:00', '{"content": "All are sold.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 170, "total_tokens": 175}, "id": "chatcmpl-7859b816e04e4336a4c5a6c8", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwbh7sssfrz9ppsbpdcaad', '01m8hwbh7sssfrz9ppsbpdcaad', NULL, NULL, 'stand-in', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "turns" VALUES ('01m8hwbmgt5j9px7madfm2tfej', '01m8hwbh7sssfrz9ppsbpdcaad', 'b2:0688b0fb895d093e469193531c6905eb', 'b2:bb96a6677341567051cf36302429535f', 'stand-in', NULL, NULL, NULL, 170, 5, NULL, 293, '2026-11-28T20:08:16.667804+00:00', '{"content": "All are blue.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 170, "total_tokens": 175}, "id": "chatcmpl-0d1325cbe8bc409eb02bf803", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwbsdd8rb3xxn04nvqrmae', '01m8hwbsd8csb1mp8fk9bhc168', 'b2:aa9c97376eae7cc51f52da18de5e4e37', 'b2:7cc087eb3d3c3d0fbdfc318f9b4086c7', 'stand-in', NULL, NULL, NULL, 10, 5, NULL, 691, '2026-11-28T20:08:21.677313+00:00', '{"content": "Twelve metres at low tide.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 10, "total_tokens": 15}, "id": "chatcmpl-1bca9d4430d64425b92f6d86", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
INSERT INTO "turns" VALUES ('01m8hwbyee2d658ekbw5aypqkn', '01m8hwbsd8csb1mp8fk9bhc168', 'b2:3efb8c13abcbe4477d073e3883b22219', 'b2:2a7ad5ed0ccb70a65ed155d382a76527', 'stand-in', NULL, NULL, NULL, 30, 5, NULL, 526, '2026-11-28T20:08:26.830603+00:00', '{"content": "At six.", "finish_reason": "stop", "usage": {"completion_tokens": 5, "prompt_tokens": 30, "total_tokens": 35}, "id": "chatcmpl-bc2e19dd3ce54a0b90282491", "object": "chat.completion.chunk", "model": "stand-in", "created": 1}');
CREATE TABLE "attachments" (
   "id" TEXT PRIMARY KEY,
   "type" TEXT,
   "path" TEXT,
   "url" TEXT,
   "content" BLOB
);
INSERT INTO "attachments" VALUES ('5503ff8fef5a4d87e1fe0bdc07254b11153a86debfa97500641c7abbf93357ef', 'image/png', '/home/ann/square.png', NULL, NULL);
