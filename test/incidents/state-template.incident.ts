import { expect, setDefaultTimeout, test } from "bun:test";
import { nextOf, setStage, write } from "./stage.ts";

setDefaultTimeout(120_000);

const good = "motd:\n  file.managed:\n    - name: /tmp/motd\n    - contents: hello\n";
const broken: readonly [what: string, text: string, place: string, reason: string][] = [
  [
    "a block that does not end",
    `{% if true %}\n${good}`,
    "motd.sls:1:14",
    "syntax error: unexpected end of template",
  ],
  [
    "an unknown filter",
    good.replace("hello", "{{ 'hello' | shout }}"),
    "motd.sls:4:30",
    "unknown filter: shout",
  ],
  ["YAML that is none", good.replace("hello", "[hello"), "motd.sls:4:17", "the bracket \\[ is not closed"],
];

test.each(broken)(
  "a template is pushed with %s: it is refused, and its place is named",
  async (_, text, place, reason) => {
    await using stage = await setStage({
      edit(fleet) {
        write(fleet, "states/top.sls", "base:\n  '*': [motd]\n");
        write(fleet, "states/motd.sls", good);
      },
    });
    const { fleet } = stage;
    await stage.sees({ status: /^state files +1 environment, 0 refused$/m });
    write(fleet, "states/motd.sls", text);
    const words = `environment base: ${place}: ${reason}`;
    const next = `correct ${place} of environment base`;
    const seen = await stage.sees({
      status: new RegExp(`is degraded: states: ${words}.*; the last good files stay in force; next: ${next}`),
      doctor: new RegExp(`warn  masters .*${words}`),
      readyz: new RegExp(`"states":\\{"status":"degraded","message":"${words}.*"next":"${next}"`),
      log: /its last content stays in force","environment":"base","stage":"states"/,
    });
    expect(seen.status).toMatch(/^state files +1 environment, 1 refused$/m);
    expect(nextOf(seen.doctor, "masters")).toBe(next);
    expect(nextOf(seen.doctor, "state files")).toBe(next);
    write(fleet, "states/motd.sls", good);
    await stage.isWell();
  },
);
