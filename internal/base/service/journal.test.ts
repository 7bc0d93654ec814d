import { expect, test } from "bun:test";
import { join } from "node:path";
import { manualClock } from "../../../test/harness/clock.ts";
import { openDatagramSocket } from "../../../test/harness/datagram-socket.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { systemRandom } from "../id.ts";
import type { LogLevel } from "../log.ts";
import { createJournalLog, journalEntry } from "./journal.ts";

const entry = (event: string, fields: Record<string, unknown> = {}, level: LogLevel = "info") =>
  journalEntry({ time: "", level, event, fields }, "svc-master").toString();

test("a record becomes an entry of the native protocol", () => {
  expect(entry("job dispatched", { jid: "job-1", targets: 2, peel_id: "web-1", note: "two words" })).toBe(
    [
      'MESSAGE=job dispatched jid=job-1 targets=2 peel_id=web-1 note="two words"',
      ...["PRIORITY=6", "SYSLOG_IDENTIFIER=svc-master", "SVC_EVENT=job dispatched"],
      ...["JID=job-1", "TARGETS=2", "PEEL_ID=web-1", "NOTE=two words", ""],
    ].join("\n"),
  );
  expect(entry("x", { list: [1, { a: true }] })).toContain('\nLIST=[1,{"a":true}]\n');
});

test.each([
  ["error", 3],
  ["warn", 4],
  ["info", 6],
  ["debug", 7],
] as const)("the level %s is the priority %d", (level, priority) => {
  expect(entry("x", {}, level)).toContain(`\nPRIORITY=${priority}\n`);
});

test("no value begins another field, or acts on a terminal", () => {
  const lines = entry("a\nPRIORITY=0", { jid: "b\nMESSAGE=forged\u001b[2J", "k\n=_PID": "1" }).split("\n");
  expect(lines.filter((line) => line.startsWith("PRIORITY"))).toEqual(["PRIORITY=6"]);
  expect(lines.filter((line) => line.startsWith("MESSAGE"))).toHaveLength(1);
  expect(lines).toContain("JID=b\\u000aMESSAGE=forged\\u001b[2J");
  expect(lines).toContain("K___PID=1");
});

test.each([
  ["message", "SVC_MESSAGE"],
  ["unit", "SVC_UNIT"],
  ["code_file", "SVC_CODE_FILE"],
  ["svc_event", "SVC_SVC_EVENT"],
  ["_pid", "PID"],
  ["9lives", "LIVES"],
  ["größe", "GR_SSE"],
  ["", "SVC_FIELD"],
  ["a".repeat(100), "A".repeat(60)],
])("the field %j is %s", (key, name) => {
  expect(entry("x", { [key]: 1 })).toContain(`\n${name}=1\n`);
});

test("secrets are masked in the message and in every field", () => {
  const seed = newKeyPair("user", systemRandom).seed;
  const text = entry(`lost ${seed}`, { seed, inside: { seed } });
  expect(text).not.toContain(seed);
  expect(text.match(/\[redacted\]/g)?.length).toBeGreaterThan(4);
});

test("what is too long is cut in whole characters, and named", () => {
  const long = entry("x", { note: "ä".repeat(40_000), jid: "job-1" });
  expect(long).toContain(`\nNOTE=${"ä".repeat(16_384)}\n`);
  expect(long).toContain("\nJID=job-1\n");
  expect(long).toEndWith("\nSVC_TRUNCATED=MESSAGE NOTE\n");
  const many = entry(
    "x",
    Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`k${at}`, "v".repeat(50)])),
  );
  expect(Buffer.byteLength(many)).toBeLessThan(140 * 1024);
  expect(many).toContain("\nSVC_TRUNCATED=MESSAGE K");
});

test("while the journal takes nothing, the records are lines of JSON, and that is said once", () => {
  using files = temporaryDirectory("journal");
  const socket = join(files.path, "socket");
  const lines: string[] = [];
  const log = createJournalLog({
    ...{ program: "svc-peel", level: "info", clock: manualClock(0), socket },
    write: (line) => lines.push(line),
  });
  log.debug("not at this level");
  log.info("first", { n: 1 });
  log.with({ request_id: "r1" }).info("second");
  expect(lines.map((line) => JSON.parse(line).msg)).toEqual([
    "the journal takes no records: they are on standard error",
    ...["first", "second"],
  ]);
  using journal = openDatagramSocket(socket);
  log.warn("third", { error: new Error("outer", { cause: new Error("inner") }) });
  expect(lines).toHaveLength(3);
  const taken = [journal.receive(), journal.receive()];
  expect(taken[0]).toContain("MESSAGE=third error=");
  expect(taken[0]).toContain("\nERROR=outer: inner\n");
  expect(taken[1]).toContain("MESSAGE=the journal takes records again");
});
