import { expect, test } from "bun:test";
import { allFunctions, checkCall, functionNamed } from "./registry.ts";

const names = allFunctions.flatMap(({ name, aliases = [] }) => [name, ...aliases]);

test("every name and alias stands for one function", () => {
  expect(new Set(names).size).toBe(names.length);
  for (const name of names) {
    expect(name).toMatch(/^[a-z]+\.[a-z_]+$/);
    expect([functionNamed(name).name, ...(functionNamed(name).aliases ?? [])]).toContain(name);
  }
});

// The list of the specification: only these functions bypass the queue.
const bypassing =
  /^(facts\.(?!set$).+|settings\..+|pillar\..+|grains\.(?!set$).+|test\.ping|sys\.list_functions|audit\.head)$/;

test("exactly the functions named by the specification bypass the queue", () => {
  for (const { name, aliases = [], readOnly = false } of allFunctions) {
    for (const each of [name, ...aliases])
      expect(`${each} ${readOnly}`).toBe(`${each} ${bypassing.test(each)}`);
  }
});

test("every function and argument is described in one sentence", () => {
  for (const { doc, args } of allFunctions) {
    for (const sentence of [doc, ...Object.values(args).map((spec) => spec.doc)]) {
      expect(sentence).toMatch(/^[A-Z0-9/].*\.$/);
      expect(sentence.length).toBeLessThan(140);
    }
    const required = Object.values(args).map((spec) => spec.required === true);
    // An optional argument before a required one could not be omitted on a command line.
    expect(required).toEqual([...required].sort((one, other) => Number(other) - Number(one)));
  }
});

test.each([
  ["df", ' (a program of the host runs with cmd.run "df")'],
  ["uptime", ' (did you mean status.uptime? A program of the host runs with cmd.run "uptime")'],
  ["df -h /", ' (a program of the host runs with cmd.run "df -h /")'],
  ["/usr/bin/uptime -p", ' (a program of the host runs with cmd.run "/usr/bin/uptime -p")'],
  ["ping", ' (did you mean test.ping? A program of the host runs with cmd.run "ping")'],
  ["file_exists", ' (did you mean file.file_exists? A program of the host runs with cmd.run "file_exists")'],
  ["file.exists", " (did you mean file.file_exists?)"],
  ["file.get", " (did you mean file.read?)"],
  ["cp.push", " (did you mean file.read?)"],
])("%s, which other tools know, is rejected with what does the same%s", (name, said) => {
  expect(() => checkCall(name, {})).toThrow(`unknown function ${JSON.stringify(name)}${said}`);
});

test("an unknown function is rejected with a suggestion", () => {
  expect(() => checkCall("test.pong", {})).toThrow('unknown function "test.pong" (did you mean test.ping?)');
  for (const name of ["__proto__", "constructor", "", "cmd", "x".repeat(500)]) {
    expect(() => checkCall(name, {})).toThrow("unknown function");
  }
});
