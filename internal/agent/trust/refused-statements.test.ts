import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { rfc3339 } from "../../base/clock.ts";
import { createRefusedStatements } from "./refused-statements.ts";

function recorded() {
  const clock = manualClock();
  const refused = createRefusedStatements({ clock });
  const changes: number[] = [];
  refused.onChange(() => changes.push(refused.current().length));
  return { clock, refused, changes };
}

test("the first time of each reason is kept, and only changes are reported", () => {
  const { clock, refused, changes } = recorded();
  const at = rfc3339(clock.now());
  refused.note("rotation", "one");
  clock.advance(60_000);
  refused.note("rotation", "one");
  expect(refused.current()).toEqual([{ kind: "rotation", reason: "one", at }]);
  refused.note("rotation", "two");
  refused.note("succession", "three");
  const later = rfc3339(clock.now());
  expect(refused.current()).toEqual([
    { kind: "rotation", reason: "two", at: later },
    { kind: "succession", reason: "three", at: later },
  ]);
  refused.clear("rotation");
  refused.clear("rotation");
  expect(refused.current().map(({ kind }) => kind)).toEqual(["succession"]);
  expect(changes).toEqual([1, 1, 2, 1]);
});

test("a reason that another host chose is bounded", () => {
  const { refused } = recorded();
  for (let at = 0; at < 100; at++) refused.note("succession", `${at}${"x".repeat(1_000_000)}`);
  expect(JSON.stringify(refused.current()).length).toBeLessThan(400);
});
