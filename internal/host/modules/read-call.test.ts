import { expect, test } from "bun:test";
import { readCall } from "./read-call.ts";

const read = (name: string, words: string[] = [], literal: string[] = []) =>
  readCall(name, { words, literal }).args;

test.each([
  ["test.ping", [], [], {}],
  ["cmd.run", ["uptime -p"], [], { command: "uptime -p" }],
  ["cmd.run", ["a=1 b"], [], { command: "a=1 b" }],
  ["cmd.run", ["timeout=5s", "ls -l"], [], { command: "ls -l", timeout: "5s" }],
  ["cmd.run", [], ["ls", "-l", "a,b", "cwd=/tmp"], { argv: ["ls", "-l", "a,b", "cwd=/tmp"] }],
  ["cmd.run", ["cwd=/tmp"], ["ls"], { cwd: "/tmp", argv: ["ls"] }],
  ["test.echo", [], ["text=a,b"], { text: "text=a,b" }],
])("%s %p -- %p", (name, words, literal, args) => {
  expect(read(name, words, literal)).toEqual(args);
});

test.each([
  ["cmd.rum", [], [], 'unknown function "cmd.rum" (did you mean cmd.run?)'],
  ["test.ping", ["x"], [], 'test.ping: expected no arguments, got "x"'],
  ["test.ping", [], ["x"], 'test.ping: expected no arguments, got "x"'],
  ["cmd.run", [], [], "cmd.run: give either command or argv"],
  ["cmd.run", ["ls"], ["ls"], "cmd.run: give either command or argv"],
  ["cmd.run", ["ls", "timeout=soon"], [], "cmd.run: timeout: expected a duration"],
  ["test.echo", [], ["a", "b"], 'test.echo: unexpected argument "b"'],
])("%s %p -- %p is a mistake on the command line", (name, words, literal, message) => {
  expect(() => read(name, words, literal)).toThrow(
    expect.objectContaining({ kind: "usage", message: expect.stringContaining(message) }),
  );
});
