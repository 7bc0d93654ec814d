import { parseCron } from "../../base/cron.ts";
import { formatDuration } from "../../base/duration.ts";
import { SvcError } from "../../base/errors.ts";
import { isSecretName } from "../../base/secret-name.ts";
import { kindOf, parseYaml, plainValue, type YamlNode } from "../../base/yaml.ts";
import { readFields } from "./fields.ts";
import { Complaint, type OptionType } from "./option.ts";
import { bool, duration, integer, text } from "./scalar.ts";

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

const args: OptionType<Record<string, unknown>> = {
  name: "map",
  placeholder: "",
  fromYaml: (node) => {
    if (node.kind !== "map") throw new Complaint(`expected a map, found ${kindOf(node)}`, node.at);
    return plainValue(node) as Record<string, unknown>;
  },
  fromFlag: () => {
    throw new Complaint("can only be set in the file");
  },
  format: (value) => JSON.stringify(value),
};

const fields = {
  module: text({ name: "function", placeholder: "", read: filled }),
  args,
  interval: duration(1),
  cron: text({ name: "cron expression", placeholder: "", read: readCron }),
  splay: duration(0),
  maxrunning: integer(1, 1000),
  run_on_start: bool,
  return_job: bool,
  enabled: bool,
};

/** The map under `schedule`, as a list of named entries. Its flag takes the same map as YAML or JSON. */
export const schedule: OptionType<readonly ScheduleEntry[]> = {
  name: "map of entries",
  placeholder: "<yaml>",
  fromYaml: readSchedule,
  fromFlag: (texts) => {
    const written = texts.at(-1) ?? "";
    if (written.trim() === "") return [];
    try {
      return readSchedule(parseYaml(written, "value"));
    } catch (thrown) {
      if (thrown instanceof SvcError) throw new Complaint(thrown.message);
      throw thrown;
    }
  },
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

function readSchedule(node: YamlNode): ScheduleEntry[] {
  if (node.kind !== "map") {
    throw new Complaint(`expected a map of schedule entries, found ${kindOf(node)}`, node.at);
  }
  return node.entries.map(({ key, keyAt, value }) => {
    try {
      return readEntry(key, value);
    } catch (thrown) {
      if (!(thrown instanceof Complaint)) throw thrown;
      throw new Complaint(`entry ${JSON.stringify(key.slice(0, 60))}: ${thrown.message}`, thrown.at ?? keyAt);
    }
  });
}

function readEntry(name: string, node: YamlNode): ScheduleEntry {
  if (name.trim() === "" || name.length > maxEntryName) {
    throw new Complaint(`expected a name of 1 to ${maxEntryName} characters`);
  }
  const read = readFields(node, fields);
  const { module } = read;
  if (module === undefined) throw new Complaint("module is missing");
  if ((read.interval === undefined) === (read.cron === undefined)) {
    throw new Complaint("exactly one of interval and cron is required");
  }
  return {
    args: {},
    splay: 0,
    maxrunning: 1,
    run_on_start: false,
    return_job: false,
    enabled: true,
    ...read,
    module,
    name,
  };
}

function filled(value: string): string {
  if (value.trim() === "") throw new Complaint("expected a name, not an empty string");
  return value;
}

function readCron(value: string): string {
  try {
    parseCron(value);
    return value.trim();
  } catch (thrown) {
    if (thrown instanceof SvcError) throw new Complaint(thrown.message);
    throw thrown;
  }
}
