import { expect, test } from "bun:test";
import { manualClock } from "../../test/harness/clock.ts";
import { newKeyPair } from "../identity/nkey.ts";
import { systemRandom } from "./id.ts";
import { createLog, type LogFormat, type LogLevel, redact } from "./log.ts";

function logTo(level: LogLevel, format: LogFormat) {
  const lines: string[] = [];
  const log = createLog({ level, format, clock: manualClock(0), write: (line) => lines.push(line) });
  return { log, lines };
}

test("a record is one line of JSON: time, level, event and fields, none of them lost", () => {
  const { log, lines } = logTo("info", "json");
  const child = log.with({ request_id: "r1" });
  for (let i = 0; i < 3; i++) child.info("same event", { n: 1, gone: undefined });
  log.debug("not at this level");
  log.error("bad", { error: new Error("outer", { cause: new Error("inner") }) });
  expect(lines).toHaveLength(4);
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    msg: "same event",
    request_id: "r1",
    n: 1,
  });
  expect(JSON.parse(lines[3] ?? "")).toMatchObject({ level: "error", error: "outer: inner" });
});

test("in text, whatever somebody put into a field stays on the line", () => {
  const { log, lines } = logTo("debug", "text");
  log.warn("event\nforged", { user_agent: "a b\n2026 ERROR forged", list: [1] });
  expect(lines).toEqual([
    '1970-01-01T00:00:00.000Z WARN  event forged user_agent="a b\\n2026 ERROR forged" list=[1]\n',
  ]);
});

test("seeds, JWTs and private keys are masked wherever they stand", () => {
  const seed = newKeyPair("user", systemRandom).seed;
  const jwt = `eyJ0eXAiOiJKV1QifQ.eyJqdGkiOiJYWFhYIn0.${"a".repeat(86)}`;
  const pem = "-----BEGIN PRIVATE KEY-----\\nMIGHAgEAMBMG\\n-----END PRIVATE KEY-----";
  for (const secret of [seed, jwt, pem]) {
    const line = redact(`before "${secret}" after`);
    expect(line).toBe('before "[redacted]" after');
  }
  expect(redact("no secret: SUMMARY, eyJ, PRIVATE KEY")).toBe("no secret: SUMMARY, eyJ, PRIVATE KEY");
});
