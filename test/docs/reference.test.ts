import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { formatHelp } from "../../internal/program/config/help.ts";
import { masterProgram } from "../../internal/program/config/master.ts";
import { flagOf } from "../../internal/program/config/option.ts";
import { peelProgram } from "../../internal/program/config/peel.ts";
import { describePackage } from "../../release/package.ts";
import { configurationReference } from "./reference.ts";

const page = new URL("../../docs/configuration.md", import.meta.url);
const update = "SVC_UPDATE_DOCS=1 bun test test/docs/reference.test.ts";

test("docs/configuration.md is what the option tables say", () => {
  const text = configurationReference();
  if (process.env.SVC_UPDATE_DOCS === "1") writeFileSync(page, text);
  if (readFileSync(page, "utf8") !== text) {
    throw new Error(`docs/configuration.md is out of date: write it again with ${update}`);
  }
});

test.each(["svc-master", "svc-peel"] as const)(
  "the example of %s in release/config is the one of its package",
  async (name) => {
    const arch = { deb: "amd64", rpm: "x86_64" } as const;
    const { files } = await describePackage(name, "1.2.3", arch, Buffer.of(), 0);
    const text = String(files.find(({ path }) => path.endsWith(".yaml"))?.data);
    const copy = new URL(`../../release/config/${name.slice("svc-".length)}.yaml`, import.meta.url);
    if (process.env.SVC_UPDATE_DOCS === "1") writeFileSync(copy, text);
    if (readFileSync(copy, "utf8") !== text) {
      throw new Error(`${copy.pathname} is out of date: write it again with ${update}`);
    }
  },
);

describe.each([masterProgram, peelProgram])("the help of $name", (program) => {
  const text = formatHelp(program);

  test("fits 100 columns", () => {
    expect(text.split("\n").filter((line) => line.length > 100 || line.endsWith(" "))).toEqual([]);
  });

  test("names every flag and every default once", () => {
    for (const [key, declared] of Object.entries(program.options)) {
      const flag = flagOf(key, declared);
      const shown = flag === undefined ? key : `${declared.type.isSwitch ? "--[no-]" : "--"}${flag} `;
      expect(text.split(`\n  ${shown}`)).toHaveLength(2);
    }
    expect(text).toContain(`default ${program.defaultFile}`);
  });
});
