import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import { version } from "../../base/version.ts";

/** Documentation of one metric. */
export interface MetricInfo {
  name: string;
  type: string;
  help: string;
  labels: readonly string[];
}

type Read = () => number | undefined;
type ReadByLabel = () => Readonly<Record<string, number>> | undefined;

/** Creates the metrics of one daemon, in addition to the process metrics of every daemon. */
export interface MetricsRegistry {
  /** A gauge that is read at each scrape; `undefined` means unknown, and is shown as NaN. */
  gauge(name: string, help: string, read: Read): void;
  /** A gauge with one label. Unknown values are not shown. */
  gaugeBy(name: string, help: string, label: string, read: ReadByLabel): void;
  /** A counter that is kept elsewhere, read at each scrape. */
  counted(name: string, help: string, read: () => number): void;
  countedBy(name: string, help: string, label: string, read: ReadByLabel): void;
  counter<L extends string>(name: string, help: string, labels: readonly L[]): Counter<L>;
  histogram<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    buckets: readonly number[],
  ): Histogram<L>;
  /** A histogram of values that are read at each scrape. */
  snapshot(
    name: string,
    help: string,
    buckets: readonly number[],
    read: () => readonly number[] | undefined,
  ): void;
  level<L extends string>(name: string, help: string, labels: readonly L[]): Gauge<L>;
  /** The text of `/metrics`. */
  render(): Promise<string>;
  /** All metrics, including the process metrics. */
  catalog(): MetricInfo[];
}

/**
 * How often the lag of the event loop is sampled. Each sample wakes the program, and with it a thread of the runtime
 * that returns memory: at the default of 10 ms that is most of the processor time of an idle program. What blocks the
 * loop for longer than this is always seen.
 */
const lagSampleMs = 1_000;

/**
 * Adds the metrics of the process itself. Its processor time counts from its start, as `process_cpu_*` of other programs
 * do; the lag of the event loop and the runs of the collector count from here on.
 */
function collectProcessMetrics(registry: Registry): void {
  const { user, system } = process.cpuUsage();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: lagSampleMs });
  const used = { cpu_user: user, cpu_system: system, cpu: user + system };
  for (const [name, micros] of Object.entries(used)) {
    const metric = registry.getSingleMetric(`process_${name}_seconds_total`);
    if (metric instanceof Counter) metric.inc(micros / 1e6);
  }
}

export function createRegistry(): MetricsRegistry {
  const registry = new Registry();
  const registers = [registry];
  let isCollecting = false;
  /** Begins with the first scrape: a program that nobody scrapes does not wake up to measure itself. */
  const collectProcess = () => {
    if (!isCollecting) collectProcessMetrics(registry);
    isCollecting = true;
  };
  addBuildInfo(registers);
  return {
    gauge(name, help, read) {
      new Gauge({
        ...{ name, help, registers },
        collect() {
          this.set(read() ?? Number.NaN);
        },
      });
    },
    gaugeBy(name, help, label, read) {
      const labelNames = [label];
      new Gauge({
        ...{ name, help, labelNames, registers },
        collect() {
          this.reset();
          for (const [key, value] of Object.entries(read() ?? {})) this.set({ [label]: key }, value);
        },
      });
    },
    counted(name, help, read) {
      new Counter({
        ...{ name, help, registers },
        collect() {
          this.reset();
          this.inc(read());
        },
      });
    },
    countedBy(name, help, label, read) {
      const labelNames = [label];
      new Counter({
        ...{ name, help, labelNames, registers },
        collect() {
          this.reset();
          for (const [key, value] of Object.entries(read() ?? {})) this.inc({ [label]: key }, value);
        },
      });
    },
    counter: (name, help, labelNames) => new Counter({ name, help, labelNames, registers }),
    histogram: (name, help, labelNames, buckets) =>
      new Histogram({ name, help, labelNames, buckets: [...buckets], registers }),
    snapshot(name, help, buckets, read) {
      new Histogram({
        ...{ name, help, buckets: [...buckets], registers },
        collect() {
          this.reset();
          for (const value of read() ?? []) this.observe(value);
        },
      });
    },
    level: (name, help, labelNames) => new Gauge({ name, help, labelNames, registers }),
    // The library writes `Nan`, which is not a value of the text format.
    async render() {
      collectProcess();
      return (await registry.metrics()).replace(/ Nan$/gm, " NaN");
    },
    catalog() {
      collectProcess();
      return registry.getMetricsAsArray().map(describeMetric);
    },
  };
}

function describeMetric(metric: object): MetricInfo {
  // These fields exist, but are not in the types.
  const { name, type, help, labelNames: labels } = metric as MetricInfo & { labelNames: string[] };
  return { name, type, help, labels };
}

function addBuildInfo(registers: Registry[]): void {
  const help = "Always 1, labeled with the version of the program";
  const build = new Gauge({ name: "svc_build_info", help, labelNames: ["version"], registers });
  build.set({ version }, 1);
}
