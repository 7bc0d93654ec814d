import { type App, type Query, routes, useQuery } from "../../api/mod.ts";

export type Period = "24h" | "30d";
export type Samples = NonNullable<(typeof routes.readSamples)["types"]>["answer"];

/** There is one more each minute. */
const freshMs = 60_000;

/** The samples of a period, read again each minute. */
export function useSamples(app: App, period: Period): Query<{ samples: Samples; readAt: number }> {
  const { client, clock, session } = app;
  const reading = {
    load: async (signal: AbortSignal) => {
      const readAt = clock.monotonic();
      return { samples: await client.call(routes.readSamples, { period }, signal), readAt };
    },
    renew: async (before: { samples: Samples; readAt: number }) =>
      before.samples.at.length > 0 && clock.monotonic() - before.readAt < freshMs ? before : undefined,
  };
  return useQuery(app, period, session.may("masters", "read") ? reading : undefined);
}
