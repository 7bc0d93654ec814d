import { SvcError } from "../../base/errors.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import { type Cli, cutTo, Exit, visible } from "../../program/command-line/mod.ts";

/** Of a list that is printed as a whole. */
const maxListed = 10_000;
const maxData = 200;
/** The tag or the source contains them. */
const notShown: ReadonlySet<string> = new Set(["peel", "peel_id", "revision"]);

/**
 * Prints events as they come: lines for people, cut to the terminal without `--wide`, or lines of JSON. In the other
 * forms they are one list at the end.
 *
 * @throws SvcError `usage` where a list would never end
 */
export function createPrinter(cli: Cli, follow: boolean) {
  const { output, stdout } = cli;
  const isList = output !== "table" && output !== "jsonl";
  if (follow && isList) {
    throw new SvcError(
      "usage",
      `--output ${output} is one list at the end: use --output jsonl with --follow`,
    );
  }
  const listed: ShownEvent[] = [];
  let count = 0;
  let widths: readonly [number, number] = [0, 0];

  const line = (event: ShownEvent): string => {
    const [source, tag] = [visible(event.source), visible(event.tag)];
    widths = [Math.max(widths[0], Bun.stringWidth(source)), Math.max(widths[1], Bun.stringWidth(tag))];
    const cells = [event.at, padded(source, widths[0]), padded(tag, widths[1]), visible(dataLine(event))];
    const text = cells.join("  ").trimEnd();
    return cli.width === undefined || cli.wide ? text : cutTo(text, cli.width);
  };
  const lineOf = (event: ShownEvent) => (output === "table" ? line(event) : visible(JSON.stringify(event)));
  const gone = Promise.withResolvers<never>();
  gone.promise.catch(() => {});
  stdout.once?.("error", () => gone.reject(new Exit(1)));
  const write = async (text: string) => {
    const drained = Promise.withResolvers<void>();
    if (text !== "" && stdout.write(text) === false) stdout.once?.("drain", drained.resolve);
    else drained.resolve();
    await Promise.race([gone.promise, drained.promise]);
  };
  return {
    /**
     * Resolves when there is room for more: what nobody reads does not pile up here.
     *
     * @throws Exit 1 when nobody will read it
     */
    async take(events: readonly ShownEvent[]) {
      count += events.length;
      if (isList) listed.push(...events);
      else await write(events.map((event) => `${lineOf(event)}\n`).join(""));
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

const padded = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - Bun.stringWidth(text)));

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
