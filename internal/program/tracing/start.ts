import { untraced } from "../../base/trace.ts";
import type { SdkOptions } from "./sdk.ts";
import type { Tracing } from "./tracing.ts";

/** The keys of a configuration. */
export interface TracingConfig {
  readonly "otlp.endpoint": string;
  readonly "otlp.headers_file": string;
  readonly "otlp.ca": string;
  readonly "otlp.sample": number;
}

export type TracingOptions = Pick<SdkOptions, "service" | "instance" | "exportMs" | "clock" | "log"> & {
  config: TracingConfig;
};

const nothing = { sent: 0, dropped: 0, failed: 0 } as const;
const off: Tracing = { tracer: untraced, spans: () => ({ ...nothing }), stop: async () => {} };

/**
 * Starts to send traces. The library is loaded only when there is an endpoint.
 *
 * @throws SvcError `bad_request` naming the file that cannot be read, or its line
 */
export async function startTracing({ config, ...own }: TracingOptions): Promise<Tracing> {
  const { "otlp.endpoint": endpoint, "otlp.headers_file": headersFile, "otlp.ca": caFile } = config;
  if (endpoint === "") return off;
  const [{ createSdk }, { readCa, readHeaders }] = await Promise.all([
    import("./sdk.ts"),
    import("./read-files.ts"),
  ]);
  const headers = () => (headersFile === "" ? {} : readHeaders(headersFile));
  // What cannot be read is reported at the start.
  headers();
  const ca = caFile === "" ? {} : { ca: readCa(caFile) };
  return createSdk({ ...own, ...ca, endpoint, sample: config["otlp.sample"], headers });
}

/** The tracing of a daemon, as one of its parts. */
export const tracing = {
  async start(options: TracingOptions) {
    const { tracer, spans, stop } = await startTracing(options);
    return { tracer, view: { spans }, stop };
  },
};
