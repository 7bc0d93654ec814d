import { expect, test } from "bun:test";
import { svc } from "../../test/harness/svc.ts";

test("svc names the variables that nothing reads, once, and runs", async () => {
  const env = { SVC_CONFGI: "/x", SVC_DATA_DIR: "/y", SVC_PAGER: "cat" };
  expect(await svc(["--version"], { env })).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/^svc /),
    stderr:
      "svc: nothing reads SVC_CONFGI (did you mean SVC_CONFIG?) of the environment: svc reads SVC_CONFIG and SVC_PAGER\n",
  });
  expect(await svc(["--version"], { env: { SVC_PAGER: "cat" } })).toMatchObject({ stderr: "" });
});
