import { openBrowser, type Page } from "../../harness/browser.ts";
import type { TestBus } from "../../harness/bus.ts";
import type { BenchMaster } from "../enroll/master.ts";
import { type Frame, framesOf, type TraceEvent } from "./frames.ts";

/** A tab that shows the console, and what it costs. */
export interface Tab extends AsyncDisposable {
  readonly page: Page;
  /** Opens a path below `/console`. */
  open(path: string): Promise<void>;
  /** The frames that were drawn meanwhile. */
  traced(run: () => Promise<unknown>): Promise<Frame[]>;
  /** Bytes of the answers so far, as they came over the network. */
  bytes(): number;
  /** Requests so far of the lists. */
  requests(): number;
  /** The heap of scripts after a collection, MiB, and nodes of documents. */
  memory(): Promise<{ heapMib: number; nodes: number }>;
}

const categories = ["devtools.timeline", "disabled-by-default-devtools.timeline"];

/** Opens a browser that is signed in. */
export async function openTab(bus: TestBus, { port, token }: BenchMaster): Promise<Tab> {
  const url = `https://localhost:${port}`;
  const page = await openBrowser({ url, ca: bus.caPem });
  let bytes = 0;
  page.on("Network.loadingFinished", ({ encodedDataLength }) => {
    bytes += Number(encodedDataLength);
  });
  const chunks: TraceEvent[] = [];
  let onTraced = () => {};
  page.on("Tracing.dataCollected", ({ value }) => void chunks.push(...(value as TraceEvent[])));
  page.on("Tracing.tracingComplete", () => onTraced());
  await page.show({ width: 1280 });
  await page.open(`${url}/console/overview`);
  await page.type("#token", token);
  await page.press("Enter");
  await page.until('document.querySelector(".shell") !== null');
  return {
    page,
    open: (path) => page.open(`${url}/console${path}`),
    async traced(run) {
      chunks.length = 0;
      await page.command("Tracing.start", {
        transferMode: "ReportEvents",
        traceConfig: { includedCategories: categories },
      });
      await run();
      const { promise, resolve } = Promise.withResolvers<void>();
      onTraced = resolve;
      await page.command("Tracing.end");
      await promise;
      return framesOf(chunks);
    },
    bytes: () => bytes,
    requests: () => page.requests.filter((address) => /\/api\/v1\/(?:peels|jobs)/.test(address)).length,
    async memory() {
      await page.command("HeapProfiler.collectGarbage");
      const { usedSize } = await page.command<{ usedSize: number }>("Runtime.getHeapUsage");
      const { nodes } = await page.command<{ nodes: number }>("Memory.getDOMCounters");
      return { heapMib: usedSize / 2 ** 20, nodes };
    },
    [Symbol.asyncDispose]: () => page[Symbol.asyncDispose](),
  };
}
