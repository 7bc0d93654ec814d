import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { version } from "../../base/version.ts";

/** One metric as its documentation shows it. */
export interface MetricInfo {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
}

type Read = () => number | undefined;
type ReadByLabel = () => Readonly<Record<string, number>> | undefined;

/** Makes the metrics of one daemon, beside those of its process that every daemon has. */
export interface MetricsRegistry {
  /** A gauge that is read at each scrape; `undefined` means that it is not known, and shows as NaN. */
  gauge(name: string, help: string, read: Read): void;
  /** The same with one label; nothing is shown for a value that is not known. */
  gaugeBy(name: string, help: string, label: string, read: ReadByLabel): void;
  /** A counter that somebody else keeps, read at each scrape. */
  counted(name: string, help: string, read: () => number): void;
  countedBy(name: string, help: string, label: string, read: ReadByLabel): void;
  counter<L extends string>(name: string, help: string, labels: readonly L[]): Counter<L>;
  histogram<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    buckets: readonly number[],
  ): Histogram<L>;
  level<L extends string>(name: string, help: string, labels: readonly L[]): Gauge<L>;
  /** The text of `/metrics`. */
  render(): Promise<string>;
  /** Every metric, those of the process included. */
  catalog(): MetricInfo[];
}

export function createRegistry(): MetricsRegistry {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: "svc_build_info",
    help: "1, with the version of the program",
    labelNames: ["version"],
    registers,
  });
  build.set({ version }, 1);
  return {
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        collect() {
          this.set(read() ?? Number.NaN);
        },
      });
    },
    gaugeBy(name, help, label, read) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [key, value] of Object.entries(read() ?? {})) this.set({ [label]: key }, value);
        },
      });
    },
    counted(name, help, read) {
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    countedBy(name, help, label, read) {
      new Counter({
        name,
        help,
        labelNames: [label],
        registers,
        collect() {
          this.reset();
          for (const [key, value] of Object.entries(read() ?? {})) this.inc({ [label]: key }, value);
        },
      });
    },
    counter: (name, help, labelNames) => new Counter({ name, help, labelNames, registers }),
    histogram: (name, help, labelNames, buckets) =>
      new Histogram({ name, help, labelNames, buckets: [...buckets], registers }),
    level: (name, help, labelNames) => new Gauge({ name, help, labelNames, registers }),
    render: () => registry.metrics(),
    catalog: () =>
      registry.getMetricsAsArray().map((metric) => {
        // What they are made of is there and not in the types.
        const { name, help, type, labelNames } = metric as unknown as {
          name: string;
          help: string;
          type: string;
          labelNames: string[];
        };
        return { name, help, type, labels: labelNames };
      }),
  };
}
