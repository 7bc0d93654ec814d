import { SvcError } from "../../base/errors.ts";
import { auditOperations } from "../../fleet/audit/mod.ts";
import { command, formatFields, word } from "../../program/command-line/mod.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import { readableSubjects } from "./read-pages.ts";

export const showCommand = command({
  name: "show",
  description: "Show an entry of the audit.",
  examples: ["svc audit show 1042"],
  args: { seq: word("Number of the entry", { required: true }) },
  async run({ seq }, cli) {
    if (!/^[1-9]\d{0,14}$/.test(seq)) throw new SvcError("usage", "seq: must be the number of an entry");
    await withBus(cli, async (bus) => {
      const { entry } = await request(bus, auditOperations.getAudit, { seq });
      await cli.print(entry, () =>
        formatFields(
          Object.entries({ ...entry, subjects: readableSubjects(entry.subjects) }).map(([name, value]) => [
            name,
            typeof value === "object" ? JSON.stringify(value) : String(value),
          ]),
        ),
      );
    });
  },
});
