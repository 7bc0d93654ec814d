import { expect, test } from "bun:test";
import { svc } from "../../test/harness/svc.ts";

test.each(["master", "peel", "svc", "roles", "policy", "rules", "nodegroups", "settings-top"])(
  "the schema of %s names a file that people write",
  async (file) => {
    const { exit, stdout } = await svc(["schema", file]);
    expect(exit).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      title: expect.stringMatching(/^[A-Z]/),
      anyOf: [{ type: "object" }, { type: "null" }],
    });
  },
);

test("the schema of the top file of states takes any environment", async () => {
  const { stdout } = await svc(["schema", "states-top"]);
  expect(JSON.parse(stdout)).toMatchObject({ type: "object", additionalProperties: { type: "object" } });
});

test("another file is refused with the nearest one", async () => {
  const { exit, stderr } = await svc(["schema", "role"]);
  expect(exit).toBe(2);
  expect(stderr).toContain('not "role" (did you mean roles?)');
});
