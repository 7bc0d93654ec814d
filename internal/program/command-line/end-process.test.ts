import { expect, test } from "bun:test";
import { join } from "node:path";
import { endProcess } from "./end-process.ts";

const lines = 80;
const width = 100_000;

/** A program that writes more than a pipe holds, keeps a socket open, and ends. */
const script = `
  import { endProcess } from ${JSON.stringify(join(import.meta.dir, "end-process.ts"))};
  Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  for (let n = 0; n < ${lines}; n++) process.stdout.write("x".repeat(${width - 1}) + "\\n");
  process.stderr.write("written\\n");
  await endProcess(process, 3);
`;

test("a program ends with its code once what it wrote was read, whatever keeps it", async () => {
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "pipe" });
  const errors = child.stderr.getReader();
  expect(Buffer.from((await errors.read()).value ?? []).toString()).toBe("written\n");
  expect((await new Response(child.stdout).text()).length).toBe(lines * width);
  expect(await child.exited).toBe(3);
});

test("a code that is set already stays", async () => {
  const ended: number[] = [];
  const stream = { end: (ended: () => void) => ended() };
  const exit = (code: number) => void ended.push(code);
  await endProcess({ stdout: stream, stderr: stream, exitCode: 1, exit }, 0);
  await endProcess({ stdout: stream, stderr: stream, exit }, 2);
  expect(ended).toEqual([1, 2]);
});
