import { defineState, StateFailure } from "../../function/mod.ts";
import { statIfPresent } from "./inspect.ts";
import { pathOf } from "./path.ts";

export const fileExists = defineState({
  name: "file.exists",
  doc: "Succeeds if the path exists. Changes nothing.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    if (statIfPresent(path) === undefined) throw new StateFailure(`${path} does not exist`);
    return { changes: {}, comment: `${path} exists` };
  },
});

export const fileMissing = defineState({
  name: "file.missing",
  doc: "Succeeds if the path does not exist. Changes nothing.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    if (statIfPresent(path) !== undefined) throw new StateFailure(`${path} exists`);
    return { changes: {}, comment: `${path} does not exist` };
  },
});
