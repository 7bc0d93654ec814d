import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { described, timestamp, titled } from "../../base/schema.ts";
import { type Content, content, shownContent } from "../../wire/content.ts";
import { operation } from "../operation/mod.ts";
import { type FilesReport, filesReport } from "./files-report.ts";

/** What the master that publishes says now. */
export interface PublishersReport {
  /** Its name; absent while nobody publishes. */
  publisher?: string;
  /** Absent where it does not answer. */
  report?: FilesReport;
}

interface ListDeps {
  files: {
    /** What each environment has now. @throws SvcError `unavailable` before the first publication */
    list(wanted: Record<never, never>): Promise<readonly { content?: Content; since?: number }[]>;
    publishersReport(): Promise<PublishersReport>;
  };
}

export const listFiles = operation({
  name: "states.files",
  kind: "read",
  summary: "List the state files in force, and those that are refused",
  description:
    "The master that publishes state files reports what it refuses; the others ask it. Without `report` it did not answer, so that nobody knows.",
  scope: { kind: "states", action: "read" },
  output: v.object({
    publisher: v.exactOptional(described(v.string(), "The master that publishes; absent while none does")),
    environments: v.array(
      titled(
        "EnvironmentInForce",
        v.object({
          content: described(shownContent, "The files in force"),
          since: v.exactOptional(
            described(timestamp, "When they came into force; absent where an earlier version published them"),
          ),
        }),
      ),
    ),
    report: v.exactOptional(titled("FilesReport", filesReport)),
  }),
  async run({ files }: ListDeps) {
    const [listed, { publisher, report }] = await Promise.all([
      files.list({}).catch(noneYet),
      files.publishersReport(),
    ]);
    return {
      ...defined({ publisher, report }),
      environments: listed.flatMap(({ content: files, since }) =>
        files === undefined
          ? []
          : [{ content: content.show(files), ...(since === undefined ? {} : { since: rfc3339(since) }) }],
      ),
    };
  },
});

/** Before the first publication there is nothing, and what was refused is all there is to see. */
function noneYet(thrown: unknown): [] {
  if (thrown instanceof SvcError && thrown.kind === "unavailable") return [];
  throw thrown;
}
