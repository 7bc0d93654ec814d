import { expect, test } from "bun:test";
import { subscribeToSite } from "./subscribe-to-site.ts";

/** A connection in memory: who subscribed where. */
function connected() {
  const received: { subject: string; run: (subject: string, bytes: Uint8Array) => void }[] = [];
  const connects: (() => void)[] = [];
  const jobs: string[] = [];
  let hints = 0;
  let site: string | undefined;
  const subscription = subscribeToSite({
    connection: {
      subscribe(subject, run) {
        received.push({ subject, run });
        return () => {};
      },
      onConnect(run) {
        connects.push(run);
        return () => connects.splice(connects.indexOf(run), 1);
      },
    },
    granted: () => site,
    onCommand: (jid) => jobs.push(jid),
    onHint: () => hints++,
  });
  return {
    ...{ subscription, jobs, received, connects },
    hints: () => hints,
    connectAs(next: string | undefined) {
      site = next;
      for (const run of [...connects]) run();
    },
    send(subject: string) {
      for (const one of received) {
        const pattern = new RegExp(`^${one.subject.replaceAll(".", "\\.").replace("*", "[^.]+")}$`);
        if (pattern.test(subject)) one.run(subject, new Uint8Array());
      }
    },
  };
}

test("a peel without a site hears nothing", () => {
  const { subscription, received, connectAs } = connected();
  connectAs(undefined);
  expect([subscription.current, received]).toEqual([undefined, []]);
});

test("a peel hears the commands and hints of its site, once after each of many connects", () => {
  const { subscription, jobs, hints, received, connectAs, send } = connected();
  connectAs("berlin");
  connectAs("berlin");
  connectAs("berlin");
  expect(received.map(({ subject }) => subject)).toEqual([
    "svc.site.berlin.dispatch.*",
    "svc.site.berlin.hint",
  ]);
  send("svc.site.berlin.dispatch.job-1");
  send("svc.site.berlin.hint");
  expect([subscription.current, jobs, hints()]).toEqual(["berlin", ["job-1"], 1]);
});

test("a peel that masters moved obeys its new site alone, and the one before when it comes back", () => {
  const { subscription, jobs, hints, connectAs, send } = connected();
  connectAs("berlin");
  connectAs("munich");
  send("svc.site.berlin.dispatch.job-1");
  send("svc.site.berlin.hint");
  send("svc.site.munich.dispatch.job-2");
  expect([subscription.current, jobs, hints()]).toEqual(["munich", ["job-2"], 0]);
  connectAs("berlin");
  send("svc.site.berlin.dispatch.job-3");
  send("svc.site.munich.dispatch.job-4");
  expect(jobs).toEqual(["job-2", "job-3"]);
  connectAs(undefined);
  send("svc.site.berlin.dispatch.job-5");
  expect([subscription.current, jobs]).toEqual([undefined, ["job-2", "job-3"]]);
});

test("after the stop, a connect changes nothing", () => {
  const { subscription, received, connects, connectAs } = connected();
  subscription.stop();
  connectAs("berlin");
  expect([connects, received]).toEqual([[], []]);
});
