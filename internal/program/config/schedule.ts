import * as v from "valibot";
import { parseCron } from "../../base/cron.ts";
import { quote } from "../../base/cut.ts";
import { keysOf } from "../../base/document/read.ts";
import { duration, fields, integer, mapOf, plainMap, readBy } from "../../base/document/schemas.ts";
import { writtenOf } from "../../base/document/written.ts";
import { formatDuration } from "../../base/duration.ts";
import { isSecretName } from "../../base/names/secret-name.ts";
import { parseYaml } from "../../base/yaml/yaml.ts";
import type { OptionType } from "./option.ts";

/** One entry of the peel's scheduler. It has either `interval` or `cron`. */
export interface ScheduleEntry {
  readonly name: string;
  /** Module function to run. */
  readonly module: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Milliseconds. */
  readonly interval?: number;
  readonly cron?: string;
  /** Milliseconds. */
  readonly splay: number;
  /** Maximum number of concurrent runs of this entry. */
  readonly maxrunning: number;
  readonly run_on_start: boolean;
  /** Whether to publish the result to the masters. */
  readonly return_job: boolean;
  readonly enabled: boolean;
}

/** The name of an entry is sent with its results, and masters reject longer names. */
export const maxEntryName = 128;

const module = v.pipe(
  v.string(),
  v.check((name) => name.trim() !== "", "expected a name, not an empty string"),
);
const cron = v.pipe(
  v.string(),
  readBy((written) => {
    parseCron(written);
    return written.trim();
  }),
);

const entry = v.pipe(
  fields(
    {
      module,
      args: v.exactOptional(plainMap()),
      interval: v.exactOptional(duration(1)),
      cron: v.exactOptional(cron),
      splay: v.exactOptional(duration(0)),
      maxrunning: v.exactOptional(integer(1, 1000)),
      run_on_start: v.exactOptional(v.boolean()),
      return_job: v.exactOptional(v.boolean()),
      enabled: v.exactOptional(v.boolean()),
    },
    { missing: (key) => `${key} is missing` },
  ),
  v.check(
    (given) => (given.interval === undefined) !== (given.cron === undefined),
    "exactly one of interval and cron is required",
  ),
);

/** The map under `schedule`, as a list of named entries. Its flag takes the same map as YAML or JSON. */
export const schedule: OptionType<readonly ScheduleEntry[]> = {
  name: "map of entries",
  placeholder: "<yaml>",
  schema: v.pipe(
    mapOf(
      entry,
      v.pipe(
        v.string(),
        v.check(
          (name) => name.trim() !== "" && name.length <= maxEntryName,
          `expected a name of 1 to ${maxEntryName} characters`,
        ),
      ),
      (found) => `expected a map of schedule entries, found ${found}`,
    ),
    v.transform((map) => Array.from(map, ([name, given]) => ({ ...defaults, ...given, name }))),
  ),
  fromFlag: (texts) => {
    const written = texts.at(-1) ?? "";
    return written.trim() === "" ? new Map() : writtenOf(parseYaml(written, "value"));
  },
  nameOf: ([name, ...rest]) =>
    name === undefined ? [] : [`entry ${quote(String(name), 60)}`, ...keysOf(rest)],
  format: (entries) =>
    JSON.stringify(
      Object.fromEntries(
        entries.map(({ name, interval, splay, args, ...rest }) => [
          name,
          {
            ...rest,
            args: Object.fromEntries(
              Object.entries(args).map(([key, value]) => [key, isSecretName(key) ? "[redacted]" : value]),
            ),
            ...(interval === undefined ? {} : { interval: formatDuration(interval) }),
            splay: formatDuration(splay),
          },
        ]),
      ),
    ),
};

const defaults = {
  args: {},
  splay: 0,
  maxrunning: 1,
  run_on_start: false,
  return_job: false,
  enabled: true,
};
