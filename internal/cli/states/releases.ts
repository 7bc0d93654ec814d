import { releaseOperations } from "../../fleet/releases/mod.ts";
import { type Columns, command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { hexOf, localCommit, shortSnapshot } from "../../wire/content-words.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

const columns: Columns = {
  ENVIRONMENT: "name",
  RELEASE: "word",
  RELEASED: "spare ago",
  BY: "spare text",
  FILES: "word",
  PUBLISHED: "text",
  WAITS: "spare ago",
  CANDIDATE: "prose",
};

type Environments = AnswerTo<typeof releaseOperations.listReleases>["environments"];

export const releasesCommand = command({
  name: "releases",
  description:
    "List the newest release of each environment, whether masters publish these files, and what waits for a release.",
  examples: ["svc states releases"],
  args: {},
  run: (_, cli) =>
    withBus(cli, async (bus) => {
      const { environments } = await request(bus, releaseOperations.listReleases, {});
      await cli.print(environments, () => formatReleases(environments, cli));
      if (environments.length === 0) cli.say("no state files are published or released");
    }),
});

export const formatReleases = (environments: Environments, style: TableStyle): string =>
  formatTable(columns, environments.map(rowOf), style);

function rowOf({ environment, newest, content, candidate }: Environments[number]): string[] {
  const published = content && hexOf(content.snapshot);
  const waits = [candidate?.since ?? "-", candidate === undefined ? "-" : candidateText(candidate)];
  if (newest === undefined)
    return [environment, "-", "-", "-", "-", published === undefined ? "-" : "not released", ...waits];
  const files = hexOf(newest.snapshot);
  const state =
    published === files
      ? "yes"
      : published === undefined
        ? "no"
        : `${shortSnapshot(published)}, not released`;
  const released = [`${newest.version}`, newest.released_at, newest.operator, shortSnapshot(files)];
  return [environment, ...released, state, ...waits];
}

/** What waits for a release, and what differs from the files in force. */
export function candidateText({ content, changes }: NonNullable<Environments[number]["candidate"]>): string {
  const { commit, snapshot } = content;
  const files = `${shortSnapshot(hexOf(snapshot))}${commit === localCommit ? "" : `, commit ${shortSnapshot(commit)}`}`;
  if (changes === undefined) return files;
  const { added, changed, removed } = changes;
  return `${files}: ${added} added, ${changed} changed, ${removed} removed`;
}
