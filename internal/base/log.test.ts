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

test("in text format, any field value stays on one line", () => {
  const { log, lines } = logTo("debug", "text");
  log.warn("event\nforged", { user_agent: "a b\n2026 ERROR forged", list: [1] });
  expect(lines).toEqual([
    '1970-01-01T00:00:00.000Z WARN  event forged user_agent="a b\\n2026 ERROR forged" list=[1]\n',
  ]);
});

/** Every character that ends a line for some reader, moves a cursor, or turns text around. */
const acting = [...Array(32).keys(), 0x7f, ...Array.from({ length: 32 }, (_, i) => 0x80 + i)]
  .concat(0x2028, 0x2029, 0x061c, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066, 0x2069)
  .map((code) => String.fromCharCode(code));

test("no field takes the place of the time, the level or the event", () => {
  const { log, lines } = logTo("info", "json");
  log.info("event", { time: "never", level: "error", msg: "forged", n: 1 });
  expect(lines).toEqual(['{"time":"1970-01-01T00:00:00.000Z","level":"info","msg":"event","n":1}\n']);
});

test.each(["json", "text"] as const)("in %s, no character acts on the reader of a record", (format) => {
  for (const character of acting) {
    const { log, lines } = logTo("info", format);
    const forged = `x${character}2026-01-01T00:00:00.000Z ERROR forged`;
    log.info(`event${character}`, {
      bare: `a${character}b`,
      spaced: forged,
      inside: { [character]: [forged] },
    });
    expect(lines).toHaveLength(1);
    const line = (lines[0] ?? "").slice(0, -1);
    expect([...line].filter((one) => acting.includes(one))).toEqual([]);
    if (format === "json") expect(JSON.parse(line)).toMatchObject({ spaced: forged, bare: `a${character}b` });
    else expect(line).toContain('inside="{');
  }
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
