import { defineState } from "../../function/define.ts";
import { StateFailure } from "../../function/function.ts";
import { lookAt } from "./look.ts";
import { pathOf } from "./path.ts";

export const fileExists = defineState({
  name: "file.exists",
  doc: "Succeeds when something has this name, and changes nothing.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    if (lookAt(path) === undefined) throw new StateFailure(`${path} is not there`);
    return { changes: {}, comment: `${path} is there` };
  },
});

export const fileMissing = defineState({
  name: "file.missing",
  doc: "Succeeds when nothing has this name, and changes nothing.",
  args: {},
  plan(name) {
    const path = pathOf(name);
    if (lookAt(path) !== undefined) throw new StateFailure(`${path} is there`);
    return { changes: {}, comment: `${path} is not there` };
  },
});
