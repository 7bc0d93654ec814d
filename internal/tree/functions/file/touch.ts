import { defineState, StateFailure } from "../../function/mod.ts";
import { noAttributes } from "./attributes.ts";
import { kindOf, lookAt } from "./look.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { planFile } from "./plan-file.ts";

export const fileTouch = defineState({
  name: "file.touch",
  doc: "Ensures that a file exists, and creates it empty. The timestamps of an existing file are not changed.",
  args: { makedirs: makedirsArg },
  plan(name, { makedirs }, context) {
    const path = pathOf(name);
    const before = lookAt(path);
    if (before?.isFile() === false) throw new StateFailure(`${path} is a ${kindOf(path, before)}`);
    return planFile({ path, content: undefined, attributes: noAttributes, makedirs }, context);
  },
});
