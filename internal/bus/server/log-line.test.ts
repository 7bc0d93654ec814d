import { expect, test } from "bun:test";
import { readServerLine } from "./log-line.ts";

test.each([
  ["[12] 2026/11/21 11:17:13.790123 [INF] Server is ready", { level: "info", text: "Server is ready" }],
  ["[12] 2026/11/21 11:17:13.790123 [WRN] Slow", { level: "warn", text: "Slow" }],
  ["[12] 2026/11/21 11:17:13.790123 [ERR] Bad", { level: "error", text: "Bad" }],
  ["[12] 2026/11/21 11:17:13.790123 [FTL] Worse", { level: "error", text: "Worse" }],
  ["[12] 2026/11/21 11:17:13.790123 [DBG] Detail", { level: "debug", text: "Detail" }],
  ...[
    'cid:194 - authentication error - Nkey "UBDOTD"',
    "cid:7 - TLS handshake error: EOF",
    'lid:9 - authentication error - Nkey "UBDOTD"',
    'cid:492 - "v2.29.3:nats.js:svc" - "ACSE/masters/nkey:UCXR" - Publish Violation - Subject "svc.op.UCXR.admin"',
    'cid:8 - "UBDOTD" - Subscription Violation - Nkey "UBDOTD", Subject "svc.job.>", SID 3',
  ].map((text): [string, ReturnType<typeof readServerLine>] => [
    `[12] 2026/11/21 11:17:13.790123 [ERR] 127.0.0.1:3 - ${text}`,
    { level: "warn", text: `127.0.0.1:3 - ${text}` },
  ]),
  ...[
    "rid:9 - TLS handshake error: EOF",
    "cid:4 - maximum connections exceeded",
    'rid:9 - Publish Violation - Subject "a"',
  ].map((text): [string, ReturnType<typeof readServerLine>] => [
    `[12] 2026/11/21 11:17:13.790123 [ERR] 127.0.0.1:3 - ${text}`,
    { level: "error", text: `127.0.0.1:3 - ${text}` },
  ]),
  ["[12] [TRC] without a time\r", { level: "debug", text: "without a time" }],
  ["[12] 2026/11/21 11:17:13.790123 [NEW] Strange", { level: "error", text: "Strange" }],
  ["nats-server: a.conf:3:1: unknown field", { level: "error", text: "a.conf:3:1: unknown field" }],
  ["[12] 2026/11/21 11:17:13.790123 [INF] | || | _|  | | \\__ \\ | | |   / _| / _ \\| |\\/| |", undefined],
  ["[12] 2026/11/21 11:17:13.790123 [INF] ", undefined],
  ["", undefined],
])("%s", (line, expected) => {
  expect(readServerLine(line)).toEqual(expected as ReturnType<typeof readServerLine>);
});
