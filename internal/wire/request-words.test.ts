import { expect, test } from "bun:test";
import { requestWords } from "./request-words.ts";

const hosts = (count: number) => (count === 1 ? "1 host" : `${count} hosts`);

test.each([
  [{ operation: "jobs.create", function: "cmd.run", target: "web-*", peels: 13 }, "run cmd.run on 13 hosts"],
  [{ operation: "jobs.create", function: "cmd.run", target: "web-*" }, "run cmd.run on web-*"],
  [{ operation: "jobs.create" }, "run a job"],
  [{ operation: "jobs.create", function: "upgrade.apply", peels: 1 }, "upgrade svc-peel on 1 host"],
  [
    { operation: "rollouts.start", function: "upgrade.apply", peels: 5 },
    "upgrade svc-peel on 5 hosts, wave by wave",
  ],
  [
    { operation: "rollouts.start", function: "state.apply", peels: 1 },
    "roll out state.apply on 1 host, wave by wave",
  ],
  [{ operation: "rollouts.abort", about: "rol-1" }, "abort the rollout rol-1"],
  [{ operation: "rollouts.resume" }, "resume a rollout"],
  [{ operation: "enrollments.revoke" }, "revoke a host"],
  [{ operation: "enrollments.revoke", about: "web-1.example" }, "revoke web-1.example"],
  [{ operation: "enrollments.revoke", peels: 2 }, "revoke 2 hosts"],
  [
    { operation: "enrollments.suspend", about: "web-1.example" },
    "suspend web-1.example: keep it off the bus until it is resumed",
  ],
  [{ operation: "enrollments.resume", about: "web-1" }, "resume web-1: let it back on the bus"],
  [{ operation: "enrollments.discard", about: "web-1" }, "discard the enrollment of web-1"],
  [{ operation: "enrollments.restore" }, "restore the enrollment of a host"],
  [
    { operation: "operators.add", about: "zoe", roles: ["viewer"] },
    "add the operator zoe with the role viewer",
  ],
  [
    { operation: "operators.add", about: "zoe", roles: ["viewer", "approver"] },
    "add the operator zoe with the roles viewer, approver",
  ],
  [
    { operation: "operators.roles", about: "zoe", roles: ["viewer"] },
    "change the roles of the operator zoe to viewer",
  ],
  [{ operation: "operators.roles" }, "change the roles of an operator"],
  [
    { operation: "operators.remove", about: "zoe", roles: ["viewer"] },
    "remove the operator zoe, and close its connection",
  ],
  [{ operation: "toString" }, "do toString"],
  // What it is about is inserted as it is.
  [{ operation: "enrollments.revoke", about: "$& OPERATOR" }, "revoke $& OPERATOR"],
])("%j is said as %s", (request, words) => {
  expect(requestWords(request, hosts)).toBe(words);
});
