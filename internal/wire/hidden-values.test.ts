import { expect, test } from "bun:test";
import { hintForHidden } from "./hidden-values.ts";

test.each(["settings.items", "settings.get", "pillar.items", "pillar.get"])(
  "jobs with %s say where the values are",
  (name) => {
    const hint =
      "jobs return *** for the values of settings: see them with svc settings show PEEL, or on the host with svc-peel call ";
    expect(hintForHidden(name)).toBe(`${hint}${name}`);
  },
);

test.each(["settings.ls", "settings.refresh", "my_settings.get", "settings.getall", "cmd.run"])(
  "jobs with %s hide nothing",
  (name) => {
    expect(hintForHidden(name)).toBeUndefined();
  },
);
