import { expect, test } from "bun:test";
import { subscribeToSite } from "./subscribe-to-site.ts";

/** A connection in memory: who subscribed where. */
function connected() {
  const heard: { subject: string; run: (subject: string, bytes: Uint8Array) => void }[] = [];
  const connects: (() => void)[] = [];
  const jobs: string[] = [];
  let hints = 0;
  let site: string | undefined;
  const hearing = subscribeToSite({
    connection: {
      subscribe(subject, run) {
        heard.push({ subject, run });
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
    ...{ hearing, jobs, heard, connects },
    hints: () => hints,
    connectAs(next: string | undefined) {
      site = next;
      for (const run of [...connects]) run();
    },
    send(subject: string) {
      for (const one of heard) {
        const pattern = new RegExp(`^${one.subject.replaceAll(".", "\\.").replace("*", "[^.]+")}$`);
        if (pattern.test(subject)) one.run(subject, new Uint8Array());
      }
    },
  };
}

test("a peel without a site hears nothing", () => {
  const { hearing, heard, connectAs } = connected();
  connectAs(undefined);
  expect([hearing.current, heard]).toEqual([undefined, []]);
});

test("a peel hears the commands and hints of its site, once after each of many connects", () => {
  const { hearing, jobs, hints, heard, connectAs, send } = connected();
  connectAs("berlin");
  connectAs("berlin");
  connectAs("berlin");
  expect(heard.map(({ subject }) => subject)).toEqual(["svc.site.berlin.dispatch.*", "svc.site.berlin.hint"]);
  send("svc.site.berlin.dispatch.job-1");
  send("svc.site.berlin.hint");
  expect([hearing.current, jobs, hints()]).toEqual(["berlin", ["job-1"], 1]);
});

test("a peel that masters moved obeys its new site alone, and the one before when it comes back", () => {
  const { hearing, jobs, hints, connectAs, send } = connected();
  connectAs("berlin");
  connectAs("munich");
  send("svc.site.berlin.dispatch.job-1");
  send("svc.site.berlin.hint");
  send("svc.site.munich.dispatch.job-2");
  expect([hearing.current, jobs, hints()]).toEqual(["munich", ["job-2"], 0]);
  connectAs("berlin");
  send("svc.site.berlin.dispatch.job-3");
  send("svc.site.munich.dispatch.job-4");
  expect(jobs).toEqual(["job-2", "job-3"]);
  connectAs(undefined);
  send("svc.site.berlin.dispatch.job-5");
  expect([hearing.current, jobs]).toEqual([undefined, ["job-2", "job-3"]]);
});

test("after the stop, a connect changes nothing", () => {
  const { hearing, heard, connects, connectAs } = connected();
  hearing.stop();
  connectAs("berlin");
  expect([connects, heard]).toEqual([[], []]);
});
