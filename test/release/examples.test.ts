import { beforeAll, describe, expect, test } from "bun:test";
import { masterProgram } from "../../internal/program/config/master.ts";
import { flagOf, type OptionTable } from "../../internal/program/config/option.ts";
import { peelProgram } from "../../internal/program/config/peel.ts";
import { loadConfig } from "../../internal/program/config/resolve.ts";
import { describePackage } from "../../release/package.ts";

const programs = [
  { program: masterProgram, file: "master.yaml", dataDir: "/var/lib/svc" },
  { program: peelProgram, file: "peel.yaml", dataDir: "/var/lib/svc-peel" },
] as const;

describe.each(programs)("the example $file", ({ program, file, dataDir }) => {
  const options: OptionTable = program.options;
  const path = `/usr/share/doc/${program.name}/examples/${file}`;
  let text = "";
  beforeAll(async () => {
    const arch = { deb: "amd64", rpm: "x86_64" } as const;
    const { files } = await describePackage(program.name, "1.2.3", arch, Buffer.of(), 0);
    text = String(files.find((one) => one.path === path)?.data);
  });
  const keyLine = /^( *)#([a-z0-9_]+: )/gm;

  function values(content: string | undefined) {
    const loaded = loadConfig({
      ...program,
      options,
      argv: [],
      env: { SVC_DATA_DIR: dataDir },
      readFile: () => content,
    });
    if (loaded.kind !== "run") throw new Error(`unexpected ${loaded.kind}`);
    return loaded;
  }

  test("says nothing as it is, and the defaults of the packages when every key counts", () => {
    expect(values(text)).toEqual({ ...values(undefined), file: program.defaultFile });
    const reported = values(text.replace(keyLine, "$1$2"));
    expect(reported.values).toEqual(values(undefined).values);
  });

  test("names every key once, with its flag, in at most 100 columns", () => {
    expect(text.match(keyLine)).toHaveLength(Object.keys(options).length);
    for (const [key, declared] of Object.entries(options)) {
      const flag = flagOf(key, declared);
      if (flag !== undefined) expect(text.split(new RegExp(`flag\\s(?: *# )?--${flag}[.;]`))).toHaveLength(2);
    }
    expect(text.split("\n").filter((line) => line.length > 100 || line.endsWith(" "))).toEqual([]);
  });
});
