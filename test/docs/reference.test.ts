import { describe, expect, test } from "bun:test";
import { formatHelp } from "../../internal/program/config/help.ts";
import { masterProgram } from "../../internal/program/config/master.ts";
import { flagOf } from "../../internal/program/config/option.ts";
import { peelProgram } from "../../internal/program/config/peel.ts";
import { describePackage } from "../../release/package.ts";
import { checkGenerated } from "./generated.ts";
import { configurationReference } from "./reference.ts";

test("docs/configuration.md is what the option tables say", () => {
  checkGenerated("docs/configuration.md", configurationReference());
});

test.each(["svc-master", "svc-peel"] as const)(
  "the example of %s in release/config is the one of its package",
  async (name) => {
    const arch = { deb: "amd64", rpm: "x86_64" } as const;
    const { files } = await describePackage(name, "1.2.3", arch, Buffer.of(), 0);
    const text = String(files.find(({ path }) => path.endsWith(".yaml"))?.data);
    checkGenerated(`release/config/${name.slice("svc-".length)}.yaml`, text);
  },
);

describe.each([masterProgram, peelProgram])("the help of $name", (program) => {
  const text = formatHelp(program);

  test.each([80, 100, 140])("fits %d columns, apart from words and commands that are copied", (width) => {
    const [flags = ""] = formatHelp(program, width).split("\n\nExamples:");
    const isLong = (line: string) => line.length > width && / \S+ \S/.test(line.trim());
    expect(flags.split("\n").filter((line) => isLong(line) || line.endsWith(" "))).toEqual([]);
  });

  test("names every flag and every default once", () => {
    for (const [key, declared] of Object.entries(program.options)) {
      const flag = flagOf(key, declared);
      const shown = flag === undefined ? key : `${declared.type.isSwitch ? "--[no-]" : "--"}${flag}`;
      expect(
        text.split("\n").filter((line) => line.trimEnd() === `  ${shown}` || line.startsWith(`  ${shown} `)),
      ).toHaveLength(1);
    }
    expect(text).toContain(`default ${program.defaultFile}`);
  });
});
