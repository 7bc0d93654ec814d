import { releaseOperations } from "../../fleet/releases/mod.ts";
import { type Columns, command, formatTable, type TableStyle } from "../../program/command-line/mod.ts";
import { hexOf, shortSnapshot } from "../../wire/content-words.ts";
import { withBus } from "../operator.ts";
import { type AnswerTo, request } from "../request.ts";

const columns: Columns = {
  ENVIRONMENT: "name",
  RELEASE: "word",
  RELEASED: "spare ago",
  BY: "spare text",
  FILES: "word",
  PUBLISHED: "prose",
};

type Environments = AnswerTo<typeof releaseOperations.listReleases>["environments"];

export const releasesCommand = command({
  name: "releases",
  description: "List the newest release of each environment, and whether masters publish these files.",
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

function rowOf({ environment, newest, content }: Environments[number]): string[] {
  const published = content && hexOf(content.snapshot);
  if (newest === undefined)
    return [environment, "-", "-", "-", "-", published === undefined ? "-" : "not released"];
  const files = hexOf(newest.snapshot);
  const state =
    published === files
      ? "yes"
      : published === undefined
        ? "no"
        : `${shortSnapshot(published)}, not released`;
  return [environment, `${newest.version}`, newest.released_at, newest.operator, shortSnapshot(files), state];
}
