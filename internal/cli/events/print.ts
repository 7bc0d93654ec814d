import { SvcError } from "../../base/errors.ts";
import { displayPeelId } from "../../base/names/peel-id.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import type { Cli } from "../../program/command-line/mod.ts";
import { createLines } from "../feed/lines.ts";

/** Of a list that is printed as a whole. */
const maxListed = 10_000;
const maxData = 200;
/** The tag or the source contains them. */
const notShown: ReadonlySet<string> = new Set(["peel", "peel_id", "revision"]);

/** Prints events as they come, line by line. In the other forms they are one list at the end. */
export function createPrinter(cli: Cli, signal: AbortSignal) {
  const isList = cli.output !== "table" && cli.output !== "jsonl";
  const lines = createLines(cli, cellsOf, signal);
  const listed: ShownEvent[] = [];
  let count = 0;
  return {
    /**
     * Resolves when there is room for more.
     *
     * @throws SvcError `bad_request` for more than one list may have
     * @throws Exit 1 when nobody will read it
     */
    async take(events: readonly ShownEvent[]) {
      count += events.length;
      if (!isList) return lines.write(events);
      listed.push(...events);
      if (listed.length > maxListed) {
        throw new SvcError(
          "bad_request",
          `there are more than ${maxListed} events: use --output jsonl, or a later --since`,
        );
      }
    },
    async end() {
      if (isList) await cli.print(listed, () => "");
      if (count === 0) cli.say("no events");
    },
  };
}

const cellsOf = (event: ShownEvent) => [event.at, event.source, tagLine(event), dataLine(event)];

/** The tag as people read it: where it has the id of a peel, with dots. `--tag` takes it so as well. */
export function tagLine({
  tag,
  data,
  peel_id: source,
}: Pick<ShownEvent, "tag" | "data" | "peel_id">): string {
  const ids = new Set([source, data.peel_id].filter((one) => typeof one === "string"));
  const segments = tag.split("/");
  return segments.map((segment) => (ids.has(segment) ? displayPeelId(segment) : segment)).join("/");
}

/** The data of an event, shortened. */
function dataLine({ data }: ShownEvent): string {
  const text = Object.entries(data)
    .filter(([name]) => !notShown.has(name))
    .map(([name, value]) => `${name}=${wordOf(value)}`)
    .join(" ");
  return text.length > maxData ? `${text.slice(0, maxData)}…` : text;
}

function wordOf(value: unknown): string {
  return typeof value === "string" && /^[\w.:/@+,%-]+$/.test(value) ? value : JSON.stringify(value);
}
