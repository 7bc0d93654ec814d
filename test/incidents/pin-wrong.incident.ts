import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { end, setStage, write } from "./stage.ts";

setDefaultTimeout(120_000);

test("a peel has the pin of another CA: it sends nothing, and the next step shows the right one", async () => {
  await using stage = await setStage();
  const { fleet } = stage;
  const good = readFileSync(join(fleet.dir, "peel.yaml"), "utf8");
  const [pin = ""] = /sha256:[0-9a-f]{64}/.exec(good) ?? [];
  write(fleet, "peel.yaml", good.replace(pin, `sha256:${"0".repeat(64)}`));
  const wrong = fleet.startPeel("web-1");
  await wrong.waitFor(
    "the CA it serves does not match any pin; compare enroll_ca_pin in peel.yaml with svc ca fingerprint",
  );
  expect((await stage.inspect()).status).toMatch(/^pending +0$/m);
  const shown = await fleet.svc("ca", "fingerprint", "--dir", join(fleet.dir, "auth", "ca"));
  expect(shown).toEqual({ code: 0, stdout: `${pin}\n`, stderr: "" });
  await end(wrong);
  write(fleet, "peel.yaml", good.replace(pin, shown.stdout.trim()));
  await stage.join("web-1");
  await stage.isWell();
});
