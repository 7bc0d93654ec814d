import { expect, test } from "bun:test";
import Ajv from "ajv";
import { parseYaml, plainValue } from "../../base/yaml/yaml.ts";
import { stateRegistry } from "../functions/registry.ts";
import { stateSchema } from "./schema.ts";

const validate = new Ajv({ strict: false }).compile(stateSchema(await stateRegistry.all()));
const isValid = (text: string) => validate(plainValue(parseYaml(text, "t")));

test.each([
  "",
  "include: [a, .b]\nx:\n  test.nop: []\n",
  "/etc/motd:\n  file.managed:\n    - contents: [a, b]\n    - mode: 0644\n    - require:\n      - pkg: nginx\n",
  "nginx:\n  pkg.installed: []\n  service.running:\n    - enable: true\n    - watch: [{file: x}]\n",
  "x:\n  file:\n    - managed\n    - contents: a\n",
  "x: test.nop\n",
  "x:\n  service.running:\n    - enable: '{{ pillar.on }}'\n",
])("%j is a state file", (text) => {
  expect([isValid(text), validate.errors]).toEqual([true, null]);
});

test.each([
  "x:\n  file.managd: []\n",
  "x:\n  file.managed:\n    - contnts: a\n",
  "x:\n  service.running:\n    - enable: sometimes\n",
  "x:\n  file: managd\n",
  "include: a.b.c: 1",
])("%j is not", (text) => {
  const check = () => {
    if (!isValid(text)) throw new Error("not valid");
  };
  expect(check).toThrow();
});
