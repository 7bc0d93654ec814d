import { defined } from "../../base/defined.ts";
import type { OpenWay } from "../enrollment/mod.ts";
import { describeCondition } from "./describe.ts";
import type { Rule } from "./rules/mod.ts";

/** The rules that approve enrollments. */
export function openReactorRules(rules: readonly Rule[]): OpenWay[] {
  return rules
    .filter(({ actions }) => actions.some(({ kind }) => kind === "approve"))
    .map(({ name, match, source, when }) => {
      const conditions = when.map(describeCondition).join(" and ");
      return {
        ...{ kind: "reactor", name, peels: source ?? "*", decides: `approve on ${match.join(", ")}` },
        ...defined({ conditions: conditions === "" ? undefined : conditions }),
      };
    });
}
