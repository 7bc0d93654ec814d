import { expect, test } from "bun:test";
import { rooms } from "./rooms.ts";

interface Line {
  operation: { name: string; kind: string };
  bus?: object;
  rest?: object;
}

const lines = Object.values(rooms).flatMap((room) => Object.entries(room as Record<string, Line>));
const onlyOverBus = lines.filter(([, { bus, rest }]) => bus !== undefined && rest === undefined);

/** What stands directly above the line of an operation in the table of its room. */
async function commentsAbove(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const path of new Bun.Glob("*/doors.ts").scanSync(`${import.meta.dir}/../../fleet`)) {
    const text = await Bun.file(`${import.meta.dir}/../../fleet/${path}`).text();
    for (const [, comment = "", id = ""] of text.matchAll(/^ {2}\/\/ (.+)\n {2}(\w+): \{/gm))
      found.set(id, comment);
  }
  return found;
}

test("what the bus alone reaches has its reason in the table of its room", async () => {
  const comments = await commentsAbove();
  const unexplained = onlyOverBus.flatMap(([id]) =>
    comments.get(id)?.startsWith("Not over REST: ") === true ? [] : [id],
  );
  expect(unexplained).toEqual([]);
});

test("who reads over REST may read what the bus shows, but the credentials of the bus", () => {
  const reads = onlyOverBus.filter(([, { operation }]) => operation.kind === "read");
  expect(reads.map(([, { operation }]) => operation.name)).toEqual([
    "states.plan",
    "states.fetch-plan",
    "operators.renew",
  ]);
});
