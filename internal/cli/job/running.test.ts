import { expect, test } from "bun:test";
import { createRunning } from "./running.ts";

const at = (peel: string, done: number, failed = 0) => ({
  running: { peel, done, total: 100, failed, current: "file.managed /etc/motd" },
});
const returned = (peel: string) => ({ event: { jid: "job-1", peel, at: 0, return: {} as never } });

test("tells how far all peels are together, and what runs when there is one", () => {
  const running = createRunning();
  expect(running.note()).toBe("");
  running.take(at("a", 10));
  running.take(at("a", 34));
  expect(running.note()).toBe("34/100 states: file.managed /etc/motd");
  running.take(at("b", 50, 2));
  expect(running.note()).toBe("84/200 states, 2 failed");
  running.take(returned("a"));
  running.take(returned("a"));
  running.take(returned("c"));
  expect(running.note()).toBe("50/100 states, 2 failed: file.managed /etc/motd");
  running.take({ event: { jid: "job-1", peel: "b", at: 0 } });
  running.take(returned("b"));
  expect(running.note()).toBe("");
});

test("what a peel says cannot act on the terminal", () => {
  const running = createRunning();
  running.take({ running: { peel: "a", done: 0, total: 1, failed: 0, current: "\u001b[2Jx" } });
  expect(running.note()).toBe("0/1 states: \\u001b[2Jx");
});
