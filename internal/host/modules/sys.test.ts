import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import { allFunctions } from "./registry.ts";

test("sys.list_functions returns all functions with their arguments, sorted", async () => {
  const listed = (await callFunction("sys.list_functions")) as { name: string }[];
  expect(listed.map(({ name }) => name)).toEqual(allFunctions.map(({ name }) => name).sort());
  expect(await callFunction("sys.list_functions", { pattern: "file.get_*" })).toEqual([
    {
      name: "file.get_hash",
      aliases: [],
      signature: "file.get_hash path [form]",
      doc: "Returns the digest of a regular file in hexadecimal.",
      read_only: false,
      args: [
        { name: "path", type: "path", required: true, doc: "An absolute path." },
        {
          name: "form",
          type: "string",
          required: false,
          values: ["sha256", "sha512", "sha1", "md5"],
          doc: "Digest algorithm; sha256 by default.",
        },
      ],
    },
  ]);
});

test("a function is also found by its alias, and an unmatched name finds none", async () => {
  expect(await callFunction("sys.list_functions", { pattern: "grains.items" })).toMatchObject([
    { name: "facts.items", aliases: ["grains.items"], read_only: true },
  ]);
  expect(await callFunction("sys.list_functions", { pattern: "none*" })).toEqual([]);
});

test("sys.doc describes a function in text", async () => {
  expect(await callFunction("sys.doc", { pattern: "test.sleep" })).toEqual({
    "test.sleep": [
      "test.sleep length",
      "",
      "Waits, then returns true. Ends early when the job ends.",
      "",
      "  length (duration): How long to wait.",
    ].join("\n"),
  });
});
