import { expect, test } from "bun:test";
import { stepsOf } from "./page.ts";

const page = `Make this file:

\`\`\`yaml
# states/top.sls: who gets what
base: {}
\`\`\`

1. Then type

   \`\`\`sh
   svc status
   \`\`\`

   \`\`\`text
   fine
   \`\`\`

Wait until \`a.log\` and \`b.log\` say \`ready\`.

\`\`\`sh fails
false
\`\`\`

As root, elsewhere:

\`\`\`sh host
reboot
\`\`\`

\`\`\`yaml
# /etc/svc/peel.yaml
id: web
\`\`\`
`;

test("what a reader does, in its order; a file elsewhere is none of it", () => {
  expect(stepsOf(page).map(({ line: _, ...step }) => step)).toEqual([
    { kind: "file", path: "states/top.sls", text: "# states/top.sls: who gets what\nbase: {}\n" },
    { kind: "commands", text: "svc status", here: true, fails: false, output: "fine" },
    { kind: "wait", files: ["a.log", "b.log"], says: "ready" },
    { kind: "commands", text: "false", here: true, fails: true },
    { kind: "commands", text: "reboot", here: false, fails: false },
  ]);
});

test("a text block is the output of the block right before it alone", () => {
  const [commands] = stepsOf("```sh\nls\n```\n\nA picture:\n\n```text\n[ ]\n```\n");
  expect(commands).toEqual({ kind: "commands", line: 1, text: "ls", here: true, fails: false });
});
