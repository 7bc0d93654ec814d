import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { changingTree } from "../../../test/harness/settings-tree.ts";
import { encode } from "../../base/msgpack.ts";
import { createCompilers } from "../../tree/settings/compile.ts";
import { compileFactTest } from "../../tree/targets/match-fact.ts";
import { createRegexes } from "../../tree/targets/pattern.ts";
import { createSettingsView } from "./view.ts";

const files = {
  "top.sls": "base:\n  '*': [plain, secret.db, web]\n",
  "plain.sls":
    "role: db\ndb_password: hunter2\ndb: {host: db-1, token: hunter2, ports: [80]}\nurl: 'postgres://svc:hunter2@db/app'\n",
  "secret/db.sls": "greeting: hunter2\nusers: [hunter2, ann]\n",
  "web.sls": "{% import_yaml 'secret/keys.yaml' as keys %}\nwhole: {{ keys.one }}\n",
  "secret/keys.yaml": "one: hunter2\n",
};

function viewOf(texts: Record<string, string>) {
  const compilers = createCompilers();
  const tree = changingTree(texts);
  const peels = {
    ...{ members: () => ["web-1"], isMember: () => true, labelsOf: () => ({}) },
    ...{ onMember: () => () => {}, onFacts: () => () => {} },
    facts: async () => encode({ os: "Debian" }),
  };
  return createSettingsView({ tree, peels, compilerOf: compilers, clock: manualClock() });
}

test("what is masked wherever settings are shown has a name and no value for a target", async () => {
  const view = viewOf(files);
  const settings = (await view.load()).get("web-1");
  const matches = (target: string) =>
    compileFactTest({ parts: target.split(":"), matches: "glob" }, createRegexes(), () => {})(settings);
  // The same values with the right name and file are found.
  for (const target of ["role:d*", "db:host:db-1", "db:ports:80"])
    expect([target, matches(target)]).toEqual([target, true]);
  for (const target of [
    "db_password:*",
    "db:token:h*",
    "url:*",
    "greeting:*",
    "users:*",
    "users:ann",
    "whole:*",
  ]) {
    expect([target, matches(target)]).toEqual([target, false]);
  }
  // The names stay.
  expect(matches("db:token")).toBe(true);
  expect(settings?.keys).toContain("db_password");
  view.stop();
});
