import { expect, test } from "bun:test";
import { controlGroupOf, endLeftovers, leftovers } from "./leftovers.ts";

test("only the control group of a service is used", () => {
  expect(controlGroupOf("0::/system.slice/svc-peel.service\n")).toBe("/system.slice/svc-peel.service");
  for (const text of [
    "0::/user.slice/user-0.slice/session-3.scope\n",
    "0::/\n",
    "12:cpu:/system.slice/svc-peel.service\n",
    "0::/../other.service\n",
    "",
  ]) {
    expect(controlGroupOf(text)).toBeUndefined();
  }
});

test("the watchdog itself and processes of other namespaces are not leftovers", () => {
  expect(leftovers("1\n0\n17\n18\n\n", 17)).toEqual([18]);
});

test("a watchdog that systemd did not start ends nothing", () => {
  expect(endLeftovers({})).toBe(0);
  expect(endLeftovers({ SYSTEMD_EXEC_PID: String(process.pid + 1) })).toBe(0);
});
