import { SvcError } from "../../base/errors.ts";
import { define } from "./define.ts";
import type { ModuleFunction } from "./function.ts";

/** The memory of a peel of the audit. */
export const auditFunctions: readonly ModuleFunction[] = [
  define({
    name: "audit.head",
    doc: "Returns what the peel remembers of the audit, as the masters signed it; svc audit verify --witness compares it.",
    args: {},
    readOnly: true,
    run(_, { audit }) {
      if (audit === undefined) {
        throw new SvcError("unavailable", "only a running peel remembers the audit: send this as a job");
      }
      return { heads: audit.remembered() };
    },
  }),
];
