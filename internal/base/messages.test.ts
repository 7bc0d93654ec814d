import { expect, test } from "bun:test";
import { newKeyPair } from "../identity/nkey.ts";
import { systemRandom } from "./id.ts";
import { createMessages } from "./messages.ts";

test("news stand as they are, and what went wrong begins with the name of the program", () => {
  let written = "";
  const messages = createMessages({
    name: "svc",
    write: (text) => {
      written += text;
    },
  });
  messages.say("batch 1 of 2");
  messages.say("batch 1 of 2");
  messages.say("");
  messages.warn("ends soon");
  messages.error("no such job");
  expect(written).toBe("batch 1 of 2\nbatch 1 of 2\n\nsvc: ends soon\nsvc: no such job\n");
});

test("a seed in a message is masked", () => {
  let written = "";
  const { seed } = newKeyPair("user", systemRandom);
  const write = (text: string) => {
    written = text;
  };
  createMessages({ name: "svc", write }).error(`not a file: ${seed}`);
  expect(written).toBe("svc: not a file: [redacted]\n");
});

test("no character of a message acts on the terminal or hides", () => {
  let written = "";
  const write = (text: string) => {
    written += text;
  };
  const { say, warn, error } = createMessages({ name: "svc", write });
  for (const report of [say, warn, error]) report("a\u202eb\u2066c\u200bd\u2028e\u001b[2Jf\rg");
  const shown = "a\\u202eb\\u2066c\\u200bd\\u2028e\\u001b[2Jf\\u000dg\n";
  expect(written).toBe(`${shown}svc: ${shown}svc: ${shown}`);
});
