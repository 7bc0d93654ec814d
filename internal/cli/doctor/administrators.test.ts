import { expect, test } from "bun:test";
import { digestOfAdministrators } from "../../wire/administrators-statement.ts";
import { judgeAdministrators } from "./administrators.ts";

const listOf = (...names: string[]) => names.map((name) => ({ name, public_key: `U${name}` }));
const knows = (...names: string[]) => ({
  administrators: digestOfAdministrators(names.map((name) => ({ name, publicKey: `U${name}` }))),
});
const same = { masters: listOf("root", "bert"), peels: listOf("root", "bert"), differ: false };
const ahead = { masters: listOf("root"), peels: listOf("bert"), differ: true };

test.each([
  ["it is off", undefined, same, "skip", "only while the peel is connected"],
  ["it obeys masters", {}, same, "ok", "require_operator is off"],
  ["it knows none", { administrators: "" }, same, "fail", "knows no administrators"],
  ["masters say nothing", knows("root"), undefined, "skip", "no master tells"],
  ["it knows them, in another order", knows("bert", "root"), same, "ok", "knows their administrators"],
  ["masters have another file", knows("bert"), ahead, "warn", "masters have others in their file"],
  ["it is behind", knows("root"), ahead, "warn", "those of the masters before a statement"],
  ["it knows others", knows("eve"), ahead, "warn", "should: others"],
] as const)("%s", (_, beat, fleet, level, says) => {
  expect(judgeAdministrators(beat, fleet)).toMatchObject({
    level,
    message: expect.stringContaining(says),
  });
});
