import { describeError } from "../base/errors.ts";
import { createLog } from "../base/log.ts";
import { type Span, traceparentOf, untraced } from "../base/trace.ts";
import type { Cli } from "../program/command-line/mod.ts";
import type { loadOperatorConfig } from "../program/config/mod.ts";

/** Nobody waits long at a terminal for a receiver that is away: less than the pause before it would be asked again. */
const exportMs = 750;
const instanceBytes = 8;

/** The part of a command line that a span needs. Completion has none. */
type SpanCli = Pick<Cli, "env" | "clock" | "random" | "stderr"> & Partial<Pick<Cli, "span" | "warn">>;

/**
 * The span of a command, for its requests to masters. It is sent only where the configuration names a receiver; what is
 * wrong with that stops no command. Elsewhere it carries on the trace of the environment: a pipeline that traces itself
 * shows what it asked for in its own trace.
 */
export async function spanOf(config: ReturnType<typeof loadOperatorConfig>, cli: SpanCli): Promise<Span> {
  const { clock, random, stderr } = cli;
  const parent = traceparentOf(cli.env.TRACEPARENT);
  const passing = () => untraced.begin("", parent === undefined ? {} : { parent });
  if (config["otlp.endpoint"] === "" || cli.span === undefined) return passing();
  try {
    return await cli.span(async () => {
      const { startTracing } = await import("../program/tracing/mod.ts");
      const log = createLog({ level: "warn", format: "text", clock, write: (line) => stderr.write(line) });
      const instance = Buffer.from(random(instanceBytes)).toString("hex");
      return startTracing({ service: "svc", instance, config, exportMs, clock, log });
    }, parent);
  } catch (thrown) {
    cli.warn?.(`no trace is sent: ${describeError(thrown)}`);
    return passing();
  }
}
