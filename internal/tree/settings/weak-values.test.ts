import { expect, test } from "bun:test";
import { treeOf } from "../../../test/harness/settings-tree.ts";
import { weakValuesIn } from "./weak-values.ts";

test("a secret that is too short to be masked in a text is named, and its value is not", () => {
  const tree = treeOf({
    "top.sls": "base:\n  '*': [a]\n",
    "a.sls":
      "include: [b]\nport: 80\ndb:\n  password: hunter2\n  host: db\nlong_password: hunter2-and-more\npins:\n  - 1\nlogin_pin: 4711\napi_token: ''\nauth_key: true\n",
    "secret/b.sls": "words: [tiger, a-longer-one]\n",
    "t.sls": "password: {{ id }}\n",
    "broken.sls": "password: [\n",
  });
  const found = weakValuesIn(tree);
  expect(found.map((line) => line.split(" is too weak")[0])).toEqual([
    "a.sls:4: the value of db:password",
    "a.sls:9: the value of login_pin",
    "secret/b.sls:1: the value of words:0",
  ]);
  for (const value of ["hunter2", "4711", "tiger"]) expect(found.join("")).not.toContain(value);
});
