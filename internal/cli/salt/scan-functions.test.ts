import { expect, test } from "bun:test";
import { functionNames } from "../../host/modules/mod.ts";
import { stateRegistry } from "../../tree/functions/mod.ts";
import { Items } from "./report.ts";
import { scanFunctions } from "./scan-functions.ts";

const states = (await stateRegistry.all()).map(({ name }) => name);

/** Lines with what does not exist. */
function found(text: string): string[] {
  const items = new Items();
  scanFunctions("a.sls", text, { states, peel: functionNames }, items);
  return items.sorted().items.map(({ line, problem }) => `${line}: ${problem}`);
}

test.each<[what: string, text: string, lines: string[]]>([
  [
    "the new form",
    "a:\n  module.run:\n    - pkg.refresh_db:\n    - service.systemctl_reload: []\nb:\n  module.run:\n    - service.restart:\n      - name: x\n",
    [],
  ],
  [
    "the old form",
    "a:\n  module.wait:\n    - name: service.systemctl_reload\n    - watch: [{file: x}]\n",
    [],
  ],
  ["the form of a module with a list", "a:\n  module:\n    - run\n    - pkg.refresh_db:\n", []],
  [
    "items at the column of their key",
    "a:\n  module.run:\n  - pkg.refresh_db:\n  - nosuch.thing:\n",
    ["4: the function nosuch.thing"],
  ],
  [
    "another indentation, and comments",
    "a:\n    module.run: # why\n\n    # pkg.x:\n        - pkg.refresh_db:\n",
    [],
  ],
  [
    "names",
    "a:\n  module.run:\n    - names:\n      - pkg.refresh_db\n      - pkg.refreshdb\n",
    ["5: the function pkg.refreshdb"],
  ],
  [
    "an argument with a dot",
    "a:\n  module.run:\n    - file.chattr2:\n      - path: /a\n      - args: b\n",
    ["3: the function file.chattr2"],
  ],
  [
    "a state after one that calls functions",
    "a:\n  module.run:\n    - pkg.hold:\n  pkg.hold:\n    - name: x\nb:\n  pkg.nothing:\n    - name: y\n",
    ["4: the state function pkg.hold", "7: the state function pkg.nothing"],
  ],
  [
    "arguments that look like functions",
    "a:\n  module.run:\n    - service.restart:\n      - name: backup.timer\n      - foo.conf\n      - x.y: 1\n    - pkg.refresh_db:\n",
    [],
  ],
  ["data of a state", "a:\n  test.nop:\n    - example.com: x\n    - pkg.nothing: x\n", []],
])("%s", (_, text, lines) => {
  expect(found(text)).toEqual(lines.map((each) => expect.stringContaining(each)));
});
